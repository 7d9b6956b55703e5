"""Where observations come from: arrays, tables and files, as batches of checked states."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np

from mrfbayes.base.errors import InputError
from mrfbayes.data.batch import Batch, Coded, Source, Values, check_columns
from mrfbayes.data.coding import MISSING_CODE, Coding, Column, Labels, decide
from mrfbayes.data.frames import ArrayTable, FrameTable, LazyTable, parquet
from mrfbayes.model.field import Model

PARQUET = {".parquet", ".pq", ".pqt"}


class NotPlain(Exception):
    """The data are not simply states 0..r-1."""


class Observations:
    """The columns of a source that are the nodes of a model, ready to be read as states.

    Reading is tried first under the assumption that all values are states 0..r-1 (`plain`); only where they are not
    are the values collected and coded (`coded`), which needs a second pass.
    """

    def __init__(
        self,
        model: Model,
        source: Source,
        weights: np.ndarray | str | None,
        missing: str,
        labels: Labels | None,
    ) -> None:
        self.model = model
        self.source = source
        self.labels = labels
        self.warnings: tuple[str, ...] = ()
        self._drop = missing == "drop"
        self._columns = match_columns(model, source, weights if isinstance(weights, str) else None)
        self._weight_column = isinstance(weights, str)
        self._weights = None if isinstance(weights, str) else weights
        if labels is not None and len(labels) != model.n_nodes:
            raise InputError(
                f"labels has {len(labels)} entries, the field has {model.n_nodes} nodes: give one per node."
            )

    def plain(self) -> Iterator[tuple[np.ndarray, np.ndarray | None]]:
        """(k, d) uint8 states with their weights; raises `NotPlain` at the first value that is no state."""
        if self.labels is not None and any(label is not None for label in self.labels):
            raise NotPlain
        states = self.model.states
        for batch, weight in self._batches():
            if isinstance(batch.columns, np.ndarray):
                yield _all_states(batch.columns, states), weight
                continue
            rows = np.empty((len(batch.rows), len(batch.columns)), dtype=np.uint8, order="F")
            for j, column in enumerate(batch.columns):
                if isinstance(column, Coded) or column.dtype.kind not in "buif":
                    raise NotPlain
                rows[:, j] = _as_states(column, int(states[j]))
            yield rows, weight

    def coded(self) -> Iterator[tuple[np.ndarray, np.ndarray | None]]:
        """(k, d) uint8 states with their weights, after a first pass that decides which value is which state."""
        coding = self._decide()
        self.labels, self.warnings = coding.labels, coding.warnings
        n_rows = n_dropped = 0
        for batch, weight in self._batches():
            rows = np.empty((len(batch.rows), self.model.n_nodes), dtype=np.uint8)
            for j in range(self.model.n_nodes):
                rows[:, j] = coding.encode(batch.column(j), j)
            n_rows += len(rows)
            keep = ~(rows == MISSING_CODE).any(axis=1)
            if not keep.all():
                n_dropped += int((~keep).sum())
                rows, weight = rows[keep], None if weight is None else weight[keep]
            yield rows, weight
        if n_dropped == n_rows:
            raise InputError(f"{self.source.where}: every row has a missing value; nothing is left to count.")
        if n_dropped:
            text = f"{self.source.where}: {n_dropped} of {n_rows} rows have missing values and were dropped"
            self.warnings = (*self.warnings, text)

    def _decide(self) -> Coding:
        names = self.source.names
        order = getattr(self.source, "order", None)
        columns = [
            Column(str(j) if names is None else names[j], self.source.where, None if order is None else order(j))
            for j in self._columns[: self.model.n_nodes]
        ]
        for batch, _ in self._batches():
            for j, column in enumerate(columns):
                column.see(batch.column(j), batch.rows)
        if not self._drop:
            self._refuse_missing(columns)
        return decide(columns, self.model.states.tolist(), self.source.where, self.labels)

    def _refuse_missing(self, columns: Sequence[Column]) -> None:
        found = [column for column in columns if column.first_missing is not None]
        if not found:
            return
        total = sum(column.n_missing for column in found)
        places = [(*column.first_missing, column.name) for column in found if column.first_missing is not None]
        row, text, name = min(places, key=lambda place: place[0])
        shown = "missing value" if text is None else f"missing value {text!r}" if text.strip() else "blank cell"
        columns_text = "1 column" if len(found) == 1 else f"{len(found)} columns"
        count = "1 value is missing" if total == 1 else f"{total} values are missing in {columns_text}"
        raise InputError(
            f"{self.source.where}:{row}:{name}: {shown}; {count}: fill them in, or pass missing='drop' "
            "(on the command line --missing-drop) to leave out such rows."
        )

    def _batches(self) -> Iterator[tuple[Batch, np.ndarray | None]]:
        """Batches with their weights, the number of rows checked."""
        where, d, given = self.source.where, self.model.n_nodes, self._weights
        n_rows = 0
        for batch in self.source.batches(self._columns):
            weight = None
            start, n_rows = n_rows, n_rows + len(batch.rows)
            if self._weight_column:
                weight = self._check_weights(batch.column(d), batch.rows)
                kept = batch.columns[:, :d] if isinstance(batch.columns, np.ndarray) else batch.columns[:d]
                batch = Batch(kept, batch.rows)
            elif given is not None:
                if given.size < n_rows:
                    raise InputError(
                        f"weights has {given.size} entries, {where} has more rows: give one weight per row."
                    )
                weight = given[start:n_rows]
            yield batch, weight
        if not n_rows:
            only = "" if self.source.names is None else " below the column names"
            raise InputError(f"{where}: no rows{only}; give at least one observation.")
        if given is not None and given.size != n_rows:
            raise InputError(f"weights has {given.size} entries, {where} has {n_rows} rows: give one weight per row.")

    def _check_weights(self, values: Values, rows: np.ndarray) -> np.ndarray:
        if isinstance(values, Coded):
            values = np.array(values.labels, dtype=object)[values.codes]
        try:
            weight = np.array(values, dtype=float)
        except (TypeError, ValueError):
            weight = np.full(len(values), np.nan)
        bad = np.flatnonzero(~((weight >= 0) & np.isfinite(weight)))
        if bad.size:
            k = int(bad[0])
            raise InputError(f"{self.source.where}:{rows[k]}: weight {values[k]!s}; a weight is a finite number >= 0.")
        return weight


def _as_states(column: np.ndarray, states: int) -> np.ndarray:
    if column.dtype.kind == "b":
        return column.view(np.uint8)
    if column.size and not (column.min() >= 0 and column.max() < states):
        raise NotPlain
    coded = column.astype(np.uint8)
    if column.dtype.kind == "f" and not np.array_equal(coded, column):
        raise NotPlain
    return coded


def _all_states(block: np.ndarray, states: np.ndarray) -> np.ndarray:
    if block.dtype.kind not in "buif":
        raise NotPlain
    if block.size and int(states.min()) != int(states.max()) and not (block.max(axis=0) < states).all():
        raise NotPlain
    return _as_states(block, int(states.max()))


def match_columns(model: Model, source: Source, weight: str | None) -> list[int]:
    """Which column of the source is which node (and, last, the weights): by name where both have names."""
    names = source.names
    chosen: list[int]
    if names is None:
        if weight is not None:
            raise InputError(f"weights = {weight!r}: {source.where} has no column names; give the weights as an array.")
        if model.named and not isinstance(source, ArrayTable):
            raise InputError(
                f"{source.where}:1: no header, but the nodes have names ({_some(model.nodes)}); add a line of names."
            )
        chosen = list(range(source.n_columns))
    else:
        index = {name: j for j, name in enumerate(names)}
        if weight is not None and weight not in index:
            raise InputError(f"weights = {weight!r}: {source.where} has no such column; it has {_some(names)}.")
        if model.named or set(model.nodes) <= set(names):
            absent = [node for node in model.nodes if node not in index]
            if absent:
                near = difflib.get_close_matches(absent[0], names, n=1)
                hint = f" (did you mean {near[0]!r}?)" if near else f"; it has {_some(names)}"
                raise InputError(
                    f"{source.where}: no column for {len(absent)} of {model.n_nodes} nodes, the first is "
                    f"{absent[0]!r}{hint}: name the columns after the nodes."
                )
            chosen = [index[node] for node in model.nodes]
        else:
            chosen = [j for j, name in enumerate(names) if name != weight]
        if weight is not None and index[weight] in chosen:
            raise InputError(f"weights = {weight!r} is also a node of the model: choose another column.")
    if len(chosen) != model.n_nodes:
        shape = f"{model.grid_shape[0]} x {model.grid_shape[1]} grid" if model.grid_shape else "model"
        hint = ""
        if len(chosen) == model.n_nodes - 1 and model.nodes == tuple(map(str, range(model.n_nodes))):
            hint = f" (the nodes are 0 to {len(chosen)}: are some edges counted from 0 and some from 1?)"
        raise InputError(
            f"{source.where} has {len(chosen)} columns, the {shape} has {model.n_nodes} nodes: give one column per "
            f"node, in the order of model.nodes{hint}."
        )
    return chosen if weight is None or names is None else [*chosen, names.index(weight)]


def columns_but(path: str | PathLike[str], without: Sequence[str]) -> list[str]:
    """Names of the columns of a CSV or Parquet file but for some; refused where it has no names."""
    where = fspath(path)
    source = _open_file(Path(where), where, None, (), 0)
    if source.names is None:
        raise InputError(f"{where}:1: no header; add a line of column names.")
    for name in without:
        if name not in source.names:
            raise InputError(f"--without {name}: {where} has no such column; it has {_some(source.names)}.")
    return [name for name in source.names if name not in without]


def _some(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names[:5])) + (", ..." if len(names) > 5 else "")


def open_source(model: Model, x: Any, delimiter: str | None) -> Source:
    """``x`` as a source: array, nested list, data frame, or the path of a CSV or Parquet file."""
    if isinstance(x, (str, PathLike)):
        return _open_file(Path(fspath(x)), fspath(x), delimiter, model.nodes, int(model.states.max()))
    if not isinstance(x, (np.ndarray, list, tuple)):
        frame = _as_frame(x)
        if frame is not None:
            return frame
    if np.ma.isMaskedArray(x):
        x = np.ma.filled(x.astype(float), np.nan)
    try:
        array = np.asarray(x)
    except (TypeError, ValueError):
        array = np.empty(0, dtype=object)
    if array.ndim != 2:
        _refuse_shape(model, x, array)
    if array.dtype.kind not in "buifOUS":
        raise InputError(f"x holds {array.dtype}; expected whole numbers 0..r-1, booleans or text labels.")
    if array.shape == model.grid_shape and model.n_nodes != array.shape[1]:
        raise InputError(
            f"x has the shape {array.shape} of the grid: it is one observation? Pass x.reshape(1, -1); several images "
            "of shape (n, rows, columns) as x.reshape(len(x), -1)."
        )
    return ArrayTable(array, "x")


def _refuse_shape(model: Model, x: Any, array: np.ndarray) -> None:
    hint = f"expected (n, {model.n_nodes}), one row per observation and one column per node"
    if isinstance(x, (list, tuple)) and x and len({np.shape(row) for row in _tried(x)}) > 1:
        raise InputError(f"x: its rows differ in length; {hint}.")
    if array.ndim == 0 or array.dtype == object:
        raise InputError(
            f"x is a {type(x).__name__}; expected an array, a data frame, or the path of a CSV or Parquet file."
        )
    if array.ndim == 3 and model.grid_shape == array.shape[1:]:
        hint = f"pass x.reshape({len(array)}, -1), one row per observation"
    elif array.ndim == 1 and array.size == model.n_nodes > 1:
        hint = "pass x.reshape(1, -1) if it is one observation"
    raise InputError(f"x has shape {array.shape}; {hint}.")


def _tried(rows: Sequence[Any]) -> Iterator[np.ndarray]:
    for row in rows:
        yield np.array(row, dtype=object)


def _as_frame(x: Any) -> Source | None:
    """A data frame of any library that narwhals knows, or None."""
    module = type(x).__module__.split(".")[0]
    if module == "polars" and type(x).__name__ == "LazyFrame":
        return LazyTable(x, "x")
    import narwhals as nw

    columns: Any = getattr(x, "column_names", None) or getattr(x, "columns", ())  # pyarrow; pandas and polars
    check_columns([str(name) for name in columns], "x")  # before narwhals, which would refuse in its own words
    frame = nw.from_native(x, eager_only=True, pass_through=True)
    return FrameTable(frame, "x") if isinstance(frame, nw.DataFrame) else None


def _open_file(path: Path, where: str, delimiter: str | None, nodes: Sequence[str], max_states: int) -> Source:
    if path.is_dir():
        raise InputError(f"{where}: this is a folder; give a CSV or Parquet file.")
    if not path.exists():
        raise InputError(f"{where}: no such file; check the path.")
    if path.suffix.lower() in PARQUET:
        return parquet(path, where)
    from mrfbayes.data.delimited import DelimitedFile

    return DelimitedFile(path, where, delimiter, nodes, max_states)
