"""What the results of every search over graphs have in common."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike
from typing import TYPE_CHECKING

import numpy as np

from mrfbayes.data.coding import schema_from
from mrfbayes.model.field import Model
from mrfbayes.model.schema import Schema
from mrfbayes.results.bayes_factors import verdicts

if TYPE_CHECKING:
    import pandas as pd

    from mrfbayes.structure.reruns import Rerun


@dataclass(frozen=True, eq=False, kw_only=True)
class SearchResult:
    """Probabilities of the edges (or of their differences), how they were made, and what to think of them.

    Attributes
    ----------
    model : the field with all edges that may be there
    log_likelihood : (chains, draws) of the kept draws; relative to the anchor where the engine is "particles"
    inclusion : (m,) posterior probability of each edge, from all sweeps, Rao-Blackwellised
    absence : (m,) its complement, which keeps its digits where inclusion rounds to one
    inclusion_error : (m,) Monte-Carlo standard error of both
    prior_inclusion : (m,) marginal prior probability of each edge
    target : "exact", or "approximate" with particles
    engine : "states", "recursion" or "particles"
    """

    model: Model
    log_likelihood: np.ndarray
    inclusion: np.ndarray
    absence: np.ndarray
    inclusion_error: np.ndarray
    prior_inclusion: np.ndarray
    target: str
    engine: str
    steps: int
    warmup: int
    thin: int
    seconds: Mapping[str, float]
    settings: Mapping[str, object]
    versions: Mapping[str, str]
    data_digest: str
    warnings: tuple[str, ...] = ()
    partial: bool = False
    details: Mapping[str, object] = field(default_factory=dict)
    computed: dict[str, list[dict[str, object]]] = field(default_factory=dict, repr=False)  # once, by short runs
    rerun: Rerun | None = field(default=None, repr=False)  # not saved: goes on under other priors

    @property
    def schema(self) -> Schema:
        """Which value of the data is which state."""
        return schema_from(self.settings, self.model)

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
    def set_difference(self) -> float | None:
        """By how much the two sets of samples differ in inclusion probability, on average; None without such sets."""
        value = self.details.get("set_difference_mean")
        return float(value) if isinstance(value, (int, float)) else None

    def evidence_table(self) -> pd.DataFrame:
        """A row per edge: ``inclusion``, ``inclusion_error``, ``log_bf10``, ``verdict`` and ``fragile``."""
        import pandas as pd

        verdict, fragile = verdicts(self.log_bf10, self.log_bf10_error)
        return pd.DataFrame(
            {
                "inclusion": self.inclusion,
                "inclusion_error": self.inclusion_error,
                "log_bf10": self.log_bf10,
                "verdict": verdict,
                "fragile": fragile,
            },
            index=pd.Index(self.model.blocks[: self.model.n_edges], name="edge"),
        )

    def save(self, path: str | PathLike[str], overwrite: bool = False) -> None:
        """Write everything to one netCDF file; `mrfbayes.load` brings it back."""
        from mrfbayes.structure.stored import save

        save(self, path, overwrite)

    def told(self, n_chains: int, n_draws: int) -> str:
        """The end of a line about the result: chains, draws, and whether there is anything to know."""
        state = ", partial" if self.partial else ""
        flags = f", {len(self.warnings)} warnings" if self.warnings else ""
        return f"{n_chains} chains of {n_draws} draws{state}{flags}"
