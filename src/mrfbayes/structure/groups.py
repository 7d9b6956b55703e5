r"""`mrfbayes.compare_groups`: which edges differ between groups of observations.

The log-odds of group g are :math:`w_g = \beta + \sum_k c_{gk}\delta_k`: a baseline and contrasts. The rates c are the
corners of a simplex with edges of length one, so that the difference between any two groups has the slab as its prior
(for two groups :math:`c = \pm\frac12` and :math:`\delta` is the difference, under any slab). With more groups that is
a property of independent normal contrasts alone, since the differences are sums of them, so other slabs are refused
there. An edge differs between all groups or between none; its baseline and the node factors are always there.
"""

from __future__ import annotations

import os
import warnings as python_warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, ClassVar, cast

import numpy as np
import pandas as pd

from mrfbayes.base.blas import one_blas_thread
from mrfbayes.base.errors import InputError, MRFWarning
from mrfbayes.base.random_streams import Seed
from mrfbayes.base.types import DataLike, DistributionLike, EdgePriorLike, PriorLike, Scale
from mrfbayes.data.border import common_schema, counted
from mrfbayes.data.data import Data
from mrfbayes.data.statistics import Statistics
from mrfbayes.model.field import Model
from mrfbayes.model.scales import scaled
from mrfbayes.model.schema import Schema
from mrfbayes.priors import Cauchy, Distribution, Exchangeable, Logistic, Normal, Prior, by_part
from mrfbayes.results.diagnostics import moment_columns
from mrfbayes.structure.anchors import ANCHOR_PARTICLES, SearchProblem
from mrfbayes.structure.moves import Coordinates, named_edges, named_thresholds, search_prior, slab_distribution
from mrfbayes.structure.problem import edge_factors, graph_prior
from mrfbayes.structure.reruns import evidence_of_none
from mrfbayes.structure.result import CoordinateResult, coordinate_fields
from mrfbayes.structure.running import SearchArguments, search

if TYPE_CHECKING:
    import xarray as xr

    from mrfbayes.results.posterior import Posterior


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class GroupComparison(CoordinateResult):
    """Posterior of the parameters of several groups and of which edges differ, from `mrfbayes.compare_groups`.

    ``inclusion``, ``absence``, ``inclusion_error`` and ``prior_inclusion`` (m,) are the posterior probability that an
    edge differs, its complement, the Monte-Carlo error of both, and the prior probability.

    Attributes
    ----------
    groups : tuple of str
        Names of the groups.
    rate : (G, C) ndarray
        The log-odds of group g are the sum over c of rate[g, c] times coordinate c.
    group_n : tuple of float
        Numbers of observations of the groups.

    See Also
    --------
    compare_groups : Returns it.
    plots.group_differences : The picture.

    Examples
    --------
    >>> import mrfbayes as mb
    >>> model = mb.graph([("a", "b"), ("b", "c")])
    >>> groups = {name: mb.simulate(model, theta, 200, rng=1) for name, theta in (("x", 0.6), ("y", 0.8))}
    >>> comparison = mb.compare_groups(model, groups, draws=200, warmup=100, chains=2, rng=1, progress=False)
    >>> comparison.groups
    ('x', 'y')
    """

    _arrays: ClassVar = {**CoordinateResult._arrays, "rate": ("groups", "rate", ("group", "coordinate"))}

    groups: tuple[str, ...]
    rate: np.ndarray
    group_n: tuple[float, ...]

    def _labels(self) -> dict[str, Sequence[str]]:
        return {**super()._labels(), "group": self.groups}

    def _arviz_groups(self) -> dict[str, xr.Dataset]:
        import xarray as xr

        draws = ("chain", "draw")
        found = {"log_odds": ((*draws, "group", "parameter"), self.log_odds)}
        return {"posterior": xr.Dataset({**found, "differs": ((*draws, "edge"), self.included.astype(int))})}

    @property
    def log_odds(self) -> np.ndarray:
        """(chains, draws, G, p) kept draws of the log-odds of each group."""
        return np.asarray(np.einsum("gk,abkp->abgp", self.rate, self.coordinates))

    def group_posterior(self, group: str) -> Posterior:
        """Return the draws of one group as a posterior, averaged over which edges differ.

        Parameters
        ----------
        group : str
            Name of the group.

        Returns
        -------
        Posterior
            The posterior of this group.

        Raises
        ------
        InputError
            If there is no such group.
        """
        if group not in self.groups:
            raise InputError(f"group = {group!r}: the groups are {', '.join(map(repr, self.groups))}.")
        place = self.groups.index(group)
        digest = dict(zip(self.groups, self.data_digest.split(), strict=False)).get(group, "")
        return self._as_posterior(self.log_odds[:, :, place], self.group_n[place], f"group {group}", part=digest)

    def baseline(self) -> Posterior:
        """Return the draws of the baseline, the mean of all groups, as a posterior.

        Returns
        -------
        Posterior
            The posterior of the baseline.
        """
        return self._as_posterior(self.coordinates[:, :, 0], self.n, "middle of the groups", part=self.data_digest)

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Pairs of groups, as indices."""
        return list(combinations(range(len(self.groups)), 2))

    def summary(self, *, scale: Scale | None = None, ci_prob: float = 0.9) -> pd.DataFrame:
        """Return one row per parameter with its difference between groups, edges first, then nodes.

        Parameters
        ----------
        scale : {"log-odds", "ising"}, optional
            Scale of the differences; by default "log-odds".
        ci_prob : float, default 0.9
            Probability of the interval.

        Returns
        -------
        DataFrame
            ``inclusion``, the posterior probability of a difference between groups (NaN for nodes, which always may
            differ), with its Monte-Carlo standard error (``inclusion_error``), effective sample size and R-hat;
            ``log_bf10`` and its error, ``verdict`` ("present": there is a difference) and ``fragile``; mean, sd,
            interval and diagnostics of the second group minus the first. With more than two groups these columns are
            there for every pair, as in ``mean[b - a]``. The cells of a table coupling differ together and share its
            probability.

        Raises
        ------
        InputError
            If `scale` is "theta": groups differ in log-odds.
        """
        if scale == "theta":
            raise InputError("scale = 'theta': groups differ in log-odds; use 'log-odds' or 'ising'.")
        rows = scaled(self.model, scale or "log-odds")
        index = pd.Index(rows.names, name="parameter")
        parts = [self._evidence_by_parameter(index, None if rows.scale == "log-odds" else rows.names)]
        for first, second in self.pairs:
            weight = self.rate[second] - self.rate[first]
            columns = moment_columns(rows.of_log_odds(np.einsum("k,abkp->abp", weight, self.coordinates)), ci_prob)
            columns["mean"] = rows.of_log_odds(weight @ self.coordinate_mean)
            if np.count_nonzero(weight) == 1 and rows.scale == "log-odds":  # one contrast: from all sweeps
                columns["sd"] = np.abs(weight) @ self.coordinate_sd
            name = f"[{self.groups[second]} - {self.groups[first]}]" if len(self.pairs) > 1 else ""
            parts.append(pd.DataFrame({column + name: value for column, value in columns.items()}, index=index))
        table = pd.concat(parts, axis=1)
        table.attrs |= {"scale": rows.scale, "target": self.target, "groups": self.groups}
        return table

    def edges(self, *, scale: Scale | None = None, ci_prob: float = 0.9) -> pd.DataFrame:
        """Return the rows of `summary` that belong to edges.

        Parameters
        ----------
        scale : {"log-odds", "ising"}, optional
            Scale of the differences; by default "log-odds".
        ci_prob : float, default 0.9
            Probability of the interval.

        Returns
        -------
        DataFrame
            One row per edge, or cell of a table coupling.
        """
        table = self.summary(scale=scale, ci_prob=ci_prob)
        rows = scaled(self.model, scale or "log-odds")
        return table.iloc[: rows.n_edge_rows].rename_axis("edge")

    def means(self) -> pd.DataFrame:
        """Return the mean of the log-odds of each parameter in each group, averaged over which edges differ.

        Returns
        -------
        DataFrame
            One row per parameter, one column per group.
        """
        means = self.rate @ self.coordinate_mean
        return pd.DataFrame(means.T, index=pd.Index(self.model.parameters, name="parameter"), columns=list(self.groups))

    def no_difference(self, progress: bool = True) -> dict[str, float]:
        """The evidence that no edge differs between the groups; node factors may.

        Parameters
        ----------
        progress : bool
            Whether a line is shown while the short runs behind it are made.

        Returns
        -------
        dict
            ``log_bf``, the log Bayes factor of "no difference anywhere" against the prior of this comparison;
            ``log_bf_uniform``, the same against a uniform prior on the share of edges that differ; ``error`` of both,
            not a number with one chain. Computed once, and saved with the result.

        Raises
        ------
        InputError
            If the result was loaded and saved without this evidence.
        """
        if "no_difference" not in self.computed:
            if self._rerun is None:
                raise InputError("no_difference: this result was loaded without it: call it before save().")
            self.computed["no_difference"] = [evidence_of_none(self._rerun, progress)]
        return {name: float(str(value)) for name, value in self.computed["no_difference"][0].items()}

    def global_strength(self) -> pd.DataFrame:
        """Return the sum of the absolute couplings of each group with its interval.

        Returns
        -------
        DataFrame
            One row per group, then one per pair of groups.
        """
        from mrfbayes.results.centrality import coupling_draws, global_strength

        couplings = [coupling_draws(self.model, self.log_odds[:, :, g]) for g in range(len(self.groups))]
        rows = {name: global_strength(draws) for name, draws in zip(self.groups, couplings, strict=True)}
        for first, second in self.pairs:
            change = np.abs(couplings[second]).sum(axis=1) - np.abs(couplings[first]).sum(axis=1)
            low, high = np.quantile(change, [0.05, 0.95])
            values = {"global_strength": change.mean(), "global_strength_q5": low, "global_strength_q95": high}
            rows[f"{self.groups[second]} - {self.groups[first]}"] = {**values, "positive": float((change > 0).mean())}
        return pd.DataFrame.from_dict(rows, orient="index").rename_axis("group")

    def _subject(self) -> tuple[str, str]:
        return f" of {', '.join(self.groups)}", "expected to differ"


@one_blas_thread()
def compare_groups(
    model: Model,
    data: DataLike | Mapping[str, DataLike],
    *,
    slab: DistributionLike | Mapping[str, DistributionLike] = "normal(0, 1)",
    differences: EdgePriorLike = "bernoulli(0.5)",
    prior: PriorLike | None = None,
    engine: str | None = None,
    particles: int = ANCHOR_PARTICLES,
    draws: int | None = None,
    warmup: int | None = None,
    chains: int = 4,
    thin: int | None = None,
    rng: Seed | None = None,
    workers: int = 1,
    progress: bool = True,
    checkpoint: str | os.PathLike[str] | None = None,
    seconds: float | None = None,
) -> GroupComparison:
    """Draw from the joint posterior of a baseline and group differences under the exact likelihood.

    Parameters
    ----------
    model : Model
        The field of all groups, untied. A table coupling differs as a whole or not at all.
    data : Data with groups, or mapping of str to DataLike
        The groups, or a mapping from their names to their data. All are coded by one schema: a category that is
        observed in any group is one of all groups.
    slab : PriorLike, default "normal(0, 1)"
        Prior of a difference of an edge, and of the differences of node factors, which are always present;
        {"edges": ..., "nodes": ...} sets both. It must be normal with more than two groups.
    differences : str or (m,) array_like, default "bernoulli(0.5)"
        Prior of which edges differ: "bernoulli(0.5)", "beta-bernoulli(1, 1)", or one probability per edge.
    prior : PriorLike, optional
        Prior of the baseline, as in `sample`: one distribution is that of the couplings, {"edges": ..., "nodes": ...}
        sets both; by default that of `mrfbayes.priors`.
    engine : {"states", "recursion", "particles"}, optional
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
    workers : int, default 1
        Number of processes that run the chains.
    progress : bool, default True
        Whether a progress bar is shown after two seconds.
    checkpoint : str or path, optional
        File from which an interrupted run continues.
    seconds : float, optional
        Time budget. The result has the draws made in this time and is marked partial.

    Returns
    -------
    GroupComparison
        Probabilities that edges differ, and draws of the baseline and the differences.

    See Also
    --------
    select : The posterior over graphs of one group.
    sample_many : A separate posterior for every group.

    Examples
    --------
    >>> import mrfbayes as mb
    >>> model = mb.complete(["a", "b", "c"], fields=True, coupling="both-one")
    >>> data = {name: mb.simulate(model, 0.5, 200, rng=seed) for seed, name in enumerate(("old", "young"))}
    >>> found = mb.compare_groups(model, data, draws=200, warmup=100, chains=2, rng=1, progress=False)
    >>> found.edges().shape[0]
    3
    """
    factors = edge_factors(model)
    parts = split_groups(model, data)
    coordinates = group_coordinates(model, len(parts), slab, prior)
    graphs = graph_prior(model, differences, "differences")
    options = SearchArguments(
        engine, particles, draws, warmup, chains, thin, rng, progress, seconds, workers, checkpoint
    )
    baseline, contrasts = coordinates.priors[:2]
    settings = {
        "groups": list(parts),
        "slab": named_edges(model, contrasts),
        "node_slab": named_thresholds(model, contrasts),
        "differences": str(graphs),
        "difference_probabilities": graphs.probability.tolist(),
        "prior": f"edges {named_edges(model, baseline)}, nodes {named_thresholds(model, baseline)}",
    }
    problem = SearchProblem(factors, tuple(parts.values()), coordinates, graphs)
    fields, run, summary = search(problem, "compare_groups", options, parts, settings)
    return GroupComparison(
        **fields,
        **coordinate_fields(run, summary),
        groups=tuple(parts),
        rate=coordinates.rate,
        group_n=tuple(statistics.n_all for statistics in parts.values()),
    )


def simplex(n_groups: int) -> np.ndarray:
    """(G, G - 1) corners of a simplex whose edges have length one and whose centre is the origin."""
    if n_groups == 2:
        return np.array([[-0.5], [0.5]])
    centred = np.eye(n_groups) - 1.0 / n_groups
    basis = np.linalg.svd(centred)[0][:, : n_groups - 1]
    return np.asarray(centred @ basis / np.sqrt(2))


def baseline_and_slab(model: Model, slab: object, prior: object, n_groups: int) -> tuple[Prior, Prior]:
    """The priors of the baseline and of a difference."""
    both = dict(slab) if isinstance(slab, Mapping) else {"edges": slab, "nodes": slab}
    if unknown := [key for key in both if key not in ("edges", "nodes")]:
        raise InputError(f"slab has an entry for {unknown[0]!r}: give {{'edges': ..., 'nodes': ...}}.")
    edges, own = (_difference(both.get(key, "normal(0, 1)"), n_groups) for key in ("edges", "nodes"))
    given = by_part(cast("PriorLike | None", prior))
    edge_prior = given.pop("edges", None)
    baseline = search_prior(model, None if edge_prior == "default" else edge_prior, given, "prior['edges']")
    return baseline, search_prior(model, edges, {"nodes": own})


def group_coordinates(model: Model, n_groups: int, slab: object, prior: object) -> Coordinates:
    """Baseline and contrasts with their priors."""
    baseline, contrasts = baseline_and_slab(model, slab, prior, n_groups)
    rate = np.concatenate([np.ones((n_groups, 1)), simplex(n_groups)], axis=1)
    k = n_groups - 1
    return Coordinates(rate, (baseline, *[contrasts] * k), (False, *[True] * k))


def _difference(slab: object, n_groups: int) -> Distribution:
    """The prior of a difference."""
    found = slab_distribution(slab)
    if isinstance(found, Exchangeable):
        return found
    if not isinstance(found, (Normal, Cauchy, Logistic)) or found.location != 0:
        raise InputError(
            f"slab = {slab!r}: the prior of a difference is centred at zero, whichever group comes first: "
            "'normal(0, 1)', 'cauchy(0, 1)' or 'logistic(0, 1)'."
        )
    if n_groups > 2 and not isinstance(found, Normal):
        raise InputError(
            f"slab = {slab!r}: with {n_groups} groups only a normal slab is the prior of the difference between any "
            f"two of them. Differences are sums of {n_groups - 1} independent contrasts, and a sum of independent "
            "normals is the slab again whichever two groups are compared, while one of Cauchy or logistic variables is "
            "wider, or of another kind, differently for each pair: use 'normal(0, 1)', or compare two groups at a time."
        )
    return found


def split_groups(model: Model, data: object) -> dict[str, Statistics]:
    """The counted data of each group, all coded alike."""
    if isinstance(data, Data):
        if not data.has_group:
            raise InputError(
                "data: no groups; name their column by Data(..., group=...), or give {'a': data, 'b': data}."
            )
        data.refuse_repeated_people()
        parts: dict[str, object] = dict(data.coded(model).parts())
    elif isinstance(data, Mapping):
        parts = {str(name): part for name, part in data.items()}
    else:
        raise InputError(f"data is a {type(data).__name__}: give Data(..., group=...), or {{'a': data, 'b': data}}.")
    if len(parts) < 2:
        raise InputError(f"data has {len(parts)} group ({', '.join(map(repr, parts))}): give at least two.")
    schema = common_schema(model, parts.values())
    # Said with the name of the group, by the search.
    with python_warnings.catch_warnings(action="ignore", category=MRFWarning):
        return {name: _counted(model, name, part, schema) for name, part in parts.items()}


def _counted(model: Model, name: str, part: object, schema: Schema | None) -> Statistics:
    """One group's data; errors name the group."""
    try:
        return counted(model, part, schema)
    except InputError as wrong:
        raise InputError(f"group {name!r}: {wrong}") from None
