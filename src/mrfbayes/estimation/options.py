"""The options of the algorithms of `mrfbayes.estimate`: names, defaults, and values, all checked before the data."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import TYPE_CHECKING, cast

import numpy as np

from mrfbayes.base.checks import whole
from mrfbayes.base.errors import InputError
from mrfbayes.model.field import Model

if TYPE_CHECKING:
    from mrfbayes.base.types import ThetaLike
    from mrfbayes.estimation.result import Outcome

# Key -> module of this package and its function ``(task, **options) -> Outcome``; the module may have
# ``refuse(model)`` where it cannot do every field.
ALGORITHMS: dict[str, tuple[str, str]] = {
    "exact": ("newton", "run"),
    "cd": ("contrastive", "cd"),
    "pcd": ("contrastive", "pcd"),
    "chord": ("chord", "run"),
    "fpcd": ("contrastive", "fpcd"),
    "mcmc-mle": ("reweighting", "mcmc_mle"),
    "pf-mcmc-mle": ("reweighting", "pf_mcmc_mle"),
    "stochastic": ("contrastive", "stochastic"),
    "pseudo": ("pseudolikelihood", "run"),
}


def algorithm_module(key: str) -> ModuleType:
    """The module of an algorithm."""
    return importlib.import_module(f"mrfbayes.estimation.{ALGORITHMS[key][0]}")


def algorithm(key: str) -> Callable[..., Outcome]:
    """The function of an algorithm."""
    function: Callable[..., Outcome] = getattr(algorithm_module(key), ALGORITHMS[key][1])
    return function


def algorithm_options(key: str) -> Mapping[str, object]:
    """Names and defaults of an algorithm's options."""
    run = inspect.signature(algorithm(key)).parameters.values()
    parameters = [p for p in run if p.kind is p.KEYWORD_ONLY]
    if any(p.kind is p.VAR_KEYWORD for p in run):  # it hands them on
        from mrfbayes.estimation.stochastic_ascent import ascend

        parameters += [p for p in inspect.signature(ascend).parameters.values() if p.kind is p.KEYWORD_ONLY]
    return {p.name: p.default for p in parameters}


def check_algorithm(model: Model, key: str, options: Mapping[str, object]) -> None:
    """Refuse a name that is none, options that the algorithm does not have, bad values, and fields it cannot do."""
    if key not in ALGORITHMS:
        names = ", ".join(map(repr, ("auto", *ALGORITHMS)))
        raise InputError(f"algorithm = {key!r}: choose one of {names}.")
    known = algorithm_options(key)
    for name in options:
        if name not in known:
            raise InputError(f"algorithm {key!r} has no option {name!r}; its options: {', '.join(known) or 'none'}.")
    given = {name: value for name, value in options.items() if not (value is None and known[name] is None)}
    check_values(model, given)
    refuse = getattr(algorithm_module(key), "refuse", None)
    if refuse is not None:
        refuse(model)


def check_values(model: Model, options: Mapping[str, object]) -> None:
    """Refuse values that no algorithm takes; names that none has are passed over."""
    for name, value in options.items():
        if name in ("particles", "sweeps", "steps"):
            whole(name, value)
        elif name == "start":
            model.theta(cast("ThetaLike", value), name)
        elif name in OPTION_LIMITS and not (_is_number(value) and 0 < cast("float", value) <= OPTION_LIMITS[name][0]):
            raise InputError(f"{name} = {value!r}: give {OPTION_LIMITS[name][1]}.")
        elif name == "optimiser" and value not in ("lbfgs", "newton"):
            raise InputError(f"optimiser = {value!r}: choose 'lbfgs' or 'newton'.")


# Positive numbers: the largest, and what they are.
OPTION_LIMITS = {
    "tolerance": (np.inf, "a positive number of posterior sds, such as 0.015"),
    "fast_gain": (10.0, "a number above 0, at most 10"),
}


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float, np.number)) and not isinstance(value, (bool, np.bool_))
