"""Values of the data as states: by a schema, or by the states of a model that has none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from mrfbayes.base.errors import InputError, Problems
from mrfbayes.base.types import Stored
from mrfbayes.data.deciding import CodingFindings, column_problem, kind_of, leave_out, levels_advice, near
from mrfbayes.data.values import TRUTH, Batch, Coded, Column, Value, Values, as_value, is_missing, listed, show
from mrfbayes.model.field import Model
from mrfbayes.model.schema import Schema, Variable

MISSING_CODE = 255  # one past the largest state, so it never collides (a variable has at most 255 states)


class UnknownValueError(Exception):
    """A value that is no state; the column summaries tell which one, and where."""


class Encoder:
    """Turns batches into (k, d) uint8 states, `MISSING_CODE` where a cell is missing.

    ``variables`` is None where all values are states 0..r-1 already.
    """

    def __init__(self, variables: Sequence[Variable] | None, states: np.ndarray) -> None:
        self._codings: list[tuple[dict[Value, int], frozenset[Value]]]
        if variables is None:
            sizes, which = np.unique(states, return_inverse=True)
            self._codings = [({float(state): state for state in range(r)}, frozenset()) for r in sizes.tolist()]
            self._which = which.ravel()
            return
        distinct = {(one.values, one.texts, one.na_values): one for one in variables}
        number = {key: k for k, key in enumerate(distinct)}
        self._which = np.array([number[one.values, one.texts, one.na_values] for one in variables], dtype=np.int64)
        self._codings = [(_table(one), frozenset(one.na_values)) for one in distinct.values()]

    def __call__(self, batch: Batch) -> np.ndarray:
        """The states of a batch; raises `UnknownValueError` at a value that is none."""
        columns = batch.columns
        if isinstance(columns, np.ndarray) and len(self._codings) == 1:
            order: Literal["C", "F"] = "F" if columns.flags.f_contiguous else "C"
            return self._encode(columns.ravel(order), *self._codings[0]).reshape(columns.shape, order=order)
        rows = np.empty((len(batch.rows), len(self._which)), dtype=np.uint8, order="F")
        for j, k in enumerate(self._which.tolist()):
            rows[:, j] = self._encode(batch.column(j), *self._codings[k])
        return rows

    def _encode(self, values: Values, table: Mapping[Value, int], marks: frozenset[Value]) -> np.ndarray:
        if isinstance(values, Coded):
            used = np.bincount(values.codes, minlength=len(values.labels)) > 0
            pairs = zip(values.labels, used, strict=True)
            codes = [_state_of(label, table, marks) if is_used else 0 for label, is_used in pairs]
            return np.asarray(np.array(codes, dtype=np.uint8)[values.codes])
        if values.dtype.kind in "OUS":
            cells = values.tolist()
            try:
                known = {value: _state_of(value, table, marks) for value in dict.fromkeys(cells)}
            except TypeError:  # a list or a dictionary in a cell
                raise UnknownValueError from None
            return np.array([known[value] for value in cells], dtype=np.uint8)
        numbers = {value: state for value, state in table.items() if isinstance(value, float)}
        if not marks and values.dtype.kind in "bui" and numbers == {k: k for k in range(len(numbers))}:
            return _as_states(values, len(numbers))
        coded = np.full(len(values), MISSING_CODE, dtype=np.uint8)
        is_known = np.isnan(values) if values.dtype.kind == "f" else np.zeros(len(values), dtype=bool)
        for value, state in (*((value, MISSING_CODE) for value in marks), *table.items()):
            if isinstance(value, float):
                is_value = values == value
                coded[is_value] = state
                is_known |= is_value
        if not is_known.all():
            raise UnknownValueError
        return coded


def _table(variable: Variable) -> dict[Value, int]:
    """State of each value; the name of a value stands for it, too, as True and False and 1 and 0 do for each other."""
    table = {value: state for state, value in enumerate(variable.values)}
    for state, text in enumerate(variable.texts or ()):
        table.setdefault(text, state)
    truths = {TRUTH.get(str(value), value): state for value, state in table.items()}
    if {0.0, 1.0} <= truths.keys():
        for value, truth in (TRUTH | {0.0: 0.0, 1.0: 1.0}).items():
            table.setdefault(value, truths[truth])
    return table


def state_counts(variable: Variable, column: Column) -> list[int]:
    """How many cells of a column are in each state."""
    table, counts = _table(variable), [0] * variable.n_states
    for value in column.counts.keys() & table.keys():
        counts[table[value]] += column.counts[value]
    return counts


def _state_of(value: object, table: Mapping[Value, int], marks: frozenset[Value]) -> int:
    known = as_value(value)
    if is_missing(value) or known in marks:
        return MISSING_CODE
    if known is None or known not in table:
        raise UnknownValueError
    return table[known]


def _as_states(values: np.ndarray, states: int) -> np.ndarray:
    if values.dtype.kind == "b":
        return values.view(np.uint8)
    if values.size and not (values.min() >= 0 and values.max() < states):
        raise UnknownValueError
    return values.astype(np.uint8)


def refuse_unknown(columns: Sequence[Column], schema: Sequence[Variable], problems: Problems) -> None:
    """A line for every value that is not in the schema."""
    for column, variable in zip(columns, schema, strict=True):
        if column.strange:
            problems.add(column.strange)
        table = _table(variable)
        for value in column.first:
            if value not in table:
                hint = f"{near(value, variable.values)}; the coding has {listed(variable.values)}"
                problems.add(f"{column.place(value)}: unknown label {show(value)}{hint}.")


def fit_schema(
    model: Model,
    columns: Sequence[Column],
    decided: Sequence[Variable | None],
    has_levels: Sequence[bool],
    found: CodingFindings,
) -> Schema:
    """The coding of columns, one per node, by a model without a schema: its numbers of states decide.

    ``decided`` is the coding that each column would have by itself; levels that the user listed stay as they are.
    """
    states = model.states.tolist()
    variables: list[Variable] = []
    from_one = _counts_from_one(columns, states)
    for j, (column, r) in enumerate(zip(columns, states, strict=True)):
        own = decided[j]
        if text := column_problem(column):
            found.problems.add(text)
        elif has_levels[j] or column.categories is not None or column.is_text:
            if own is not None and own.n_states == r:
                variables.append(own)
            else:
                found.problems.add(_wrong_number(column, own, r))
        elif (numbers := _by_states(column, r, own, from_one)) is not None:
            kind = own.kind if own is not None and own.kind == "nominal" and r > 2 else kind_of(r)
            variables.append(Variable(column.name, kind, numbers, na_values=tuple(sorted(column.marks, key=str))))
        else:
            found.problems.add(_not_a_state(column, r))
    if not found.problems:
        _refuse_orders(model, columns, variables, found.problems)
    renamed = [replace(variable, name=node) for variable, node in zip(variables, model.nodes, strict=False)]
    return Schema(tuple(renamed))


def _counts_from_one(columns: Sequence[Column], states: Sequence[int]) -> bool | None:
    """Whether the numbers of the table count from 1: some reach r and none is 0; None where columns disagree."""
    pairs = [(c, r) for c, r in zip(columns, states, strict=True) if c.first and c.categories is None]
    numbers = [(c, r) for c, r in pairs if all(isinstance(v, float) and 0 <= v <= r for v in c.first)]
    has_zero = any(0.0 in column.first for column, _ in numbers)
    reaches_top = any(float(r) in column.first for column, r in numbers)
    return None if has_zero and reaches_top else reaches_top


def _by_states(column: Column, r: int, own: Variable | None, from_one: bool | None) -> tuple[float, ...] | None:
    """The numbers behind the states: 0..r-1, 1..r, or those of the column's own coding; None where none fits."""
    values = [value for value in column.first if not isinstance(value, str)]
    low, high = min(values, default=0.0), max(values, default=0.0)
    from_zero = low >= 0 and high < r
    can_start_at_one = low >= 1 and high <= r
    if from_zero and can_start_at_one and from_one is None:
        return None
    if can_start_at_one and (from_one or not from_zero):
        return tuple(float(s + 1) for s in range(r))
    if from_zero:
        return tuple(float(s) for s in range(r))
    if own is not None and own.n_states == r:
        return tuple(value for value in own.values if not isinstance(value, str))
    return None


def _wrong_number(column: Column, own: Variable | None, r: int) -> str:
    n = len(column.first) if own is None else own.n_states
    place = column.place(next(reversed(column.first), column.name))
    shown = listed(column.first if own is None else own.values)
    if n > r:
        remedy = f"set states={n} in the model (on the command line --states {column.name}={n}), or merge labels"
    else:
        remedy = f"list all {r} labels by {levels_advice(column.name)}" + (f", or set states={n}" if n > 1 else "")
    return f"{place}: {n} labels ({shown}) for {r} states of the model; {remedy}."


def _not_a_state(column: Column, r: int) -> str:
    values = sorted(value for value in column.first if not isinstance(value, str))
    n = len(values)
    outside = next((value for value in values if not 0 <= value < r), values[-1])
    place = column.place(outside)
    if n > r:
        states = f"set states={n} in the model (on the command line --states {column.name}={n})"
        what = f"{n} distinct values ({listed(values)}) for {r} states"
        return f"{place}: {what}; {states}, merge values, or {leave_out(column.name)}."
    what = f"value {outside:g} is not among the states 0..{r - 1}, or it is not clear whether they count from 0 or 1"
    return f"{place}: {what}; list the levels by {levels_advice(column.name)}, or set states= in the model."


def _refuse_orders(model: Model, columns: Sequence[Column], variables: Sequence[Variable], problems: Problems) -> None:
    """Refuse couplings that would depend on the alphabetical order of labels."""
    known: dict[tuple[Value, ...], int] = {}
    labels = np.array([known.setdefault(variable.values, len(known)) for variable in variables])
    nominal = np.array([variable.kind == "nominal" and variable.n_states > 2 for variable in variables])
    for group in model.groups:
        if group.arity != 2:
            continue
        if group.is_score and (touched := group.scope[nominal[group.scope]]).size:
            j = int(touched[0])
            column = columns[j]
            what = f"the order of the labels {listed(variables[j].values)} is not known, and coupling 'score' needs one"
            remedy = f"give it by {levels_advice(column.name)}, or use coupling='table'"
            problems.add(f"{column.place(next(iter(column.first), 0.0))}: {what}; {remedy}.")
        differ = labels[group.scope[:, 0]] != labels[group.scope[:, 1]]
        if group.table.shape[0] == 2 and differ.any():  # the states of binary variables may have names of their own
            differ &= [bool(set(variables[u].values) & set(variables[v].values)) for u, v in group.scope]
        if _is_agreement(group.table) and differ.any():
            u, v = group.scope[int(np.argmax(differ))].tolist()
            has = " and ".join(f"{columns[i].name!r} has the labels {listed(variables[i].values)}" for i in (u, v))
            remedy = "agreement of different labels has no meaning; use coupling='table', or 'score' for ordered labels"
            problems.add(f"{columns[u].where}: {has}: {remedy}.")


def _is_agreement(table: np.ndarray) -> bool:
    if table.ndim != 2 or table.shape[0] != table.shape[1]:
        return False
    return len(set(table.diagonal())) == 1 and len(set(table[~np.eye(len(table), dtype=bool)])) == 1


def is_plain(variables: Sequence[Variable]) -> bool:
    """Whether values are states 0..r-1 as they are."""
    return all(
        one.values == tuple(range(one.n_states)) and not (one.texts or one.na_values or one.kind == "nominal")
        for one in variables
    )


def state_labels(variable: Variable) -> tuple[str | int | float, ...]:
    """What is behind each state: texts, and whole numbers as such."""
    if variable.texts is not None:
        return variable.texts
    return tuple(int(v) if isinstance(v, float) and v.is_integer() else v for v in variable.values)


def coding_lines(variables: Iterable[Variable]) -> list[str]:
    """Which label is which state, a line for each set of labels; nothing where values are states as they are."""
    members: dict[tuple[object, ...], list[str]] = {}
    every = list(variables)
    for variable in every:
        if not is_plain([variable]):
            members.setdefault(state_labels(variable), []).append(variable.name)
    lines = []
    for labels, names in members.items():
        who = "all columns" if len(names) == len(every) else ", ".join(names[:6]) + (", ..." if len(names) > 6 else "")
        lines.append(f"{who}: " + ", ".join(f"{label} = {s}" for s, label in enumerate(labels)))
    return lines


def stored_schema(schema: Schema | None) -> list[dict[str, Stored]] | None:
    """A schema as settings keep it."""
    return None if schema is None else schema.to_dict()


def check_same_coding(own: Schema, other: Schema) -> None:
    """Refuse two codings that differ in a variable that both have."""
    for variable in other:
        known = next((one for one in own if one.name == variable.name), None)
        if known is not None and (known.values, known.kind) != (variable.values, variable.kind):
            codings = " and ".join(f"as {one.kind} ({listed(one.values)})" for one in (known, variable))
            raise InputError(f"{variable.name!r} is coded {codings}: make both with the same schema=.")
