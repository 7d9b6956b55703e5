"""The registry: one row per method. Tests, command line, comparison and reproduction follow from the rows."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mrfbayes.base.checks import one_of
from mrfbayes.base.errors import InputError
from mrfbayes.model.covariates import CovariateModel

if TYPE_CHECKING:
    from mrfbayes.methods.cost import MethodCosts, Seconds
    from mrfbayes.methods.problem import Prepared, Problem
    from mrfbayes.model.field import Model
    from mrfbayes.priors import Prior


@dataclass(frozen=True)
class Row:
    """A method: its key, the paper's label, whether its target is the exact posterior, and where its code is.

    The module has ``prepare(problem, **options) -> mrfbayes.methods.problem.Prepared`` and may have
    ``check(model, prior, **options)``, which refuses what can be refused without the data. ``offers`` are its
    capabilities, of which engines need one each: "density" (a log-likelihood), "gradient" (and its derivatives),
    "calibration" (a density to which calibrated proposals can be corrected), "draws" (independent ones), "noisy
    gradient" (replicas that walk), "ratio" (estimates of likelihood ratios).
    ``takes_holes`` says whether it has a likelihood for rows with missing cells, ``takes_covariates`` whether it has
    one for fields with covariates. ``cost`` makes the seconds of its preparation and of 1,000 steps.
    """

    key: str
    label: str
    summary: str
    module: str
    cost: Callable[[MethodCosts], Seconds]
    offers: tuple[str, ...] = ("density",)
    target: str = "approximate"
    takes_holes: bool = False
    takes_covariates: bool = False

    def __reduce__(self) -> tuple[Callable[[str], Row], tuple[str]]:
        return method_row, (self.key,)

    @property
    def function(self) -> Callable[..., Prepared]:
        """The ``prepare`` of the method's module."""
        found: Callable[..., Prepared] = importlib.import_module(f"mrfbayes.methods.{self.module}").prepare
        return found

    def prepare(self, problem: Problem, **options: object) -> Prepared:
        """The method's own preparation; refused where it has no likelihood for the missing cells of the data."""
        check_options(self, problem.model, problem.prior, options)
        if problem.statistics.incomplete is not None and not self.takes_holes:
            able = ", ".join(repr(key) for key, row in REGISTRY.items() if row.takes_holes)
            raise InputError(
                f"method = {self.key!r} has no likelihood for rows with missing cells: use one of {able}, or "
                "missing='drop'."
            )
        return self.function(problem, **options)

    @property
    def options(self) -> Mapping[str, object]:
        """Names and defaults of the method's options."""
        parameters = inspect.signature(self.function).parameters.values()
        return {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}


def _ratio(
    key: str, label: str, summary: str, seconds: Callable[[MethodCosts], float], target: str = "approximate"
) -> Row:
    """A method that estimates ratios; ``seconds`` of a step."""
    module = f"ratio.{key.replace('-', '_')}"
    return Row(key, label, summary, module, lambda c: c.steps(seconds(c)), ("ratio",), target)


METHOD_ROWS = (
    Row(
        "exact",
        "Exact-L",
        "the likelihood itself, log Z by recursion",
        "exact",
        lambda c: c.exact,
        ("density", "gradient", "calibration"),
        "exact",
        takes_holes=True,
        takes_covariates=True,
    ),
    Row(
        "calibrated",
        "Calibrated",
        "calibrated coins: location, sd and skewness",
        "calibrated",
        lambda c: c.calibrated,
        ("draws",),
        takes_holes=True,
    ),
    Row(
        "langevin",
        "Langevin",
        "the true likelihood of dense fields, gradients from persistent Gibbs chains",
        "langevin.langevin",
        lambda c: c.langevin,
        ("noisy gradient",),
        takes_holes=True,
        takes_covariates=True,
    ),
    Row(
        "mle",
        "MLE-L",
        "MLE-induced likelihood: a coin per factor, joined by a copula",
        "mle.mle",
        lambda c: c.steps(20e-9 * c.p),
        ("density", "draws"),
    ),
    Row(
        "pseudo",
        "Pseudo-L",
        "pseudolikelihood: the product of all full conditionals",
        "pseudo",
        lambda c: c.pseudo,
        ("density", "gradient"),
        takes_covariates=True,
    ),
    Row(
        "laplace",
        "Laplace-L",
        "a quadratic log-likelihood at the estimate",
        "laplace.laplace",
        lambda c: c.steps(13e-9 * c.p + 5e-11 * c.p**2),
    ),
    _ratio("importance", "IS-Geometric", "ratios by importance sampling at both ends", lambda c: 2 * c.draws + c.ratio),
    _ratio(
        "auxiliary", "AuxVar", "ratios by way of a fixed estimate, both ends sampled", lambda c: 2 * c.draws + c.ratio
    ),
    _ratio("exchange", "Exch", "ratios averaged over particles of the proposal", lambda c: c.draws + c.ratio),
    _ratio("persistent", "PersistMC", "ratios averaged over persisting particles", lambda c: c.sweep + c.ratio),
    _ratio(
        "exchange-exact", "Murray et al.", "one auxiliary data set per proposal", lambda c: c.draws + c.ratio, "exact"
    ),
    _ratio(
        "moller", "Moller et al.", "a chain augmented by one auxiliary data set", lambda c: c.draws + c.ratio, "exact"
    ),
    _ratio(
        "mavm",
        "MAVM",
        "auxiliary data sets annealed between proposal and estimate",
        lambda c: c.draws + 10 * (c.sweep + c.ratio) + c.ratio,  # of ten levels
        "exact",
    ),
)
REGISTRY: dict[str, Row] = {row.key: row for row in METHOD_ROWS}


def method_row(key: str) -> Row:
    """The row called ``key``."""
    one_of("method", key, REGISTRY)
    return REGISTRY[key]


def check_options(row: Row, model: Model, prior: Prior, options: Mapping[str, object]) -> None:
    """Refuse options that the method does not have, bad values, and fields that it cannot do, before the data."""
    if isinstance(model, CovariateModel) and not row.takes_covariates:
        able = ", ".join(repr(key) for key, other in REGISTRY.items() if other.takes_covariates)
        raise InputError(f"method = {row.key!r} has no likelihood for fields with covariates: use one of {able}.")
    for name in options:
        if name not in row.options:
            known = ", ".join(row.options) or "none"
            raise InputError(f"method {row.key!r} has no option {name!r}; its options: {known}.")
    check = getattr(importlib.import_module(f"mrfbayes.methods.{row.module}"), "check", None)
    if check is not None:
        check(model, prior, **{**row.options, **options})
