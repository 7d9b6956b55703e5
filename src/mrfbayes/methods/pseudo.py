r"""Pseudolikelihood (Pseudo-L; Besag 1975): the product of all full conditionals.

.. math:: \log L(\theta) = \sum_t \sum_i \log P(x^t_i \mid x^t_{-i}; \theta)
          = \sum_j b_j w_j - \sum_i \sum_c n_{ic} \log \sum_a \exp h_{ic}(a)

with b linear in the data, c running over the distinct states of node i's neighbours, n_ic how often they occur, and
h_ic(a) the log potential of state a among them.

Differs from the paper: the same function, but its cost does not grow with n, because equal neighbourhoods are counted
once.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from mrfbayes.base.budget import OutOfTime, budget
from mrfbayes.base.types import View, Workspace
from mrfbayes.estimation.optimise import lbfgs, newton
from mrfbayes.estimation.pseudolikelihood import PseudoObjective, sd_ratio
from mrfbayes.exact.clamped import observed
from mrfbayes.kernels.base.contracts import implements, log_likelihood, log_likelihood_gradient, log_likelihood_w
from mrfbayes.kernels.base.jit import kernel
from mrfbayes.kernels.base.linear import apply_transpose
from mrfbayes.kernels.estimation.full_conditionals import Neighbours, ScorePatterns, TablePatterns, conditional_sum
from mrfbayes.methods.covariates import prepare_pseudo
from mrfbayes.methods.lowered import Lowered, lower_log_odds, lower_theta, lowered_data, node_and_edge
from mrfbayes.methods.problem import Prepared, Problem, Smooth, writable
from mrfbayes.model.covariates import CovariateModel

PSEUDO_DENSE_METRIC = 12_000  # parameters up to which the information is a full matrix
QUASI_STEPS = 100
PSEUDO_MODE_TOLERANCE, NEWTON_TOLERANCE = 1e-2, 0.1  # posterior sds, of one parameter and in all: it is a metric
TOO_SURE = (
    "pseudolikelihood counts every observation once per variable, as if it were new each time, so its sds are too small"
)


class PseudoView(NamedTuple):
    """Full conditionals, and how theta becomes their potentials."""

    lowered: Lowered
    neighbours: Neighbours
    patterns: ScorePatterns | TablePatterns
    parts: Workspace  # (rows of M,) derivatives of the sum


@implements(log_likelihood, PseudoView)
@kernel
def pseudo_log_likelihood(view, theta):
    return lower_theta(view.lowered, theta) - _sum(view)


@implements(log_likelihood_w, PseudoView)
@kernel
def pseudo_log_likelihood_w(view, log_odds, theta):
    return lower_log_odds(view.lowered, log_odds) - _sum(view)


@implements(log_likelihood_gradient, PseudoView)
@kernel
def pseudo_gradient(view, log_odds, gradient):
    linear = lower_log_odds(view.lowered, log_odds)
    normalisers = _sum(view)
    gradient[:] = 0.0
    apply_transpose(view.lowered.forward, view.parts, gradient)
    for j in range(log_odds.size):  # b - M'T
        gradient[j] = view.lowered.slope[j] - gradient[j]
    return linear - normalisers


@kernel
def _sum(view):
    """Sum of the log normalisers at the potentials of ``view.lowered``; collects its derivatives."""
    view.parts[:] = 0.0
    nodes, edges = node_and_edge(view.lowered, view.lowered.potentials)
    node_part, edge_part = node_and_edge(view.lowered, view.parts)
    return conditional_sum(view.patterns, view.neighbours, nodes, edges, node_part, edge_part)


def prepare(problem: Problem) -> Prepared:
    """Pseudolikelihood of any field."""
    if isinstance(problem.model, CovariateModel):
        return prepare_pseudo(problem)
    objective = PseudoObjective(problem.model, problem.statistics, problem.prior)
    lowered = lowered_data(problem.model, observed(problem.statistics))._replace(slope=writable(objective.slope))
    view = PseudoView(lowered, objective.neighbours, objective.patterns, np.zeros(lowered.potentials.size))
    found = Prepared(
        view,
        gradient=view,
        details={"patterns": int(objective.patterns.weight.size), "is_narrow": True},
        notes=(f"{TOO_SURE}.",),
    )
    if problem.prior.custom is not None or not problem.model.n_parameters:  # a prior without derivatives
        return found
    try:
        smooth = _smooth(objective, view)
    except OutOfTime:  # a random walk can do without
        return replace(found, smooth=lambda: _smooth(objective, view))
    found = replace(found, smooth=lambda: smooth)
    ratio = sd_ratio(problem.model, problem.statistics, problem.prior, smooth.mode, smooth.information)
    if ratio is None:
        return found
    low, middle, high = np.quantile(ratio, [0.05, 0.5, 0.95])
    note = (
        f"{TOO_SURE}: here about {middle:.2f} of those that its estimates have (median; {low:.2f} to {high:.2f} for "
        "nine parameters in ten, Godambe's sandwich)."
    )
    return replace(found, details={**found.details, "sd_ratio": float(middle)}, notes=(note,))


def _smooth(objective: PseudoObjective, view: View) -> Smooth:
    """The mode, and the information there: by quasi-Newton steps, then Newton's, which need a matrix each."""
    p = objective.model.n_parameters
    ascent = lbfgs(objective, np.zeros(p), max_iterations=QUASI_STEPS, tolerance=PSEUDO_MODE_TOLERANCE)
    budget().check("the mode of the pseudolikelihood")  # one that was cut short would be another when the run goes on
    if p > PSEUDO_DENSE_METRIC:
        return Smooth(view, ascent.w, objective.diagonal(ascent.w))
    if not ascent.converged:
        ascent = newton(objective, ascent.w, tolerance=NEWTON_TOLERANCE)
        budget().check("the mode of the pseudolikelihood")
    return Smooth(view, ascent.w, objective.curvature(ascent.w))
