"""`Segmentation`: what `mrfbayes.segment` returns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from mrfbayes.base.checks import interval_ends
from mrfbayes.base.errors import warn_user
from mrfbayes.base.html import facts, grid
from mrfbayes.results import diagnostics

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr
    from matplotlib.axes import Axes

    from mrfbayes.hidden.sampler import HiddenField, HiddenOutcome

TRUSTED_SHIFT_SD = 0.1  # error of the coupling's posterior mean by log Z, in sds, past which a warning says so
NEAR_LIMIT = 0.02  # share of draws in the last fiftieth of the allowed couplings, past which a warning says so


@dataclass(frozen=True, eq=False)
class Segmentation:
    """The posterior of a hidden field: draws of its parameters, and marginal probabilities of its labels.

    Attributes
    ----------
    image : (rows, columns) ndarray
        What was observed, NaN where a pixel is missing.
    probabilities : (rows, columns, states) ndarray
        Posterior probability of each label at each pixel.
    draws : (chains, draws, p) ndarray
        Draws of ``parameters``: the coupling, then the emission parameters.
    parameters : tuple of str
        Their names: "coupling"; "mean[k]" and "sd[k]", or "confusion[k,l]", the probability of seeing l
        where k is true.
    agreements : (chains, draws) ndarray
        Number of pairs of neighbours with equal labels.
    settings : mapping
        States, emission, neighbours, prior, iterations per draw, warm-up.
    log_z_error : float
        Standard error of the coupling's posterior mean that log Z causes, in posterior sds; 0 where log Z is exact.
    seed : int or sequence of int
        Entropy of the seed: ``rng=seed`` repeats the run.
    seconds : float
        Wall-clock time of the call.
    warnings : tuple of str
        What calls for action.
    partial : bool
        Whether the time budget ended first.
    """

    image: np.ndarray
    probabilities: np.ndarray
    draws: np.ndarray
    parameters: tuple[str, ...]
    agreements: np.ndarray
    settings: Mapping[str, object]
    log_z_error: float
    seed: int | Sequence[int] | None
    seconds: float
    warnings: tuple[str, ...] = ()
    partial: bool = field(default=False)

    @classmethod
    def of(
        cls,
        hidden: HiddenField,
        outcome: HiddenOutcome,
        neighbours: int,
        seed: np.random.SeedSequence,
        seconds: float,
        cuts: tuple[str, ...],
    ) -> Segmentation:
        """The result of finished chains; its warnings are emitted."""
        seen, chains = hidden.observation, outcome.chains
        draws, w = chains.draws[..., :-1], chains.draws[..., 0]
        sums = chains.probabilities.sum(axis=0) / (chains.iterations * len(draws))
        shift = outcome.curve.shift(float(w.mean()), float(w.std()))
        result = cls(
            image=np.where(seen.observed, seen.image, np.nan),
            probabilities=sums.reshape(*seen.image.shape, seen.n_states),
            draws=draws,
            parameters=("coupling", *seen.names),
            agreements=chains.draws[..., -1].astype(int),
            settings={
                "states": seen.n_states,
                "emission": seen.emission,
                "neighbours": neighbours,
                "prior": str(hidden.prior),
                "limit": hidden.limit,
                "thin": chains.thin,
                "warmup": outcome.warmup,
            },
            log_z_error=shift,
            seed=seed.entropy,
            seconds=seconds,
            warnings=(*cuts, *_warnings(draws, shift, hidden.limit)),
            partial=outcome.partial,
        )
        for text in result.warnings:
            warn_user(text)
        return result

    @property
    def labels(self) -> np.ndarray:
        """(rows, columns) the most probable label of each pixel."""
        return np.asarray(self.probabilities.argmax(axis=2))

    @property
    def entropy(self) -> np.ndarray:
        """(rows, columns) entropy of each pixel's label in nats: 0 where it is certain."""
        p = self.probabilities
        return np.asarray(-(p * np.log(np.maximum(p, 1e-300))).sum(axis=2))

    @cached_property
    def convergence(self) -> diagnostics.Convergence:
        """R-hat and both effective sample sizes of every parameter."""
        return diagnostics.convergence(self.draws)

    def summary(self, *, ci_prob: float = 0.9) -> pd.DataFrame:
        """A row per parameter: mean, sd, equal-tailed interval, Monte-Carlo error, effective sizes, R-hat.

        Parameters
        ----------
        ci_prob : float, default 0.9
            Probability of the interval.
        """
        import pandas as pd

        low, high = interval_ends(ci_prob)
        ends = np.quantile(self.draws, [low, high], axis=(0, 1))
        columns = {
            "mean": self.draws.mean(axis=(0, 1)),
            "sd": self.draws.std(axis=(0, 1), ddof=1),
            f"q{100 * low:g}": ends[0],
            f"q{100 * high:g}": ends[1],
            "mcse_mean": diagnostics.mcse_mean(self.draws),
            "ess_bulk": self.convergence.ess_bulk,
            "ess_tail": self.convergence.ess_tail,
            "r_hat": self.convergence.r_hat,
        }
        return pd.DataFrame(columns, index=pd.Index(self.parameters, name="parameter"))

    def plot(self, ax: Sequence[Axes] | None = None) -> np.ndarray:
        """Draw the image, the most probable labels and their uncertainty side by side; see `plots.segmentation`."""
        from mrfbayes.plots.segmentation import segmentation

        return segmentation(self, ax=ax)

    def to_arviz(self) -> xr.DataTree:
        """The draws as an xarray DataTree that ArviZ opens: groups posterior, sample_stats, observed_data, labels."""
        import xarray as xr

        chains, draws, _ = self.draws.shape
        coordinates = {"chain": np.arange(chains), "draw": np.arange(draws)}
        names = ("coupling", "mean", "sd", "confusion")
        q = self.probabilities.shape[2]
        columns: dict[str, object] = {}
        for name in names:
            own = [k for k, full in enumerate(self.parameters) if full.split("[")[0] == name]
            values = self.draws[..., own]
            if name == "coupling":
                columns[name] = (("chain", "draw"), values[..., 0])
            elif name == "confusion" and own:
                columns[name] = (("chain", "draw", "label", "seen"), values.reshape(chains, draws, q, q))
            elif own:
                columns[name] = (("chain", "draw", "label"), values)
        statistics = {"agreements": (("chain", "draw"), self.agreements)}
        pixels = ("row", "column")
        return xr.DataTree.from_dict(
            {
                "posterior": xr.Dataset(columns, coords=coordinates),
                "sample_stats": xr.Dataset(statistics, coords=coordinates),
                "observed_data": xr.Dataset({"image": (pixels, self.image)}),
                "labels": xr.Dataset({"probability": ((*pixels, "label"), self.probabilities)}),
            }
        )

    def _repr_html_(self) -> str:
        table = self.summary()
        shown = ["mean", "sd", "q5", "q95", "ess_bulk", "r_hat"]
        digits = ["{:.3f}"] * 4 + ["{:.0f}", "{:.3f}"]
        cells = [
            [str(name), *(text.format(value) for text, value in zip(digits, row, strict=True))]
            for name, row in zip(table.index, table[shown].to_numpy(), strict=True)
        ]
        rows, columns = self.image.shape
        missing = int(np.isnan(self.image).sum())
        about = [
            ("image", f"{rows} x {columns} pixels" + (f", {missing:,} missing" if missing else "")),
            ("model", f"{self.settings['states']} labels, emission {self.settings['emission']}"),
            ("draws", f"{self.draws.shape[0]} chains of {self.draws.shape[1]:,}" + ", partial" * self.partial),
            ("log Z", "exact" if not self.log_z_error else f"sampled, error {self.log_z_error:.2f} sd of the coupling"),
        ]
        return facts("Segmentation", about, self.warnings) + grid(["parameter", *shown], cells)

    def __repr__(self) -> str:
        rows, columns = self.image.shape
        flags = f", {len(self.warnings)} warnings" if self.warnings else ""
        return f"<Segmentation: {rows} x {columns} pixels, {self.settings['states']} labels{flags}>"


def _warnings(draws: np.ndarray, shift: float, limit: float) -> list[str]:
    """What calls for action."""
    texts = []
    found = diagnostics.convergence(draws)
    if not (np.nanmax(found.r_hat, initial=1.0) <= diagnostics.MOST_R_HAT):
        texts.append(
            f"the chains disagree: R-hat is up to {np.nanmax(found.r_hat):.2f} (limit {diagnostics.MOST_R_HAT}); raise "
            "draws or thin, or try fewer states"
        )
    elif np.nanmin(found.ess_bulk, initial=np.inf) < diagnostics.LEAST_ESS:
        texts.append(
            f"the smallest effective sample size is {np.nanmin(found.ess_bulk):.0f} (wanted "
            f"{diagnostics.LEAST_ESS}); raise draws or thin"
        )
    if shift > TRUSTED_SHIFT_SD:
        texts.append(f"log Z is sampled, and its error moves the mean of the coupling by about {shift:.2f} sd")
    if (draws[..., 0] > 0.98 * limit).mean() > NEAR_LIMIT:
        texts.append(
            f"the coupling is at the end of its range (0 to {limit:.3g}): the labels hardly change within the image, "
            "or states is too large"
        )
    return texts
