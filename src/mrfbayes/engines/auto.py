"""Which method is chosen where the user leaves it open."""

from __future__ import annotations

from mrfbayes.engines.metropolis import DENSE_LIMIT
from mrfbayes.estimation.dense_mode import is_dense
from mrfbayes.exact.choice import is_feasible, is_planar_alone, planar_size, recursion, weighs_by_planar
from mrfbayes.exact.contract import TooLarge
from mrfbayes.exact.cost import describe_seconds
from mrfbayes.methods.covariates import ExactRows
from mrfbayes.methods.langevin.covariates import walk_seconds
from mrfbayes.model.covariates import CovariateModel
from mrfbayes.model.field import Model

AUTO_PROPOSALS, AUTO_EXACT_SECONDS = 25_000, 10.0  # "auto" is exact where that many evaluations take no longer
AUTO_COVARIATE_SECONDS = 60.0
AUTO_GRADIENTS = 20_000  # that trajectories take on dense fields, whose calibrated proposals mostly fit badly


def choose_method(model: Model) -> tuple[str, str]:
    """The method that "auto" stands for, and why."""
    if isinstance(model, CovariateModel):
        return _with_covariates(model)
    other = "langevin" if is_dense(model) else "calibrated"
    if not is_feasible(model):
        if is_planar_alone(model):
            return "calibrated", "calibrated: the field is large; method='exact' is possible, for it is planar"
        return other, f"{other}: the partition function is out of reach (its tables would not fit)"
    width = recursion(model).width
    if is_dense(model):
        seconds = recursion(model).seconds("moments", AUTO_GRADIENTS)
    elif model.n_parameters <= DENSE_LIMIT and weighs_by_planar(model):
        size = planar_size(model)
        assert size is not None
        seconds = size.seconds("log_z", AUTO_PROPOSALS)
    else:
        seconds = recursion(model).seconds("log_z", AUTO_PROPOSALS)
    if seconds > AUTO_EXACT_SECONDS:
        return other, f"{other}: exact would take about {describe_seconds(seconds)} (treewidth {width})"
    return "exact", f"exact: the partition function is cheap here (treewidth {width})"


def _with_covariates(model: CovariateModel) -> tuple[str, str]:
    """As `choose_method`, by the number of distinct fields that the covariates make."""
    try:
        seconds = AUTO_GRADIENTS * ExactRows.seconds(model)
        if seconds < AUTO_COVARIATE_SECONDS:
            return "exact", f"exact: the partition functions of {model.n_designs} fields are cheap here"
        why = f"exact would take about {describe_seconds(seconds)} with {model.n_designs} fields"
    except TooLarge:
        why = "the partition function is out of reach"
    method = "langevin" if walk_seconds(model.base, model.n_designs) < AUTO_COVARIATE_SECONDS else "pseudo"
    return method, f"{method}: {why}"
