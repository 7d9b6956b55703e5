"""Weights of rows that are given beside the data."""

from __future__ import annotations

import numpy as np

from mrfbayes.base.errors import InputError
from mrfbayes.data.masks import unmasked


def numbers_of(values: object, name: str) -> np.ndarray:
    """An array of numbers, NaN where they are masked."""
    try:
        return np.array(unmasked(values), dtype=float)
    except (TypeError, ValueError):
        raise InputError(f"{name}: expected numbers, got {type(values).__name__}.") from None


def row_weights(weights: object, x: object) -> np.ndarray | None:
    """(n,) weights >= 0 in the order of the rows of ``x``; None where none are given."""
    if weights is None:
        return None
    array = numbers_of(weights, "weights")
    if array.ndim != 1:
        raise InputError(f"weights has shape {array.shape}: give one weight per row of x.")
    bad = np.flatnonzero(~((array >= 0) & np.isfinite(array)))
    if bad.size:
        k = int(bad[0])
        raise InputError(f"weights[{k}] = {array[k]:g}: a weight is a finite number >= 0.")
    own, rows = _index(weights), _index(x)
    if own is not None and rows is not None and own.shape == rows.shape and not np.array_equal(own, rows):
        raise InputError(
            "weights has another index than x: give weights.loc[x.index], or weights.to_numpy() if they are in the "
            "order of the rows."
        )
    return array


def _index(table: object) -> np.ndarray | None:
    """Labels of the rows, as pandas has them."""
    index = getattr(table, "index", None)
    return None if index is None or callable(index) else np.asarray(index)


def in_proportion(weights: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
    """(size,) indices of ``weights`` in random order, each size * weight / total times, rounded up or down."""
    edges = np.cumsum(weights) / weights.sum()
    index = np.searchsorted(edges, (np.arange(size) + rng.random()) / size, side="right")
    return rng.permutation(np.minimum(index, np.flatnonzero(weights)[-1]))
