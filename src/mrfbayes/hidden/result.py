"""`Segmentation`: what `mrfbayes.segment` returns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from mrfbayes.base.errors import InputError, warn_user
from mrfbayes.base.plain_text import facts, frame
from mrfbayes.base.types import Scale
from mrfbayes.model.result import StoredFields, StoredResult, stored_seed
from mrfbayes.results import diagnostics

if TYPE_CHECKING:
    import pandas as pd

    from mrfbayes.hidden.segment import HiddenField, HiddenOutcome
    from mrfbayes.results.stored import Group

TRUSTED_SHIFT_SD = 0.1  # error of the coupling's posterior mean by log Z, in sds, past which a warning says so
NEAR_LIMIT = 0.02  # share of draws in the last fiftieth of the allowed couplings, past which a warning says so


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Segmentation(StoredResult):
    """The posterior of a hidden field: draws of its parameters, and marginal probabilities of its labels.

    Attributes
    ----------
    image : (rows, columns) ndarray
        What was observed, NaN where a pixel is missing.
    probabilities : (rows, columns, states) ndarray
        Posterior probability of each label at each pixel.
    draws : ndarray
        Shape (chains, draws, p). Draws of ``names``: the coupling, then the emission parameters.
    names : tuple of str
        Names of what was drawn: "coupling"; "mean[k]" and "sd[k]", or "confusion[k,l]", the probability of seeing l
        where k is true.
    agreements : ndarray
        Shape (chains, draws). Number of pairs of neighbours with equal labels.
    log_z_error : float
        Standard error of the coupling's posterior mean that log Z causes, in posterior sds; 0 where log Z is exact.

    See Also
    --------
    segment : Returns it.
    plots.segmentation : The picture.

    Examples
    --------
    >>> import numpy as np
    >>> import mrfbayes as mb
    >>> labels = np.repeat([[0, 0, 1, 1]], 4, axis=0).repeat(4, axis=0)
    >>> image = labels + np.random.default_rng(1).normal(0, 0.3, labels.shape)
    >>> result = mb.segment(image, states=2, draws=200, rng=1, progress=False)
    >>> result.names
    ('coupling', 'mean[0]', 'mean[1]', 'sd[0]', 'sd[1]')
    """

    _arrays: ClassVar = {
        "image": ("observed_data", "image", ("row", "column")),
        "probabilities": ("labels", "probability", ("row", "column", "label")),
        "draws": ("posterior", "values", ("chain", "draw", "quantity")),
        "agreements": ("sample_stats", "agreements", ("chain", "draw")),
    }

    image: np.ndarray
    probabilities: np.ndarray
    draws: np.ndarray
    names: tuple[str, ...]
    agreements: np.ndarray
    log_z_error: float

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
        """Return the result of finished chains and emit its warnings.

        Parameters
        ----------
        hidden : HiddenField
            The field and its observation model.
        outcome : HiddenOutcome
            Draws of the chains.
        neighbours : int
            Number of neighbours of a pixel.
        seed : SeedSequence
            Seed of the run.
        seconds : float
            Duration of the run.
        cuts : tuple of str
            What the time budget left out.

        Returns
        -------
        Segmentation
            The result.
        """
        seen, chains = hidden.observation, outcome.chains
        draws, w = chains.draws[..., :-1], chains.draws[..., 0]
        sums = chains.probabilities.sum(axis=0) / (chains.iterations * len(draws))
        shift = outcome.curve.errors(float(w.mean()), float(w.std()))[0]
        result = cls(
            model=hidden.tied.model,
            n=1.0,
            method="segment",
            target="approximate" if shift else "exact",
            timings={"prepare": 0.0, "compile": 0.0, "run": seconds},
            image=np.where(seen.observed, seen.image, np.nan),
            probabilities=sums.reshape(*seen.image.shape, seen.n_states),
            draws=draws,
            names=("coupling", *seen.names),
            agreements=chains.draws[..., -1].astype(int),
            settings={
                "states": seen.n_states,
                "emission": seen.emission,
                "neighbours": neighbours,
                "prior": str(hidden.prior),
                "limit": hidden.limit,
                "thin": chains.thin,
                "warmup": outcome.warmup,
                "seed": stored_seed(seed),
            },
            log_z_error=shift,
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
        """(rows, columns) entropy of the label of each pixel in nats; 0 if it is certain."""
        p = self.probabilities
        return np.asarray(-(p * np.log(np.maximum(p, 1e-300))).sum(axis=2))

    @cached_property
    def convergence(self) -> diagnostics.Convergence:
        """R-hat and both effective sample sizes of every parameter."""
        return diagnostics.convergence(self.draws)

    def summary(self, *, scale: Scale | None = None, ci_prob: float = 0.9) -> pd.DataFrame:
        """Return one row per parameter: mean, sd, equal-tailed interval, Monte-Carlo error, effective sizes, R-hat.

        Parameters
        ----------
        scale : {"log-odds"}, optional
            Scale of the coupling; there is no other one.
        ci_prob : float, default 0.9
            Probability of the interval.

        Returns
        -------
        DataFrame
            One row per parameter.

        Raises
        ------
        InputError
            If `scale` is given: the coupling of a segmentation is in log-odds.
        """
        import pandas as pd

        if scale not in (None, "log-odds"):
            raise InputError(f"scale = {scale!r}: the coupling of a segmentation is in log-odds; leave scale out.")
        columns = diagnostics.moment_columns(self.draws, ci_prob)
        return pd.DataFrame(columns, index=pd.Index(self.names, name="parameter"))

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of what was drawn."""
        return self.names

    def edges(self, *, scale: Scale | None = None, ci_prob: float = 0.9) -> pd.DataFrame:
        """Raise an error, since all edges share one coupling, which is in `summary`.

        Parameters
        ----------
        scale : {"log-odds"}, optional
            Not used.
        ci_prob : float, default 0.9
            Not used.

        Returns
        -------
        DataFrame
            Never.

        Raises
        ------
        InputError
            Always.
        """
        self._refuse("edges", "all edges share one coupling, which summary() has")

    def _labels(self) -> dict[str, Sequence[str]]:
        return {"quantity": self.names}

    @classmethod
    def _restore(cls, values: StoredFields, groups: Mapping[str, Group]) -> dict[str, object]:
        values["agreements"] = values["agreements"].astype(int)
        return {}

    def _about(self) -> list[tuple[str, str]]:
        rows, columns = self.image.shape
        missing = int(np.isnan(self.image).sum())
        return [
            ("image", f"{rows} x {columns} pixels" + (f", {missing:,} missing" if missing else "")),
            ("model", f"{self.settings['states']} labels, emission {self.settings['emission']}"),
            ("draws", f"{self.draws.shape[0]} chains of {self.draws.shape[1]:,}" + ", partial" * self.partial),
            ("log Z", "exact" if not self.log_z_error else f"sampled, error {self.log_z_error:.2f} sd of the coupling"),
        ]

    def _repr_html_(self) -> str:
        return facts("Segmentation", self._about(), self.warnings) + frame(self.summary())

    def __repr__(self) -> str:
        rows, columns = self.image.shape
        return f"<Segmentation: {rows} x {columns} pixels, {self.settings['states']} labels{self._flags()}>"


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
