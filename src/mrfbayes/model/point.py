"""An estimate of the parameters, as the packages that start from one need it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np

from mrfbayes.base.errors import InputError

if TYPE_CHECKING:
    from mrfbayes.base.types import ThetaLike
    from mrfbayes.model.field import Model
    from mrfbayes.priors import Prior


@dataclass(frozen=True)
class PointEstimate:
    """A maximum likelihood estimate, or a posterior mode in log-odds, as methods need it.

    Attributes
    ----------
    theta : (p,) ndarray
        Parameters.
    log_odds : (p,) ndarray
        The same as log-odds.
    prior : Prior or None
        The prior under which it is the mode; None for a maximum likelihood estimate.
    boundary : tuple of str
        Names of the factors that have no finite, unique maximum likelihood estimate.
    warnings : tuple of str
        Warnings for the reader of the result.
    """

    theta: np.ndarray
    log_odds: np.ndarray
    prior: Prior | None
    boundary: tuple[str, ...]
    warnings: tuple[str, ...]

    @property
    def penalised(self) -> bool:
        """Whether a prior was included, as asked for, or because the maximum likelihood estimate is not finite."""
        return self.prior is not None


def as_estimate(model: Model, given: object) -> PointEstimate:
    """An estimate as a user gives it: from `mrfbayes.estimate`, theta (p,) itself, or an object with ``theta``.

    Theta by itself is taken for a maximum likelihood estimate.
    """
    if isinstance(given, PointEstimate):
        if given.theta.shape != (model.n_parameters,):
            raise InputError(
                f"estimate: it has {given.theta.size} parameters and the model {model.n_parameters}: estimate again "
                "with this model."
            )
        return given
    if isinstance(given, (str, bytes, Mapping)) or callable(given):
        raise InputError(
            f"estimate = {given!r}: give what mrfbayes.estimate returns, or theta, an array of {model.n_parameters} "
            "weights."
        )
    theta = model.theta(cast("ThetaLike", getattr(given, "theta", given)), "estimate")
    prior = getattr(given, "prior", None)
    if prior is None and getattr(given, "penalised", False):
        raise InputError("estimate: it is penalised, but has no prior: methods need to know by which one.")
    log_odds = np.asarray(getattr(given, "log_odds", model.chart.log_odds(theta)), dtype=float)
    boundary, warnings = (tuple(getattr(given, name, ())) for name in ("boundary", "warnings"))
    return PointEstimate(theta, log_odds, prior, boundary, warnings)
