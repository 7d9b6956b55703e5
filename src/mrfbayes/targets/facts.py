"""What a run found out about itself and other code relies on, with a type for each fact.

Results keep these facts among their ``details``, which are saved and printed; code that needs one of them asks here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

import numpy as np

from mrfbayes.base.errors import InputError


@dataclass(frozen=True)
class RunFacts:
    """Facts of a run; what a run did not find out is None.

    Attributes
    ----------
    auto : why ``method="auto"`` chose the method that it chose
    trust : how far means and sds can be trusted, in words
    trust_mean, trust_sd : bounds behind ``trust``, in posterior sds and relative to the sds
    mean_error, sd_error : Monte-Carlo errors of means (in posterior sds) and sds (relative), root mean square
    pareto_k : of the importance weights; below 0.7 they can be trusted
    proposals, effective_proposals, efficiency : how many proposals were weighed, and what they are worth
    noise : sd of the estimated log-likelihood ratios
    gradients_per_step : gradients that a trajectory of Hamiltonian Monte Carlo took on average
    resumed_steps : steps that came from a checkpoint
    stopped_by : "Ctrl-C", "time budget", or an empty text
    missing : how many rows have missing cells, and what was assumed of them
    moments : where those of a calibrated posterior came from: "exact", "particles", "langevin", "windows" or "local"
    missing_information : (p,) share of the information on each parameter that missing cells took away
    spread_ratio : spreads of the pseudolikelihood relative to those that its estimates have, the median parameter's
    rho, marginal : the copula's correlation, where it is one number, and the form of MLE-L's marginals
    """

    auto: str | None = None
    trust: str | None = None
    trust_mean: float | None = None
    trust_sd: float | None = None
    mean_error: float | None = None
    sd_error: float | None = None
    pareto_k: float | None = None
    proposals: int | None = None
    effective_proposals: float | None = None
    efficiency: float | None = None
    noise: float | None = None
    gradients_per_step: float | None = None
    resumed_steps: int | None = None
    stopped_by: str | None = None
    moments: str | None = None
    missing_information: tuple[float, ...] | None = None
    missing: str | None = None
    spread_ratio: float | None = None
    rho: float | None = None
    marginal: str | None = None

    @classmethod
    def of(cls, details: Mapping[str, object]) -> RunFacts:
        """The facts among the ``details`` of a result, also of one that was saved before there were all of them."""
        return cls(
            auto=_text(details, "auto"),
            trust=_text(details, "trust"),
            trust_mean=_number(details, "trust_mean"),
            trust_sd=_number(details, "trust_sd"),
            mean_error=_number(details, "mean_error"),
            sd_error=_number(details, "sd_error"),
            pareto_k=_number(details, "pareto_k"),
            proposals=_whole(details, "proposals"),
            effective_proposals=_number(details, "effective_proposals"),
            efficiency=_number(details, "efficiency"),
            noise=_number(details, "noise"),
            gradients_per_step=_number(details, "gradients_per_step"),
            resumed_steps=_whole(details, "resumed_steps"),
            stopped_by=_text(details, "stopped_by"),
            moments=_text(details, "moments"),
            missing_information=_numbers(details, ("missing_information", "proposal_missing_information")),
            missing=_text(details, "missing"),
            spread_ratio=_number(details, "spread_ratio"),
            rho=None if details.get("rho") == "matrix" else _number(details, "rho"),
            marginal=_text(details, "marginal"),
        )

    @property
    def details(self) -> dict[str, object]:
        """The facts that were found out, as a result keeps them."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in values.items() if value is not None}


def _text(details: Mapping[str, object], name: str) -> str | None:
    value = details.get(name)
    if value is None or isinstance(value, str):
        return value
    raise InputError(f"details[{name!r}] = {value!r}: this fact is a text.")


def _number(details: Mapping[str, object], name: str) -> float | None:
    value = details.get(name)
    if value is None:
        return None
    if isinstance(value, (int, float, np.integer, np.floating)):
        return float(value)
    raise InputError(f"details[{name!r}] = {value!r}: this fact is a number.")


def _numbers(details: Mapping[str, object], names: tuple[str, ...]) -> tuple[float, ...] | None:
    """The first of ``names`` that is there."""
    for name in names:
        value = details.get(name)
        if isinstance(value, (list, tuple)) and all(isinstance(each, (int, float)) for each in value):
            return tuple(float(each) for each in value)
        if value is not None:
            raise InputError(f"details[{name!r}] = {value!r}: this fact is a list of numbers.")
    return None


def _whole(details: Mapping[str, object], name: str) -> int | None:
    value = _number(details, name)
    return None if value is None else round(value)
