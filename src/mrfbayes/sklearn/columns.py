"""Columns of numbers cut into classes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mrfbayes.base.checks import whole
from mrfbayes.base.errors import InputError

MOST_BINS = 12


@dataclass(frozen=True)
class Cuts:
    """Where columns of numbers are cut into classes: at quantiles of the data they were learned from."""

    inner: np.ndarray  # (bins - 1, d)

    @classmethod
    def of(cls, x: np.ndarray, bins: object) -> Cuts:
        """Quantiles that make ``bins`` classes of every column of ``x``."""
        n_bins = whole("bins", bins, 2)
        if n_bins > MOST_BINS:
            raise InputError(f"bins = {bins}: give at most {MOST_BINS}.")
        numbers = as_numbers(x, "bins= cuts numbers")
        return cls(np.quantile(numbers, np.arange(1, n_bins) / n_bins, axis=0))

    def classes(self, x: np.ndarray) -> np.ndarray:
        """(n, d) class of every number: how many cuts lie below it."""
        return np.asarray((as_numbers(x, "bins= cuts numbers")[None] > self.inner[:, None]).sum(axis=0))


def as_numbers(x: np.ndarray, why: str) -> np.ndarray:
    """``x`` as floats, or an `InputError` that says why it has to be numbers."""
    try:
        return np.asarray(x, dtype=float)
    except ValueError:
        raise InputError(f"X holds text, and {why}: leave bins= out, or encode the labels first.") from None
