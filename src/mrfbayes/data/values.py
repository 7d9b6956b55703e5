"""Cells of a table as numbers, text or missing, and what a column holds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from mrfbayes.data.batch import Coded, Values

MAX_DISTINCT = 300  # more than any variable may have: a column beyond this is no discrete variable
SUSPECTED_MISSING = {"", "na", "n/a", "#n/a", "<na>", "nan", "-nan", "nat", "null", "?", "-", "--", ".", ".."}
Value = float | str


@dataclass
class Column:
    """What was seen in one column: distinct values with the row of their first appearance."""

    name: str
    where: str  # the source, for messages
    categories: tuple[object, ...] | None = None  # all that a categorical type allows
    is_ordered: bool = False  # whether that type orders them
    first: dict[Value, int] = field(default_factory=dict)
    n_seen: int = 0
    n_missing: int = 0
    first_missing: tuple[int, str | None] | None = None  # row, and the text that marks it
    overflow: bool = False
    strange: str = ""  # what is wrong with a value that is neither number nor text

    def see(self, values: Values, rows: np.ndarray) -> None:
        """Take in a batch of values, whose rows are numbered ``rows``."""
        self.n_seen += len(rows)
        if self.overflow or self.strange:
            return
        if isinstance(values, Coded):
            for code, count in enumerate(np.bincount(values.codes).tolist()):
                label = values.labels[code] if count else ""
                if count and (is_missing(label) or as_value(label) not in self.first):
                    only = np.array([label] * count, dtype=object)
                    self._see_objects(only, rows[values.codes == code])
            return
        if values.dtype.kind in "OUS":
            self._see_objects(values, rows)
            return
        if values.dtype.kind == "f":
            absent = np.isnan(values)
            if absent.any():
                self._miss(int(absent.sum()), int(rows[int(np.argmax(absent))]), None)
                values, rows = values[~absent], rows[~absent]
        for value in distinct_numbers(values).tolist():
            if value not in self.first:
                self._remember(float(value), int(rows[int(np.argmax(values == value))]))

    def join(self, other: Column) -> None:
        """Take in what another part of the same column held, whose rows come after these."""
        first_row = self.n_seen
        self.n_seen += other.n_seen
        self.overflow |= other.overflow
        self.strange = self.strange or other.strange
        if other.first_missing is not None:
            row, text = other.first_missing
            self._miss(other.n_missing, first_row + row, text)
        for value, row in other.first.items():
            if value not in self.first:
                self._remember(value, first_row + row)

    def _see_objects(self, values: np.ndarray, rows: np.ndarray) -> None:
        listed = values.tolist()
        try:
            found: dict[object, object] = dict.fromkeys(listed)
        except TypeError:  # a list or a dictionary in a cell
            k = next(k for k, value in enumerate(listed) if isinstance(value, (list, dict, set, np.ndarray)))
            self._refuse(listed[k], int(rows[k]))
            return
        missing = [value for value in found if is_missing(value)]
        if missing:
            absent = [k for k, value in enumerate(listed) if is_missing(value)]
            text = listed[absent[0]]
            self._miss(len(absent), int(rows[absent[0]]), text if isinstance(text, str) else None)
        for value in found:
            if not is_missing(value):
                known = as_value(value)
                if known is None:
                    self._refuse(value, int(rows[listed.index(value)]))
                    return
                if known not in self.first:
                    self._remember(known, int(rows[listed.index(value)]))

    def _refuse(self, value: object, row: int) -> None:
        self.strange = (
            f"{self.where}:{row}:{self.name}: {str(value)[:40]!r} is of type {type(value).__name__}; expected whole "
            "numbers or text labels."
        )

    def _remember(self, value: Value, row: int) -> None:
        if len(self.first) < MAX_DISTINCT:
            self.first[value] = row
        else:
            self.overflow = True

    def _miss(self, count: int, row: int, text: str | None) -> None:
        self.n_missing += count
        if self.first_missing is None:
            self.first_missing = (row, text)

    @property
    def is_text(self) -> bool:
        """Whether any value is not a number."""
        return any(isinstance(value, str) for value in self.first)

    @property
    def is_named(self) -> bool:
        """Whether its values are labels, that is, text, or categories with an order of their own."""
        return self.is_text or (self.is_ordered and bool(self.categories))


def distinct_numbers(values: np.ndarray) -> np.ndarray:
    """Sorted distinct values, up to a few more than `MAX_DISTINCT`, without sorting where the range is small."""
    if values.dtype.kind == "b":
        values = values.view(np.uint8)
    if values.size and values.dtype.kind in "ui":
        low, high = int(values.min()), int(values.max())
        if high - low < 4096 and high < 2**63:
            return np.flatnonzero(np.bincount(values.astype(np.int64) - low)) + low
    return np.unique(values)[: MAX_DISTINCT + 1]


def is_missing(value: object) -> bool:
    """Whether a cell is empty or holds one of the usual marks of a missing value."""
    if value is None:
        return True
    if isinstance(value, str):
        return value.strip().casefold() in SUSPECTED_MISSING
    if isinstance(value, (float, np.floating)):
        return bool(np.isnan(value))
    return type(value).__name__ in ("NAType", "NaTType")


def as_value(value: object) -> Value | None:
    """A cell as a number where it is one (also when written as text), as text, or None where it is neither."""
    if isinstance(value, str):
        try:
            return float(value) if value.strip()[-1:] in _NUMBER_ENDS and "_" not in value else value
        except ValueError:
            return value
    if isinstance(value, (bool, np.bool_, int, float, np.integer, np.floating)):
        return float(value)
    return None


_NUMBER_ENDS = (*"0123456789.", "f", "F", "y", "Y")  # "inf", "Infinity" are numbers, to be refused as such


def show(value: Value) -> str:
    """A value for a message."""
    return repr(value) if isinstance(value, str) else f"{value:g}"


def listed(values: Iterable[Value]) -> str:
    """The first of some values for a message."""
    shown = [show(value) for value in values]
    return ", ".join(shown[:6]) + (", ..." if len(shown) > 6 else "")


def in_order(values: Iterable[Value]) -> list[Value]:
    """Numbers by size, then texts by letter."""
    return sorted(values, key=lambda value: (isinstance(value, str), value))
