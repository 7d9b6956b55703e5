"""Cells of a table as numbers, text or missing, and what a column holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from mrfbayes.base.errors import InputError, Problems


class Coded(NamedTuple):
    """A column of text as positions (k,) in a list of labels."""

    codes: np.ndarray
    labels: tuple[str, ...]


Values = np.ndarray | Coded


class Codebook(NamedTuple):
    """Names of the values of a column, which of them mark missing cells, and whether they have no order."""

    texts: Mapping[float, str]
    missing: frozenset[float | str]
    is_nominal: bool


NO_CODEBOOK = Codebook({}, frozenset(), False)


class Batch(NamedTuple):
    """Some rows and their numbers: a (k, c) array of numbers, or c columns of numbers, objects or coded text."""

    columns: np.ndarray | Sequence[Values]
    rows: np.ndarray
    where: str = ""  # the file that these rows are from, where a source has several

    def column(self, j: int) -> Values:
        """Values of one column."""
        return self.columns[:, j] if isinstance(self.columns, np.ndarray) else self.columns[j]

    def select(self, places: Sequence[int]) -> Batch:
        """Some of the columns, in the order of ``places``."""
        if not isinstance(self.columns, np.ndarray):
            return self._replace(columns=[self.columns[j] for j in places])
        is_all = list(places) == list(range(self.columns.shape[1]))
        return self if is_all else self._replace(columns=self.columns[:, list(places)])

    def only(self, keep: np.ndarray) -> Batch:
        """The rows where ``keep`` is true."""
        columns = self.columns
        if isinstance(columns, np.ndarray):
            return self._replace(columns=columns[keep], rows=self.rows[keep])
        kept = [one._replace(codes=one.codes[keep]) if isinstance(one, Coded) else one[keep] for one in columns]
        return self._replace(columns=kept, rows=self.rows[keep])


class Source:
    """A table that can be read more than once."""

    where: str
    names: tuple[str, ...] | None  # None where columns have no names
    n_columns: int
    notes: tuple[str, ...] = ()  # what has to be said about how it was read
    image_shape: tuple[int, int] | None = None  # of images, one per row

    def categories(self, j: int) -> tuple[tuple[object, ...] | None, bool]:
        """All values that the type of column ``j`` allows, if it says so, and whether it orders them."""
        return None, False

    def codebook(self, j: int) -> Codebook:
        """What the source says of the codes of column ``j``, as SPSS and Stata files do."""
        return NO_CODEBOOK

    def batches(self, columns: Sequence[int], problems: Problems) -> Iterator[Batch]:
        """The chosen columns, in that order; rows that cannot be read are left out and added to ``problems``."""
        raise NotImplementedError


def check_columns(names: Sequence[str], where: str) -> None:
    """Column names are non-empty and unique."""
    seen: dict[str, int] = {}
    problems = Problems()
    for k, name in enumerate(names, start=1):
        if not name.strip():
            problems.add(f"{where}:{k}: column {k} has an empty name; name it (row names of R? write them without).")
        elif name in seen:
            problems.add(f"{where}:{k}: two columns are called {name!r} (column {seen[name]}, too); rename one.")
        seen.setdefault(name, k)
    problems.refuse()


MAX_DISTINCT = 300  # more than any variable may have: a column beyond this is no discrete variable
# Texts that mark a missing cell, in any capitals, with blanks around them or not; the same for every entry point.
SUSPECTED_MISSING = frozenset(
    {"", "na", "n/a", "#n/a", "#na", "<na>", "nan", "-nan", "#nan", "nat", "null", "?", "-", "--", ".", "..", "..."}
)
Value = float | str
# The words for no and yes that programs write, each pair in one spelling; they stand for 0 and 1, as booleans do.
TRUTHS = (("False", "True"), ("FALSE", "TRUE"), ("false", "true"))
TRUTH = {word: float(k) for pair in TRUTHS for k, word in enumerate(pair)}


@dataclass
class Column:
    """What one column holds: its distinct values, how often and where each occurs first, and its missing cells."""

    name: str
    where: str  # the source, for messages
    categories: tuple[object, ...] | None = None  # all that a categorical type allows
    is_ordered: bool = False  # whether that type orders them
    texts: Mapping[float, str] = field(default_factory=dict)  # names of values, as SPSS and Stata files have them
    marks: frozenset[Value] = frozenset()  # values that the user declared missing
    is_nominal: bool = False  # whether the source says that its values have no order
    first: dict[Value, str] = field(default_factory=dict)  # source:row of the first cell that holds a value
    counts: Counter[Value] = field(default_factory=Counter)
    n_missing: int = 0
    overflow: bool = False
    strange: str = ""  # what is wrong with a value that is neither number nor text

    @property
    def is_text(self) -> bool:
        """Whether any value is not a number."""
        return any(isinstance(value, str) for value in self.first)

    def place(self, value: Value) -> str:
        """``source:row:column`` of the first cell that holds a value."""
        return f"{self.first.get(value, self.where)}:{self.name}"

    def see(self, batch: Batch, j: int) -> None:
        """Take in column ``j`` of a batch."""
        if self.overflow or self.strange:
            return
        values, where = batch.column(j), batch.where or self.where
        for value, count, position in _distinct(values):
            known = as_value(value)
            if known is None and not is_missing(value):
                kind = f"{str(value)[:40]!r} is of type {type(value).__name__}"
                place = f"{where}:{batch.rows[position()]}:{self.name}"
                self.strange = f"{place}: {kind}; expected whole numbers or text labels."
                return
            if known is None or known in self.marks:
                self.n_missing += count
            elif known in self.first or len(self.first) < MAX_DISTINCT:
                if known not in self.first:
                    self.first[known] = f"{where}:{batch.rows[position()]}"
                self.counts[known] += count
            else:
                self.overflow = True

    def read_truths(self) -> None:
        """Take True and False for 1 and 0, as a table of booleans has them, where there are no other values."""
        if self.first and self.categories is None and any(set(self.first) <= set(pair) for pair in TRUTHS):
            self.first = {TRUTH[str(word)]: place for word, place in self.first.items()}
            self.counts = Counter({TRUTH[str(word)]: count for word, count in self.counts.items()})

    def joined(self, other: Column) -> Column:
        """What this column and a later part of it hold together."""
        both = replace(self, first={**other.first, **self.first}, counts=self.counts + other.counts)
        both.n_missing += other.n_missing
        both.overflow |= other.overflow or len(both.first) > MAX_DISTINCT
        both.strange = self.strange or other.strange
        both.marks |= other.marks
        return both


def _distinct(values: Values) -> Iterator[tuple[object, int, Callable[[], int]]]:
    """Distinct cells of a column with their numbers; the third entry finds the first of them."""
    if isinstance(values, Coded):
        counts = np.bincount(values.codes, minlength=len(values.labels)).tolist()
        for code in np.flatnonzero(counts).tolist():
            yield values.labels[code], counts[code], partial(_first, values.codes, code)
    elif values.dtype.kind in "OUS":
        cells = values.tolist()
        try:
            counter = Counter(cells)
        except TypeError:  # a list or a dictionary in a cell
            k = next(k for k, cell in enumerate(cells) if isinstance(cell, (list, dict, set, np.ndarray)))
            yield cells[k], 1, lambda: k
        else:
            for cell, count in counter.items():
                yield cell, count, partial(cells.index, cell)
    else:
        for number, count in zip(*distinct_numbers(values), strict=True):
            yield float(number), count, partial(_first, values, number)


def _first(values: np.ndarray, value: float) -> int:
    return int(np.argmax(values == value))


def distinct_numbers(values: np.ndarray) -> tuple[list[float], list[int]]:
    """Sorted distinct values and their counts, up to a few more than `MAX_DISTINCT`."""
    if values.dtype.kind == "b":
        values = values.view(np.uint8)
    if values.size and values.dtype.kind in "ui":
        low, high = int(values.min()), int(values.max())
        if high - low < 8:
            few = {float(value): int(np.count_nonzero(values == value)) for value in range(low, high + 1)}
            return [value for value in few if few[value]], [count for count in few.values() if count]
        if high - low < 4096 and high < 2**63:
            counts = np.bincount(values.astype(np.int64) - low)
            found = np.flatnonzero(counts)
            return [float(value + low) for value in found.tolist()], counts[found].tolist()
    found, counts = np.unique(values, return_counts=True)
    return found[: MAX_DISTINCT + 1].tolist(), counts[: MAX_DISTINCT + 1].tolist()


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
    """A cell as a number where it is one (also when written as text), as text; None where it is missing or neither."""
    if is_missing(value):
        return None
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


def listed(values: Iterable[object]) -> str:
    """The first of some values or names for a message."""
    shown = [f"{value:g}" if isinstance(value, float) else repr(value) for value in values]
    return ", ".join(shown[:6]) + (", ..." if len(shown) > 6 else "")


def in_order(values: Iterable[Value]) -> list[Value]:
    """Numbers by size, then texts by letter."""
    return sorted(values, key=lambda value: (isinstance(value, str), value))


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
