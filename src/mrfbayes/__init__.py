"""Bayesian parameter learning of discrete Markov random fields.

Every name below is loaded when it is first used, so that importing the package stays cheap.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

_PLACES = {
    "grid": "model.build",
    "graph": "model.build",
    "Model": "model.field",
    "Factor": "model.field",
    "log_partition": "exact",
    "expected_counts": "exact",
    "fisher_information": "exact",
    "cost": "cost",
    "simulate": "simulate",
    "count": "data.counts",
    "Statistics": "data.counts",
    "estimate": "estimate",
    "likelihood": "likelihood",
    "sample": "sampling",
    "Posterior": "posterior",
    "load": "exchange",
    "InputError": "errors",
    "CostError": "errors",
    "MRFWarning": "errors",
    "SamplingError": "errors",
}
_MODULES = ("priors", "plots", "datasets")

__all__ = [*_PLACES, *_MODULES, "__version__"]


def __getattr__(name: str) -> Any:
    if name in _PLACES:
        value = getattr(importlib.import_module(f"{__name__}.{_PLACES[name]}"), name)
        globals()[name] = value
        return value
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
