"""A source whose columns have roles: variables, weights, groups, covariates; read in batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from mrfbayes.base.budget import budget
from mrfbayes.base.errors import InputError, Problems
from mrfbayes.data.batch import Batch, Coded, Source, Values
from mrfbayes.data.values import as_value, listed
from mrfbayes.data.weights import numbers_of, same_rows

MAX_GROUPS = 64  # more are an identifier
MAX_SHARED = 0.5  # of the smaller group's values, past which a column says that people are in both groups
MIN_GROUP_ROWS = 5  # below which shared values are chance


@dataclass(frozen=True, eq=False)
class RoleTable:
    """A source and the roles of its columns.

    Attributes
    ----------
    source : Source
        Where rows come from.
    names : tuple of str
        Names of all columns of the source; numbers where it has none.
    weights, group : int, array or None
        The column with the rows' weights, or one weight per row; likewise for the groups.
    only : str or None
        The group whose rows are read; None reads all.
    """

    source: Source
    names: tuple[str, ...]
    weights: int | np.ndarray | None = None
    group: int | np.ndarray | None = None
    only: str | None = None

    def batches(self, columns: Sequence[int], problems: Problems) -> Iterator[tuple[Batch, np.ndarray | None]]:
        """Batches of the columns with the weights of their rows; what cannot be read is added to ``problems``."""
        for batch, weight, labels in self.pieces(columns, problems):
            if self.only is not None:
                assert labels is not None
                keep = labels == self.only
                if not keep.any():
                    continue
                batch, weight = batch.only(keep), None if weight is None else weight[keep]
            yield batch, weight

    def pieces(
        self, columns: Sequence[int], problems: Problems
    ) -> Iterator[tuple[Batch, np.ndarray | None, np.ndarray | None]]:
        """All batches of the columns, with the weights and the group labels of their rows."""
        where, d = self.source.where, len(columns)
        roles = [role for role in (self.weights, self.group) if isinstance(role, int)]
        n_rows = 0
        for batch in self.source.batches([*columns, *roles], problems):
            start, n_rows = n_rows, n_rows + len(batch.rows)
            self._check_sizes(n_rows)
            weight = self.weights[start:n_rows] if isinstance(self.weights, np.ndarray) else None
            labels = self.group[start:n_rows] if isinstance(self.group, np.ndarray) else None
            if isinstance(self.weights, int):
                weight = self._check_weights(batch, d, problems)
            if isinstance(self.group, int):
                labels = group_labels(batch.column(-1), batch, batch.where or where, self.names[self.group])
            if start:  # what fits one batch is read in any case
                budget().check(f"reading, after {start:,} rows")
            yield batch.select(range(d)), weight, labels
        if not n_rows and not problems:
            only = "" if self.source.names is None else " below the column names"
            raise InputError(f"{where}: no rows{only}; give at least one observation.")
        self._check_sizes(n_rows, at_end=not problems)

    def _check_sizes(self, n_rows: int, at_end: bool = False) -> None:
        for name, role in (("weights", self.weights), ("group", self.group)):
            if isinstance(role, np.ndarray) and (role.size < n_rows or (at_end and role.size > n_rows)):
                sizes = f"{name} has {role.size} entries, {self.source.where} has {n_rows} rows or more"
                raise InputError(f"{sizes}: give one per row.")

    def _check_weights(self, batch: Batch, j: int, problems: Problems) -> np.ndarray:
        values = plain_values(batch.column(j))
        try:
            weight = np.array(values, dtype=float)
        except (TypeError, ValueError):
            numbers = map(as_value, values.tolist())
            weight = np.array([number if isinstance(number, float) else np.nan for number in numbers])
        for k in np.flatnonzero(~((weight >= 0) & np.isfinite(weight))).tolist():
            place = f"{batch.where or self.source.where}:{batch.rows[k]}"
            problems.add(f"{place}: weight {values[k]!s}; a weight is a finite number >= 0.")
        return weight


def plain_values(values: Values) -> np.ndarray:
    """A column as an array, also where it comes as codes."""
    return np.array(values.labels, dtype=object)[values.codes] if isinstance(values, Coded) else values


def group_labels(values: Values, batch: Batch, where: str, name: str) -> np.ndarray:
    """The group of each row, as text; rows without one are refused."""
    known: dict[object, str] = {}
    cells = plain_values(values).tolist()
    for k, cell in enumerate(cells):
        if cell not in known:
            value = as_value(cell)
            if value is None:
                raise InputError(
                    f"{where}:{batch.rows[k]}:{name}: the row has no group; fill the cell or drop the row."
                )
            known[cell] = value.strip() if isinstance(value, str) else f"{value:g}"
            if len(known) > MAX_GROUPS:
                raise InputError(f"group = {name!r}: more than {MAX_GROUPS} different values; groups are few.")
    return np.array([known[cell] for cell in cells], dtype=object)


def read_role(argument: str, given: object, names: Sequence[str], source: Source, x: object) -> int | np.ndarray | None:
    """The argument ``weights`` or ``group``: a column, or one entry per row."""
    if given is None:
        return None
    if isinstance(given, str):
        if given not in names:
            raise InputError(f"{argument} = {given!r}: {source.where} has no such column; it has {listed(names)}.")
        return list(names).index(given)
    same_rows(argument, given, x)
    entries = numbers_of(given, "weights") if argument == "weights" else np.asarray(given, dtype=object)
    if entries.ndim != 1:
        raise InputError(f"{argument} has shape {entries.shape}: give the name of a column, or one entry per row.")
    if argument == "group":
        return group_labels(entries, Batch([entries], np.arange(entries.size)), "group", "group")
    bad = np.flatnonzero(~((entries >= 0) & np.isfinite(entries)))
    if bad.size:
        raise InputError(f"weights[{bad[0]}] = {entries[bad[0]]:g}: a weight is a finite number >= 0.")
    return entries


def refuse_repeated_people(table: RoleTable, unused: Sequence[int]) -> None:
    """Refuse groups that share the values of a column which is no variable and has every value once in each group."""
    cells: list[dict[str, list[object]]] = [{} for _ in unused]
    for batch, _, labels in table.pieces(list(unused), Problems()) if unused else ():
        if labels is None:
            return
        for k, by_group in enumerate(cells):
            for value, label in zip(plain_values(batch.column(k)).tolist(), labels.tolist(), strict=True):
                by_group.setdefault(label, []).append(value)
    for column, by_group in zip(unused, cells, strict=True):
        values = {name: set(each) for name, each in by_group.items()}
        if any(len(values[name]) < len(each) for name, each in by_group.items()):
            continue  # a value occurs twice within a group: it identifies nobody
        for first, second in combinations(values, 2):
            shared, fewest = len(values[first] & values[second]), min(len(values[first]), len(values[second]))
            if fewest >= MIN_GROUP_ROWS and shared > MAX_SHARED * fewest:
                name = table.names[column]
                raise InputError(
                    f"group: {shared} values of {name!r} occur both in {first!r} and in {second!r}, as if the same "
                    "people were measured again; groups must be different people, because their answers are taken to "
                    f"be independent. If they are, read the data without {name!r}."
                )
