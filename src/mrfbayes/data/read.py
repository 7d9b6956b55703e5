"""Where observations come from: arrays, tables and files, as batches of checked states."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from os import PathLike, fspath
from pathlib import Path
from unicodedata import normalize

import numpy as np

from mrfbayes.base.budget import budget
from mrfbayes.base.errors import InputError, Problems
from mrfbayes.data.batch import Batch, Coded, Source, Values
from mrfbayes.data.coding import MISSING_CODE, Coding, Wishes, decide
from mrfbayes.data.frames import ArrayTable
from mrfbayes.data.holes import HoleTally
from mrfbayes.data.levels import Labels, Levels, order_matters
from mrfbayes.data.sources import open_file
from mrfbayes.data.values import Column
from mrfbayes.model.field import Model

KEEP = "keep"  # rows with missing cells come as they are, in their place


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
        levels: Levels | None = None,
    ) -> None:
        self.model = model
        self.source = source
        self.labels = labels
        self.levels = levels
        self.warnings: tuple[str, ...] = ()
        self._missing = missing
        self.holes = HoleTally(model.n_nodes)
        self._columns = match_columns(model, source, weights if isinstance(weights, str) else None)
        self._weight_column = isinstance(weights, str)
        self._weights = None if isinstance(weights, str) else weights
        if labels is not None and len(labels) != model.n_nodes:
            raise InputError(
                f"labels has {len(labels)} entries, the field has {model.n_nodes} nodes: give one per node."
            )

    def plain(self) -> Iterator[tuple[np.ndarray, np.ndarray | None]]:
        """(k, d) uint8 states with their weights; raises `NotPlain` at the first value that is no state."""
        if self.levels is not None or (self.labels and any(label is not None for label in self.labels)):
            raise NotPlain
        states = self.model.states
        problems = Problems()
        for batch, weight in self._batches(problems):
            if problems:
                raise NotPlain
            if isinstance(batch.columns, np.ndarray):
                yield _all_states(batch.columns, states), weight
                continue
            rows = np.empty((len(batch.rows), len(batch.columns)), dtype=np.uint8, order="F")
            for j, column in enumerate(batch.columns):
                if isinstance(column, Coded) or column.dtype.kind not in "buif":
                    raise NotPlain
                rows[:, j] = _as_states(column, int(states[j]))
            yield rows, weight
        if problems:
            raise NotPlain

    def coded(self) -> Iterator[tuple[np.ndarray, np.ndarray | None]]:
        """(k, d) uint8 states with their weights, after a first pass that decides which value is which state."""
        coding = self._decide()
        self.labels, self.warnings = coding.labels, coding.warnings
        n_rows = n_dropped = 0
        for batch, weight in self._batches(Problems()):
            rows = np.empty((len(batch.rows), self.model.n_nodes), dtype=np.uint8)
            for j in range(self.model.n_nodes):
                rows[:, j] = coding.encode(batch.column(j), j)
            n_rows += len(rows)
            if self._missing == KEEP:
                yield rows, weight
                continue
            keep = ~(rows == MISSING_CODE).any(axis=1)
            if not keep.all():
                n_dropped += int((~keep).sum())
                if self._missing == "model":
                    self.holes.add(rows[~keep], None if weight is None else weight[~keep])
                rows, weight = rows[keep], None if weight is None else weight[keep]
            yield rows, weight
        if self._missing in ("model", KEEP):
            return
        if n_dropped == n_rows:
            raise InputError(
                f"{self.source.where}: every row has a missing value; nothing is left to count: missing='model' (on "
                "the command line --missing model) uses what is there."
            )
        if n_dropped:
            text = f"{self.source.where}: {n_dropped} of {n_rows} rows have missing values and were dropped"
            self.warnings = (*self.warnings, text)

    def _decide(self) -> Coding:
        """Read everything once, and refuse with all that is wrong, or choose the coding."""
        names, where = self.source.names, self.source.where
        columns = []
        for j in self._columns[: self.model.n_nodes]:
            categories, is_ordered = self.source.categories(j)
            columns.append(Column(str(j) if names is None else names[j], where, categories, is_ordered))
        problems = Problems()
        seen = 0
        for batch, _ in self._batches(problems):
            if seen:
                budget().check(f"reading the labels, after {seen:,} rows")
            for j, column in enumerate(columns):
                column.see(batch.column(j), batch.rows)
            seen += len(batch.rows)
        if self._missing == "refuse":
            _refuse_missing(columns, problems)
        wishes = Wishes(self.model.nodes, self.labels, self.levels, lambda nodes: order_matters(self.model, nodes))
        coding = decide(columns, self.model.states.tolist(), wishes, problems)
        problems.refuse()
        return coding

    def _batches(self, problems: Problems) -> Iterator[tuple[Batch, np.ndarray | None]]:
        """Batches with their weights, the number of rows checked; rows that cannot be read go to ``problems``."""
        where, d, given = self.source.where, self.model.n_nodes, self._weights
        n_rows = 0
        for batch in self.source.batches(self._columns, problems):
            weight = None
            start, n_rows = n_rows, n_rows + len(batch.rows)
            if self._weight_column:
                weight = self._check_weights(batch.column(d), batch.rows, problems)
                kept = batch.columns[:, :d] if isinstance(batch.columns, np.ndarray) else batch.columns[:d]
                batch = Batch(kept, batch.rows)
            elif given is not None:
                if given.size < n_rows:
                    raise InputError(
                        f"weights has {given.size} entries, {where} has more rows: give one weight per row."
                    )
                weight = given[start:n_rows]
            yield batch, weight
        if not n_rows and not problems:
            only = "" if self.source.names is None else " below the column names"
            raise InputError(f"{where}: no rows{only}; give at least one observation.")
        if given is not None and given.size != n_rows and not problems:
            raise InputError(f"weights has {given.size} entries, {where} has {n_rows} rows: give one weight per row.")

    def _check_weights(self, values: Values, rows: np.ndarray, problems: Problems) -> np.ndarray:
        if isinstance(values, Coded):
            values = np.array(values.labels, dtype=object)[values.codes]
        try:
            weight = np.array(values, dtype=float)
        except (TypeError, ValueError):
            weight = np.full(len(values), np.nan)
        for k in np.flatnonzero(~((weight >= 0) & np.isfinite(weight))).tolist():
            problems.add(f"{self.source.where}:{rows[k]}: weight {values[k]!s}; a weight is a finite number >= 0.")
        return weight


def _refuse_missing(columns: Sequence[Column], problems: Problems) -> None:
    """A line per column with missing values; the first says what can be done."""
    found = [column for column in columns if column.first_missing is not None]
    total = sum(column.n_missing for column in found)
    columns_text = "1 column" if len(found) == 1 else f"{len(found)} columns"
    count = "1 value is missing" if total == 1 else f"{total} values are missing in {columns_text}"
    advice = (
        f"{count}: fill them in; or pass missing='model' (on the command line --missing model) to use what is there, "
        "if cells are missing at random; or missing='drop' (--missing drop) to leave out such rows."
    )
    for column in sorted(found, key=lambda column: column.first_missing or (0, None)):
        assert column.first_missing is not None
        row, text = column.first_missing
        shown = "missing value" if text is None else f"missing value {text!r}" if text.strip() else "blank cell"
        problems.add(f"{column.where}:{row}:{column.name}: {shown}; {advice}")
        advice = f"{column.n_missing} in this column."


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
                hint = f" (did you mean {near[0]!r}?)" if near else f"; it has {_some(names) or 'no columns'}"
                if near and normalize("NFKC", near[0]) == normalize("NFKC", absent[0]):
                    hint = f" ({near[0]!r} looks the same, but is written {near[0]!a}, not {absent[0]!a})"
                what = f"the first is {absent[0]!r}" if len(absent) == 1 else f"they are {_some(absent)}"
                raise InputError(
                    f"{source.where}: no column for {len(absent)} of {model.n_nodes} nodes, {what}{hint}: name the "
                    "columns after the nodes."
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


def columns_but(path: str | PathLike[str], without: Sequence[str], delimiter: str | None = None) -> list[str]:
    """Names of the columns of a CSV or Parquet file but for some; refused where it has no names."""
    where = fspath(path)
    source = open_file(Path(where), where, delimiter, (), 0)
    if source.names is None:
        raise InputError(f"{where}:1: no header; add a line of column names.")
    for name in without:
        if name not in source.names:
            raise InputError(f"--without {name}: {where} has no such column; it has {_some(source.names)}.")
    return [name for name in source.names if name not in without]


def _some(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names[:5])) + (", ..." if len(names) > 5 else "")


def read_rows(model: Model, source: Source, labels: Labels | None) -> np.ndarray:
    """(n, d) uint8 states of all rows in their order, `MISSING_CODE` where a cell is missing."""
    data = Observations(model, source, None, KEEP, labels)
    try:
        parts = [np.asarray(rows) for rows, _ in data.plain()]
    except NotPlain:
        parts = [rows for rows, _ in data.coded()]
    return np.concatenate(parts)
