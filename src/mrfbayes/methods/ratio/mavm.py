r"""Several auxiliary variables (MAVM; Murray, Ghahramani & MacKay 2006): the method of Moller et al., annealed.

Between theta* and the fixed estimate stand K fields, evenly spaced in log-odds. A proposal's data set Y_0 is drawn at
theta*, Y_k is Y_(k-1) moved by Gibbs sweeps under field k, and

.. math:: \log W^* = \sum_{k=0}^{K} \log \frac{\tilde P_{k+1}(Y_k)}{\tilde P_k(Y_k)}, \qquad
          P_0 = P(\cdot; \theta^*),\ P_{K+1} = P(\cdot; \hat\theta)

takes the place of the one ratio of `moller` (K = 0), with less noise. Only log W has to be kept. The target is exact:
the law of the Y given theta starts at the estimate and moves back by the reversed sweeps.

Differs from the paper: it is not in its comparison.
"""

from __future__ import annotations

import math

import numpy as np

from mrfbayes.base.checks import whole
from mrfbayes.kernels.base.jit import kernel
from mrfbayes.kernels.base.linear import copy_into
from mrfbayes.kernels.methods.ratio import weigh_all
from mrfbayes.kernels.methods.ratio_sources import draw_particles, sweep_particles
from mrfbayes.methods.problem import Prepared, Problem
from mrfbayes.methods.ratio.sources import auxiliary_data, ratio_view, require_exact_draws
from mrfbayes.model.field import Model
from mrfbayes.priors import Prior

NOW, NEXT = range(2)


@kernel(inline="always")
def ratio(view, random_state):
    """Log W of a data set drawn at the proposal, less that of the current one. Nothing is estimated."""
    data, nodes, level = view.data, view.data.n_node_rows, view.level
    first = NOW if math.isnan(view.log_weight[NOW]) else NEXT  # a chain starts with a data set at its start
    for which in range(first, NEXT + 1):
        copy_into(level, data.current if which == NOW else data.proposed)
        draw_particles(view.source, level[:nodes], level[nodes:], view.particles, random_state)
        for i in range(level.size):
            data.step[i] = (view.estimate[i] - level[i]) / (view.n_levels + 1.0)
        total = weigh_all(view.weigher, view.particles, data.step[:nodes], data.step[nodes:], view.log_weights)
        for _ in range(view.n_levels):
            for i in range(level.size):
                level[i] += data.step[i]
            sweep_particles(view.source, level[:nodes], level[nodes:], view.particles, view.n_sweeps, random_state)
            total += weigh_all(view.weigher, view.particles, data.step[:nodes], data.step[nodes:], view.log_weights)
        view.log_weight[which] = total
    return view.log_weight[NEXT] - view.log_weight[NOW], 0.0


@kernel
def on_accept(view, accepted):
    """Keep the weight of what was accepted."""
    if accepted:
        view.log_weight[NOW] = view.log_weight[NEXT]


def check_annealed(model: Model, method: str, levels: int, k: int) -> None:
    """Refuse options of `mavm` and `moller` that cannot be, and fields that cannot be drawn exactly."""
    whole("levels", levels, 0)
    whole("k", k)
    require_exact_draws(model, method)


def annealed(problem: Problem, method: str, levels: int, k: int) -> Prepared:
    """The preparation of `mavm` and `moller`."""
    made = auxiliary_data(problem, method)
    view = ratio_view(problem, made, "mavm", n_sweeps=k, n_levels=levels, log_odds=problem.estimate.log_odds)

    def carry(seed: np.random.SeedSequence, theta: np.ndarray) -> dict[str, np.ndarray]:
        return {"log_weight": np.full(2, np.nan)}

    details = {**made.details, "levels": levels, "k": k}
    unused = {} if levels else {"k": "there are no levels between proposal and estimate"}
    return Prepared(view, is_ratio=True, keeps_noise=True, carry=carry, unused=unused, details=details)


def check(model: Model, prior: Prior, *, levels: int, k: int) -> None:
    """Refuse options that cannot be, and fields that cannot be drawn exactly."""
    check_annealed(model, "mavm", levels, k)


def prepare(problem: Problem, *, levels: int = 10, k: int = 1) -> Prepared:
    """``levels`` fields between proposal and estimate, ``k`` sweeps at each."""
    return annealed(problem, "mavm", levels, k)
