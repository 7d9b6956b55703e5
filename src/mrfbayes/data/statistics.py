"""Sufficient statistics: all that a likelihood needs to know of the data, and the currency of the package."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from mrfbayes.base.budget import budget
from mrfbayes.base.errors import InputError, warn_user
from mrfbayes.data.collections import Terms, count_collection, is_collection, weight_column
from mrfbayes.data.holes import Holes, hole_doubts, refuse_hidden
from mrfbayes.data.levels import Labels, grouped, mapping_text, read_levels
from mrfbayes.data.patterns import DenseCells, PatternChunk, PatternTable, pattern_table, patterns_of
from mrfbayes.data.read import NotPlain, Observations
from mrfbayes.data.sources import open_source
from mrfbayes.data.tally import Tally
from mrfbayes.data.weights import numbers_of, row_weights
from mrfbayes.model.field import Model, factors_per_block, require_model

if TYPE_CHECKING:
    from mrfbayes.data.levels import LevelGroup

MISSING = ("refuse", "drop", "model")


@dataclass(frozen=True, eq=False)
class Statistics:
    """Counts of a field's outcomes over n observations; made by `mrfbayes.count` or `Statistics.from_counts`.

    Attributes
    ----------
    model : the field
    n : total weight; the number of observations where there are no weights
    n_rows : number of rows counted; 0 where only counts were given
    counts : (p,) sufficient statistics s: counts of the first K-1 outcomes of each block, or its total score
    node_part, edge_part : the same sums in lowered form (ones and agreements, or cells of the node and edge tables);
        None where only counts were given
    rows : (k, d) uint8, up to 4,096 of the observed rows (fewer on very large fields), a random subset where there
        are more
    row_weights : (k,) the weight that each of ``rows`` stands for; they add to n
    labels : per node the values behind the states 0..r-1, None for a node given as plain states; None if all are
    warnings : what the reader of a result has to know about the data
    digest : SHA-256 of data and weights
    holes : rows with missing cells, where they are modelled (``missing="model"``); n, n_rows and all sums are those of
        the complete rows alone
    """

    model: Model
    n: float
    n_rows: int
    counts: np.ndarray
    node_part: np.ndarray | None
    edge_part: np.ndarray | None
    rows: np.ndarray
    row_weights: np.ndarray
    labels: Labels | None
    warnings: tuple[str, ...]
    digest: str
    holes: Holes | None = None
    _chunks: tuple[PatternChunk, ...] | None = field(repr=False, default=None)
    _dense: DenseCells | None = field(repr=False, default=None)

    def __repr__(self) -> str:
        holes = "" if self.holes is None else f", beside {self.holes.n:g} with missing cells"
        about = f"{self.n:g} observations of {self.model.n_nodes} variables{holes}"
        return f"<Statistics: {about}{mapping_text(self.levels)}>"

    @classmethod
    def from_counts(cls, model: Model, counts: object, n: float, holes: Holes | None = None) -> Statistics:
        """Statistics from counts alone, for any n: all that most methods need.

        Parameters
        ----------
        counts : (p,) in the order of ``model.parameters``: counts of the first K-1 outcomes, or total scores
        n : number of observations (or their total weight)
        holes : the ``holes`` of another `Statistics`, beside which these are the counts of the complete rows
        """
        array = numbers_of(counts, "counts")
        if array.shape != (model.n_parameters,):
            raise InputError(
                f"counts has shape {array.shape}, expected ({model.n_parameters},): one count per parameter, in the "
                "order of model.parameters."
            )
        is_number = isinstance(n, (int, float, np.number)) and not isinstance(n, bool)
        if not is_number or not np.isfinite(n) or not (n > 0 or (holes and n == 0)):
            raise InputError(f"n = {n!r}: give the number of observations, a finite number > 0.")
        bad = np.flatnonzero(~((array >= 0) & np.isfinite(array)))
        if bad.size:
            j = int(bad[0])
            raise InputError(f"counts[{j}] = {array[j]:g} ({model.parameters[j]}): a count is a finite number >= 0.")
        chart = model.chart
        most = float(n) * chart.tosses
        total = np.bincount(chart.block_of, weights=array, minlength=chart.n_blocks)
        over = np.flatnonzero(total > most * (1 + 1e-12))
        if over.size:
            b = int(over[0])
            raise InputError(
                f"counts of {model.blocks[b]} sum to {total[b]:g}, more than the {most[b]:g} possible in n = {n:g} "
                "observations: check n and the order of the counts."
            )
        array.setflags(write=False)
        digest = hashlib.sha256(b"mrfbayes counts 1" + array.astype("<f8").tobytes() + np.float64(n).tobytes())
        rows = np.zeros((0, model.n_nodes), dtype=np.uint8)
        known = digest.hexdigest() if holes is None else holes.digest(digest.hexdigest())
        return cls(model, float(n), 0, array, None, None, rows, np.zeros(0), None, (), known, holes)

    @property
    def n_all(self) -> float:
        """Total weight of all rows, those with holes included."""
        return self.n if self.holes is None else self.n + self.holes.n

    @property
    def n_kept(self) -> float:
        """How many observations averages over ``rows`` are worth: n where all rows are kept."""
        used = [np.count_nonzero(c.weight) if c.weight.size else c.n for c in self._chunks or ()]
        if self._chunks is not None and sum(used) == len(self.rows):
            return self.n
        return min(self.n, float(self.row_weights.sum() ** 2 / max((self.row_weights**2).sum(), 1e-300)))

    @property
    def mean(self) -> np.ndarray:
        """(p,) sufficient statistics per observation."""
        return np.asarray(self.counts / self.n)

    @property
    def shrunken_frequency(self) -> np.ndarray:
        """(p,) frequencies of the first K-1 outcomes with one pseudo-count for every outcome: inside (0, 1) always."""
        chart = self.model.chart
        tosses = self.n * chart.tosses[chart.block_of]
        return np.asarray((self.counts + 1.0) / (tosses + chart.sides[chart.block_of]))

    @property
    def outcome_offset(self) -> np.ndarray:
        """(B+1,) where each block starts in `outcome_counts`."""
        chart = self.model.chart
        return np.asarray(chart.offset + np.arange(chart.n_blocks + 1))

    @cached_property
    def outcome_counts(self) -> np.ndarray:
        """Counts of all K outcomes of every block, flat; a score coin has two: the score, and what it lacks."""
        chart = self.model.chart
        total = np.bincount(chart.block_of, weights=self.counts, minlength=chart.n_blocks)
        flat = np.empty(chart.n_parameters + chart.n_blocks)
        flat[np.arange(chart.n_parameters) + chart.block_of] = self.counts
        # Rounding in weighted sums must not leave a count of -1e-12.
        flat[self.outcome_offset[1:] - 1] = np.maximum(self.n * chart.tosses - total, 0.0)
        flat.setflags(write=False)
        return flat

    @property
    def levels(self) -> list[LevelGroup]:
        """Which label is which state: ``{"nodes": names or None for all, "labels": [of state 0, of state 1, ...]}``."""
        return grouped(self.labels, self.model.nodes) if self.labels is not None else []

    @cached_property
    def patterns(self) -> PatternTable:
        """Distinct neighbourhood patterns of every node with their weights."""
        if self._chunks is not None:
            return pattern_table(self.model, patterns_of(self.model, self._chunks))
        if self._dense is not None:
            return pattern_table(self.model, [self._dense.patterns()])
        reason = "kept no rows of so many data" if self.n_rows else "has counts only"
        raise InputError(
            f"this Statistics {reason}, so neighbourhood patterns are not known: pass the observations themselves "
            "(or a sample of them) to use pseudolikelihood, or choose method='mle' or 'exact'."
        )

    @property
    def chunks(self) -> tuple[PatternChunk, ...] | None:
        """All observations, packed, in order; None where they were not kept (counts only, or past 1 GiB)."""
        return self._chunks

    @property
    def dense(self) -> DenseCells | None:
        """Look-up tables of neighbourhood patterns, where they were made instead of keeping the observations."""
        return self._dense

    @property
    def planes(self) -> np.ndarray | None:
        """All observations of a binary field as bit planes (d, n_words): observation k is bit k % 64 of word k // 64.

        The layout of bit-sliced particles, with zeros past the last observation; None where it was not kept.
        """
        if self._chunks is None or not self.model.is_binary:
            return None
        return np.concatenate([chunk.columns for chunk in self._chunks], axis=1)

    def warn(self) -> None:
        """Issue the recorded warnings."""
        for text in self.warnings:
            warn_user(text)


def count(
    model: Model,
    x: object,
    weights: object = None,
    missing: str = "refuse",
    labels: Sequence[Iterable[object] | None] | None = None,
    delimiter: str | None = None,
    levels: object = None,
) -> Statistics:
    """Count the outcomes of ``model`` in the observations ``x``.

    Columns of a table or file are matched to nodes by name where the model's nodes have names of their own, or where
    every node name is a column; otherwise by position. Values that are not states 0..r-1 are coded: -1/+1 and 1..r
    with a warning; text labels in the order of ``levels``, of an ordered categorical or Enum type, or of words whose
    order is known (no < yes, low < high and the like). Labels without a known order are refused where the order
    matters, else sorted with a warning. Columns that share labels share the coding; ``labels`` of the result tells it.
    Messages name the place as ``source:row:column``; lines of a text file are counted from 1, rows of an array or a
    data frame from 0.

    Parameters
    ----------
    x : (n, d) array of states, pandas, polars or Arrow table, path of a CSV, TSV (also gzipped) or Parquet file, or of
        a folder of Parquet files; a Dask data frame or array, which is counted where its partitions lie; for
        grids also images, as an array (n, rows, columns), a PNG or NPY file, or a list of such files; or a
        `Statistics` of the same model, which is returned as it is; several files as one data set, as a list or
        a pattern such as "wave*.csv"
    weights : (n,) weights >= 0 of the observations, or the name of a column; default 1 each
    missing : "refuse"; "drop" to leave out rows with a missing value (reported as a warning); or "model" to keep what
        is there of them, in ``holes``: methods that can then use the likelihood of the observed cells, which assumes
        that cells are missing at random
    labels : the ``labels`` of an earlier `Statistics`, to code new data the same way; unknown labels are refused
    delimiter : of a text file; by default it is recognised
    levels : labels in ascending order, as ``["never", "rarely", "often"]`` or ``"never<rarely<often"``, for all columns
        that hold them; or a mapping from nodes to such lists

    Returns
    -------
    Statistics
    """
    require_model(model)
    if missing not in MISSING:
        raise InputError(f"missing = {missing!r}: choose 'refuse', 'drop' or 'model'.")
    if isinstance(x, Statistics):
        return _same(model, x, weights, levels)
    given = None if labels is None else tuple(None if label is None else tuple(label) for label in labels)
    holes = None
    if is_collection(x):
        terms = Terms(weight_column(weights), missing, given, levels)
        tally, found_labels, said = count_collection(model, x, terms)
    else:
        data = Observations(
            model,
            open_source(model, x, delimiter),
            weights if isinstance(weights, str) else row_weights(weights, x),
            missing,
            given,
            read_levels(levels, model),
        )
        try:
            tally = _tally(model, data.plain())
        except NotPlain:
            tally = _tally(model, data.coded())
        found_labels, said = data.labels, (*getattr(data.source, "notes", ()), *data.warnings)
        holes = data.holes.finish()
        if holes is None and data.holes.n_empty and not tally.n_rows:
            raise InputError(f"{data.source.where}: no row has an observed cell; nothing is left to count.")
    if not tally.total > 0 and holes is None:
        raise InputError("weights are all zero: at least one observation must count.")
    lowering = model.lowering
    row, column, value = lowering.forward
    sums = np.concatenate([tally.node_part, tally.edge_part])
    counts = tally.total * lowering.constant + np.bincount(
        column, weights=value * sums[row], minlength=model.n_parameters
    )
    doubts = _doubts(model, tally, holes)
    if holes is not None:
        refuse_hidden(model, holes, tally.total)
        doubts += hole_doubts(model, holes, tally.total)
    texts = (*said, *_graph_doubts(model), *doubts)
    kept = tally.kept()
    for array in (counts, tally.node_part, tally.edge_part, *kept):
        array.setflags(write=False)
    result = Statistics(
        model,
        tally.total,
        tally.n_rows,
        counts,
        tally.node_part,
        tally.edge_part,
        *kept,
        found_labels,
        texts,
        tally.digest if holes is None else holes.digest(tally.digest),
        holes,
        tuple(tally.chunks) if tally.chunks else None,
        tally.dense,
    )
    result.warn()
    return result


def _tally(model: Model, batches: Iterable[tuple[np.ndarray, np.ndarray | None]]) -> Tally:
    tally = Tally(model)
    for rows, weight in batches:
        if tally.n_seen:  # what fits one batch is counted in any case
            budget().check(f"counting, after {tally.n_seen:,} rows")
        tally.add(rows, weight)
    tally.finish()
    return tally


def _same(model: Model, stats: Statistics, weights: object, levels: object) -> Statistics:
    if stats.model is not model and stats.model.fingerprint != model.fingerprint:
        raise InputError(
            f"x is a Statistics of another model, {stats.model!r}: count the data again with this one, {model!r}."
        )
    for name, value in (("weights", weights), ("levels", levels)):
        if value is not None:
            raise InputError(f"{name}: x is a Statistics, whose {name} are already counted; leave {name} out.")
    return stats


def _graph_doubts(model: Model) -> list[str]:
    """What the graph gives reason to warn about, now that it meets data."""
    if not model.n_edges:
        return ["the field has no edges: its variables are independent"] if model.n_nodes > 1 else []
    alone = np.flatnonzero(np.diff(model.adjacency.offset) == 0)
    return [_some(model, alone, "node has no edges", "nodes have no edges")] if alone.size else []


def _doubts(model: Model, tally: Tally, holes: Holes | None) -> list[str]:
    """What the counts themselves give reason to warn about."""
    texts = []
    is_tied = bool((factors_per_block(model) > 1).all())  # then one observation has many tosses of every coin
    n_rows = tally.n_rows + (0 if holes is None else holes.n_rows)
    if n_rows == 1 and not is_tied:
        texts.append("only one observation (n = 1): parameters that are not tied can hardly be learned from it")
    offset = np.arange(0, 2 * model.n_nodes + 1, 2) if model.is_binary else model.lowering.node_offset
    if model.is_binary:
        cells = np.stack([tally.total - tally.node_part, tally.node_part], axis=1).ravel()
    else:
        cells = tally.node_part
    if holes is not None:
        cells = cells + holes.seen_cells(model)
    if n_rows == 1 and is_tied and holes is None:
        return texts + _doubts_of_one(model, cells, offset)
    used = np.add.reduceat((cells > 0).astype(np.int64), offset[:-1])
    constant = np.flatnonzero(used == 1)
    if is_tied:
        pass  # neighbours tell about the interactions even where every column is constant, as it is in one image
    elif constant.size == model.n_nodes:
        texts.append("every column is constant: the data say nothing about the interactions")
    elif constant.size:
        what = _some(model, constant, "column is constant", "columns are constant")
        texts.append(f"{what}; parameters that touch them may have no finite MLE")
    if (model.states > 2).all() and model.n_nodes > 1 and not cells[offset[:-1]].any():
        r = int(model.states.max())
        texts.append(
            f"state 0 occurs in no column: if the values count from 1, say so by levels={list(range(1, r + 1))[:9]}"
        )
    unused = np.flatnonzero((used > 1) & (used < model.states))
    if unused.size:
        i = int(unused[0])
        state = int(np.flatnonzero(cells[offset[i] : offset[i + 1]] == 0)[0])
        what = _some(model, unused, "column has an unused state", "columns have unused states")
        texts.append(f"{what} (state {state} of {model.nodes[i]!r} never occurs): kept, and left to the prior")
    return texts


def _doubts_of_one(model: Model, cells: np.ndarray, offset: np.ndarray) -> list[str]:
    """One observation of a tied field is as good as its many edges, unless all its nodes are in the same state."""
    states = np.array([int(np.argmax(cells[a:b])) for a, b in pairwise(offset.tolist())])
    if model.n_nodes > 1 and (states == states[0]).all():
        return [f"all {model.n_nodes} nodes of the one observation are in state {states[0]}: no edge disagrees"]
    return []


def _some(model: Model, which: np.ndarray, one: str, many: str) -> str:
    names = ", ".join(repr(model.nodes[i]) for i in which[:5].tolist())
    return f"{which.size} {one if which.size == 1 else many}: {names}{', ...' if which.size > 5 else ''}"
