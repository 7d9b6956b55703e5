r"""The likelihood itself (Exact-L), log Z by recursion (Reeves & Pettitt 2004).

.. math:: \log L(\theta) = \sum_j w_j s_j - n A(w), \qquad w = \mathrm{logit}\,\theta

Differs from the paper: nothing in what is computed. The recursion follows an elimination order, on a grid with tables
of at most 2^min(rows, columns) states; on planar graphs without node factors, where that is faster
or alone possible, it is the determinant of `mrfbayes.exact.planar`. Rows with missing cells, which the paper does not
have, enter by their sums over those cells (`mrfbayes.methods.lowered`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mrfbayes.base.budget import budget
from mrfbayes.base.types import View, Workspace
from mrfbayes.estimation.newton import ExactObjective
from mrfbayes.estimation.optimise import lbfgs
from mrfbayes.exact import quantities as exact
from mrfbayes.exact.choice import planar, recursion, weighs_by_planar
from mrfbayes.exact.clamped import Observed, observed
from mrfbayes.exact.planar import PlanarRecursion
from mrfbayes.exact.recursions import GraphRecursion, GridRecursion
from mrfbayes.kernels.base.contracts import implements, log_likelihood, log_likelihood_w
from mrfbayes.kernels.base.jit import kernel
from mrfbayes.kernels.exact.graph import elimination_log_z
from mrfbayes.kernels.exact.graph_binary import elimination_log_z_binary
from mrfbayes.kernels.exact.graph_plan import EliminationPlan, log_z_scratch
from mrfbayes.kernels.exact.planar_inside import PlanarPlan, planar_log_z
from mrfbayes.methods.covariates import check_exact, prepare_exact
from mrfbayes.methods.lowered import (
    Lowered,
    lower_log_odds,
    lower_theta,
    lowered_data,
    missing_view,
    node_and_edge,
    writable_plan,
)
from mrfbayes.methods.problem import Prepared, Problem, Smooth
from mrfbayes.model.covariates import CovariateModel
from mrfbayes.model.field import Model
from mrfbayes.priors import Prior

DENSE_METRIC = 3_000  # parameters up to which the information is a full matrix: it takes a pass of the recursion each
METRIC_MODE_TOLERANCE = 1e-3  # posterior sds: a metric needs no more


class FieldGraphView(NamedTuple):
    """Any binary field on any graph."""

    plan: EliminationPlan
    lowered: Lowered
    scratch: Workspace


class TableGraphView(NamedTuple):
    """Any field on any graph, as tables."""

    plan: EliminationPlan
    lowered: Lowered
    scratch: Workspace


class PlanarView(NamedTuple):
    """A binary field that is planar with its node factors."""

    plan: PlanarPlan
    lowered: Lowered


@kernel
def field_graph_log_z(view):
    field, coupling = node_and_edge(view.lowered, view.lowered.potentials)
    return elimination_log_z_binary(view.plan, field, coupling, view.scratch)


@kernel
def table_graph_log_z(view):
    node_table, edge_table = node_and_edge(view.lowered, view.lowered.potentials)
    return elimination_log_z(view.plan, node_table, edge_table, view.scratch)


@kernel
def planar_graph_log_z(view):
    field, coupling = node_and_edge(view.lowered, view.lowered.potentials)
    return planar_log_z(view.plan, field, coupling)


def _implement(kind: type, log_z: Callable[..., float]) -> None:
    """The likelihood of a kind of view, of theta and of log-odds, by the log Z at its potentials."""

    @implements(log_likelihood, kind)
    @kernel
    def of_theta(view, theta):
        linear = lower_theta(view.lowered, theta)
        return linear - view.lowered.n * log_z(view)

    @implements(log_likelihood_w, kind)
    @kernel
    def of_log_odds(view, log_odds, theta):
        linear = lower_log_odds(view.lowered, log_odds)
        return linear - view.lowered.n * log_z(view)


_implement(FieldGraphView, field_graph_log_z)
_implement(TableGraphView, table_graph_log_z)
_implement(PlanarView, planar_graph_log_z)


def check(model: Model, prior: Prior) -> None:
    """Refuse fields whose partition function is out of reach."""
    if isinstance(model, CovariateModel):
        check_exact(model)
    elif not weighs_by_planar(model):
        recursion(model)


def prepare(problem: Problem) -> Prepared:
    """The exact likelihood of any field whose partition function is feasible."""
    model = problem.model
    if isinstance(model, CovariateModel):
        return prepare_exact(problem)
    data = observed(problem.statistics)
    has_derivatives = problem.prior.custom is None and model.n_parameters > 0
    found = (planar(model) if weighs_by_planar(model) else None) or recursion(model)
    view: View
    if isinstance(found, PlanarRecursion):
        view = PlanarView(found.plan(), lowered_data(model, data))
    else:
        tables = found.as_graph if isinstance(found, GridRecursion) else found
        assert isinstance(tables, GraphRecursion)
        scratch = np.zeros(log_z_scratch(tables.plan))
        kind = FieldGraphView if model.is_binary else TableGraphView
        view = kind(writable_plan(tables.plan), lowered_data(model, data), scratch)
    details = {"recursion": type(found).__name__, "width": found.width}
    whole = view if data.clamped is None else missing_view(view, model, data)
    return Prepared(
        whole,
        gradient=ExactGradient(model, data) if model.n_parameters else None,
        smooth=(lambda: _smooth(problem)) if has_derivatives else None,
        details=details,
    )


@dataclass(frozen=True)
class ExactGradient:
    """The log-likelihood w.s - n A(w) and its gradient s - n E[s], by the recursion; and sums over missing cells."""

    model: Model
    observed: Observed

    def __call__(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        return self.observed.value_gradient(w, *exact.moments_w(self.model, w))


def _smooth(problem: Problem) -> Smooth:
    """The mode by quasi-Newton ascent, and the information there."""
    model, statistics = problem.model, problem.statistics
    objective = ExactObjective(model, statistics, problem.prior)
    mode = lbfgs(objective, objective.start(), tolerance=METRIC_MODE_TOLERANCE).w
    budget().check("the posterior mode")  # one that was cut short would be another when the run goes on
    dense = model.n_parameters <= DENSE_METRIC
    information = objective.curvature(mode) if dense else objective.diagonal(mode)
    return Smooth(ExactGradient(model, observed(statistics)), mode, information)
