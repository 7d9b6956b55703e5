"""Differences between groups: the result of `mrfbayes.compare_groups`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import combinations
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from mrfbayes.model.field import Model
from mrfbayes.posterior.bayes_factors import verdicts

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class GroupComparison:
    """Posterior of the parameters of several groups and of which edges differ between them.

    Attributes
    ----------
    model : the field of all groups
    groups : their names
    coordinates : (chains, draws, C, p) kept draws in log-odds: the baseline, then the contrasts
    rate : (G, C) the log-odds of group g are the sum over c of rate[g, c] times coordinate c
    inclusion : (m,) posterior probability that an edge differs between groups, from all sweeps, Rao-Blackwellised
    absence : (m,) its complement, which keeps its digits where inclusion rounds to one
    inclusion_error : (m,) Monte-Carlo standard error of both
    prior_inclusion : (m,) marginal prior probability of a difference
    coordinate_mean, coordinate_sd : (C, p) of the coordinates, from all sweeps
    target : "exact", or "approximate" with particles
    """

    model: Model
    groups: tuple[str, ...]
    coordinates: np.ndarray
    log_likelihood: np.ndarray
    rate: np.ndarray
    inclusion: np.ndarray
    absence: np.ndarray
    inclusion_error: np.ndarray
    prior_inclusion: np.ndarray
    coordinate_mean: np.ndarray
    coordinate_sd: np.ndarray
    target: str
    engine: str
    steps: int
    warmup: int
    thin: int
    seconds: Mapping[str, float]
    settings: Mapping[str, Any]
    versions: Mapping[str, str]
    data_digest: str
    n: tuple[float, ...]
    warnings: tuple[str, ...] = ()
    partial: bool = False
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def log_odds(self) -> np.ndarray:
        """(chains, draws, G, p) kept draws of the log-odds of each group."""
        return np.asarray(np.einsum("gk,abkp->abgp", self.rate, self.coordinates))

    @property
    def log_bf10(self) -> np.ndarray:
        """(m,) natural log of the posterior odds of a difference over its marginal prior odds."""
        prior = self.prior_inclusion
        with np.errstate(divide="ignore", invalid="ignore"):
            factor = np.log(self.inclusion) - np.log(self.absence) - np.log(prior) + np.log1p(-prior)
        return np.asarray(np.where(prior < 1.0, factor, np.nan))

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Pairs of groups, as indices."""
        return list(combinations(range(len(self.groups)), 2))

    def differences(self) -> pd.DataFrame:
        """A row per parameter, edges first, then nodes: what is known of its difference between groups, in log-odds.

        Columns: ``inclusion``, the posterior probability that it differs between groups at all (nodes always may: NaN),
        ``inclusion_error``, ``log_bf10``, ``verdict`` ("present" means that there is a difference) and ``fragile``;
        then ``mean``, ``sd``, ``q5``, ``q95`` of the second group less the first. With more groups these four are there
        for every pair, as in ``mean[b - a]``.
        """
        import pandas as pd

        p, m = self.model.n_parameters, self.model.n_edges
        lacking = np.full(p - m, np.nan)
        with np.errstate(divide="ignore", invalid="ignore"):
            error = self.inclusion_error / (self.inclusion * self.absence)
        verdict, fragile = verdicts(self.log_bf10, error)
        table = pd.DataFrame(
            {
                "inclusion": np.concatenate([self.inclusion, lacking]),
                "inclusion_error": np.concatenate([self.inclusion_error, lacking]),
                "log_bf10": np.concatenate([self.log_bf10, lacking]),
                "verdict": [*verdict, *["unknown"] * (p - m)],
                "fragile": [*fragile, *[False] * (p - m)],
            },
            index=pd.Index(self.model.parameters, name="parameter"),
        )
        for first, second in self.pairs:
            weight = self.rate[second] - self.rate[first]
            draws = np.einsum("k,abkp->abp", weight, self.coordinates)
            low, high = np.quantile(draws, [0.05, 0.95], axis=(0, 1)) if draws.size else np.full((2, p), np.nan)
            is_plain = np.count_nonzero(weight) == 1  # one contrast: all sweeps say its spread, not just the draws
            sd = np.abs(weight) @ self.coordinate_sd if is_plain else draws.std(axis=(0, 1))
            values = {"mean": weight @ self.coordinate_mean, "sd": sd, "q5": low, "q95": high}
            name = f"[{self.groups[second]} - {self.groups[first]}]" if len(self.pairs) > 1 else ""
            for column, value in values.items():
                table[column + name] = value
        table.attrs |= {"scale": "log-odds", "target": self.target, "groups": self.groups}
        return table

    def parameters(self) -> pd.DataFrame:
        """A row per parameter: the mean of its log-odds in each group, averaged over which edges differ."""
        import pandas as pd

        means = self.rate @ self.coordinate_mean
        return pd.DataFrame(means.T, index=pd.Index(self.model.parameters, name="parameter"), columns=list(self.groups))

    def save(self, path: str | PathLike[str], overwrite: bool = False) -> None:
        """Write everything to one netCDF file; `mrfbayes.load` brings it back."""
        from mrfbayes.structure.stored import save

        save(self, path, overwrite)

    def __repr__(self) -> str:
        chains, draws = self.coordinates.shape[:2]
        state = ", partial" if self.partial else ""
        flags = f", {len(self.warnings)} warnings" if self.warnings else ""
        return (
            f"<GroupComparison of {', '.join(self.groups)} ({self.target} target, engine {self.engine}): "
            f"{self.inclusion.sum():.1f} of {self.model.n_edges} edges expected to differ, {chains} chains of {draws} "
            f"draws{state}{flags}>"
        )
