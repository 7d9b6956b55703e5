"""Masked arrays: what is masked is missing, and never a value."""

from __future__ import annotations

import numpy as np


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
