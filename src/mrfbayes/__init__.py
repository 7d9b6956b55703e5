"""Bayesian parameter learning of discrete Markov random fields.

Every name below is loaded when it is first used, so that importing the package stays cheap.
"""

# ruff: noqa: I001
from __future__ import annotations

from typing import TYPE_CHECKING

from mrfbayes.base.lazy import make_lazy

__version__ = "1.0.0.dev0"

if TYPE_CHECKING:  # the public names: `make_lazy` and type checkers read them here
    from mrfbayes import datasets as datasets, plots as plots, priors as priors
    from mrfbayes.base.errors import (
        CalibrationError as CalibrationError,
        CostError as CostError,
        InputError as InputError,
        MRFWarning as MRFWarning,
        OutputError as OutputError,
        SamplingError as SamplingError,
    )
    from mrfbayes.data.alignment import Alignment as Alignment, read_alignment as read_alignment
    from mrfbayes.data.data import Data as Data
    from mrfbayes.data.statistics import Statistics as Statistics
    from mrfbayes.estimation.estimate import estimate as estimate
    from mrfbayes.estimation.pair_tables import PairTables as PairTables, pair_tables as pair_tables
    from mrfbayes.estimation.result import Estimate as Estimate
    from mrfbayes.exact.quantities import (
        expected_counts as expected_counts,
        fisher_information as fisher_information,
        log_partition as log_partition,
    )
    from mrfbayes.fitting.fit import fit as fit
    from mrfbayes.fitting.result import load as load
    from mrfbayes.fitting.result import Fit as Fit
    from mrfbayes.hidden.result import Segmentation as Segmentation
    from mrfbayes.hidden.segment import segment as segment
    from mrfbayes.methods.cost import Cost as Cost, cost as cost
    from mrfbayes.model.build import complete as complete, graph as graph, grid as grid
    from mrfbayes.model.factors import Factor as Factor
    from mrfbayes.model.field import Model as Model
    from mrfbayes.model.ising import Ising as Ising
    from mrfbayes.model.result import Result as Result
    from mrfbayes.model.schema import Schema as Schema
    from mrfbayes.particles.simulate import simulate as simulate
    from mrfbayes.queries.configurations import log_probability as log_probability, most_probable as most_probable
    from mrfbayes.queries.correlations import correlations as correlations, population_counts as population_counts
    from mrfbayes.queries.marginals import joint as joint, marginals as marginals
    from mrfbayes.queries.thermodynamics import annealed_log_partition as annealed_log_partition
    from mrfbayes.queries.thermodynamics import thermodynamics as thermodynamics
    from mrfbayes.report.write import report as report
    from mrfbayes.results.fits import Fits as Fits
    from mrfbayes.results.posterior import Posterior as Posterior
    from mrfbayes.results.predictive import PredictiveCheck as PredictiveCheck, predictive_check as predictive_check
    from mrfbayes.sampling.compare import Comparison as Comparison, compare as compare
    from mrfbayes.sampling.compare import prior_sensitivity as prior_sensitivity
    from mrfbayes.sampling.sample import sample as sample
    from mrfbayes.sampling.sample_many import sample_many as sample_many
    from mrfbayes.structure.groups import GroupComparison as GroupComparison, compare_groups as compare_groups
    from mrfbayes.structure.select_effects import EffectSelection as EffectSelection, select_effects as select_effects
    from mrfbayes.structure.selection import Selection as Selection, select as select
    from mrfbayes.targets.evidence import Evidence as Evidence, evidence as evidence
    from mrfbayes.targets.likelihood import Likelihood as Likelihood, likelihood as likelihood
    from mrfbayes.targets.targets import Target as Target, target as target

make_lazy(__name__)
