"""The posterior: draws, moments, how they were made, and what to think of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from mrfbayes.base.errors import InputError
from mrfbayes.base.random_streams import Seed, child, seed_sequence
from mrfbayes.model.field import Model
from mrfbayes.posterior import diagnostics

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr


MANY = 500  # parameters past which independent draws are not examined for convergence
STREAM_BYTES = 2**24  # of draws that are made at once


@dataclass(frozen=True, eq=False)
class Posterior:
    """Draws from a posterior distribution, with everything that is needed to judge and repeat them.

    Attributes
    ----------
    draws : (chains, draws, p) theta
    mean, sd : (p,) over all steps after warm-up, also those that thinning dropped
    method, label, target : which method; "exact" or "approximate" target
    acceptance : (chains,) share of proposals accepted after warm-up; None for independent draws
    seconds : where the time went: "prepare", "compile", "chain"
    settings : every setting of the run, the seed among them
    warnings : what the reader has to know
    partial : whether the run was stopped before its end
    sd_error : (p,) relative Monte-Carlo standard error of the sds where they come from particles, else None
    """

    model: Model
    draws: np.ndarray
    log_likelihood: np.ndarray
    mean: np.ndarray
    sd: np.ndarray
    method: str
    label: str
    target: str
    engine: str
    steps: int
    warmup: int
    thin: int
    acceptance: np.ndarray | None
    seconds: Mapping[str, float]
    settings: Mapping[str, Any]
    versions: Mapping[str, str]
    data_digest: str
    n: float
    warnings: tuple[str, ...] = ()
    partial: bool = False
    details: Mapping[str, Any] = field(default_factory=dict)
    sd_error: np.ndarray | None = None
    # Not saved, for what is computed later: model, data and prior; (n, seed) -> draws (n, p); probability -> (p,)
    problem: Any = field(default=None, repr=False)
    draw: Callable[[int, np.random.SeedSequence], np.ndarray] | None = field(default=None, repr=False)
    quantile: Callable[[float], np.ndarray] | None = field(default=None, repr=False)

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the p parameters."""
        return self.model.parameters

    @property
    def log_odds(self) -> np.ndarray:
        """The draws (chains, draws, p) as log-odds w."""
        return self.model.chart.log_odds(self.draws)

    @cached_property
    def r_hat(self) -> np.ndarray:
        """Rank-normalised split R-hat (p,)."""
        return diagnostics.r_hat(self.draws)

    @cached_property
    def ess(self) -> np.ndarray:
        """Bulk effective sample size (p,)."""
        return diagnostics.ess_bulk(self.draws)

    @cached_property
    def ess_tail(self) -> np.ndarray:
        """Tail effective sample size (p,)."""
        return diagnostics.ess_tail(self.draws)

    @cached_property
    def mcse(self) -> np.ndarray:
        """Monte-Carlo standard error of the mean (p,)."""
        return diagnostics.mcse_mean(self.draws)

    def summary(self, interval: float = 0.9) -> pd.DataFrame:
        """A row per parameter: mean, sd, equal-tailed interval, Monte-Carlo errors, effective sizes, R-hat.

        ``mcse_sd`` is there where sds come from particles. Hundreds of parameters drawn independently have no
        effective sizes and R-hat: there is no chain.
        """
        import pandas as pd

        low, high = (1 - interval) / 2, (1 + interval) / 2
        if self.quantile is not None:  # in closed form, whatever the number of draws
            quantiles = np.stack([self.quantile(low), self.quantile(high)])
        else:
            quantiles = np.quantile(self.draws, [low, high], axis=(0, 1))
        columns = {
            "mean": self.mean,
            "sd": self.sd,
            f"q{100 * low:g}": quantiles[0],
            f"q{100 * high:g}": quantiles[1],
        }
        if self.sd_error is not None:
            columns["mcse_sd"] = self.sd * self.sd_error
        if self.engine != "direct" or self.model.n_parameters <= MANY:
            columns |= {"mcse_mean": self.mcse, "ess_bulk": self.ess, "ess_tail": self.ess_tail, "r_hat": self.r_hat}
        return pd.DataFrame(columns, index=pd.Index(self.parameters, name="parameter"))

    def stream(self, n: int, rng: Seed | None = 0) -> Iterator[np.ndarray]:
        """Further independent joint draws (p,) of theta, one at a time: for more draws than fit into memory.

        For methods that draw without a chain, while the posterior that `sample` returned is at hand (not after `load`).
        """
        if self.draw is None:
            raise InputError(
                f"{self.label} by engine {self.engine!r} has no independent draws to stream: use the draws that are "
                "kept, or method='calibrated' or 'mle'."
            )
        seed = seed_sequence(rng)
        size = max(1, STREAM_BYTES // (8 * max(self.model.n_parameters, 1)))
        for first in range(0, n, size):
            yield from self.draw(min(size, n - first), child(seed, "stream", first))

    def edges(self) -> pd.DataFrame:
        """A row per edge: posterior mean and sd of theta, and what the data say about its presence and sign.

        Columns: ``mean``, ``sd``; ``positive``, the posterior probability that the first outcome (agreement, both one)
        is the heavier one; ``log_bf10``, the natural log of the Bayes factor for the edge against its absence given the
        rest of the graph; ``log_bf10_error``, its Monte-Carlo standard error; ``pareto_k``, below 0.7 where that error
        can be trusted. ``attrs["source"]`` says whether the exact likelihood corrected them or coins gave them.
        """
        from mrfbayes.posterior.bayes_factors import edges_table

        return edges_table(self, self.problem)

    def to_arviz(self) -> xr.DataTree:
        """The draws as a DataTree (groups "posterior" and "sample_stats"), what ArviZ, PyMC and NumPyro users open."""
        from mrfbayes.posterior.netcdf import to_datatree

        return to_datatree(self)

    def save(self, path: str | PathLike[str], overwrite: bool = False) -> None:
        """Write everything to one netCDF file; `mrfbayes.load` brings it back."""
        from mrfbayes.posterior.netcdf import save

        save(self, path, overwrite)

    def __repr__(self) -> str:
        chains, draws, p = self.draws.shape
        state = ", partial" if self.partial else ""
        flags = f", {len(self.warnings)} warnings" if self.warnings else ""
        return (
            f"<Posterior: {self.label} ({self.target} target), {p} parameters, {chains} chains of {draws} draws"
            f"{state}{flags}>"
        )


def load(path: str | PathLike[str]) -> Posterior:
    """The posterior that `Posterior.save` wrote to ``path``."""
    from mrfbayes.posterior.netcdf import read

    return Posterior(**read(path))
