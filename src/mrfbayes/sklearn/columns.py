"""Columns of an array as the states of a field, and back: labels, whole numbers, or classes of other numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mrfbayes.base.checks import whole
from mrfbayes.base.errors import InputError

MOST_VALUES = 12  # distinct values up to which columns count as discrete


@dataclass(frozen=True)
class Cuts:
    """Where columns of numbers are cut into classes: at quantiles of the data they were learned from."""

    inner: np.ndarray  # (bins - 1, d)

    @classmethod
    def of(cls, x: np.ndarray, bins: object) -> Cuts:
        """Quantiles that make ``bins`` classes of every column of ``x``."""
        n_bins = whole("bins", bins, 2)
        if n_bins > MOST_VALUES:
            raise InputError(f"bins = {bins}: give at most {MOST_VALUES}.")
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


def number_of_states(x: np.ndarray) -> tuple[int, bool]:
    """How many states all columns share, and whether their values are numbers, which have an order."""
    values = np.unique(x.astype(str) if x.dtype.kind in "OUS" else x)
    if x.dtype.kind in "OUS":
        if values.size > MOST_VALUES:
            raise _too_many(values.size)
        return max(values.size, 2), False
    spans = values[-1] - values[0] + 1
    is_run = bool((values == np.round(values)).all() and values[0] in (0, 1) and spans <= MOST_VALUES)
    if is_run:
        return int(max(values[-1] + 1 if values[0] == 0 else values[-1], 2)), True
    if set(values.tolist()) <= {-1.0, 1.0}:
        return 2, True
    raise _too_many(values.size)


def _too_many(found: int) -> InputError:
    return InputError(
        f"X has {found} distinct values: a Markov field is for discrete columns, labels or whole numbers from 0 or 1, "
        f"at most {MOST_VALUES} of them. Cut other numbers by bins=2, or by KBinsDiscretizer(encode='ordinal')."
    )


def states_of(column: np.ndarray, labels: Sequence[object], name: str) -> np.ndarray:
    """(n,) states of a column's values, given the values behind states 0, 1, ..."""
    if column.dtype.kind in "OUS":
        known = {str(label): state for state, label in enumerate(labels)}
        found = np.array([known.get(str(value), -1) for value in column.tolist()], dtype=np.int64)
    else:
        order = np.argsort(np.asarray(labels, dtype=float))
        values = np.asarray(labels, dtype=float)[order]
        place = np.minimum(np.searchsorted(values, column), values.size - 1)
        found = np.where(values[place] == column, order[place], -1)
    bad = np.flatnonzero(found < 0)
    if bad.size:
        raise InputError(
            f"X, row {bad[0]}, column {name!r}: {column[bad[0]]!s} is not one of the values that were there in fit, "
            f"{', '.join(map(str, labels))}."
        )
    return found
