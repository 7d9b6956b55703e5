"""The posterior: draws, moments, how they were made, and what to think of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from mrfbayes.base.checks import interval_ends
from mrfbayes.base.errors import InputError
from mrfbayes.base.random_streams import Seed, child, seed_sequence
from mrfbayes.base.types import Scale
from mrfbayes.data.coding import coding_lines
from mrfbayes.model.result import StoredFields, StoredResult
from mrfbayes.model.scales import Scaled, meaning, scaled
from mrfbayes.results import diagnostics
from mrfbayes.results.bayes_factors import EdgeEvidence, edge_evidence, edges_table
from mrfbayes.results.centrality import WithCentrality
from mrfbayes.results.covariates import WithCovariates
from mrfbayes.results.imputation import WithMissingCells
from mrfbayes.results.predict import WithPrediction
from mrfbayes.results.predictability import WithPredictability
from mrfbayes.results.predictive import ObservedAverages, observe
from mrfbayes.results.stored import Group, more_groups, restore
from mrfbayes.targets.corrected import MOST_THETA_DIGITS, WeightedProposals
from mrfbayes.targets.facts import RunFacts

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from mrfbayes.methods.problem import Problem

MANY = 500  # parameters past which independent draws are not examined for convergence
NOTEBOOK_ROWS = 12  # rows of the table in a notebook
STREAM_BYTES = 2**24  # of draws that are made at once


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Posterior(WithCovariates, WithCentrality, WithPredictability, WithPrediction, WithMissingCells, StoredResult):
    """Draws from a posterior distribution, with diagnostics, settings and warnings.

    It also has the attributes of every `Result`.

    Attributes
    ----------
    draws : ndarray
        Shape (chains, draws, p). Draws of theta.
    mean : (p,) ndarray
        Posterior means over all steps after warm-up, before thinning.
    sd : (p,) ndarray
        Posterior standard deviations over the same steps.
    label : str
        Name of the method in tables and sentences.
    engine : str
        Sampler.
    steps : int
        Steps of each chain after warm-up.
    warmup : int
        Steps before.
    thin : int
        Steps per kept draw.
    has_chains : bool
        Whether the draws come from Markov chains; else they are independent.
    log_likelihood : ndarray or None
        Shape (chains, draws). Log-likelihood up to a constant, if the engine computes it.
    acceptance : (chains,) ndarray or None
        Share of accepted proposals after warm-up; None for independent draws.
    sd_error : (p,) ndarray or None
        Relative Monte-Carlo standard error of the sds, if they come from particles.
    w : ndarray or None
        Shape (chains, draws, p). Log-odds of the draws if the engine kept them, also where theta rounds to 0 or 1;
        ``log_odds`` always has them.

    See Also
    --------
    sample : Returns it.
    load : Reads a saved one.
    plots.network : The network.

    Examples
    --------
    >>> import mrfbayes as mb
    >>> model = mb.graph([("a", "b"), ("b", "c")])
    >>> posterior = mb.sample(model, mb.simulate(model, 0.8, 200, rng=1), "mle", rng=1, progress=False)
    >>> posterior.draws.shape[2], posterior.summary().index.tolist()
    (2, ['a--b', 'b--c'])
    """

    _arrays: ClassVar = {
        "draws": ("posterior", "theta", ("chain", "draw", "parameter")),
        "w": ("posterior", "log_odds", ("chain", "draw", "parameter")),
        "log_likelihood": ("log_likelihood", "total", ("chain", "draw")),
        "acceptance": ("sample_stats", "acceptance_rate", ("chain",)),
        "mean": ("moments", "mean", ("parameter",)),
        "sd": ("moments", "sd", ("parameter",)),
        "sd_error": ("moments", "sd_error", ("parameter",)),
    }

    draws: np.ndarray
    mean: np.ndarray
    sd: np.ndarray
    label: str
    engine: str
    steps: int
    warmup: int = 0
    thin: int = 1
    has_chains: bool = True
    log_likelihood: np.ndarray | None = None
    acceptance: np.ndarray | None = None
    sd_error: np.ndarray | None = None
    w: np.ndarray | None = None
    # For what is computed later: model, data and prior; (n, seed) -> theta (n, p); probability -> log-odds (p,);
    # independent draws with weights, of which quantiles and densities are made, where the engine has them.
    _problem: Problem | None = None
    _draw: Callable[[int, np.random.SeedSequence], np.ndarray] | None = None
    _quantile: Callable[[float], np.ndarray] | None = None
    _weighted: WeightedProposals | None = None

    @property
    def facts(self) -> RunFacts:
        """What the run found out about itself, how far to trust it, what stopped it, what its weights are worth."""
        return RunFacts.of(self.details)

    def _stored(self, name: str) -> np.ndarray | None:
        """Without log-odds that follow from theta."""
        is_needless = name == "w" and diagnosed(self.draws, self.w) is not self.w
        return None if is_needless else super()._stored(name)

    def _more_groups(self) -> dict[str, xr.Dataset]:
        return more_groups(self)

    @classmethod
    def _restore(cls, values: StoredFields, groups: Mapping[str, Group]) -> dict[str, object]:
        return restore(values, groups)

    def _arviz_groups(self) -> dict[str, xr.Dataset]:
        import xarray as xr

        if self._problem is None:
            return {}
        axes, prior = ("chain", "draw"), self._problem.prior
        groups = {"observed_data": xr.Dataset({"counts": (("parameter",), self._problem.statistics.counts)})}
        if self.log_likelihood is not None:
            log_prior = np.array([[prior.log_density_w(w) for w in chain] for chain in self.log_odds])
            groups["sample_stats"] = xr.Dataset({"lp": (axes, self.log_likelihood + log_prior)})
        return groups

    @property
    def log_odds(self) -> np.ndarray:
        """The draws (chains, draws, p) as log-odds w."""
        if self.w is not None and diagnosed(self.draws, self.w) is self.w:
            return self.w
        return self.model.chart.log_odds(self.draws)

    def _values(self, rows: Scaled) -> np.ndarray:
        """The draws (chains, draws, rows) in the scale of ``rows``."""
        return self.draws if rows.scale == "theta" else rows.of_log_odds(self.log_odds)

    @cached_property
    def _convergence(self) -> diagnostics.Convergence:
        """R-hat and both effective sizes (p,), from one pass over the draws."""
        return diagnostics.convergence(diagnosed(self.draws, self.w))

    @property
    def r_hat(self) -> np.ndarray:
        """Rank-normalised split R-hat (p,)."""
        return self._convergence.r_hat

    @property
    def ess(self) -> np.ndarray:
        """Bulk effective sample size (p,)."""
        return self._convergence.ess_bulk

    @property
    def ess_tail(self) -> np.ndarray:
        """Tail effective sample size (p,)."""
        return self._convergence.ess_tail

    @cached_property
    def mcse(self) -> np.ndarray:
        """Monte-Carlo standard error of the mean (p,)."""
        return diagnostics.mcse_mean(self.draws)

    def summary(self, *, scale: Scale | None = None, ci_prob: float = 0.9) -> pd.DataFrame:
        """Return one row per parameter: mean, sd, equal-tailed interval, Monte-Carlo errors, effective sizes, R-hat.

        ``mcse_sd`` is present if sds come from particles. Hundreds of parameters that are drawn independently have no
        effective sizes and R-hat. If no mean exists (a Cauchy prior on log-odds that the data do not bound), ``mean``
        and ``sd`` are NaN, ``attrs["no_mean"]`` names the rows, and the Monte-Carlo errors of both ends of the interval
        are given.

        Parameters
        ----------
        scale : {"theta", "log-odds", "ising"}, optional
            "ising": couplings J and fields h of spins -1 and +1 (a row per edge, then per node). By default "theta" for
            models with only agreement couplings, else "log-odds".
        ci_prob : float, default 0.9
            Probability of the interval.

        Returns
        -------
        DataFrame
            One row per parameter; ``attrs`` has the scale and its meaning.

        Examples
        --------
        >>> import mrfbayes as mb
        >>> model = mb.graph([("a", "b"), ("b", "c")])
        >>> posterior = mb.sample(model, mb.simulate(model, 0.8, 200, rng=1), "mle", rng=1, progress=False)
        >>> posterior.summary().index.tolist()
        ['a--b', 'b--c']
        """
        rows = scaled(self.model, scale)
        in_theta, values, table = rows.scale == "theta", self._values(rows), self._moments(rows, ci_prob)
        has_no_mean = table["mean"].isna()
        if self.sd_error is not None and in_theta:
            table["mcse_sd"] = self.sd * self.sd_error
        if self.has_chains or self.model.n_parameters <= MANY:
            found = self._convergence if rows.scale != "ising" else diagnostics.convergence(values)
            for name in table.columns[2:4] if has_no_mean.any() else ():
                table[f"mcse_{name}"] = diagnostics.mcse_quantile(values, float(name[1:]) / 100)
            table["mcse_mean"] = self.mcse if in_theta else diagnostics.mcse_mean(values)
            table["ess_bulk"], table["ess_tail"], table["r_hat"] = found.ess_bulk, found.ess_tail, found.r_hat
        table.attrs |= {"scale": rows.scale, "meaning": meaning(self.model, rows.scale)}
        if has_no_mean.any():
            table.attrs["no_mean"] = table.index[has_no_mean].tolist()
        return table

    def _moments(self, rows: Scaled, ci_prob: float = 0.9) -> pd.DataFrame:
        """Mean, sd and both ends of the equal-tailed interval of ``rows``, without diagnostics."""
        import pandas as pd

        low, high = interval_ends(ci_prob)
        in_theta = rows.scale == "theta"
        values = self._values(rows)
        if self._weighted is not None and in_theta:
            ends = np.stack([self._weighted.theta_quantile(low), self._weighted.theta_quantile(high)])
        elif self._quantile is not None and rows.is_monotone:  # in closed form, whatever the number of draws
            ends = rows.of_log_odds(np.stack([self._quantile(low), self._quantile(high)]))
        else:
            ends = np.quantile(values, [low, high], axis=(0, 1))
        mean, sd = self.mean, self.sd
        if not in_theta:
            exists = self._has_mean(values)
            mean = np.where(exists, values.mean(axis=(0, 1)), np.nan)
            sd = np.where(exists, values.std(axis=(0, 1), ddof=1), np.nan)
        columns = {"mean": mean, "sd": sd, f"q{100 * low:g}": ends[0], f"q{100 * high:g}": ends[1]}
        return pd.DataFrame(columns, index=pd.Index(rows.names, name="parameter"))

    def _has_mean(self, values: np.ndarray) -> np.ndarray:
        """(rows,) whether the mean of each row exists: it may not where a prior has none."""
        if self._problem is None or not np.isfinite(self._problem.prior.heavy_scale).any():
            return np.ones(values.shape[2], dtype=bool)
        return ~(diagnostics.tail_index(values) > diagnostics.MOST_TAIL_INDEX)

    def stream(self, n: int, rng: Seed | None = None) -> Iterator[np.ndarray]:
        """Yield further independent joint draws of theta, one at a time.

        Only for methods that draw without a chain, and not after `load`.

        Parameters
        ----------
        n : int
            Number of draws.
        rng : int, SeedSequence or Generator, optional
            Seed.

        Yields
        ------
        (p,) ndarray
            One draw.

        Raises
        ------
        InputError
            If the method has no independent draws.
        """
        if self._draw is None:
            how = f"{self.label} by engine {self.engine!r} has no independent draws to stream"
            raise InputError(f"{how}, or they are gone as it was loaded: use sample() with 'calibrated' or 'mle'.")
        seed = seed_sequence(rng)
        size = max(1, STREAM_BYTES // (8 * max(self.model.n_parameters, 1)))
        for first in range(0, n, size):
            yield from self._draw(min(size, n - first), child(seed, "stream", first))

    @cached_property
    def _observed(self) -> ObservedAverages | None:
        """Averages over the data, for predictive checks; None with missing cells or covariates, or without data."""
        statistics = None if self._problem is None else self._problem.statistics
        if statistics is None or statistics.incomplete is not None or self.model.base is not self.model:
            return None
        return observe(self.model, statistics)

    @cached_property
    def _edge_evidence(self) -> EdgeEvidence:
        """Bayes factors of the edges, computed once; see `edges`."""
        return edge_evidence(self, self._problem)

    def edges(self, *, scale: Scale | None = None, ci_prob: float = 0.9) -> pd.DataFrame:
        """Return one row per edge: mean, sd and interval, and the evidence for its presence and sign.

        Parameters
        ----------
        scale : {"theta", "log-odds", "ising"}, optional
            Scale, as in `summary`.
        ci_prob : float, default 0.9
            Probability of the interval.

        Returns
        -------
        DataFrame
            ``mean``, ``sd``, ``q5``, ``q95``; ``positive``, the posterior probability that the first outcome
            (agreement, both one) has the larger weight; ``log_bf10``, the natural log of the Bayes factor for the edge
            against its absence given the rest of the graph; ``log_bf10_error``, its standard error; ``pareto_k`` of its
            importance weights (NaN if it comes from the density of the draws, as it does where k would be above 0.7);
            ``bound``, whether ``log_bf10`` is a lower bound (its error is infinite); ``verdict``: "present" above a
            Bayes factor of 10, "absent" below 1/10, else "undecided" ("unknown" without a Bayes factor); ``fragile``,
            whether two errors, or a factor above a bound, could change the verdict. ``attrs["source"]`` states how the
            Bayes factors were computed, ``attrs["scale"]`` the scale.

        Examples
        --------
        >>> import mrfbayes as mb
        >>> model = mb.graph([("a", "b"), ("b", "c")])
        >>> posterior = mb.sample(model, mb.simulate(model, 0.8, 200, rng=1), "mle", rng=1, progress=False)
        >>> posterior.edges()["verdict"].tolist()
        ['present', 'present']
        """
        return edges_table(self, scale, ci_prob)

    def _about(self) -> list[tuple[str, str]]:
        chains, draws, p = self.draws.shape
        return [
            ("method", f"{self.label} ({self.target} target)" + ", partial" * self.partial),
            ("draws", f"{p:,} parameters, {chains} chains of {draws:,}"),
            ("data", f"n = {self.n:g}"),
            *(("states", line) for line in self._coding_lines()),
        ]

    def _repr_html_(self) -> str:
        from mrfbayes.base.plain_text import facts, grid

        rows, p = scaled(self.model), self.model.n_parameters
        moments = self._moments(rows)
        certainty = (moments["mean"] - rows.neutral).abs() / moments["sd"].clip(lower=1e-300)
        shown = certainty.iloc[: rows.n_edge_rows or p].sort_values(ascending=False, kind="stable").index
        cells = [[name, *map("{:.3f}".format, row)] for name, *row in moments.loc[shown[:NOTEBOOK_ROWS]].itertuples()]
        head = ["parameter", f"mean ({rows.scale})", "sd", "5%", "95%"]
        part = f"the surest {len(cells)} of {p:,}" if len(cells) < p else ""
        return facts("Posterior", self._about(), self.warnings) + grid(head, cells, part)

    def __repr__(self) -> str:
        chains, draws, p = self.draws.shape
        coded = "".join(f"; {repr(line)[1:-1]}" for line in self._coding_lines())  # terminal codes are written out
        return (
            f"<Posterior: {self.label} ({self.target} target), {p} parameters, {chains} chains of {draws} draws"
            f"{self._flags()}{coded}>"
        )

    def _coding_lines(self) -> list[str]:
        """Which label is which state, where the data are not states as they are."""
        return coding_lines(self.schema) if self.settings.get("schema") or not self.model.grid_shape else []


def diagnosed(draws: np.ndarray, w: np.ndarray | None) -> np.ndarray:
    """The draws that convergence is judged by: theta, or w where theta lacks digits."""
    return w if w is not None and lacks_digits(w) else draws


def lacks_digits(w: np.ndarray) -> bool:
    """Whether theta lacks digits somewhere among these log-odds."""
    return bool(max(w.max(initial=0.0), -w.min(initial=0.0)) > MOST_THETA_DIGITS)
