"""Bayesian parameter learning of discrete Markov random fields.

Every name below is loaded when it is first used, so that importing the package stays cheap.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mrfbayes.lazy import make_lazy

__version__ = "0.1.0"

if TYPE_CHECKING:  # what type checkers and editors see; a test keeps it equal to the table below
    from mrfbayes import datasets, plots, priors
    from mrfbayes.compare import compare
    from mrfbayes.cost import cost
    from mrfbayes.data.counts import Statistics, count
    from mrfbayes.errors import CostError, InputError, MRFWarning, SamplingError
    from mrfbayes.estimate import estimate
    from mrfbayes.evidence import evidence
    from mrfbayes.exact import expected_counts, fisher_information, log_partition
    from mrfbayes.likelihood import likelihood
    from mrfbayes.model.build import graph, grid
    from mrfbayes.model.field import Factor, Model
    from mrfbayes.posterior import Posterior, load
    from mrfbayes.predictive import predictive_check
    from mrfbayes.sampling import sample
    from mrfbayes.simulate import simulate
    from mrfbayes.structure.select import select
    from mrfbayes.structure.selection import Selection

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
    "evidence": "evidence",
    "load": "posterior",
    "predictive_check": "predictive",
    "select": "structure.select",
    "Selection": "structure.selection",
    "InputError": "errors",
    "CostError": "errors",
    "MRFWarning": "errors",
    "SamplingError": "errors",
    "priors": "priors",
    "plots": "plots",
    "datasets": "datasets",
}
__all__ = [
    "CostError",
    "Factor",
    "InputError",
    "MRFWarning",
    "Model",
    "Posterior",
    "SamplingError",
    "Selection",
    "Statistics",
    "__version__",
    "compare",
    "cost",
    "count",
    "datasets",
    "estimate",
    "evidence",
    "expected_counts",
    "fisher_information",
    "graph",
    "grid",
    "likelihood",
    "load",
    "log_partition",
    "plots",
    "predictive_check",
    "priors",
    "sample",
    "select",
    "simulate",
]

make_lazy(__name__, _PLACES)
