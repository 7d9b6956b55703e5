r"""The exchange algorithm (Murray, Ghahramani & MacKay 2006): one auxiliary data set per proposal, and an exact target.

.. math:: \log \frac{\tilde P(X; \theta^*)\, \tilde P(Y; \theta)}{\tilde P(X; \theta)\, \tilde P(Y; \theta^*)},
          \qquad Y = (y_1, \dots, y_n) \sim P(\cdot; \theta^*)

No partition function is left in it, and the chain's law is the posterior's, however noisy each ratio is.

Differs from the paper: it is not in its comparison, which averages ratios of one observation instead (Eq. 14).
"""

from __future__ import annotations

from mrfbayes.kernels.base.jit import kernel
from mrfbayes.kernels.methods.ratio import weigh_all
from mrfbayes.kernels.methods.ratio_sources import draw_particles
from mrfbayes.methods.problem import Prepared, Problem
from mrfbayes.methods.ratio.sources import auxiliary_data, ratio_view, require_exact_draws
from mrfbayes.model.field import Model
from mrfbayes.priors import Prior


@kernel(inline="always")
def ratio(view, random_state):
    """Log weight of a data set drawn at the proposal: at theta over that at the proposal. Nothing is estimated."""
    data, nodes = view.data, view.data.n_node_rows
    draw_particles(view.source, data.proposed[:nodes], data.proposed[nodes:], view.particles, random_state)
    return weigh_all(view.weigher, view.particles, data.step[:nodes], data.step[nodes:], view.log_weights), 0.0


def check(model: Model, prior: Prior) -> None:
    """Refuse fields that cannot be drawn exactly."""
    require_exact_draws(model, "exchange-exact")


def prepare(problem: Problem) -> Prepared:
    """One exact data set of the size of the data per proposal."""
    made = auxiliary_data(problem, "exchange-exact")
    return Prepared(ratio_view(problem, made, "exchange_exact"), is_ratio=True, details=made.details)
