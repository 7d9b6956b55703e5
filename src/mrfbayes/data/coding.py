"""Which value of the data is which state 0..r-1, and what stands against it."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mrfbayes.base.errors import InputError, Problems
from mrfbayes.data.batch import Coded, Values
from mrfbayes.data.levels import Labels, Levels, near, order_labels
from mrfbayes.data.values import MAX_DISTINCT, Column, Value, as_value, in_order, is_missing, listed, show

MISSING_CODE = 255  # one past the largest state, so it never collides (a variable has at most 255 states)
MISSING_NUMBERS = {-9, -99, -999, -9999, 9, 77, 88, 99, 777, 888, 999, 9999}
Mapped = tuple[Mapping[Value, int], tuple[object, ...] | None]  # a column's states, and its labels where they differ


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
            cells = values.tolist()
            known = {value: _state_of(value, states) for value in dict.fromkeys(cells)}
            return np.array([known[value] for value in cells], dtype=np.uint8)
        coded = np.full(len(values), MISSING_CODE, dtype=np.uint8)
        for value, state in states.items():
            coded[values == value] = state
        return coded


def _state_of(value: object, states: Mapping[Value, int]) -> int:
    known = None if is_missing(value) else as_value(value)
    return MISSING_CODE if known is None else states.get(known, MISSING_CODE)


@dataclass(frozen=True)
class Wishes:
    """What is known beforehand: the columns' nodes, labels of earlier data, levels that were given.

    ``matters`` says whether the order of the labels counts that some columns, given by position, share.
    """

    nodes: Sequence[str]
    earlier: Labels | None
    levels: Levels | None
    matters: Callable[[Sequence[int]], bool]


def decide(columns: Sequence[Column], states: Sequence[int], wishes: Wishes, problems: Problems) -> Coding:
    """Choose the coding; what stands against it is added to ``problems``, for all columns."""
    chosen: list[Mapped | None] = [None] * len(columns)
    free = []
    for k, (column, r) in enumerate(zip(columns, states, strict=True)):
        if text := _doubt(column, r):
            problems.add(text)
            chosen[k] = ({}, None)
        elif wishes.earlier is not None:
            chosen[k] = _earlier(column, r, wishes.earlier[k], problems)
        elif wishes.levels is not None and (levels := wishes.levels.of(wishes.nodes[k], column)) is not None:
            chosen[k] = _given(column, r, levels, problems)
        else:
            free.append(k)
    if wishes.levels is not None and wishes.levels.shared is not None and len(free) == len(columns):
        shown = listed(wishes.levels.shared)
        problems.add(f"levels: none of {shown} occurs in {columns[0].where}; check their spelling.")
    warnings: list[str] = []
    for group, code in (
        ([k for k in free if not columns[k].is_named], _code_numbers),
        ([k for k in free if columns[k].is_named], _code_labels),
    ):
        if group:
            matters = lambda members, group=group: wishes.matters([group[k] for k in members])  # noqa: E731
            mapped, texts = code([columns[k] for k in group], [states[k] for k in group], matters, problems)
            warnings += texts
            for k, one in zip(group, mapped, strict=True):
                chosen[k] = one
    mappings, labels = zip(*(one or ({}, None) for one in chosen), strict=True)
    kept = labels if any(label is not None for label in labels) else None
    return Coding(mappings, kept, tuple(warnings))


def _doubt(column: Column, states: int) -> str:
    """What is wrong with a column by itself, if anything."""
    if column.strange:
        return column.strange
    if column.overflow:
        return _too_many(column, states)
    texts = [value for value in column.first if isinstance(value, str)]
    if texts and len(texts) < len(column.first):
        return (
            f"{column.where}:{column.first[texts[0]]}:{column.name}: text {texts[0]!r} among numbers; is it a mark for "
            "a missing value? Recode the column as whole numbers or as labels throughout."
        )
    return _near_duplicates(column) if texts else ""


def _too_many(column: Column, states: int) -> str:
    n_values = f"more than {MAX_DISTINCT}" if column.overflow else str(len(column.first))
    if column.overflow or len(column.first) == column.n_seen - column.n_missing > max(20, states):
        return (
            f"{column.where}:{next(iter(column.first.values()))}:{column.name}: {n_values} distinct values (all "
            "different, or nearly); this looks like an identifier or a measurement: leave the column out (on the "
            f"command line --without {shlex.quote(column.name)}), or cut it into states."
        )
    values = in_order(column.first)
    return (
        f"{column.where}:{column.first[values[-1]]}:{column.name}: {n_values} distinct values ({listed(values)}) for a "
        f"variable with {states} states; set states={len(values)} in the model (on the command line --states "
        f"{len(values)}), or merge values{_missing_code(values)}."
    )


def _missing_code(values: Iterable[Value]) -> str:
    """A question where a value is one by which missing cells are often marked."""
    numbers = [value for value in values if not isinstance(value, str)]
    alone = (value for value in numbers if value - 1 not in numbers and value + 1 not in numbers)
    code = next((value for value in alone if value in MISSING_NUMBERS), None)
    return "" if code is None else f" (is {show(code)} a code for a missing value?)"


def _near_duplicates(column: Column) -> str:
    seen: dict[str, str] = {}
    for label in in_order(column.first):
        key = str(label).strip().casefold()
        if key in seen:
            row = max(column.first.get(seen[key], 0), column.first.get(label, 0))
            return (
                f"{column.where}:{row}:{column.name}: labels {seen[key]!r} and {label!r} differ only in case or "
                "blanks; trim and unify the labels."
            )
        seen[key] = str(label)
    return ""


def _earlier(column: Column, states: int, label: tuple[object, ...] | None, problems: Problems) -> Mapped:
    """The coding of earlier data; a value that did not occur there is a problem."""
    if label is None:
        mapping: dict[Value, int] = {float(s): s for s in range(states)}
        allowed = f"0..{states - 1}"
    else:
        mapping = {}
        for s, value in enumerate(label):
            known = as_value(value)
            if known is None:
                raise InputError(f"labels of {column.name!r}: {value!r} is neither a number nor text.")
            mapping[known] = s
        allowed = listed(mapping)
    for value, row in column.first.items():
        if value not in mapping:
            problems.add(
                f"{column.where}:{row}:{column.name}: unknown label {show(value)}; the model was fitted to {allowed}."
            )
    return mapping, label


def _given(column: Column, states: int, levels: tuple[Value, ...], problems: Problems) -> Mapped:
    """The order that the user gave."""
    for value, row in column.first.items():
        if value not in levels:
            problems.add(
                f"{column.where}:{row}:{column.name}: {show(value)} is not among the levels "
                f"{listed(levels)}{near(value, levels)}; add it to levels= (--levels) or correct the cell."
            )
    if len(levels) != states:
        more = "more" if len(levels) > states else "fewer"
        problems.add(
            f"{column.where}:1:{column.name}: {len(levels)} levels are {more} than the {states} states of the model; "
            f"set states={len(levels)} (on the command line --states {len(levels)}), or give {states} levels."
        )
    return {value: s for s, value in enumerate(levels)}, _as_labels(levels)


def _as_labels(levels: Sequence[Value]) -> tuple[object, ...] | None:
    """Labels as they are kept: whole numbers as such, and nothing where states are numbers of their own."""
    if list(levels) == list(range(len(levels))):
        return None
    return tuple(int(v) if isinstance(v, float) and v == np.floor(v) else v for v in levels)


def _code_numbers(
    columns: Sequence[Column], states: Sequence[int], matters: Callable[[Sequence[int]], bool], problems: Problems
) -> tuple[list[Mapped], list[str]]:
    """0..r-1 as it is; -1/+1 and 1..r where the whole table is coded so."""
    where = columns[0].where
    plain: list[Mapped] = [({float(s): s for s in range(r)}, None) for r in states]
    broken = [_not_whole(column) for column in columns]
    if any(broken):
        for text in filter(None, broken):
            problems.add(text)
        return plain, []
    pairs = list(zip(columns, states, strict=True))
    if all(0 <= value < r for column, r in pairs for value in _numbers(column)):
        return plain, []
    if all(r == 2 for r in states) and all(value in (-1, 1) for column in columns for value in _numbers(column)):
        text = f"{where}: values -1 and +1 were read as states 0 and 1"
        return [({-1.0: 0, 1.0: 1}, (-1, 1)) for _ in columns], [text]
    if all(1 <= value <= r for column, r in pairs for value in _numbers(column)):
        top = max(states)
        text = f"{where}: values 1..{top} were read as states 0..{top - 1}"
        return [({float(s + 1): s for s in range(r)}, tuple(range(1, r + 1))) for r in states], [text]
    for column, r in pairs:
        if len(column.first) > r:
            problems.add(_too_many(column, r))
        elif outside := [value for value in _numbers(column) if not 0 <= value < r]:
            problems.add(_not_a_state(column, r, outside[0], columns))
    return plain, []


def _not_whole(column: Column) -> str:
    for value, row in column.first.items():
        assert not isinstance(value, str)
        if not np.isfinite(value) or value != np.floor(value):
            return (
                f"{column.where}:{row}:{column.name}: {value:g} is not a whole number; states are 0..r-1: round or cut "
                "the column into states first."
            )
    return ""


def _not_a_state(column: Column, states: int, value: float, columns: Sequence[Column]) -> str:
    hint = f"recode the column to 0..{states - 1}, or set states= in the model (on the command line --states)"
    if code := _missing_code([value]):
        hint += code
    elif min(_numbers(column)) >= 1 and max(_numbers(column)) <= states:
        other = next(c for c in columns if 0.0 in c.first or -1.0 in c.first)
        hint += f" (column {other.name!r} counts from {min(_numbers(other)):g}, this one seems to count from 1)"
    row = column.first[value]
    return f"{column.where}:{row}:{column.name}: value {value:g} is not among the states 0..{states - 1}; {hint}."


def _numbers(column: Column) -> list[float]:
    return [value for value in column.first if not isinstance(value, str)]


def _code_labels(
    columns: Sequence[Column], states: Sequence[int], matters: Callable[[Sequence[int]], bool], problems: Problems
) -> tuple[list[Mapped], list[str]]:
    """Labels in the order that types or known words give them, else sorted where the order does not matter."""
    for column, r in zip(columns, states, strict=True):
        if len(column.first) > r:
            problems.add(_too_many(column, r))
    if problems:
        return [({}, None)] * len(columns), []
    texts, warnings = order_labels(columns, states, matters, problems)
    return [({value: s for s, value in enumerate(label)}, _as_labels(label)) for label in texts], warnings
