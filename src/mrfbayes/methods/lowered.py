"""What the views of several methods hold: theta lowered to potentials, and recursions as kernels take them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mrfbayes.base.views import Workspace
from mrfbayes.exact.clamped import Observed
from mrfbayes.kernels.base.chart import log_odds_into
from mrfbayes.kernels.base.jit import kernel
from mrfbayes.kernels.base.linear import apply_map
from mrfbayes.kernels.exact.graph_plan import EliminationPlan
from mrfbayes.kernels.exact.grid import GridLayout
from mrfbayes.methods.problem import writable
from mrfbayes.model.field import Model
from mrfbayes.model.lowering import LinearMap


class Lowered(NamedTuple):
    """How theta becomes potentials, and the data's side of the log-likelihood."""

    offset: np.ndarray  # (B+1,) of the chart
    forward: LinearMap
    slope: np.ndarray  # (p,) s - n * constant
    n: float
    log_odds: Workspace  # (p,)
    potentials: Workspace  # (rows of M,)
    n_node_rows: int


@kernel
def lower_theta(lowered, theta):
    """Fill the potentials at theta; returns the part of the log-likelihood that is linear in w."""
    log_odds_into(lowered.offset, theta, lowered.log_odds)
    apply_map(lowered.forward, lowered.log_odds, lowered.potentials)
    total = 0.0
    for j in range(theta.size):
        total += lowered.slope[j] * lowered.log_odds[j]
    return total


@kernel
def lower_log_odds(lowered, log_odds):
    """Fill the potentials at w; returns the part of the log-likelihood that is linear in w."""
    apply_map(lowered.forward, log_odds, lowered.potentials)
    total = 0.0
    for j in range(log_odds.size):
        total += lowered.slope[j] * log_odds[j]
    return total


@kernel
def node_and_edge(lowered, values):
    """The parts of ``values``, one per row of M, that belong to nodes and to edges."""
    return values[: lowered.n_node_rows], values[lowered.n_node_rows :]


def lowered_data(model: Model, data: Observed) -> Lowered:
    """The parts of a view that every exact kernel shares."""
    lowering = model.lowering
    return Lowered(
        writable(model.chart.offset, np.int64),
        LinearMap(*(writable(part, part.dtype) for part in lowering.forward)),
        writable(data.counts - data.n * lowering.constant),
        float(data.n),
        np.zeros(model.n_parameters),
        np.zeros(lowering.n_rows),
        lowering.n_node_rows,
    )


def writable_plan(plan: EliminationPlan) -> EliminationPlan:
    """The plan with arrays of the one kind that kernels are compiled for."""
    return EliminationPlan._make(writable(part, part.dtype) if isinstance(part, np.ndarray) else part for part in plan)


def writable_layout(layout: GridLayout) -> GridLayout:
    """The layout of a grid with arrays of the one kind that kernels are compiled for."""
    return layout._replace(
        node=writable(layout.node, np.int64),
        along=writable(layout.along, np.int64),
        across=writable(layout.across, np.int64),
    )
