"""Arrays as they are given: masked cells are missing, and rows beside the data belong to its rows."""

from __future__ import annotations

import numpy as np

from mrfbayes.base.errors import InputError


def unmasked(x: object) -> np.ndarray:
    """An array in which masked cells are NaN, or None among text."""
    if isinstance(x, (list, tuple)) and any(map(np.ma.isMaskedArray, x)):
        x = np.ma.array(x)
    if not isinstance(x, np.ma.MaskedArray):
        return np.asarray(x)
    if x.dtype.kind in "buif":
        return np.asarray(np.ma.filled(x.astype(float), np.nan))
    values = np.array(x.data, dtype=object)
    values[np.ma.getmaskarray(x)] = None
    return values


def numbers_of(values: object, name: str) -> np.ndarray:
    """An array of numbers, NaN where they are masked."""
    try:
        return np.array(unmasked(values), dtype=float)
    except (TypeError, ValueError):
        raise InputError(f"{name}: expected numbers, got {type(values).__name__}.") from None


def same_rows(argument: str, given: object, x: object) -> None:
    """Refuse a Series whose index is not that of the data: its rows would be matched by position."""
    own, rows = _index(given), _index(x)
    if own is not None and rows is not None and own.shape == rows.shape and not np.array_equal(own, rows):
        raise InputError(
            f"{argument} has another index than the data: give {argument}.loc[data.index], or "
            f"{argument}.to_numpy() if it is in the order of the rows."
        )


def _index(table: object) -> np.ndarray | None:
    """Labels of the rows, as pandas has them."""
    index = getattr(table, "index", None)
    return None if index is None or callable(index) else np.asarray(index)


def in_proportion(weights: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
    """(size,) indices of ``weights`` in random order, each size * weight / total times, rounded up or down."""
    edges = np.cumsum(weights) / weights.sum()
    index = np.searchsorted(edges, (np.arange(size) + rng.random()) / size, side="right")
    return rng.permutation(np.minimum(index, np.flatnonzero(weights)[-1]))
