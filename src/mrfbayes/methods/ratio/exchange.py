r"""Likelihood ratios from particles of the proposal (Exch; printed Eq. 14; Murray, Ghahramani & MacKay 2006).

.. math:: \hat r = \frac1s \sum_t \frac{\tilde P(x_t; \theta)}{\tilde P(x_t; \theta^*)},
          \qquad x_t \sim P(\cdot; \theta^*)

estimates Z(theta) / Z(theta*), and enters the likelihood ratio of n observations as its n-th power.

Differs from the paper: the ratio is printed for one observation. Particles are drawn exactly where that is feasible,
not by 1,000 sweeps from a random start (``source="gibbs"`` does that).
"""

from __future__ import annotations

from mrfbayes.kernels.base.jit import kernel
from mrfbayes.kernels.methods.ratio import log_mean_exp, of_all, weigh
from mrfbayes.kernels.methods.ratio_sources import draw_particles
from mrfbayes.methods.problem import Prepared, Problem
from mrfbayes.methods.ratio.sources import check as check
from mrfbayes.methods.ratio.sources import make_particles, ratio_view


@kernel(inline="always")
def ratio(view, random_state):
    """Log r of all observations and its variance, Eq. (14)."""
    data, nodes = view.data, view.data.n_node_rows
    draw_particles(view.source, data.proposed[:nodes], data.proposed[nodes:], view.particles, random_state)
    weigh(view.weigher, view.particles, data.step[:nodes], data.step[nodes:], view.log_weights)
    log_r, variance = log_mean_exp(view.log_weights[: view.weigher.n], 1.0, view.work)  # Eq. (14)
    return of_all(data, log_r, variance)


def prepare(problem: Problem, *, particles: int = 1000, source: str = "auto", sweeps: int = 1000) -> Prepared:
    """Per step, ``particles`` fresh ones: exact, or from ``sweeps`` Gibbs sweeps of a random start."""
    made = make_particles(problem.model, particles, source, sweeps)
    return Prepared(ratio_view(problem, made, "exchange"), is_ratio=True, unused=made.unused, details=made.details)
