"""Differences between groups: the result of `mrfbayes.compare_groups`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from mrfbayes.base.errors import InputError
from mrfbayes.base.types import Scale
from mrfbayes.model.scales import scaled
from mrfbayes.results.diagnostics import moment_columns
from mrfbayes.structure.result import SearchResult

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from mrfbayes.model.result import StoredFields
    from mrfbayes.results.posterior import Posterior
    from mrfbayes.run.driver import ChainRun
    from mrfbayes.structure.search import SearchSummary


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class CoordinateResult(SearchResult):
    """Posterior of a baseline and of what is added to it, which an edge has in all coordinates or in none.

    Attributes
    ----------
    coordinates : ndarray
        Shape (chains, draws, C, p). Kept draws in log-odds: the baseline, then contrasts or effects.
    coordinate_mean : (C, p) ndarray
        Means of the coordinates, from all sweeps.
    coordinate_sd : (C, p) ndarray
        Their standard deviations.
    """

    _arrays: ClassVar = {
        **SearchResult._arrays,
        "coordinates": ("posterior", "coordinates", ("chain", "draw", "coordinate", "parameter")),
        "coordinate_mean": ("moments", "mean", ("coordinate", "parameter")),
        "coordinate_sd": ("moments", "sd", ("coordinate", "parameter")),
    }

    coordinates: np.ndarray
    coordinate_mean: np.ndarray
    coordinate_sd: np.ndarray

    @property
    def included(self) -> np.ndarray:
        """(chains, draws, m) which edges differ, or are moderated, in each draw."""
        first = self.model.chart.offset[: self.model.n_edges]
        return np.asarray((self.coordinates[:, :, 1:, first] != 0.0).any(axis=2))

    def _evidence_by_parameter(self, index: pd.Index, blocks: Sequence[str] | None = None) -> pd.DataFrame:
        """The evidence of each parameter's edge; unknown for thresholds. ``blocks`` replaces those of parameters."""
        blocks = blocks or [self.model.blocks[block] for block in self.model.chart.block_of]
        table = self._evidence_table().reindex(blocks).set_index(index)
        table["verdict"] = table["verdict"].fillna("unknown")
        table["fragile"] = table["fragile"].eq(True)
        return table


def coordinate_fields(run: ChainRun, summary: SearchSummary) -> StoredFields:
    """The fields of a `CoordinateResult`."""
    draws = run.draws.reshape(*run.draws.shape[:2], *summary.mean.shape)
    return {"coordinates": draws, "coordinate_mean": summary.mean, "coordinate_sd": summary.sd}


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
        """
        if group not in self.groups:
            raise InputError(f"group = {group!r}: the groups are {', '.join(map(repr, self.groups))}.")
        place = self.groups.index(group)
        return self._as_posterior(self.log_odds[:, :, place], self.group_n[place], f"group {group}")

    def baseline(self) -> Posterior:
        """Return the draws of the baseline, the mean of all groups, as a posterior.

        Returns
        -------
        Posterior
            The posterior of the baseline.
        """
        return self._as_posterior(self.coordinates[:, :, 0], self.n, "middle of the groups")

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
        """
        import pandas as pd

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
        import pandas as pd

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
            ``log_bf_uniform``, the same against a uniform prior on the share of edges that differ; ``error`` of both.
            Computed once, and saved with the result.
        """
        from mrfbayes.structure.reruns import evidence_of_none

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
        import pandas as pd

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
