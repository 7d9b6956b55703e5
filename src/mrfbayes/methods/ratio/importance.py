r"""Likelihood ratios by importance sampling (IS; printed Eq. 12; Meng & Wong 1996).

.. math:: \hat r = \frac{\frac1s \sum_t \tilde P(x^*_t; \theta)\, \alpha(x^*_t)}
          {\frac1s \sum_t \tilde P(x_t; \theta^*)\, \alpha(x_t)}, \qquad x_t \sim P(\cdot; \theta),\
          x^*_t \sim P(\cdot; \theta^*)

estimates Z(theta) / Z(theta*). ``alpha="geometric"`` is the square root of one over the product of both weights,
"constant" is one, and "optimal" has the least variance; it depends on r and is iterated.

Differs from the paper: the ratio is printed for one observation, for n it enters as its n-th power. Both sets of
particles are drawn afresh at every step, exactly where feasible (``source="gibbs"``: sweeps from a random start).
"""

from __future__ import annotations

from mrfbayes.base.checks import one_of
from mrfbayes.kernels.base.jit import kernel
from mrfbayes.kernels.methods.ratio import log_mean_exp, of_all, optimal_log_ratio, weigh
from mrfbayes.kernels.methods.ratio_sources import draw_particles
from mrfbayes.methods.problem import Prepared, Problem
from mrfbayes.methods.ratio.sources import check as check_particles
from mrfbayes.methods.ratio.sources import make_particles, ratio_view
from mrfbayes.model.field import Model
from mrfbayes.priors import Prior

ALPHAS = ("geometric", "constant", "optimal")
GEOMETRIC, CONSTANT, OPTIMAL = range(3)


@kernel(inline="always")
def ratio(view, random_state):
    """Log r of all observations and its variance, Eq. (12)."""
    data, nodes, n = view.data, view.data.n_node_rows, view.weigher.n
    # Log weights of P(x; theta) alpha at the proposal and of P(x; proposal) alpha at theta, but for a factor.
    above, below, scale = data.step, data.step, 0.5
    if view.variant == CONSTANT:
        above, below, scale = data.current, data.proposed, 1.0
    draw_particles(view.source, data.proposed[:nodes], data.proposed[nodes:], view.particles, random_state)
    weigh(view.weigher, view.particles, above[:nodes], above[nodes:], view.log_weights_proposed)
    draw_particles(view.source, data.current[:nodes], data.current[nodes:], view.particles, random_state)
    weigh(view.weigher, view.particles, below[:nodes], below[nodes:], view.log_weights)
    sign = 1.0 if view.variant == CONSTANT else -1.0
    log_above, variance_above = log_mean_exp(view.log_weights_proposed[:n], scale, view.work)
    log_below, variance_below = log_mean_exp(view.log_weights[:n], sign * scale, view.work)
    log_r, variance = log_above - log_below, variance_above + variance_below  # Eq. (12)
    if view.variant == OPTIMAL:
        log_r, variance = optimal_log_ratio(view.log_weights[:n], view.log_weights_proposed[:n], log_r, view.work)
    return of_all(data, log_r, variance)


def check(model: Model, prior: Prior, *, alpha: str, particles: int, source: str, sweeps: int) -> None:
    """Refuse options that cannot be."""
    one_of("alpha", alpha, ALPHAS)
    check_particles(model, prior, particles=particles, source=source, sweeps=sweeps)


def prepare(
    problem: Problem, *, alpha: str = "geometric", particles: int = 1000, source: str = "auto", sweeps: int = 1000
) -> Prepared:
    """``particles`` fresh ones at both ends of every step."""
    made = make_particles(problem.model, particles, source, sweeps)
    view = ratio_view(problem, made, "importance", variant=ALPHAS.index(alpha))
    return Prepared(view, is_ratio=True, unused=made.unused, details=made.details)
