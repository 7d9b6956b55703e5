"""What the sampling methods share: one view, so that the chain is compiled once for all of them.

Each method's own file has its formula, its kernel ``ratio(view, random_state)``, which gives the log of Z(theta) /
Z(proposal) for all observations and the variance of that estimate, and where it carries particles from step to step
``on_accept(view, accepted)``. They are found by the rows of the registry, and become branches of the one kernel that
stands here. (A view for each method would compile the samplers, which are large, again and again: tried, 13 to 15 s for
each method beyond the first where this takes 59 s for all of them together.)
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from types import ModuleType
from typing import NamedTuple, TypeVar

import numpy as np

from mrfbayes.base.types import View, Workspace
from mrfbayes.kernels.base.contracts import implements, log_ratio, on_accept
from mrfbayes.kernels.base.jit import kernel
from mrfbayes.kernels.base.linear import copy_into
from mrfbayes.methods.lowered import Lowered, lower_theta
from mrfbayes.methods.registry import REGISTRY

Result = TypeVar("Result")
RATIO_MODULES: dict[str, ModuleType] = {
    row.module.removeprefix("ratio."): importlib.import_module(f"mrfbayes.methods.{row.module}")
    for row in REGISTRY.values()
    if row.module.startswith("ratio.")
}
RATIO_NUMBERS = {name: number for number, name in enumerate(RATIO_MODULES)}  # `RatioView.method` of each


class RatioData(NamedTuple):
    """The data's side of a likelihood ratio, and the potentials at both ends of a step."""

    lowered: Lowered
    n: float
    n_node_rows: int
    current: Workspace  # potentials at theta
    proposed: Workspace  # potentials at the proposal
    step: Workspace  # their difference, current - proposed


class RatioView(NamedTuple):
    """Particles, where they come from, and what is done with them."""

    method: int  # of `RATIO_NUMBERS`
    variant: int  # of the method
    n_sweeps: int  # k
    n_levels: int
    data: RatioData
    source: View
    weigher: View
    estimate: np.ndarray  # potentials at the estimate, where the method needs them
    level: Workspace  # potentials
    particles: Workspace  # carried by `persistent`
    before: Workspace  # scratch of `persistent`
    log_weight: Workspace  # (2,) now and at the proposal; carried by `moller` and `mavm`; nan before the first step
    log_weights: Workspace  # of all particles
    log_weights_proposed: Workspace
    work: Workspace


def _branches(name: str, otherwise: Callable[..., Result]) -> Callable[..., Result]:
    """A kernel that runs the function called ``name`` of the method whose number stands in the view."""
    for method, module in reversed(RATIO_MODULES.items()):
        if hasattr(module, name):
            otherwise = _branch(RATIO_NUMBERS[method], getattr(module, name), otherwise)
    return otherwise


def _branch(number: int, mine: Callable[..., Result], otherwise: Callable[..., Result]) -> Callable[..., Result]:
    @kernel(inline="always")
    def branch(view, argument):
        if view.method == number:
            return mine(view, argument)
        return otherwise(view, argument)

    found: Callable[..., Result] = branch
    return found


@kernel
def _no_ratio(view, random_state):
    return 0.0, 0.0


@kernel
def _nothing_carried(view, accepted):
    return None


_RATIO: Callable[..., tuple[float, float]] = _branches("ratio", _no_ratio)
_ON_ACCEPT = _branches("on_accept", _nothing_carried)


@implements(log_ratio, RatioView)
@kernel
def ratio_log_ratio(view, theta, proposal, random_state):
    data = view.data
    linear = -lower_theta(data.lowered, theta)
    copy_into(data.current, data.lowered.potentials)
    linear += lower_theta(data.lowered, proposal)
    copy_into(data.proposed, data.lowered.potentials)
    for k in range(data.step.size):
        data.step[k] = data.current[k] - data.proposed[k]
    log_r, variance = _RATIO(view, random_state)
    return linear + log_r, variance


@implements(on_accept, RatioView)
@kernel
def ratio_on_accept(view, accepted):
    _ON_ACCEPT(view, accepted)
