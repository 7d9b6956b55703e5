r"""The likelihood itself (Exact-L), log Z by recursion (Reeves & Pettitt 2004).

.. math:: \log L(\theta) = \sum_j w_j s_j - n A(w), \qquad w = \mathrm{logit}\,\theta

Differs from the paper: nothing in what is computed. On a grid the recursion goes node by node with 2^min(rows, columns)
states; on any other graph it follows an elimination order. The paper's own field needs no logarithm of odds: its
weights are theta and 1 - theta.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from mrfbayes.base.budget import budget
from mrfbayes.estimation.newton import ExactObjective
from mrfbayes.estimation.optimise import lbfgs
from mrfbayes.exact import quantities as exact
from mrfbayes.exact.choice import is_planar_alone
from mrfbayes.exact.graph import GraphRecursion
from mrfbayes.exact.grid import GridRecursion
from mrfbayes.exact.recursions import recursion
from mrfbayes.kernels.base.chart import log_odds_into
from mrfbayes.kernels.base.contracts import implements, log_likelihood
from mrfbayes.kernels.base.jit import kernel
from mrfbayes.kernels.base.linear import apply_map
from mrfbayes.kernels.exact.graph import elimination_log_z
from mrfbayes.kernels.exact.graph_binary import elimination_log_z_binary
from mrfbayes.kernels.exact.graph_plan import EliminationPlan, log_z_scratch
from mrfbayes.kernels.exact.grid import GridLayout, transfer_log_z, transfer_log_z_theta, transfer_scratch
from mrfbayes.methods.problem import Prepared, Problem, Smooth, writable
from mrfbayes.model.field import Model
from mrfbayes.model.lowering import LinearMap

DENSE_METRIC = 3_000  # parameters up to which the information is a full matrix: it takes a pass of the recursion each
METRIC_MODE_TOLERANCE = 1e-3  # posterior sds: a metric needs no more


class CoinGridView(NamedTuple):
    """The paper's field: one agreement coin an edge of a grid."""

    layout: GridLayout
    agreements: np.ndarray  # (p,) alpha_j
    n: float
    scratch: np.ndarray


class Lowered(NamedTuple):
    """How theta becomes potentials, and the data's side of the log-likelihood."""

    offset: np.ndarray  # (B+1,) of the chart
    forward: LinearMap
    slope: np.ndarray  # (p,) s - n * constant
    n: float
    log_odds: np.ndarray  # (p,) scratch
    potentials: np.ndarray  # (rows of M,) scratch
    n_node_rows: int


class FieldGridView(NamedTuple):
    """Any binary field on a grid."""

    layout: GridLayout
    lowered: Lowered
    scratch: np.ndarray


class FieldGraphView(NamedTuple):
    """Any binary field on any graph."""

    plan: EliminationPlan
    lowered: Lowered
    scratch: np.ndarray


class TableGraphView(NamedTuple):
    """Any field on any graph, as tables."""

    plan: EliminationPlan
    lowered: Lowered
    scratch: np.ndarray


@implements(log_likelihood, CoinGridView)
@kernel
def coin_grid_log_likelihood(view, theta):
    total = 0.0
    for j in range(theta.size):
        total += view.agreements[j] * math.log(theta[j]) + (view.n - view.agreements[j]) * math.log(1.0 - theta[j])
    return total - view.n * transfer_log_z_theta(view.layout, theta, view.scratch)


@kernel
def lower_theta(lowered, theta):
    """Fill the potentials at theta; returns the part of the log-likelihood that is linear in w."""
    log_odds_into(lowered.offset, theta, lowered.log_odds)
    apply_map(lowered.forward, lowered.log_odds, lowered.potentials)
    total = 0.0
    for j in range(theta.size):
        total += lowered.slope[j] * lowered.log_odds[j]
    return total


@implements(log_likelihood, FieldGridView)
@kernel
def field_grid_log_likelihood(view, theta):
    linear = lower_theta(view.lowered, theta)
    nodes = view.lowered.n_node_rows
    field, coupling = view.lowered.potentials[:nodes], view.lowered.potentials[nodes:]
    return linear - view.lowered.n * transfer_log_z(view.layout, field, coupling, view.scratch)


@implements(log_likelihood, FieldGraphView)
@kernel
def field_graph_log_likelihood(view, theta):
    linear = lower_theta(view.lowered, theta)
    nodes = view.lowered.n_node_rows
    field, coupling = view.lowered.potentials[:nodes], view.lowered.potentials[nodes:]
    return linear - view.lowered.n * elimination_log_z_binary(view.plan, field, coupling, view.scratch)


@implements(log_likelihood, TableGraphView)
@kernel
def table_graph_log_likelihood(view, theta):
    linear = lower_theta(view.lowered, theta)
    nodes = view.lowered.n_node_rows
    node_table, edge_table = view.lowered.potentials[:nodes], view.lowered.potentials[nodes:]
    return linear - view.lowered.n * elimination_log_z(view.plan, node_table, edge_table, view.scratch)


def lowered_data(problem: Problem) -> Lowered:
    """The parts of a view that every exact kernel shares."""
    lowering, statistics = problem.model.lowering, problem.statistics
    return Lowered(
        writable(problem.model.chart.offset, np.int64),
        LinearMap(*(writable(part, part.dtype) for part in lowering.forward)),
        writable(statistics.counts - statistics.n * lowering.constant),
        float(statistics.n),
        np.zeros(problem.model.n_parameters),
        np.zeros(lowering.n_rows),
        lowering.n_node_rows,
    )


def prepare(problem: Problem) -> Prepared:
    """The exact likelihood of any field whose partition function is feasible."""
    model, statistics = problem.model, problem.statistics
    has_derivatives = problem.prior.custom is None and model.n_parameters > 0
    if is_planar_alone(model) and has_derivatives:
        return Prepared(None, smooth=lambda: _smooth(problem), details={"recursion": "PlanarRecursion"})
    found = recursion(model)
    view: Any
    if isinstance(found, GridRecursion):
        layout = found.layout._replace(
            node=writable(found.layout.node, np.int64),
            along=writable(found.layout.along, np.int64),
            across=writable(found.layout.across, np.int64),
        )
        scratch = np.zeros(transfer_scratch(layout, "log_z"))
        if model.lowering.is_plain:
            view = CoinGridView(layout, writable(statistics.counts), float(statistics.n), scratch)
        else:
            view = FieldGridView(layout, lowered_data(problem), scratch)
    else:
        assert isinstance(found, GraphRecursion)
        scratch = np.zeros(log_z_scratch(found.plan))
        kind = FieldGraphView if model.is_binary else TableGraphView
        view = kind(writable_plan(found.plan), lowered_data(problem), scratch)
    details = {"recursion": type(found).__name__, "width": found.width}
    return Prepared(view, smooth=(lambda: _smooth(problem)) if has_derivatives else None, details=details)


@dataclass(frozen=True)
class ExactGradient:
    """The log-likelihood w.s - n A(w) and its gradient s - n E[s], by the recursion."""

    model: Model
    counts: np.ndarray
    n: float

    def __call__(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        log_z, mean = exact.moments_w(self.model, w)
        return float(self.counts @ w - self.n * log_z), self.counts - self.n * mean


def _smooth(problem: Problem) -> Smooth:
    """The mode by quasi-Newton ascent, and the information there."""
    model, statistics = problem.model, problem.statistics
    objective = ExactObjective(model, statistics, problem.prior)
    mode = lbfgs(objective, np.zeros(model.n_parameters), tolerance=METRIC_MODE_TOLERANCE).w
    budget().check("the posterior mode")  # one that was cut short would be another when the run goes on
    dense = model.n_parameters <= DENSE_METRIC
    information = objective.curvature(mode) if dense else objective.diagonal(mode)
    return Smooth(ExactGradient(model, statistics.counts, statistics.n), mode, information)


def writable_plan(plan: EliminationPlan) -> EliminationPlan:
    """The plan with arrays of the one kind that kernels are compiled for."""
    parts: list[Any] = [writable(part, part.dtype) if isinstance(part, np.ndarray) else part for part in plan]
    return EliminationPlan(*parts)
