"""The coding of one column: its kind, and which value is which state. No column changes the coding of another."""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

from mrfbayes.base.errors import InputError, Problems
from mrfbayes.data.values import MAX_DISTINCT, Column, Value, as_value, in_order, listed, show
from mrfbayes.model.schema import VARIABLE_KINDS, Kind, Variable

ORDINAL_LEVELS = 12  # whole numbers, from the smallest to the largest, up to which a column is ordinal by itself
NOMINAL_LABELS = 30  # texts up to which a column is nominal by itself
# Numbers that surveys write for missing answers; refused where they lie beyond a compact scale.
MISSING_NUMBERS = frozenset((-1, -2, -7, -8, -9, -77, -88, -99, -777, -888, -999, -9999))
MISSING_NUMBERS |= frozenset((9, 66, 77, 88, 98, 99, 666, 777, 888, 998, 999, 9998, 9999, 99999))
# Labels whose order is common knowledge, lowest first.
KNOWN_ORDERS = (
    *(("no", "yes"), ("false", "true"), ("absent", "present"), ("off", "on"), ("negative", "positive")),
    *(("incorrect", "correct"), ("fail", "pass"), ("failed", "passed"), ("inactive", "active")),
    *(("nein", "ja"), ("nee", "ja"), ("non", "oui"), ("no", "si"), ("no", "sí"), ("não", "sim"), ("n", "y")),
    ("low", "medium", "high"),
    ("none", "mild", "moderate", "severe"),
    ("never", "rarely", "sometimes", "often", "always"),
    ("strongly disagree", "disagree", "neutral", "agree", "strongly agree"),
    ("not at all", "several days", "more than half the days", "nearly every day"),
)


@dataclass(frozen=True)
class CodingOptions:
    """What the user says about the coding of columns, for all of them or by name."""

    orders: tuple[tuple[Value, ...], ...] = ()  # each for all columns that hold its labels
    levels_of: Mapping[str, tuple[Value, ...]] = field(default_factory=dict)
    kinds: Mapping[str, Kind] = field(default_factory=dict)
    marks: frozenset[Value] = frozenset()
    marks_of: Mapping[str, frozenset[Value]] = field(default_factory=dict)

    def levels_for(self, column: Column) -> tuple[Value, ...] | None:
        """The levels that were given for a column: its own, or the shared ones where it holds some of them."""
        if column.name in self.levels_of:
            return self.levels_of[column.name]
        for order in self.orders:
            inside = [value in order for value in column.first]
            if any(inside) and (all(inside) or column.is_text):
                return order
        return None


def read_options(levels: object, kinds: object, na_values: object, names: Sequence[str]) -> CodingOptions:
    """The arguments of `Data` as options; names that are no columns are refused."""
    by_name: dict[str, tuple[Value, ...]] = {}
    orders: list[tuple[Value, ...]] = []
    if isinstance(levels, Mapping):
        by_name = {str(name): read_levels(f"levels of {name!r}", one) for name, one in levels.items()}
    elif isinstance(levels, (list, tuple)) and levels and all(isinstance(o, str) and "<" in o for o in levels):
        for text in levels:
            name, order = _named_order(text, names)
            if name in by_name:
                raise InputError(f"levels = {text!r}: a second order for {name!r}; give one.")
            if name:
                by_name[name] = read_levels(f"levels of {name!r}", order)
            else:
                orders.append(read_levels("levels", order))
    elif levels is not None:
        orders.append(read_levels("levels", levels))
    if kinds is not None and not isinstance(kinds, (str, Mapping)):
        raise InputError(f"kinds = {kinds!r}: give one of {listed(VARIABLE_KINDS)}, or a mapping from columns to them.")
    named: Mapping[object, object] = dict.fromkeys(names, kinds) if isinstance(kinds, str) else dict(kinds or {})
    kind_of = {str(name): cast("Kind", kind) for name, kind in named.items()}
    for name, kind in kind_of.items():
        if kind not in VARIABLE_KINDS:
            raise InputError(f"kinds: {name!r} = {kind!r}; choose one of {listed(VARIABLE_KINDS)}.")
    marks: frozenset[Value] = frozenset()
    marks_of: dict[str, frozenset[Value]] = {}
    if isinstance(na_values, Mapping):
        marks_of = {str(name): _marks(one) for name, one in na_values.items()}
    elif na_values is not None:
        marks = _marks(na_values)
    for argument, given in (("levels", by_name), ("kinds", kind_of), ("na_values", marks_of)):
        for name in given:
            if name not in names:
                hint = near(name, names)
                raise InputError(f"{argument}: no column is called {name!r}{hint}; there are {listed(names)}.")
    return CodingOptions(tuple(orders), by_name, kind_of, marks, marks_of)


def _named_order(text: str, names: Sequence[str]) -> tuple[str, str]:
    """``"mood=low<high"`` as the column and its order; ``"low<high"`` is for all columns that hold these labels."""
    name, _, rest = text.partition("=")
    if rest and (name.strip() in names or "<" not in name):
        return name.strip(), rest
    return "", text


def read_levels(argument: str, levels: object) -> tuple[Value, ...]:
    """Labels in ascending order, as a list or as text ``"low<high"``."""
    if isinstance(levels, str):
        levels = [label.strip() for label in levels.split("<")]
    if not isinstance(levels, Iterable):
        raise InputError(f"{argument} = {levels!r}: give labels in ascending order, as ['low', 'high'].")
    values: list[Value] = []
    for entry in levels:
        value = as_value(entry)
        if value is None:
            raise InputError(f"{argument}: {entry!r} is no label; give text or numbers, none of them missing.")
        if value in values:
            raise InputError(f"{argument}: {show(value)} is listed twice; give each label once.")
        values.append(value)
    if len(values) < 2:
        raise InputError(f"{argument} = {levels!r}: give at least two labels, in ascending order.")
    return tuple(values)


def _marks(values: object) -> frozenset[Value]:
    entries = [values] if isinstance(values, str) or not isinstance(values, Iterable) else list(values)
    found = [as_value(entry) for entry in entries]
    return frozenset(value for value in found if value is not None)


def near(name: object, names: Iterable[object]) -> str:
    """A hint at the name or label that was probably meant."""
    by_text = {one.casefold(): one for one in names if isinstance(one, str)}
    found = difflib.get_close_matches(str(name).strip().casefold(), list(by_text), n=1)
    return f" (did you mean {by_text[found[0]]!r}?)" if found else ""


@dataclass
class CodingFindings:
    """What deciding the coding of columns found: errors, warnings (something to do) and notes (something to know)."""

    problems: Problems = field(default_factory=Problems)
    warnings: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def decide(column: Column, options: CodingOptions, found: CodingFindings) -> Variable | None:
    """The coding of one column; None where it has none, which ``found`` then explains."""
    kind = options.kinds.get(column.name) or ("nominal" if column.is_nominal else None)
    if text := column_problem(column):
        found.problems.add(text)
        return None
    levels = options.levels_for(column)
    variable: Variable | None
    if levels is not None:
        variable = _listed(column, levels, kind, found)
    elif column.categories is not None:
        variable = _typed(column, kind)
    elif not column.first:
        found.problems.add(f"{column.where}:{column.name}: no cell is observed; {leave_out(column.name)}.")
        return None
    elif column.is_text:
        variable = _labelled(column, kind, found)
    else:
        variable = _numbered(column, kind, found)
    if variable is not None and column.texts and variable.texts is None:
        shown = tuple(column.texts.get(v, show(v)) if isinstance(v, float) else v for v in variable.values)
        variable = replace(variable, texts=shown)
    return None if variable is None else replace(variable, na_values=tuple(in_order(column.marks)))


def refuse_unused_orders(columns: Sequence[Column], options: CodingOptions, problems: Problems) -> None:
    """Refuse orders for all columns of which no column holds a label."""
    for order in options.orders:
        if not any(value in order for column in columns for value in column.first):
            problems.add(f"levels: none of {listed(order)} occurs in {columns[0].where}; check the spelling.")


def leave_out(name: str) -> str:
    """The advice to drop a column."""
    return f"leave it out by drop=[{name!r}] (on the command line --drop {shlex.quote(name)})"


def levels_advice(name: str) -> str:
    """The argument and the option that list the labels of a column."""
    return f"levels={{{name!r}: [...]}}, lowest first (on the command line --levels '{name}=LOWEST<...<HIGHEST')"


def column_problem(column: Column) -> str:
    """What is wrong with a column by itself, whatever the model; empty if nothing is."""
    if column.strange:
        return column.strange
    if column.overflow:
        return too_many(column)
    texts = [value for value in column.first if isinstance(value, str)]
    if texts and len(texts) < len(column.first):
        declare = f"na_values=[{texts[0]!r}] (on the command line --na {shlex.quote(texts[0])})"
        what = f"text {texts[0]!r} among numbers; if it marks a missing value, declare it by {declare}"
        return f"{column.place(texts[0])}: {what}; else correct the cell."
    for value in column.first:
        if isinstance(value, float) and value != value // 1:
            remedy = f"{leave_out(column.name)}, take it as a covariate by covariates=[...], or cut it into classes"
            return f"{column.place(value)}: {value:g} is not a whole number; {remedy}."
    return _near_duplicates(column) or _missing_code(column)


def too_many(column: Column) -> str:
    """Too many values for a discrete variable."""
    many = f"more than {MAX_DISTINCT}" if column.overflow else str(len(column.first))
    what = "labels" if column.is_text else "distinct numbers"
    other = "merge labels" if column.is_text else "cut it into classes first"
    more = "" if column.overflow else f", or take each value as a category by kinds={{{column.name!r}: 'nominal'}}"
    return (
        f"{column.place(next(iter(column.first)))}: {many} {what}, as an identifier or a measurement has; "
        f"{leave_out(column.name)}, take it as a covariate by covariates=[{column.name!r}], {other}{more}."
    )


def _near_duplicates(column: Column) -> str:
    seen: dict[str, str] = {}
    for label in in_order(column.first):
        key = str(label).strip().casefold()
        if isinstance(label, str) and key in seen:
            later = max(label, seen[key], key=lambda one: int(column.first[one].rpartition(":")[2]))
            what = f"labels {seen[key]!r} and {label!r} differ only in case or blanks"
            return f"{column.place(later)}: {what}; trim and unify the labels."
        seen[key] = str(label)
    return ""


def _missing_code(column: Column) -> str:
    """Refuse numbers such as -99 beyond an otherwise compact scale, unless the file itself names them."""
    numbers = [value for value in column.first if not isinstance(value, str)]
    rest = [value for value in numbers if value not in MISSING_NUMBERS or value in column.texts]
    if not rest or len(rest) == len(numbers) or column.categories is not None:
        return ""
    low, high = min(rest), max(rest)
    if high - low >= ORDINAL_LEVELS:
        return ""
    for value in sorted(set(numbers) - set(rest)):
        gap = max(low - value, value - high)
        if gap >= 2 and not (value == -1 and len(rest) < 3):
            what = f"{value:g} lies beyond the other values ({low:g} to {high:g}) and looks like a missing code"
            declare = f"declare it by na_values=[{value:g}] (on the command line --na {value:g})"
            return f"{column.place(value)}: {what}; {declare}, or list all levels by levels={{{column.name!r}: [...]}}."
    return ""


def _listed(column: Column, levels: tuple[Value, ...], kind: Kind | None, found: CodingFindings) -> Variable:
    """The levels that the user gave."""
    for value in column.first:
        if value not in levels:
            what = f"{show(value)} is not among the levels {listed(levels)}{near(value, levels)}"
            found.problems.add(f"{column.place(value)}: {what}; add it to levels= (--levels) or correct the cell.")
    return Variable(column.name, kind or kind_of(len(levels)), levels)


def kind_of(n_states: int) -> Kind:
    """The kind of a variable whose order is known."""
    return "binary" if n_states == 2 else "ordinal"


def _typed(column: Column, kind: Kind | None) -> Variable:
    """Categories of the column's type, in their order; those that never occur are kept."""
    known = [as_value(entry) for entry in column.categories or ()]
    values = [value for value in known if value is not None and value not in column.marks]
    values = list(dict.fromkeys([*values, *in_order(value for value in column.first if value not in values)]))
    default: Kind = kind_of(len(values)) if column.is_ordered or len(values) == 2 else "nominal"
    return Variable(column.name, kind or default, tuple(values))


def _labelled(column: Column, kind: Kind | None, found: CodingFindings) -> Variable | None:
    """Texts: in a known order, or nominal."""
    labels = [str(value) for value in in_order(column.first)]
    is_identifier = len(labels) == column.counts.total() and len(labels) > ORDINAL_LEVELS
    if is_identifier or (kind is None and len(labels) > NOMINAL_LABELS):
        found.problems.add(too_many(column))
        return None
    if len(labels) == 1:
        found.warnings.append(_constant(column))
        return None
    by_word = {label.strip().casefold(): label for label in labels}
    for order in KNOWN_ORDERS:
        if set(by_word) <= set(order):
            labels = [by_word[word] for word in order if word in by_word]
            return Variable(column.name, kind or kind_of(len(labels)), tuple(labels))
    if kind == "ordinal":
        what = f"the order of the labels {listed(labels)} is not known"
        found.problems.add(f"{column.place(labels[0])}: {what}; give it by {levels_advice(column.name)}.")
        return None
    if len(labels) == 2:
        states = f"{labels[0]!r} = 0, {labels[1]!r} = 1"
        found.notes.append(f"{column.name!r}: {states}, in alphabetical order (levels= sets another).")
    return Variable(column.name, kind or ("binary" if len(labels) == 2 else "nominal"), tuple(labels))


def _numbered(column: Column, kind: Kind | None, found: CodingFindings) -> Variable | None:
    """Whole numbers: two are binary, a few are ordinal with their distances."""
    values = sorted(value for value in column.first if not isinstance(value, str))
    low, high = int(values[0]), int(values[-1])
    named = [code for code in column.texts if code not in column.marks]
    if named:  # codes that the file names belong to the scale, whether they occur or not
        low, high = min(low, *map(int, named)), max(high, *map(int, named))
        values = sorted({*values, *named})
    if len(values) == 1:
        if values[0] not in (0, 1):
            found.warnings.append(_constant(column))
            return None
        values, low, high = [0.0, 1.0], 0, 1
        found.notes.append(f"{column.name!r} is constant: every cell is {next(iter(column.first)):g}.")
    if kind == "nominal":
        return Variable(column.name, "nominal", tuple(values))
    if len(values) == 2 and kind != "ordinal":
        if high - low >= ORDINAL_LEVELS:
            remedy = f"list them by levels={{{column.name!r}: [{low:g}, {high:g}]}} if they are labels"
            what = f"two values, {low:g} and {high:g}, far apart"
            found.problems.add(f"{column.place(values[1])}: {what}; {remedy}, or {leave_out(column.name)}.")
            return None
        if high - low > 1:
            found.notes.append(f"{column.name!r}: two values, {low} and {high}, taken as binary.")
        return Variable(column.name, "binary", tuple(values))
    n_levels = high - low + 1
    if n_levels > (255 if kind == "ordinal" else ORDINAL_LEVELS):
        found.problems.add(too_many(column))
        return None
    levels = tuple(float(low + k) for k in range(n_levels))
    if unseen := [level for level in levels if level not in column.first]:
        found.notes.append(f"{column.name!r}: {n_levels} levels {low} to {high}; {listed(unseen)} never occur.")
    return Variable(column.name, kind or kind_of(n_levels), levels)


def _constant(column: Column) -> str:
    what = f"{column.name!r} is constant (every cell is {show(next(iter(column.first)))})"
    return f"{what} and was left out; levels= with all its labels keeps it."
