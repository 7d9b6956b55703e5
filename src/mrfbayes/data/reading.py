"""A source whose columns have roles: variables, weights, groups, covariates; read in batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from mrfbayes.base.budget import budget
from mrfbayes.base.errors import InputError, Problems
from mrfbayes.data.batch import Batch, Coded, Source, Values
from mrfbayes.data.values import as_value, listed
from mrfbayes.data.weights import numbers_of, same_rows

MOST_GROUPS = 64  # more are an identifier


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
            weight = labels = None
            at = d
            if isinstance(self.weights, int):
                weight = self._check_weights(batch, at, problems)
                at += 1
            elif self.weights is not None:
                self._check_size("weights", self.weights.size >= n_rows, n_rows)
                weight = self.weights[start:n_rows]
            if isinstance(self.group, int):
                labels = group_labels(batch.column(at), batch, f"{batch.where or where}", self.names[self.group])
            elif self.group is not None:
                self._check_size("group", self.group.size >= n_rows, n_rows)
                labels = self.group[start:n_rows]
            if start:  # what fits one batch is read in any case
                budget().check(f"reading, after {start:,} rows")
            yield batch.select(range(d)), weight, labels
        if not n_rows and not problems:
            only = "" if self.source.names is None else " below the column names"
            raise InputError(f"{where}: no rows{only}; give at least one observation.")
        for name, role in (("weights", self.weights), ("group", self.group)):
            if isinstance(role, np.ndarray) and not problems:
                self._check_size(name, role.size == n_rows, n_rows)

    def _check_size(self, name: str, fits: bool, n_rows: int) -> None:
        if not fits:
            role = self.weights if name == "weights" else self.group
            assert isinstance(role, np.ndarray)
            raise InputError(
                f"{name} has {role.size} entries, {self.source.where} has {n_rows} rows or more: give one per row."
            )

    def _check_weights(self, batch: Batch, j: int, problems: Problems) -> np.ndarray:
        values = plain_values(batch.column(j))
        try:
            weight = np.array(values, dtype=float)
        except (TypeError, ValueError):
            weight = np.array(
                [value if isinstance(value, float) else np.nan for value in map(as_value, values.tolist())]
            )
        for k in np.flatnonzero(~((weight >= 0) & np.isfinite(weight))).tolist():
            place = f"{batch.where or self.source.where}:{batch.rows[k]}"
            problems.add(f"{place}: weight {values[k]!s}; a weight is a finite number >= 0.")
        return weight


def plain_values(values: Values) -> np.ndarray:
    """A column as an array, also where it comes as codes."""
    return np.array(values.labels, dtype=object)[values.codes] if isinstance(values, Coded) else values


def group_labels(values: Values, batch: Batch, where: str, name: str) -> np.ndarray:
    """The group of each row, as text; rows without one are refused."""
    found = []
    known: dict[object, str] = {}
    for k, cell in enumerate(plain_values(values).tolist()):
        if cell not in known:
            value = as_value(cell)
            if value is None:
                raise InputError(
                    f"{where}:{batch.rows[k]}:{name}: the row belongs to no group; fill the cell or drop the row."
                )
            known[cell] = value.strip() if isinstance(value, str) else f"{value:g}"
            if len(known) > MOST_GROUPS:
                raise InputError(f"group = {name!r}: more than {MOST_GROUPS} different values; groups are few.")
        found.append(known[cell])
    return np.array(found, dtype=object)


def read_role(argument: str, given: object, names: Sequence[str], source: Source, x: object) -> int | np.ndarray | None:
    """The argument ``weights`` or ``group``: a column, or one entry per row."""
    if given is None:
        return None
    if isinstance(given, str):
        if given not in names:
            raise InputError(f"{argument} = {given!r}: {source.where} has no such column; it has {listed(names)}.")
        return list(names).index(given)
    same_rows(argument, given, x)
    if argument == "weights":
        weights = numbers_of(given, "weights")
        bad = np.flatnonzero(~((weights >= 0) & np.isfinite(weights))) if weights.ndim == 1 else np.zeros(0)
        if bad.size:
            raise InputError(f"weights[{bad[0]}] = {weights[bad[0]]:g}: a weight is a finite number >= 0.")
        entries = weights
    else:
        entries = np.asarray(given, dtype=object)
    if entries.ndim != 1:
        raise InputError(f"{argument} has shape {entries.shape}: give the name of a column, or one entry per row.")
    if argument == "group":
        entries = group_labels(entries, Batch([entries], np.arange(entries.size)), "group", "group")
    return entries
