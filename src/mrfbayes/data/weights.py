"""Weights of rows that are given beside the data."""

from __future__ import annotations

from typing import Any

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
    own: Any = getattr(weights, "index", None)
    rows: Any = getattr(x, "index", None)
    if hasattr(own, "equals") and hasattr(rows, "equals") and len(own) == len(rows) and not own.equals(rows):
        raise InputError(
            "weights has another index than x: give weights.loc[x.index], or weights.to_numpy() if they are in the "
            "order of the rows."
        )
    return array
