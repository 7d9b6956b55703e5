"""What the results of every search over graphs have in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pandas as pd

from mrfbayes.model.result import StoredFields, StoredResult
from mrfbayes.results import diagnostics
from mrfbayes.results.bayes_factors import verdicts, without_evidence
from mrfbayes.results.posterior import Posterior

if TYPE_CHECKING:
    from mrfbayes.base.types import Stored
    from mrfbayes.methods.problem import Problem
    from mrfbayes.run.driver import ChainRun
    from mrfbayes.structure.reruns import Rerun
    from mrfbayes.structure.search import SearchSummary

_DRAWS = ("chain", "draw")
AVERAGED = "graphs"  # the method and the engine of the draws of a search as a posterior
_SHARED = (
    *("model", "log_likelihood", "target", "steps", "warmup", "thin", "timings", "versions", "data_digest"),
    *("warnings", "partial"),
)


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class SearchResult(StoredResult):
    """Posterior probabilities of edges, or of their differences, with diagnostics and settings.

    Attributes
    ----------
    model : Model
        The field with all possible edges.
    log_likelihood : ndarray
        Shape (chains, draws). Of the kept draws; relative to the anchor if the engine is "particles".
    inclusion : (m,) ndarray
        Posterior probability of each edge, from all sweeps, Rao-Blackwellised.
    absence : (m,) ndarray
        Its complement, exact also where inclusion rounds to one.
    inclusion_error : (m,) ndarray
        Monte-Carlo standard error of both.
    prior_inclusion : (m,) ndarray
        Marginal prior probability of each edge.
    target : {"exact", "approximate"}
        "approximate" with particles.
    engine : {"states", "recursion", "particles"}
        How conditional distributions are computed.
    steps : int
        Sweeps of each chain after warm-up.
    warmup : int
        Sweeps before.
    thin : int
        Sweeps per kept draw.
    computed : dict
        Tables of short further runs, computed once.
    """

    _arrays: ClassVar = {
        "log_likelihood": ("log_likelihood", "total", _DRAWS),
        "inclusion": ("edges", "inclusion", ("edge",)),
        "absence": ("edges", "absence", ("edge",)),
        "inclusion_error": ("edges", "inclusion_error", ("edge",)),
        "prior_inclusion": ("edges", "prior_inclusion", ("edge",)),
    }

    log_likelihood: np.ndarray
    inclusion: np.ndarray
    absence: np.ndarray
    inclusion_error: np.ndarray
    prior_inclusion: np.ndarray
    engine: str
    steps: int
    warmup: int
    thin: int
    computed: dict[str, list[dict[str, Stored]]] = field(default_factory=dict)  # once, by short runs
    _rerun: Rerun | None = None  # goes on under other priors

    @property
    def log_bf10(self) -> np.ndarray:
        """(m,) natural log of the posterior odds of each edge over its marginal prior odds."""
        prior = self.prior_inclusion
        with np.errstate(divide="ignore", invalid="ignore"):
            factor = np.log(self.inclusion) - np.log(self.absence) - np.log(prior) + np.log1p(-prior)
        return np.asarray(np.where(prior < 1.0, factor, np.nan))

    @property
    def log_bf10_error(self) -> np.ndarray:
        """(m,) Monte-Carlo standard error of ``log_bf10``."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(self.inclusion_error / (self.inclusion * self.absence))

    @property
    def included(self) -> np.ndarray:
        """(chains, draws, m) which edges are there, or differ, in each draw."""
        raise NotImplementedError

    @cached_property
    def _inclusion_convergence(self) -> diagnostics.Convergence:
        return diagnostics.convergence(self.included.astype(float))

    @property
    def inclusion_r_hat(self) -> np.ndarray:
        """(m,) R-hat of which edges are there in the kept draws; NaN where all draws agree."""
        return self._inclusion_convergence.r_hat

    @property
    def inclusion_ess(self) -> np.ndarray:
        """(m,) effective number of kept draws of which edges are there; all of them where they agree."""
        return self._inclusion_convergence.ess_bulk

    @property
    def set_difference(self) -> float | None:
        """By how much the two sets of samples differ in inclusion probability, on average; None without such sets."""
        value = self.details.get("set_difference_mean")
        return float(value) if isinstance(value, (int, float)) else None

    def _evidence_table(self) -> pd.DataFrame:
        """A row per edge: its inclusion with diagnostics, Bayes factor and verdict."""
        verdict, fragile = verdicts(self.log_bf10, self.log_bf10_error)
        return pd.DataFrame(
            {
                "inclusion": self.inclusion,
                "inclusion_error": self.inclusion_error,
                "inclusion_ess": self.inclusion_ess,
                "inclusion_r_hat": self.inclusion_r_hat,
                "log_bf10": self.log_bf10,
                "log_bf10_error": self.log_bf10_error,
                "verdict": verdict,
                "fragile": fragile,
            },
            index=pd.Index(self.model.blocks[: self.model.n_edges], name="edge"),
        )

    def _as_posterior(
        self, log_odds: np.ndarray, n: float, label: str, problem: Problem | None = None, part: str | None = None
    ) -> Posterior:
        """Draws (chains, draws, p) of the search as a posterior, so that all that is computed from draws is there.

        Parameters
        ----------
        part : digest of the data where they are a part of those of the search, whose likelihood is then not known
        """
        draws = self.model.chart.theta(log_odds)
        shared = {name: getattr(self, name) for name in _SHARED}
        if part is not None:
            shared |= {"data_digest": part, "log_likelihood": None}
        posterior = Posterior(
            **shared,
            draws=draws,
            mean=draws.mean(axis=(0, 1)),
            sd=draws.std(axis=(0, 1)),
            method=AVERAGED,
            label=label,
            engine=AVERAGED,
            acceptance=None,
            settings={**self.settings, "prior": f"{self.settings['slab']} if there"},
            n=n,
            details={"missing": self.settings["missing"]} if "missing" in self.settings else {},
            w=log_odds,
            _problem=problem,
        )
        return without_evidence(posterior)

    def _subject(self) -> tuple[str, str]:
        """What the search was of, and what its edges are expected to be."""
        return "", "expected"

    def __repr__(self) -> str:
        (subject, expected), (chains, draws) = self._subject(), self.log_likelihood.shape
        count = f"{self.inclusion.sum():.1f} of {self.model.n_edges} edges {expected}"
        return (
            f"<{type(self).__name__}{subject} ({self.target} target, engine {self.engine}): {count} "
            f"({self.prior_inclusion.sum():.1f} by the prior alone), {chains} chains of {draws} draws{self._flags()}>"
        )


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
