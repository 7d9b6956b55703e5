r"""`mrfbayes.select_effects`: which edges are moderated by covariates, by the search of `compare_groups`.

The log-odds of rows with the covariates z are :math:`w_0 + \sum_k z_k w_k`. Two groups are one covariate with the
values -1/2 and 1/2. An edge is moderated by all covariates or by none; thresholds always depend on them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from mrfbayes.base.blas import one_blas_thread
from mrfbayes.base.errors import CostError, InputError
from mrfbayes.base.random_streams import Seed
from mrfbayes.base.types import DataLike, DistributionLike, EdgePriorLike, PriorLike, Scale
from mrfbayes.data.border import CovariateStatistics, counted
from mrfbayes.model.covariates import CovariateModel
from mrfbayes.model.field import Model
from mrfbayes.results.diagnostics import moment_columns
from mrfbayes.structure.anchors import ANCHOR_PARTICLES, SearchProblem
from mrfbayes.structure.groups import baseline_and_slab
from mrfbayes.structure.moves import Coordinates, named_edges, named_thresholds
from mrfbayes.structure.problem import edge_factors, graph_prior
from mrfbayes.structure.result import CoordinateResult, coordinate_fields
from mrfbayes.structure.running import SearchArguments, search

MAX_FIELDS = 256  # distinct values of the covariates: each has tables of its own


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class EffectSelection(CoordinateResult):
    """Posterior of the effects of covariates and of which edges have any, from `mrfbayes.select_effects`.

    ``inclusion``, ``absence``, ``inclusion_error`` and ``prior_inclusion`` (m,) are those of an edge being moderated.

    Attributes
    ----------
    covariates : tuple of str
        Names of the covariates; ``coordinates`` are the field at their centre, then the effects of each.

    See Also
    --------
    select_effects : Returns it.
    GroupComparison : The same for groups.

    Examples
    --------
    >>> import numpy as np
    >>> import mrfbayes as mb
    >>> rows = np.random.default_rng(1).integers(0, 2, (200, 3))
    >>> data = mb.Data({"a": rows[:, 0], "b": rows[:, 1], "age": rows[:, 2]}, covariates=["age"])
    >>> model = mb.Model.from_data(data, covariates="couplings")
    >>> found = mb.select_effects(model, data, draws=200, warmup=100, chains=2, rng=1, progress=False)
    >>> found.covariates
    ('age',)
    """

    covariates: tuple[str, ...]

    def summary(self, *, scale: Scale | None = None, ci_prob: float = 0.9) -> pd.DataFrame:
        """Return one row per parameter and covariate with the effect in log-odds, edges first.

        Parameters
        ----------
        scale : {"log-odds"}, optional
            There is no other scale.
        ci_prob : float, default 0.9
            Probability of the interval.

        Returns
        -------
        DataFrame
            ``inclusion``, the posterior probability that the edge is moderated (NaN for thresholds, which always are),
            ``inclusion_error``, ``log_bf10``, ``verdict``, ``fragile``; mean, sd, interval and diagnostics.

        Raises
        ------
        InputError
            If `scale` is given: effects are in log-odds.
        """
        if scale not in (None, "log-odds"):
            raise InputError(f"scale = {scale!r}: effects are in log-odds; leave scale out.")

        parts = []
        for k, name in enumerate(self.covariates, start=1):
            index = pd.Index([f"{parameter}:{name}" for parameter in self.model.parameters], name="effect")
            columns = moment_columns(self.coordinates[:, :, k], ci_prob)
            columns |= {"mean": self.coordinate_mean[k], "sd": self.coordinate_sd[k]}
            parts.append(pd.concat([self._evidence_by_parameter(index), pd.DataFrame(columns, index=index)], axis=1))
        found = pd.concat(parts)
        found.attrs |= {"scale": "log-odds", "target": self.target}
        return found

    def _subject(self) -> tuple[str, str]:
        return f" of {', '.join(self.covariates)}", "expected to be moderated"


@one_blas_thread()
def select_effects(
    model: Model,
    data: DataLike,
    *,
    slab: DistributionLike | Mapping[str, DistributionLike] = "normal(0, 1)",
    moderated: EdgePriorLike = "bernoulli(0.5)",
    prior: PriorLike | None = None,
    engine: str | None = None,
    particles: int = ANCHOR_PARTICLES,
    draws: int | None = None,
    warmup: int | None = None,
    chains: int = 4,
    thin: int | None = None,
    rng: Seed | None = None,
    progress: bool = True,
    seconds: float | None = None,
) -> EffectSelection:
    """Draw from the joint posterior of the effects of covariates and of the edges that have any.

    Parameters
    ----------
    model : Model
        An untied field with effects on couplings: ``Model.from_data(data, covariates="couplings")``.
    data : Data
        Data with covariates that have few distinct values; there is one field for every combination of values.
    slab : PriorLike, default "normal(0, 1)"
        Prior of an effect on an edge, and of the effects on thresholds, which are always present; a distribution, its
        text, or {"edges": ..., "nodes": ...}.
    moderated : str or (m,) array_like, default "bernoulli(0.5)"
        Prior of which edges are moderated: "bernoulli(0.5)", "beta-bernoulli(1, 1)", or one probability per edge.
    prior : mapping, optional
        Prior of the field at the centre of all covariates, as {"edges": ..., "nodes": ...}.
    engine : {"states", "particles"}, optional
        As in `select`.
    particles : int, optional
        Samples in each set of engine "particles", as in `select`.
    draws : int, optional
        Kept draws per chain, after warm-up.
    warmup : int, optional
        Sweeps before the first kept draw.
    chains : int, default 4
        Number of independent chains.
    thin : int, optional
        Sweeps per kept draw; 1 where ``draws`` is given.
    rng : int, SeedSequence or Generator, optional
        Seed. None draws a new one, which the result has as ``seed``.
    progress : bool, default True
        Whether a progress bar is shown after two seconds.
    seconds : float, optional
        Time budget. The result has the draws made in this time and is marked partial.

    Returns
    -------
    EffectSelection
        Probabilities that edges are moderated, and draws of the effects.

    Raises
    ------
    InputError
        If the couplings have no covariates, an offset is given, or covariates have too many distinct values.
    CostError
        If the covariates have too many distinct values.

    See Also
    --------
    compare_groups : Differences between groups; two groups are one covariate with two values.

    Examples
    --------
    >>> import numpy as np
    >>> import mrfbayes as mb
    >>> rows = np.random.default_rng(1).integers(0, 2, (200, 3))
    >>> data = mb.Data({"a": rows[:, 0], "b": rows[:, 1], "age": rows[:, 2]}, covariates=["age"])
    >>> model = mb.Model.from_data(data, covariates="couplings")
    >>> found = mb.select_effects(model, data, draws=200, warmup=100, chains=2, rng=1, progress=False)
    >>> found.inclusion.shape
    (1,)
    """
    if not isinstance(model, CovariateModel) or model.effects != "couplings":
        raise InputError(
            "model: its couplings have no covariates; make it by Model.from_data(..., covariates='couplings')."
        )
    statistics = counted(model, data)
    assert isinstance(statistics, CovariateStatistics)
    if model.offset is not None:
        raise InputError(f"offset = {model.offset!r}: a search over effects takes no offset; use sample.")
    if statistics.design.n_fields > MAX_FIELDS:
        raise CostError(
            f"the covariates have {statistics.design.n_fields} distinct values (limit {MAX_FIELDS}), each with tables "
            "of its own: round them, or use sample and its effects()."
        )
    field = model.field
    baseline, effects = baseline_and_slab(field, slab, prior, 2)
    n_covariates = len(model.covariates)
    rate = np.concatenate([np.ones((len(statistics.z), 1)), statistics.z], axis=1)
    coordinates = Coordinates(rate, (baseline, *[effects] * n_covariates), (False, *[True] * n_covariates))
    graphs = graph_prior(field, moderated, "moderated")
    options = SearchArguments(engine, particles, draws, warmup, chains, thin, rng, progress, seconds)
    settings: dict[str, object] = {
        "covariates": [list(covariate) for covariate in model.covariates],
        "slab": named_edges(field, effects),
        "node_slab": named_thresholds(field, effects),
        "moderated": str(graphs),
        "prior": f"edges {named_edges(field, baseline)}, nodes {named_thresholds(field, baseline)}",
    }
    problem = SearchProblem(edge_factors(field), statistics.of_groups(), coordinates, graphs)
    fields, run, summary = search(problem, "select_effects", options, {"": statistics}, settings)
    names = tuple(covariate.name for covariate in model.covariates)
    return EffectSelection(**fields, **coordinate_fields(run, summary), covariates=names)
