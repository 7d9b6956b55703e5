"""What a run found out about itself and other code relies on, with a type for each fact.

Results keep these facts among their ``details``, which are saved and printed; code that needs one of them asks here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields
from typing import Any

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
    is_narrow : whether the method's sds are known to be too small
    sd_ratio : sds of the pseudolikelihood relative to those that its estimates have, the median parameter's
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
    is_narrow: bool | None = None
    sd_ratio: float | None = None
    rho: float | None = None
    marginal: str | None = None

    @classmethod
    def of(cls, details: Mapping[str, Any]) -> RunFacts:
        """The facts among the ``details`` of a result, also of one that was saved before there were all of them."""
        values = {"missing_information": details.get("proposal_missing_information"), **details}
        if values.get("rho") == "matrix":
            values["rho"] = None
        return cls(**{each.name: _checked(each.name, str(each.type), values.get(each.name)) for each in fields(cls)})

    @property
    def details(self) -> dict[str, object]:
        """The facts that were found out, as a result keeps them."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in values.items() if value is not None}


NUMBER_TYPES = (int, float, np.integer, np.floating)
FACT_KINDS: dict[str, tuple[str, tuple[type, ...], Callable[[Any], object]]] = {
    "str | None": ("a text", (str,), str),
    "bool | None": ("true or false", (bool, np.bool_), bool),
    "float | None": ("a number", NUMBER_TYPES, float),
    "int | None": ("a number", NUMBER_TYPES, round),
    "tuple[float, ...] | None": ("a list of numbers", (list, tuple), lambda values: tuple(map(float, values))),
}


def _checked(name: str, kind: str, value: Any) -> Any:
    """The value as ``kind`` has it; an `InputError` where it is of another type."""
    words, types, convert = FACT_KINDS[kind]
    if value is None:
        return None
    if isinstance(value, types):
        with suppress(TypeError, ValueError):
            return convert(value)
    raise InputError(f"details[{name!r}] = {value!r}: this fact is {words}.")
