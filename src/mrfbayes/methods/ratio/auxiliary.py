r"""Likelihood ratios by way of a fixed estimate (AuxVar; printed Eq. 13, inverted; Moller et al. 2006).

.. math:: \hat r = \frac{\frac1s \sum_t \tilde P(x^*_t; \hat\theta) / \tilde P(x^*_t; \theta^*)}
          {\frac1s \sum_t \tilde P(x_t; \hat\theta) / \tilde P(x_t; \theta)}, \qquad x_t \sim P(\cdot; \theta),\
          x^*_t \sim P(\cdot; \theta^*)

estimates Z(theta) / Z(theta*).

Differs from the paper: (13) as printed is upside down. Its numerator estimates Z(estimate) / Z(theta) and its
denominator Z(estimate) / Z(theta*), so the whole estimates 1/r. The ratio is printed for one observation; for n it
enters as its n-th power. The estimate is that of MLE-L, fixed. Both sets of particles are drawn afresh at every step,
exactly where that is feasible (``source="gibbs"``: sweeps from a random start).
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
    """Log r of all observations and its variance, Eq. (13) inverted."""
    data, nodes = view.data, view.data.n_node_rows
    log_r, variance = 0.0, 0.0
    potentials, sign = data.proposed, 1.0
    for _ in range(2):  # Z(estimate) / Z(proposal), then Z(estimate) / Z(theta)
        draw_particles(view.source, potentials[:nodes], potentials[nodes:], view.particles, random_state)
        for k in range(potentials.size):
            data.step[k] = view.estimate[k] - potentials[k]
        weigh(view.weigher, view.particles, data.step[:nodes], data.step[nodes:], view.log_weights)
        log_mean, part = log_mean_exp(view.log_weights[: view.weigher.n], 1.0, view.work)
        log_r += sign * log_mean  # Eq. (13), inverted: as printed it estimates 1 / r
        variance += part
        potentials, sign = data.current, -1.0
    return of_all(data, log_r, variance)


def prepare(problem: Problem, *, particles: int = 1000, source: str = "auto", sweeps: int = 1000) -> Prepared:
    """``particles`` fresh ones at both ends of every step, each set against the fixed estimate."""
    made = make_particles(problem.model, particles, source, sweeps)
    view = ratio_view(problem, made, "auxiliary", log_odds=problem.estimate.log_odds)
    return Prepared(view, is_ratio=True, keeps_noise=True, unused=made.unused, details=made.details)
