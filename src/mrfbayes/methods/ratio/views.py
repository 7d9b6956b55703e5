"""What the sampling methods share: one view, so that the chain is compiled once for all of them.

Each method's own file has its formula, its kernel, its number and its preparation; the kernels are inlined into the one
that stands here. (A view for each method would compile the samplers, which are large, again and again: tried, 13 to
15 s for each method beyond the first where this takes 59 s for all of them together. A method that needs a view of its
own may have one, as CONTRIBUTING.md says; it is then one file and one row, and compiles by itself.)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mrfbayes.base.views import View
from mrfbayes.kernels.base.contracts import implements, log_ratio, settle
from mrfbayes.kernels.base.jit import kernel
from mrfbayes.kernels.methods.ratio import RatioData, lower_step
from mrfbayes.methods.ratio.auxiliary import AUXILIARY, auxiliary_ratio
from mrfbayes.methods.ratio.exchange import EXCHANGE, exchange_ratio
from mrfbayes.methods.ratio.exchange_exact import EXCHANGE_EXACT, exchange_exact_ratio
from mrfbayes.methods.ratio.importance import IMPORTANCE, importance_ratio
from mrfbayes.methods.ratio.mavm import MAVM, mavm_ratio, mavm_settle
from mrfbayes.methods.ratio.persistent import PERSISTENT, persistent_ratio, persistent_settle


class RatioView(NamedTuple):
    """Particles, where they come from, and what is done with them."""

    method: int  # the number in the method's file
    variant: int  # of the method
    n_sweeps: int  # k
    n_levels: int
    data: RatioData
    source: View
    weigher: View
    estimate: np.ndarray  # potentials at the estimate, where the method needs them
    level: np.ndarray  # potentials; scratch
    particles: np.ndarray  # carried by `persistent`
    before: np.ndarray  # scratch of `persistent`
    log_weight: np.ndarray  # (2,) now and at the proposal; carried by `moller` and `mavm`; nan before the first step
    log_weights: np.ndarray  # of all particles; scratch
    log_weights_proposed: np.ndarray  # scratch
    work: np.ndarray  # scratch


@implements(log_ratio, RatioView)
@kernel
def ratio_log_ratio(view, theta, proposal, random_state):
    linear = lower_step(view.data, theta, proposal)
    log_r, variance = 0.0, 0.0  # of Z(theta) / Z(proposal): for n observations, or for one
    if view.method == EXCHANGE:
        log_r, variance = exchange_ratio(view, random_state)
    elif view.method == IMPORTANCE:
        log_r, variance = importance_ratio(view, random_state)
    elif view.method == AUXILIARY:
        log_r, variance = auxiliary_ratio(view, random_state)
    elif view.method == PERSISTENT:
        log_r, variance = persistent_ratio(view, random_state)
    elif view.method == EXCHANGE_EXACT:
        return linear + exchange_exact_ratio(view, random_state), 0.0
    elif view.method == MAVM:
        return linear + mavm_ratio(view, random_state), 0.0
    return linear + view.data.n * log_r, view.data.n * view.data.n * variance


@implements(settle, RatioView)
@kernel
def ratio_settle(view, accepted):
    if view.method == PERSISTENT:
        persistent_settle(view, accepted)
    elif view.method == MAVM:
        mavm_settle(view, accepted)
