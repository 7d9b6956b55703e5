"""The posterior: draws, moments, how they were made, and what to think of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from mrfbayes.base.checks import interval_ends
from mrfbayes.base.errors import InputError
from mrfbayes.base.random_streams import Seed, child, seed_sequence
from mrfbayes.base.types import DataLike, Scale
from mrfbayes.data.coding import coding_lines
from mrfbayes.model.result import StoredFields, StoredResult
from mrfbayes.model.scales import Scaled, scaled
from mrfbayes.model.wording import meaning, natural_scale
from mrfbayes.results import diagnostics
from mrfbayes.results.covariates import WithCovariates
from mrfbayes.targets.facts import RunFacts

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from mrfbayes.methods.problem import Problem
    from mrfbayes.results.bayes_factors import EdgeEvidence
    from mrfbayes.results.files import Group
    from mrfbayes.results.observed import ObservedAverages
    from mrfbayes.targets.corrected import WeightedProposals

MOST_EXACT_LOG_ODDS = 30.0  # beyond it theta lacks digits, and a file keeps the log-odds as well
MANY = 500  # parameters past which independent draws are not examined for convergence
PREDICTABILITY_DRAWS = 200  # of the posterior
NOTEBOOK_ROWS = 12  # rows of the table in a notebook
STREAM_BYTES = 2**24  # of draws that are made at once


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Posterior(WithCovariates, StoredResult):
    """Draws from a posterior distribution, with everything that is needed to judge and repeat them.

    Beside what follows it has what every `Result` has.

    Attributes
    ----------
    draws : (chains, draws, p) theta
    log_likelihood : (chains, draws) up to a constant, where the engine computes it, else None
    mean, sd : (p,) over all steps after warm-up, also those that thinning dropped
    label : name of the method in tables and sentences
    engine : what made the draws
    has_chains : whether they come from Markov chains; else they are independent
    steps, warmup, thin : steps of each chain after warm-up, before, and for every draw that is kept
    acceptance : (chains,) share of proposals accepted after warm-up; None for independent draws
    details : all that was found on the way, to be printed and saved; ``facts`` has what other code relies on
    w : (chains, draws, p) log-odds of the draws where chains moved in them, exact also where theta rounds to 0 or 1;
        else None. ``log_odds`` has them in both cases
    sd_error : (p,) relative Monte-Carlo standard error of the sds where they come from particles, else None
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
    # For what is computed later: model, data and prior; (n, seed) -> draws (n, p); probability -> (p,); independent
    # draws with weights, of which quantiles and densities are made, where the engine has them.
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
        from mrfbayes.results.stored_posterior import more_groups

        return more_groups(self)

    @classmethod
    def _restore(cls, values: StoredFields, groups: Mapping[str, Group]) -> dict[str, object]:
        from mrfbayes.results.stored_posterior import restore

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
        """A row per parameter: mean, sd, equal-tailed interval, Monte-Carlo errors, effective sizes, R-hat.

        ``mcse_sd`` is there where sds come from particles. Hundreds of parameters drawn independently have no
        effective sizes and R-hat: there is no chain. Where a posterior has tails so heavy that no mean exists (a Cauchy
        prior on log-odds that the data do not bound), ``mean`` and ``sd`` are not a number, ``attrs["no_mean"]`` names
        the rows, and the Monte-Carlo errors of both ends of the interval are given.

        Parameters
        ----------
        scale : "theta", "log-odds", or "ising", couplings J and fields h of spins -1 and +1 (a row per edge, then per
            node); by default "theta" for models with agreement couplings alone, else "log-odds". ``attrs["scale"]``
            says which, ``attrs["meaning"]`` what it means.
        ci_prob : probability of the interval
        """
        import pandas as pd

        rows = scaled(self.model, scale)
        columns = self._moments(rows, ci_prob)
        in_theta = rows.scale == "theta"
        values = self._values(rows)
        if self.sd_error is not None and in_theta:
            columns["mcse_sd"] = self.sd * self.sd_error
        if self.has_chains or self.model.n_parameters <= MANY:
            found = self._convergence if rows.scale != "ising" else diagnostics.convergence(values)
            no_mean = np.isnan(columns["mean"])
            if no_mean.any():
                low, high = [name for name in columns if name[0] == "q"]
                for name in (low, high):
                    columns[f"mcse_{name}"] = diagnostics.mcse_quantile(values, float(name[1:]) / 100)
            columns |= {
                "mcse_mean": self.mcse if in_theta else diagnostics.mcse_mean(values),
                "ess_bulk": found.ess_bulk,
                "ess_tail": found.ess_tail,
                "r_hat": found.r_hat,
            }
        table = pd.DataFrame(columns, index=pd.Index(rows.names, name="parameter"))
        table.attrs |= {"scale": rows.scale, "meaning": meaning(self.model, rows.scale)}
        if np.isnan(columns["mean"]).any():
            table.attrs["no_mean"] = table.index[np.isnan(columns["mean"])].tolist()
        return table

    def _moments(self, rows: Scaled, ci_prob: float = 0.9) -> dict[str, np.ndarray]:
        """Mean, sd and both ends of the equal-tailed interval of ``rows``, without diagnostics."""
        low, high = interval_ends(ci_prob)
        in_theta = rows.scale == "theta"
        values = self._values(rows)
        if self._weighted is not None and rows.is_monotone and not in_theta:
            ends = np.stack([self._weighted.log_odds_quantile(low), self._weighted.log_odds_quantile(high)])
        elif self._quantile is not None and rows.is_monotone:  # in closed form, whatever the number of draws
            ends = rows.values(np.stack([self._quantile(low), self._quantile(high)]))
        else:
            ends = np.quantile(values, [low, high], axis=(0, 1))
        mean, sd = self.mean, self.sd
        if not in_theta:
            exists = self._has_mean(values)
            mean = np.where(exists, values.mean(axis=(0, 1)), np.nan)
            sd = np.where(exists, values.std(axis=(0, 1), ddof=1), np.nan)
        return {
            "mean": mean,
            "sd": sd,
            f"q{100 * low:g}": ends[0],
            f"q{100 * high:g}": ends[1],
        }

    def _has_mean(self, values: np.ndarray) -> np.ndarray:
        """(rows,) whether the mean of each row exists: it may not where a prior has none."""
        prior = None if self._problem is None else self._problem.prior
        if prior is None or not np.isfinite(prior.heavy_scale).any():
            return np.ones(values.shape[2], dtype=bool)
        return ~(diagnostics.tail_index(values) > diagnostics.MOST_TAIL_INDEX)

    def stream(self, n: int, rng: Seed | None = None) -> Iterator[np.ndarray]:
        """Further independent joint draws (p,) of theta, one at a time: for more draws than fit into memory.

        For methods that draw without a chain, while the posterior that `sample` returned is at hand (not after `load`).
        """
        if self._draw is None:
            raise InputError(
                f"{self.label} by engine {self.engine!r} has no independent draws to stream: use the draws that are "
                "kept, or method='calibrated' or 'mle'."
            )
        seed = seed_sequence(rng)
        size = max(1, STREAM_BYTES // (8 * max(self.model.n_parameters, 1)))
        for first in range(0, n, size):
            yield from self._draw(min(size, n - first), child(seed, "stream", first))

    @cached_property
    def _observed(self) -> ObservedAverages | None:
        """Averages over the data, for predictive checks; None where nothing is known of them, or cells are missing."""
        from mrfbayes.results.observed import observe

        statistics = None if self._problem is None else self._problem.statistics
        return None if statistics is None or statistics.holes is not None else observe(self.model, statistics)

    @cached_property
    def _edge_evidence(self) -> EdgeEvidence:
        """Bayes factors of the edges, computed once; see `edges`."""
        from mrfbayes.results.bayes_factors import edge_evidence

        return edge_evidence(self, self._problem)

    def edges(self, *, scale: Scale | None = None, ci_prob: float = 0.9) -> pd.DataFrame:
        """A row per edge: posterior mean, sd and interval, and what the data say about its presence and sign.

        Columns: ``mean``, ``sd``, ``q5``, ``q95`` in ``scale`` (as in `summary`); ``positive``, the posterior
        probability that the first outcome (agreement, both one) is the heavier one; ``log_bf10``, the natural log of
        the Bayes factor for the edge against its absence given the rest of the graph; ``log_bf10_error``, its
        standard error; ``pareto_k`` of the importance weights behind it (NaN where it comes from the density of the
        draws, which is so wherever k would be above 0.7); ``bound``, whether ``log_bf10`` is a lower bound, beyond
        which the draws cannot tell (its error is infinite); ``verdict``: "present" above a Bayes factor of 10, "absent"
        below 1/10, else "undecided" ("unknown" without a Bayes factor); ``fragile``, whether two errors, or a factor
        above a bound, could change the verdict. ``attrs["source"]`` says whether the exact likelihood corrected the
        Bayes factors or draws gave them, ``attrs["scale"]`` the scale.
        """
        from mrfbayes.results.bayes_factors import edges_table

        return edges_table(self, scale, ci_prob)

    def predictability(
        self, data: DataLike | None = None, *, draws: int = PREDICTABILITY_DRAWS, ci_prob: float = 0.9
    ) -> pd.DataFrame:
        """A row per node: how well all other nodes predict it in the observed rows, over the posterior.

        ``accuracy`` is the share of rows in which the likeliest state given the rest of the row is the observed one,
        ``accuracy_alone`` what always naming the commonest state reaches; ``accuracy_gain`` and ``log_score_gain``
        (nats per row, against the observed frequencies) are posterior means with their intervals beside them. Rows with
        missing cells count in full, as completed at every draw that is used.

        Parameters
        ----------
        data : observations; by default those that the posterior was learned from (at most 4,096 rows of them)
        draws : number of posterior draws that are used
        ci_prob : probability of the intervals
        """
        from mrfbayes.results.predictability import predictability_table

        if data is None and (draws, ci_prob) == (PREDICTABILITY_DRAWS, 0.9):
            return self._predictability.copy()
        return predictability_table(self, data, draws, ci_prob)

    @cached_property
    def _predictability(self) -> pd.DataFrame:
        """The table of `predictability` as it is by default, computed once, and saved with the result."""
        from mrfbayes.results.predictability import predictability_table

        return predictability_table(self, None, PREDICTABILITY_DRAWS, 0.9)

    def centrality(self, *, scale: Scale | None = None, ci_prob: float = 0.9) -> pd.DataFrame:
        """A row per node: strength (sum of the sizes of its couplings) and expected influence (their sum).

        Parameters
        ----------
        scale : "log-odds" (the default) or "ising"
        ci_prob : probability of the intervals, in the columns ``strength_q5`` and so on
        """
        from mrfbayes.results.centrality import centrality_table

        return centrality_table(self, scale or "log-odds", ci_prob)

    def predict(
        self,
        data: DataLike,
        given: Iterable[str] | str,
        *,
        draws: int = 100,
        rng: Seed | None = None,
        progress: bool = True,
    ) -> pd.DataFrame:
        """Probability of every state of the nodes that are not ``given``, averaged over the posterior.

        Parameters
        ----------
        data : rows with the states of the given nodes: a table with their names, a mapping for one row, or an array
            with a column per given node (in the order of ``model.nodes``) or per node
        given : names of the nodes that are known
        draws : number of posterior draws that are averaged over
        rng : seed, for fields so wide that Gibbs sampling is needed

        Returns
        -------
        a row per row of ``data``, columns (node, state); ``attrs["way"]`` says whether probabilities were enumerated,
        came from the exact recursion, or from Gibbs samples
        """
        from mrfbayes.results.predict import predict_table

        return predict_table(self, data, given, draws, rng, progress)

    def impute(self, m: int = 10, data: DataLike | None = None, *, rng: Seed | None = None) -> list[np.ndarray]:
        """``m`` completed data sets (n, d) of states: missing cells drawn from the posterior, given what is seen.

        Each belongs to another draw of the parameters, so that an analysis repeated on all of them shows what the
        missing cells leave open. Cells are taken to be missing at random.

        Parameters
        ----------
        m : number of data sets
        data : rows with missing cells, in any form that `mrfbayes.Data` reads, and in whose order the result comes; by
            default those that the posterior was learned from, complete rows first
        rng : seed
        """
        from mrfbayes.results.imputation import completed

        return completed(self, m, data, rng)

    def missing_information(self) -> pd.Series:
        """The share of the information on each parameter that missing cells took: 0 where none is missing.

        1 - v_complete / v (Louis 1982), where v is the variance of the log-odds in the Gaussian at the mode, and
        v_complete what it would be if all cells were there.
        """
        from mrfbayes.results.imputation import missing_information

        return missing_information(self)

    def _repr_html_(self) -> str:
        from mrfbayes.base.html import facts, grid

        chains, draws, p = self.draws.shape
        scale = natural_scale(self.model)
        rows = scaled(self.model, scale)
        spread = self._moments(rows)
        sure = np.abs(spread["mean"] - rows.neutral) / np.maximum(spread["sd"], 1e-300)
        shown = np.argsort(-sure[: rows.n_edge_rows or p], kind="stable")[:NOTEBOOK_ROWS]
        cells = [
            [rows.names[j], *(f"{spread[name][j]:.3f}" for name in ("mean", "sd", "q5", "q95"))] for j in shown.tolist()
        ]
        about = [
            ("method", f"{self.label} ({self.target} target)" + (", partial" if self.partial else "")),
            ("draws", f"{p:,} parameters, {chains} chains of {draws:,}"),
            ("data", f"n = {self.n:g}"),
            *(("states", line) for line in self._coding_lines()),
        ]
        head = ["parameter", f"mean ({scale})", "sd", "5%", "95%"]
        part = f"the surest {len(cells)} of {p:,}" if len(cells) < p else ""
        return facts("Posterior", about, self.warnings) + grid(head, cells, part)

    def __repr__(self) -> str:
        chains, draws, p = self.draws.shape
        state = ", partial" if self.partial else ""
        flags = f", {len(self.warnings)} warnings" if self.warnings else ""
        coded = "".join(f"; {repr(line)[1:-1]}" for line in self._coding_lines())  # terminal codes are written out
        return (
            f"<Posterior: {self.label} ({self.target} target), {p} parameters, {chains} chains of {draws} draws"
            f"{state}{flags}{coded}>"
        )

    def _coding_lines(self) -> list[str]:
        """Which label is which state, where the data are not states as they are."""
        return coding_lines(self.schema) if self.settings.get("schema") or not self.model.grid_shape else []


def diagnosed(draws: np.ndarray, w: np.ndarray | None) -> np.ndarray:
    """The draws that convergence is judged by: theta, or w where theta lacks digits."""
    return draws if w is None or np.abs(w).max(initial=0.0) <= MOST_EXACT_LOG_ODDS else w
