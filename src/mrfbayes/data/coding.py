"""Values of the data as states 0..r-1: what a column holds, and which value is which state."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mrfbayes.base.errors import InputError
from mrfbayes.data.batch import Coded, Values

Labels = tuple[tuple[object, ...] | None, ...]
MAX_DISTINCT = 300  # more than any variable may have: a column beyond this is no discrete variable
MISSING_CODE = 255  # one past the largest state, so it never collides (a variable has at most 255 states)
SUSPECTED_MISSING = {"", "na", "n/a", "#n/a", "<na>", "nan", "-nan", "nat", "null", "?", "-", "--", ".", ".."}
MISSING_NUMBERS = {-9, -99, -999, -9999, 9, 77, 88, 99, 777, 888, 999, 9999}
Value = float | str


@dataclass
class Column:
    """What was seen in one column: distinct values with the row of their first appearance."""

    name: str
    where: str  # the source, for messages
    order: tuple[object, ...] | None = None  # given by a categorical type
    first: dict[Value, int] = field(default_factory=dict)
    n_seen: int = 0
    n_missing: int = 0
    first_missing: tuple[int, str | None] | None = None  # row, and the text that marks it
    overflow: bool = False

    def see(self, values: Values, rows: np.ndarray) -> None:
        """Take in a batch of values, whose rows are numbered ``rows``."""
        self.n_seen += len(rows)
        if self.overflow:
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

    def _see_objects(self, values: np.ndarray, rows: np.ndarray) -> None:
        listed = values.tolist()
        found: dict[Any, Any] = dict.fromkeys(listed)
        missing = [value for value in found if is_missing(value)]
        if missing:
            absent = [k for k, value in enumerate(listed) if is_missing(value)]
            text = listed[absent[0]]
            self._miss(len(absent), int(rows[absent[0]]), text if isinstance(text, str) else None)
        for value in found:
            if not is_missing(value):
                known = as_value(value)
                if known is None:
                    raise InputError(
                        f"{self.where}:{rows[listed.index(value)]}:{self.name}: {str(value)[:40]!r} is of "
                        f"type {type(value).__name__}; expected whole numbers or text labels."
                    )
                if known not in self.first:
                    self._remember(known, int(rows[listed.index(value)]))

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


@dataclass(frozen=True)
class Coding:
    """Which state each value of each column is."""

    states: tuple[Mapping[Value, int], ...]
    labels: Labels | None
    warnings: tuple[str, ...]

    def encode(self, values: Values, column: int) -> np.ndarray:
        """States (k,) uint8 of a column's values; `MISSING_CODE` where missing."""
        states = self.states[column]
        if isinstance(values, Coded):
            table = np.array([_state_of(label, states) for label in values.labels], dtype=np.uint8)
            return np.asarray(table[values.codes])
        if values.dtype.kind in "OUS":
            listed = values.tolist()
            known = {value: _state_of(value, states) for value in dict.fromkeys(listed)}
            return np.array([known[value] for value in listed], dtype=np.uint8)
        coded = np.full(len(values), MISSING_CODE, dtype=np.uint8)
        for value, state in states.items():
            coded[values == value] = state
        return coded


def _state_of(value: Any, states: Mapping[Value, int]) -> int:
    known = None if is_missing(value) else as_value(value)
    return MISSING_CODE if known is None else states.get(known, MISSING_CODE)


def distinct_numbers(values: np.ndarray) -> np.ndarray:
    """Sorted distinct values, up to a few more than `MAX_DISTINCT`, without sorting where the range is small."""
    if values.dtype.kind == "b":
        values = values.view(np.uint8)
    if values.size and values.dtype.kind in "ui":
        low, high = int(values.min()), int(values.max())
        if high - low < 4096:
            return np.flatnonzero(np.bincount(values.astype(np.int64) - low)) + low
    return np.unique(values)[: MAX_DISTINCT + 1]


def is_missing(value: Any) -> bool:
    """Whether a cell is empty or holds one of the usual marks of a missing value."""
    if value is None:
        return True
    if isinstance(value, str):
        return value.strip().casefold() in SUSPECTED_MISSING
    if isinstance(value, (float, np.floating)):
        return bool(np.isnan(value))
    return type(value).__name__ in ("NAType", "NaTType")


def as_value(value: Any) -> Value | None:
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


def decide(columns: Sequence[Column], states: Sequence[int], where: str, given: Labels | None) -> Coding:
    """Choose the coding, or refuse: ``states`` are the numbers of states, ``given`` the labels of earlier data."""
    for column, r in zip(columns, states, strict=True):
        if column.overflow:
            _refuse_many(column, r, where)
        _refuse_mixture(column, where)
    chosen: list[Mapping[Value, int] | None] = [None] * len(columns)
    labels: list[tuple[object, ...] | None] = [None] * len(columns)
    warnings: list[str] = []
    known = given if given is not None else (None,) * len(columns)
    for k, column in enumerate(columns):
        if known[k] is not None:
            chosen[k], labels[k] = _earlier(column, known[k] or (), where), known[k]
        elif given is not None:
            chosen[k] = {float(s): s for s in range(states[k])}
            _refuse_unknown(column, chosen[k], where, f"0..{states[k] - 1}")
    numeric = [k for k, column in enumerate(columns) if chosen[k] is None and not column.is_text]
    if numeric:
        mapped, text = _code_numbers([columns[k] for k in numeric], [states[k] for k in numeric], where)
        for k, (mapping, label) in zip(numeric, mapped, strict=True):
            chosen[k], labels[k] = mapping, label
        warnings += text
    written = [k for k, column in enumerate(columns) if chosen[k] is None]
    texts = _code_texts([columns[k] for k in written], [states[k] for k in written], where)
    for k, label in zip(written, texts, strict=True):
        chosen[k], labels[k] = {str(value): s for s, value in enumerate(label)}, label
        if len(label) < states[k]:
            warnings.append(
                f"{where}: column {columns[k].name!r} has {len(label)} labels for {states[k]} states; they were taken "
                "as the first states"
            )
    kept = tuple(labels) if any(label is not None for label in labels) else None
    return Coding(tuple(mapping or {} for mapping in chosen), kept, tuple(warnings))


def _show(value: Value) -> str:
    return repr(value) if isinstance(value, str) else f"{value:g}"


def _listed(values: Iterable[Value]) -> str:
    shown = [_show(value) for value in values]
    return ", ".join(shown[:6]) + (", ..." if len(shown) > 6 else "")


def _sorted(values: Iterable[Value]) -> list[Value]:
    return sorted(values, key=lambda value: (isinstance(value, str), value))


def _refuse_mixture(column: Column, where: str) -> None:
    texts = [value for value in column.first if isinstance(value, str)]
    if texts and len(texts) < len(column.first):
        raise InputError(
            f"{where}:{column.first[texts[0]]}:{column.name}: text {texts[0]!r} among numbers; is it a mark for a "
            "missing value? Recode the column as whole numbers or as labels throughout."
        )


def _refuse_many(column: Column, states: int, where: str) -> None:
    n_values = f"more than {MAX_DISTINCT}" if column.overflow else str(len(column.first))
    if column.overflow or len(column.first) == column.n_seen - column.n_missing > max(20, states):
        raise InputError(
            f"{where}:{next(iter(column.first.values()))}:{column.name}: {n_values} distinct values (all different, or "
            "nearly); this looks like an identifier or a measurement: leave the column out (on the command line "
            f"--without {shlex.quote(column.name)}), or cut it into states."
        )
    values = _sorted(column.first)
    raise InputError(
        f"{where}:{column.first[values[-1]]}:{column.name}: {n_values} distinct values ({_listed(values)}) for a "
        f"variable with {states} states; set states={len(values)} in the model, or merge values."
    )


def _refuse_unknown(column: Column, mapping: Mapping[Value, int] | None, where: str, allowed: str) -> None:
    for value, row in column.first.items():
        if mapping is None or value not in mapping:
            raise InputError(
                f"{where}:{row}:{column.name}: unknown label {_show(value)}; the model was fitted to {allowed}."
            )


def _earlier(column: Column, label: tuple[object, ...], where: str) -> Mapping[Value, int]:
    mapping: dict[Value, int] = {}
    for s, value in enumerate(label):
        known = as_value(value)
        if known is None:
            raise InputError(f"labels of {column.name!r}: {value!r} is neither a number nor text.")
        mapping[known] = s
    _refuse_unknown(column, mapping, where, _listed(mapping))
    return mapping


def _code_numbers(
    columns: Sequence[Column], states: Sequence[int], where: str
) -> tuple[list[tuple[Mapping[Value, int], tuple[object, ...] | None]], list[str]]:
    """0..r-1 as it is; -1/+1 and 1..r where the whole table is coded so."""
    for column in columns:
        for value, row in column.first.items():
            assert not isinstance(value, str)
            if not np.isfinite(value) or value != np.floor(value):
                raise InputError(
                    f"{where}:{row}:{column.name}: {value:g} is not a whole number; states are 0..r-1: round or cut "
                    "the column into states first."
                )
    pairs = list(zip(columns, states, strict=True))
    if all(0 <= value < r for column, r in pairs for value in _numbers(column)):
        return [({float(s): s for s in range(r)}, None) for r in states], []
    if all(r == 2 for r in states) and all(value in (-1, 1) for column in columns for value in _numbers(column)):
        text = f"{where}: values -1 and +1 were read as states 0 and 1"
        return [({-1.0: 0, 1.0: 1}, (-1, 1)) for _ in columns], [text]
    one_based = all(1 <= value <= r for column, r in pairs for value in _numbers(column))
    if one_based:
        top = max(states)
        text = f"{where}: values 1..{top} were read as states 0..{top - 1}"
        return [({float(s + 1): s for s in range(r)}, tuple(range(1, r + 1))) for r in states], [text]
    for column, r in pairs:
        if len(column.first) > r:
            _refuse_many(column, r, where)
    column, r, value = next((c, r, v) for c, r in pairs for v in _numbers(c) if not 0 <= v < r)
    hint = f"recode the column to 0..{r - 1}, or set states= in the model"
    if value in MISSING_NUMBERS:
        hint += " (is it a code for a missing value?)"
    elif min(_numbers(column)) >= 1 and max(_numbers(column)) <= r:
        other = next(c for c in columns if 0.0 in c.first or -1.0 in c.first)
        hint += f" (column {other.name!r} counts from {min(_numbers(other)):g}, this one seems to count from 1)"
    raise InputError(
        f"{where}:{column.first[value]}:{column.name}: value {value:g} is not among the states 0..{r - 1}; {hint}."
    )


def _numbers(column: Column) -> list[float]:
    return [value for value in column.first if not isinstance(value, str)]


def _code_texts(columns: Sequence[Column], states: Sequence[int], where: str) -> list[tuple[str, ...]]:
    """Labels per column, sorted; columns that share labels share their coding, so that agreement means agreement."""
    own: list[list[str]] = []
    for column, r in zip(columns, states, strict=True):
        found = [str(value) for value in column.first]
        if column.order is not None and set(found) <= {str(value) for value in column.order}:
            labels = [str(value) for value in column.order]
        else:
            labels = sorted(found)
        _refuse_near_duplicates(column, labels, where)
        if len(labels) > r:
            _refuse_many(column, r, where)
        own.append(labels)
    shared = [tuple(labels) for labels in own]
    for group in _overlapping(columns, own, states):
        union = sorted({label for k in group for label in own[k]})
        if len(union) <= states[group[0]]:
            for k in group:
                shared[k] = tuple(union)
    return shared


def _overlapping(columns: Sequence[Column], own: Sequence[Sequence[str]], states: Sequence[int]) -> list[list[int]]:
    """Groups of columns, with as many states and no order of their own, that are linked by common labels."""
    parent = list(range(len(columns)))

    def root(k: int) -> int:
        while parent[k] != k:
            parent[k] = parent[parent[k]]
            k = parent[k]
        return k

    holder: dict[tuple[int, str], int] = {}
    free = [k for k, column in enumerate(columns) if column.order is None]
    for k in free:
        for label in own[k]:
            parent[root(k)] = root(holder.setdefault((states[k], label), k))
    groups: dict[int, list[int]] = {}
    for k in free:
        groups.setdefault(root(k), []).append(k)
    return list(groups.values())


def _refuse_near_duplicates(column: Column, labels: Sequence[str], where: str) -> None:
    seen: dict[str, str] = {}
    for label in labels:
        key = label.strip().casefold()
        if key in seen:
            row = max(column.first.get(seen[key], 0), column.first.get(label, 0))
            raise InputError(
                f"{where}:{row}:{column.name}: labels {seen[key]!r} and {label!r} differ only in case or blanks; trim "
                "and unify the labels."
            )
        seen[key] = label
