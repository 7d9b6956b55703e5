"""Bayesian parameter learning of discrete Markov random fields.

Every name below is loaded when it is first used, so that importing the package stays cheap.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mrfbayes.base.lazy import make_lazy

__version__ = "1.0.0.dev0"

if TYPE_CHECKING:  # what type checkers and editors see; a test keeps it equal to the table below
    from mrfbayes import datasets, plots, priors
    from mrfbayes.base.errors import CostError, InputError, MRFWarning, OutputError, SamplingError
    from mrfbayes.data.data import Data
    from mrfbayes.data.statistics import Statistics
    from mrfbayes.estimation.estimate import estimate
    from mrfbayes.estimation.result import Estimate
    from mrfbayes.exact.cost import cost
    from mrfbayes.exact.quantities import expected_counts, fisher_information, log_partition
    from mrfbayes.fitting.fit import Fit, fit
    from mrfbayes.hidden.result import Segmentation
    from mrfbayes.hidden.segment import segment
    from mrfbayes.model.build import complete, graph, grid
    from mrfbayes.model.factors import Factor
    from mrfbayes.model.field import Model
    from mrfbayes.model.ising import Ising
    from mrfbayes.model.schema import Schema
    from mrfbayes.particles.simulate import simulate
    from mrfbayes.queries.annealed import annealed_log_partition
    from mrfbayes.queries.configurations import most_probable
    from mrfbayes.queries.correlations import correlations, population_counts
    from mrfbayes.queries.marginals import joint, marginals
    from mrfbayes.queries.row_probability import log_probability
    from mrfbayes.queries.thermodynamics import thermodynamics
    from mrfbayes.report.write import report
    from mrfbayes.results.fits import Fits
    from mrfbayes.results.posterior import Posterior
    from mrfbayes.results.predictive import predictive_check
    from mrfbayes.sampling.compare import compare
    from mrfbayes.sampling.prior_sensitivity import prior_sensitivity
    from mrfbayes.sampling.sample import sample
    from mrfbayes.sampling.sample_many import sample_many
    from mrfbayes.structure.compare_groups import compare_groups
    from mrfbayes.structure.groups import GroupComparison
    from mrfbayes.structure.select import select
    from mrfbayes.structure.select_effects import select_effects
    from mrfbayes.structure.selection import Selection
    from mrfbayes.structure.stored import load
    from mrfbayes.targets.evidence import evidence
    from mrfbayes.targets.likelihood import likelihood

_PLACES = {
    "grid": "model.build",
    "graph": "model.build",
    "complete": "model.build",
    "Model": "model.field",
    "Factor": "model.factors",
    "Ising": "model.ising",
    "log_partition": "exact.quantities",
    "expected_counts": "exact.quantities",
    "fisher_information": "exact.quantities",
    "cost": "exact.cost",
    "simulate": "particles.simulate",
    "Data": "data.data",
    "Schema": "model.schema",
    "Statistics": "data.statistics",
    "estimate": "estimation.estimate",
    "Estimate": "estimation.result",
    "likelihood": "targets.likelihood",
    "sample": "sampling.sample",
    "target": "targets.targets",
    "Target": "targets.targets",
    "sample_many": "sampling.sample_many",
    "Fits": "results.fits",
    "Posterior": "results.posterior",
    "compare": "sampling.compare",
    "evidence": "targets.evidence",
    "load": "structure.stored",
    "predictive_check": "results.predictive",
    "select": "structure.select",
    "Selection": "structure.selection",
    "compare_groups": "structure.compare_groups",
    "select_effects": "structure.select_effects",
    "GroupComparison": "structure.groups",
    "segment": "hidden.segment",
    "Segmentation": "hidden.result",
    "prior_sensitivity": "sampling.prior_sensitivity",
    "report": "report.write",
    "marginals": "queries.marginals",
    "joint": "queries.marginals",
    "most_probable": "queries.configurations",
    "log_probability": "queries.row_probability",
    "annealed_log_partition": "queries.annealed",
    "thermodynamics": "queries.thermodynamics",
    "correlations": "queries.correlations",
    "population_counts": "queries.correlations",
    "fit": "fitting.fit",
    "Fit": "fitting.fit",
    "InputError": "base.errors",
    "CostError": "base.errors",
    "MRFWarning": "base.errors",
    "OutputError": "base.errors",
    "SamplingError": "base.errors",
    "priors": "priors",
    "plots": "plots",
    "datasets": "datasets",
}
__all__ = [
    "CostError",
    "Data",
    "Estimate",
    "Factor",
    "Fit",
    "Fits",
    "GroupComparison",
    "InputError",
    "Ising",
    "MRFWarning",
    "Model",
    "OutputError",
    "Posterior",
    "SamplingError",
    "Schema",
    "Segmentation",
    "Selection",
    "Statistics",
    "Target",
    "__version__",
    "annealed_log_partition",
    "compare",
    "compare_groups",
    "complete",
    "correlations",
    "cost",
    "datasets",
    "estimate",
    "evidence",
    "expected_counts",
    "fisher_information",
    "fit",
    "graph",
    "grid",
    "joint",
    "likelihood",
    "load",
    "log_partition",
    "log_probability",
    "marginals",
    "most_probable",
    "plots",
    "population_counts",
    "predictive_check",
    "prior_sensitivity",
    "priors",
    "report",
    "sample",
    "sample_many",
    "segment",
    "select",
    "select_effects",
    "simulate",
    "target",
    "thermodynamics",
]

make_lazy(__name__, _PLACES)
