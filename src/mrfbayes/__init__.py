"""Bayesian parameter learning of discrete Markov random fields.

Every name below is loaded when it is first used, so that importing the package stays cheap.
"""

from __future__ import annotations

from mrfbayes.lazy import make_lazy

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
    "compare": "compare",
    "load": "exchange",
    "InputError": "errors",
    "CostError": "errors",
    "MRFWarning": "errors",
    "SamplingError": "errors",
    "priors": "priors",
    "plots": "plots",
    "datasets": "datasets",
}
__all__ = [*_PLACES, "__version__"]  # noqa: PLE0604

make_lazy(__name__, _PLACES)
