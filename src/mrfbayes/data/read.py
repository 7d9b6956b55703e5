"""Where observations come from: arrays, tables and files, as batches of checked states."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mrfbayes.data.labels import Labels
from mrfbayes.errors import InputError
from mrfbayes.model.field import Model


@dataclass(frozen=True)
class Observations:
    """Checked observations: (n, d) whole numbers, weights, and what was noticed on the way."""

    x: np.ndarray
    weights: np.ndarray | None
    labels: Labels | None
    warnings: tuple[str, ...]

    def batches(self) -> Iterator[tuple[np.ndarray, np.ndarray | None]]:
        """(k, d) uint8 states with their weights."""
        size = max(1, (1 << 26) // self.x.shape[1])
        for start in range(0, len(self.x), size):
            part = slice(start, start + size)
            rows = self.x[part]
            yield rows.astype(np.uint8, copy=False), None if self.weights is None else self.weights[part]


def observations(
    model: Model, x: Any, weights: np.ndarray | None, missing: str, labels: Labels | Sequence[Any] | None
) -> Observations:
    """Check ``x`` against ``model``."""
    array = np.asarray(x)
    if array.ndim != 2 or array.shape[1] != model.n_nodes:
        raise InputError(f"x has shape {array.shape}, expected (n, {model.n_nodes}): one column per node.")
    if not len(array):
        raise InputError("x has no rows: give at least one observation.")
    if weights is not None and weights.size != len(array):
        raise InputError(f"weights has {weights.size} entries, x has {len(array)} rows: give one weight per row.")
    if array.dtype.kind not in "buif":
        raise InputError(f"x holds {array.dtype}: give whole numbers 0..r-1.")
    low, high = array.min(axis=0), array.max(axis=0)
    bad = np.flatnonzero(~((low >= 0) & (high < model.states)))
    if array.dtype.kind == "f" and not bad.size:
        bad = np.flatnonzero((array != np.floor(array)).any(axis=0))
    if bad.size:
        i = int(bad[0])
        raise InputError(
            f"column {model.nodes[i]!r} of x holds {low[i]} to {high[i]}: expected the states 0..{model.states[i] - 1}."
        )
    return Observations(array, weights, None, ())
