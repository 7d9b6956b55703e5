"""What the numbers of a stored result can be: one table for all kinds of results.

A checksum tells that a file is as somebody wrote it, not that its numbers are those of a result.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from mrfbayes.base.errors import InputError

_LARGEST = float(np.finfo(float).max)
_COUNT, _SHARE = (0.0, _LARGEST), (0.0, 1.0)
_REAL = (-_LARGEST, _LARGEST)
# Smallest and largest value of each field; where it is a table or an array, of each entry.
RANGES: Mapping[str, tuple[float, float]] = {
    "n": _COUNT,
    "steps": _COUNT,
    "warmup": _COUNT,
    "thin": (1.0, _LARGEST),
    "draws": _SHARE,
    "acceptance": _SHARE,
    "seconds": _COUNT,
    "counts": _REAL,
    "log_odds": _REAL,
    "inclusion": _SHARE,
    "absence": _SHARE,
    "prior_inclusion": _SHARE,
    "inclusion_error": _COUNT,
    "size_probability": _SHARE,
    "coordinates": _REAL,
    "coordinate_mean": _REAL,
    "coordinate_sd": _COUNT,
    "rate": _REAL,
    "log_likelihood": (-np.inf, _LARGEST),
    "mean": _REAL,
    "sd": _COUNT,
    "sd_error": _COUNT,
}
# Not known of every result: of a single draw, of a method without a likelihood, of an edge that is always there, and
# of a search that was stopped before its first sweep.
_OF_SWEEPS = {"inclusion", "absence", "inclusion_error", "size_probability", "mean", "coordinate_mean", "coordinate_sd"}
MAY_BE_NAN = {"log_likelihood", "sd", "sd_error", "acceptance"} | _OF_SWEEPS


def check_ranges(values: Mapping[str, object]) -> None:
    """Refuse fields of a result with an `InputError` that names the first one which cannot be right, and its value."""
    for name, (low, high) in RANGES.items():
        value = values.get(name)
        if value is None:
            continue
        numbers = np.asarray(list(value.values()) if isinstance(value, Mapping) else value, dtype=float)
        is_right = (numbers >= low) & (numbers <= high)
        if name in MAY_BE_NAN:
            is_right |= np.isnan(numbers)
        if not is_right.all():
            raise InputError(f"its {name} = {numbers[~is_right].flat[0]:g} is outside [{low:g}, {high:g}]")
