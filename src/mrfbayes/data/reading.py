"""A source whose columns have roles: variables, weights, groups, covariates; read in batches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import combinations
from unicodedata import normalize

import numpy as np

from mrfbayes.base.budget import budget
from mrfbayes.base.checks import numbers
from mrfbayes.base.errors import InputError, Problems
from mrfbayes.base.types import ColumnsLike
from mrfbayes.data.deciding import near
from mrfbayes.data.frames import ArrayTable
from mrfbayes.data.values import Batch, Coded, Source, Values, as_value, listed, same_rows
from mrfbayes.model.field import Model

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
        import pandas as pd

        where, d = self.source.where, len(columns)
        roles = [role for role in (self.weights, self.group) if isinstance(role, int)]
        n_rows = 0
        for batch in self.source.batches([*columns, *roles], problems):
            start, n_rows = n_rows, n_rows + len(batch.rows)
            self._check_sizes(n_rows)
            weight = self.weights[start:n_rows] if isinstance(self.weights, np.ndarray) else None
            labels = self.group[start:n_rows] if isinstance(self.group, np.ndarray) else None
            if isinstance(self.weights, int):
                values = plain_values(batch.column(d))
                weight = np.asarray(pd.to_numeric(pd.Series(values), errors="coerce"), dtype=float)
                for k in _bad_weights(weight):
                    place = f"{batch.where or where}:{batch.rows[k]}"
                    problems.add(f"{place}: weight {values[k]}; a weight is a finite number >= 0.")
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
    entries = numbers("weights", given) if argument == "weights" else np.asarray(given, dtype=object)
    if entries.ndim != 1:
        raise InputError(f"{argument} has shape {entries.shape}: give the name of a column, or one entry per row.")
    if argument == "group":
        return group_labels(entries, Batch([entries], np.arange(entries.size)), "group", "group")
    for k in _bad_weights(entries):
        raise InputError(f"weights[{k}] = {entries[k]:g}: a weight is a finite number >= 0.")
    return entries


def _bad_weights(weight: np.ndarray) -> list[int]:
    return np.flatnonzero(~((weight >= 0) & np.isfinite(weight))).tolist()


def refuse_repeated_people(table: RoleTable, unused: Sequence[int]) -> None:
    """Refuse groups that share the values of a column which is no variable and has every value once in each group."""
    import pandas as pd

    names = [table.names[j] for j in unused]
    parts = [
        pd.DataFrame({"": labels, **{name: plain_values(batch.column(k)) for k, name in enumerate(names)}})
        for batch, _, labels in (table.pieces(list(unused), Problems()) if unused else ())
    ]
    for name in names if parts and table.group is not None else ():
        cells = pd.concat([part[["", name]] for part in parts])
        if cells.duplicated().any():
            continue  # a value occurs twice within a group: it identifies nobody
        for (first, one), (second, other) in combinations(cells.groupby("")[name], 2):
            shared, fewest = len(set(one) & set(other)), min(len(one), len(other))
            if fewest >= MIN_GROUP_ROWS and shared > MAX_SHARED * fewest:
                raise InputError(
                    f"group: {shared} values of {name!r} occur both in {first!r} and in {second!r}, as if the same "
                    "people were measured again; groups must be different people, because their answers are taken to "
                    f"be independent. If they are, read the data without {name!r}."
                )


def choose_columns(
    names: Sequence[str], columns: ColumnsLike | None, drop: ColumnsLike | None, where: str, argument: str = "columns"
) -> list[str]:
    """The columns among ``names`` that ``columns`` asks for (all by default), but for ``drop``, in their order.

    Each request is a name, a range ``first:last``, or a pattern with ``*`` and ``?``. Errors name ``argument``.
    """

    def chosen(argument: str, requests: ColumnsLike | None) -> set[str]:
        texts = [requests] if isinstance(requests, str) else [] if requests is None else list(map(str, requests))
        return {name for text in texts for name in _matches(names, text, argument, where)}

    wanted, unwanted = chosen(argument, columns), chosen("drop", drop)
    left = [name for name in names if (columns is None or name in wanted) and name not in unwanted]
    if not left:
        raise InputError(f"columns and drop leave no column of {where}.")
    return left


def _matches(names: Sequence[str], request: str, argument: str, where: str) -> list[str]:
    if request in names:
        return [request]
    first, colon, last = request.partition(":")
    if colon and first in names and last in names:
        a, b = names.index(first), names.index(last)
        if a > b:
            raise InputError(f"{argument} = {request!r}: {first!r} comes after {last!r}; write {last}:{first}.")
        return list(names[a : b + 1])
    matching = [name for name in names if fnmatchcase(name, request)] if any(c in request for c in "*?[") else []
    if not matching:
        hint = near(request, names)
        raise InputError(f"{argument} = {request!r}: {where} has no such column{hint}; it has {listed(names)}.")
    return matching


def match_columns(model: Model, source: Source, names: Sequence[str], chosen: Sequence[int]) -> list[int]:
    """Which of the chosen columns of the source is which node: by name where both have names, else by position."""
    by_name, where, shape = {names[j]: j for j in chosen}, source.where, model.grid_shape
    if source.names is None and model.named and not isinstance(source, ArrayTable):
        raise InputError(f"{where}:1: no header, but the nodes have names ({listed(model.nodes)}); add them.")
    if source.image_shape is not None and shape not in (None, source.image_shape):
        images, grid = (f"{size[0]} x {size[1]}" for size in (source.image_shape, shape))
        raise InputError(f"{where} holds images of {images} pixels, the grid has {grid}: crop them or change it.")
    if source.names is not None and (model.named or set(model.nodes) <= set(by_name)):
        if absent := [node for node in model.nodes if node not in by_name]:
            _refuse_absent(absent, model, source, list(by_name))
        return [by_name[node] for node in model.nodes]
    if len(chosen) != model.n_nodes:
        if isinstance(source, ArrayTable) and source.x.shape == shape:
            raise InputError(f"x has the shape {shape} of the grid: is it one observation? Pass x[None].")
        kind = "model" if shape is None else f"{shape[0]} x {shape[1]} grid"
        hint = f"{where} has {len(chosen)} columns, the {kind} has {model.n_nodes} nodes"
        if len(chosen) == model.n_nodes - 1 and model.nodes == tuple(map(str, range(model.n_nodes))):
            hint += f" (0 to {len(chosen)}: are some edges counted from 0 and some from 1?)"
        raise InputError(f"{hint}: give one column per node, in the order of model.nodes.")
    return list(chosen)


def _refuse_absent(absent: Sequence[str], model: Model, source: Source, names: Sequence[str]) -> None:
    hint = near(absent[0], names) or f"; it has {listed(names) or 'no columns'}"
    alike = next((name for name in names if normalize("NFKC", name) == normalize("NFKC", absent[0])), None)
    if alike is not None:
        hint = f" ({alike!r} looks the same, but is written {alike!a}, not {absent[0]!a})"
    what = f"no column for {len(absent)} of {model.n_nodes} nodes, {listed(absent)}{hint}"
    raise InputError(f"{source.where}: {what}: name the columns after the nodes.")


def check_covariates(given: Mapping[str, object], n: int, d: int) -> dict[str, np.ndarray]:
    """The covariates as arrays (n,) or (n, d), without missing values."""
    found = {}
    for name, values in given.items():
        array = numbers(f"covariates[{name!r}]", values)
        if array.ndim and array.size == d and array.shape[0] != n:
            array = array.reshape(1, d)  # one image
        array = array.reshape(len(array), -1) if array.ndim > 1 else array
        if array.shape == (1, d) and n > 1:
            array = np.broadcast_to(array, (n, d))
        if array.shape not in ((n,), (n, d)):
            has = f"covariates[{name!r}] has shape {array.shape}"
            raise InputError(f"{has}: give a value for each of {n} rows, or for each of their {d} cells.")
        if (bad := np.argwhere(~np.isfinite(array))).size:
            place = f"row {int(bad[0][0]) + 1}"
            raise InputError(f"covariates: {name!r} has no finite value in {place}: fill it in, or drop the row.")
        found[str(name)] = array
    return found
