r"""What the views of several methods hold: theta lowered to potentials, and recursions as kernels take them.

Data of which cells are missing have the likelihood of the rest, and sums over the missing cells:

.. math:: \log L(\theta) = \sum_j w_j s_j - n A(w) + \sum_c m_c A_c(w),

s of everything that is seen, c over the distinct components of missing nodes (`mrfbayes.exact.clamped`), m_c how often
each occurs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mrfbayes.base.types import View, Workspace
from mrfbayes.exact.clamped import Observed
from mrfbayes.kernels.base.contracts import implements, log_likelihood, log_likelihood_w
from mrfbayes.kernels.base.jit import kernel
from mrfbayes.kernels.base.linear import apply_map, copy_into, log_odds_into
from mrfbayes.kernels.exact.clamped import MissingComponents, clamped_log_z
from mrfbayes.kernels.exact.graph_binary import binary_tables
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
def lower_log_odds(lowered, log_odds):
    """Fill the potentials at w; returns the part of the log-likelihood that is linear in w."""
    apply_map(lowered.forward, log_odds, lowered.potentials)
    total = 0.0
    for j in range(log_odds.size):
        total += lowered.slope[j] * log_odds[j]
    return total


@kernel
def lower_theta(lowered, theta):
    """Fill the potentials at theta; returns the part of the log-likelihood that is linear in w."""
    log_odds_into(lowered.offset, theta, lowered.log_odds)
    return lower_log_odds(lowered, lowered.log_odds)


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


class MissingView(NamedTuple):
    """A view of the likelihood of what is seen, and the components of what is not."""

    seen: View
    lowered: Lowered
    components: MissingComponents
    table: Workspace
    scratch: Workspace
    is_binary: bool


@implements(log_likelihood, MissingView)
@kernel
def missing_log_likelihood(view, theta):
    total = log_likelihood(view.seen, theta)
    lower_theta(view.lowered, theta)
    return total + _missing_terms(view)


@implements(log_likelihood_w, MissingView)
@kernel
def missing_log_likelihood_w(view, log_odds, theta):
    total = log_likelihood_w(view.seen, log_odds, theta)
    lower_log_odds(view.lowered, log_odds)
    return total + _missing_terms(view)


@kernel
def _missing_terms(view):
    """Sums over the missing cells, at the potentials of ``view.lowered``."""
    if view.is_binary:
        field, coupling = node_and_edge(view.lowered, view.lowered.potentials)
        binary_tables(field, coupling, view.table)
    else:
        copy_into(view.table, view.lowered.potentials)
    return clamped_log_z(view.components, view.table, view.scratch)


def missing_view(seen: View, model: Model, data: Observed) -> MissingView | None:
    """The view with the missing cells of ``data``; None where some component of them is too large to be enumerated."""
    clamped = data.clamped
    assert clamped is not None
    if clamped.large:
        return None
    table, scratch = np.zeros(clamped.n_cells), np.zeros(2 * clamped.most)
    return MissingView(seen, lowered_data(model, data), clamped.components, table, scratch, model.lowering.binary)
