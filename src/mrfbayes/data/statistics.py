"""Sufficient statistics: all that a likelihood needs to know of the data, and the currency of the package."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from mrfbayes.base.budget import budget
from mrfbayes.base.checks import numbers
from mrfbayes.base.errors import InputError, warn_user
from mrfbayes.data.coding import MISSING_CODE, check_same_coding, is_plain, state_labels
from mrfbayes.data.deciding import CodingFindings
from mrfbayes.data.patterns import DenseCells, PatternChunk, PatternTable, column_bytes, pattern_table, patterns_of
from mrfbayes.data.tally import IncompleteRows, IncompleteTally, Tally, missing_note, missing_warnings, refuse_hidden
from mrfbayes.data.values import listed
from mrfbayes.model.factors import FactorGroup
from mrfbayes.model.field import Model, factors_per_block
from mrfbayes.model.lowering import EdgeFinder
from mrfbayes.model.schema import Schema, Variable, plain_schema

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


@dataclass(frozen=True, eq=False)
class Statistics:
    """Counts of the outcomes of a field over n observations, from `Data.count` or `Statistics.from_counts`.

    Attributes
    ----------
    model : Model
        The field.
    n : float
        Total weight; the number of observations if there are no weights.
    n_rows : int
        Number of counted rows; 0 if only counts were given.
    counts : (p,) ndarray
        Sufficient statistics: counts of the first K-1 outcomes of each block, or its total score.
    node_part, edge_part : ndarray or None
        The same sums in lowered form (ones and agreements, or cells of the node and edge tables); None if only counts
        were given.
    rows : (k, d) ndarray of uint8
        Up to 4,096 of the observed rows (fewer on very large fields), a random subset if there are more.
    row_weights : (k,) ndarray
        The weight that each of ``rows`` represents; their sum is n.
    coding : Schema or None
        The schema of the data, one variable per node; None if the data are states 0..r-1.
    warnings : tuple of str
        Findings that need a decision about the data.
    digest : str
        SHA-256 of data and weights.
    incomplete : IncompleteRows or None
        Rows with missing cells, if they are kept (``missing="model"``); n, n_rows and all sums are those of the
        complete rows.
    notes : tuple of str
        Other findings about the data.
    chunks : tuple or None
        All complete rows, packed, in order; None if they were not kept (counts only, or more than 1 GiB).

    See Also
    --------
    Data.count : Returns it.
    sample : Takes it in place of data.

    Examples
    --------
    >>> import mrfbayes as mb
    >>> stats = mb.Data([[0, 0], [1, 1], [0, 1]]).count(mb.grid(1, 2))
    >>> stats.n, stats.counts.tolist()
    (3.0, [2.0])
    """

    model: Model
    n: float
    n_rows: int
    counts: np.ndarray
    node_part: np.ndarray | None
    edge_part: np.ndarray | None
    rows: np.ndarray
    row_weights: np.ndarray
    coding: Schema | None
    warnings: tuple[str, ...]
    digest: str
    incomplete: IncompleteRows | None = None
    notes: tuple[str, ...] = ()
    chunks: tuple[PatternChunk, ...] | None = field(repr=False, default=None)
    _dense: DenseCells | None = field(repr=False, default=None)

    def __repr__(self) -> str:
        incomplete = "" if self.incomplete is None else f", beside {self.incomplete.n:g} with missing cells"
        about = f"{self.n:g} observations of {self.model.n_nodes} variables{incomplete}"
        return f"<Statistics: {about}>"

    def __add__(self, other: object) -> Statistics:
        """The statistics of both data sets together; rows of ``self`` come first."""
        if not isinstance(other, Statistics):
            return NotImplemented
        if other.model.fingerprint != self.model.fingerprint:
            raise InputError("Statistics of different models cannot be added: count both with the same model.")
        check_same_coding(self.schema, other.schema)
        tally, incomplete = Tally(self.model), IncompleteTally(self.model.n_nodes)
        is_weighted = any(chunk.weight.size for part in (self, other) for chunk in part.chunks or ())
        for part in (self, other):
            if part.chunks is None and (part.n_rows or part.node_part is None):
                raise InputError(f"{part!r} does not hold its rows and cannot be added: read all data as one Data.")
            for chunk in part.chunks or ():
                weight = chunk.weight if chunk.weight.size else np.ones(chunk.n)
                tally.add(column_bytes(chunk).T, weight if is_weighted else None)
            if part.incomplete is not None:
                incomplete.join(part.incomplete)
        tally.finish()
        return _from_tally(self.model, tally, incomplete.finish(), self.coding)

    def __radd__(self, other: object) -> Statistics:
        return self if other == 0 else NotImplemented  # sum() begins with 0

    @classmethod
    def from_counts(
        cls, model: Model, counts: ArrayLike, n: float, incomplete: IncompleteRows | None = None
    ) -> Statistics:
        """Make statistics from counts only, for any n; most methods need nothing else.

        Parameters
        ----------
        model : Model
            The field.
        counts : (p,) array_like
            Counts of the first K-1 outcomes, or total scores, in the order of ``model.parameters``.
        n : float
            Number of observations, or their total weight.
        incomplete : IncompleteRows, optional
            The ``incomplete`` of another `Statistics`; the counts are then those of the complete rows.

        Returns
        -------
        Statistics
            The counts without rows.

        Raises
        ------
        InputError
            If counts or n are impossible, or their number is not that of the parameters.

        Examples
        --------
        >>> import mrfbayes as mb
        >>> mb.Statistics.from_counts(mb.grid(1, 2), [70], 100).mean
        array([0.7])
        """
        array = numbers("counts", counts)
        if array.shape != (model.n_parameters,):
            expected = f"expected ({model.n_parameters},), in the order of model.parameters"
            raise InputError(f"counts has shape {array.shape}: {expected}.")
        is_number = isinstance(n, (int, float, np.number)) and not isinstance(n, bool)
        if not is_number or not np.isfinite(n) or not (n > 0 or (incomplete and n == 0)):
            raise InputError(f"n = {n!r}: give the number of observations, a finite number > 0.")
        bad = np.flatnonzero(~(((array >= 0) | ~model.chart.is_counted[model.chart.block_of]) & np.isfinite(array)))
        if bad.size:
            j = int(bad[0])
            raise InputError(f"counts[{j}] = {array[j]:g} ({model.parameters[j]}): a count is a finite number >= 0.")
        chart = model.chart
        most = float(n) * chart.tosses
        total = np.bincount(chart.block_of, weights=array, minlength=chart.n_blocks)
        if (over := np.flatnonzero((total > most * (1 + 1e-12)) & chart.is_counted)).size:
            b = int(over[0])
            what = f"counts of {model.blocks[b]} sum to {total[b]:g}, more than the {most[b]:g} possible in n = {n:g}"
            raise InputError(f"{what} observations: check n and the order of the counts.")
        array.setflags(write=False)
        digest = hashlib.sha256(b"mrfbayes counts 1" + array.astype("<f8").tobytes() + np.float64(n).tobytes())
        rows = np.zeros((0, model.n_nodes), dtype=np.uint8)
        known = digest.hexdigest() if incomplete is None else incomplete.digest(digest.hexdigest())
        return cls(model, float(n), 0, array, None, None, rows, np.zeros(0), None, (), known, incomplete)

    @property
    def n_all(self) -> float:
        """Total weight of all rows, including those with missing cells."""
        return self.n if self.incomplete is None else self.n + self.incomplete.n

    @property
    def n_kept(self) -> float:
        """Effective number of observations of averages over ``rows``; n if all rows are kept."""
        used = [np.count_nonzero(c.weight) if c.weight.size else c.n for c in self.chunks or ()]
        if self.chunks is not None and sum(used) == len(self.rows):
            return self.n
        return min(self.n, float(self.row_weights.sum() ** 2 / max((self.row_weights**2).sum(), 1e-300)))

    @property
    def mean(self) -> np.ndarray:
        """(p,) sufficient statistics per observation."""
        return np.asarray(self.counts / self.n)

    @property
    def shrunken_frequency(self) -> np.ndarray:
        """(p,) frequencies of the first K-1 outcomes with one pseudo-count for every outcome, always inside (0, 1).

        Equal ones where outcomes are not counted.
        """
        chart = self.model.chart
        tosses, sides = self.n * chart.tosses[chart.block_of], chart.sides[chart.block_of]
        shrunken = np.where(chart.is_counted[chart.block_of], (self.counts + 1.0) / (tosses + sides), 1.0 / sides)
        return np.asarray(shrunken)

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
        flat[np.repeat(~chart.is_counted, chart.sides)] = 0.0
        for group in (group for group in self.model.groups if group.is_centred):
            for block, own in zip(group.block.tolist(), self._cells(group), strict=True):
                flat[self.outcome_offset[block] : self.outcome_offset[block + 1]] += own
        flat.setflags(write=False)
        return flat

    @property
    def lacks_outcome(self) -> np.ndarray:
        """Blocks (B,) of which some outcome never occurs, or whose total score is extreme."""
        if self.model.chart.n_blocks == 0:
            return np.zeros(0, dtype=bool)
        return np.logical_or.reduceat(self.outcome_counts <= 1e-9 * self.n, self.outcome_offset[:-1])

    def _cells(self, group: FactorGroup) -> np.ndarray:
        """(f, K) counts of the outcomes of centred tables; equal ones where the cells were not kept."""
        even = np.full((len(group.block), group.sides), self.n / group.sides)
        if self.edge_part is None:
            return even
        edge, flipped = EdgeFinder(self.model.edges, self.model.n_nodes)(group.scope)
        start = self.model.lowering.edge_offset
        for k, (e, flip) in enumerate(zip(edge.tolist(), flipped.tolist(), strict=True)):
            table = group.table.T if flip else group.table
            even[k] = np.bincount(table.ravel(), weights=self.edge_part[start[e] : start[e + 1]], minlength=group.sides)
        return even

    @property
    def schema(self) -> Schema:
        """Which value of the data is which state, one variable per node."""
        return self.coding or self.model.schema or plain_schema(self.model)

    @cached_property
    def patterns(self) -> PatternTable:
        """Distinct neighbourhood patterns of every node with their weights.

        Raises
        ------
        InputError
            If neither rows nor patterns are known.
        """
        if self.chunks is not None:
            return pattern_table(self.model, patterns_of(self.model, self.chunks))
        if self._dense is not None:
            return pattern_table(self.model, [self._dense.patterns()])
        reason = "kept no rows of so many data" if self.n_rows else "has counts only"
        remedy = (
            "pass the observations (or a sample of them) to use pseudolikelihood, or choose method='mle' or 'exact'"
        )
        raise InputError(f"this Statistics {reason}, so neighbourhood patterns are not known: {remedy}.")

    @property
    def planes(self) -> np.ndarray | None:
        """All observations of a binary field as bit planes (d, n_words); observation k is bit k % 64 of word k // 64.

        The layout of bit-sliced particles, with zeros past the last observation; None where it was not kept.
        """
        if self.chunks is None or not self.model.is_binary:
            return None
        return np.concatenate([chunk.columns for chunk in self.chunks], axis=1)

    def warn(self) -> None:
        """Issue the recorded warnings."""
        for text in self.warnings:
            warn_user(text)


def statistics_of(
    model: Model,
    batches: Iterable[tuple[np.ndarray, np.ndarray | None]],
    missing: str,
    variables: Sequence[Variable] | None,
    where: str,
    found: CodingFindings,
    is_part: bool = False,
) -> Statistics:
    """The counts of batches of states (k, d), `MISSING_CODE` where a cell is missing, and their weights.

    A part (``is_part``) of data that were counted before may lack any variable.
    """
    tally, incomplete_tally = Tally(model), IncompleteTally(model.n_nodes)
    n_dropped = 0
    for rows, weight in batches:
        if tally.n_seen:  # what fits one batch is counted in any case
            budget().check(f"counting, after {tally.n_seen:,} rows")
        complete = ~(rows == MISSING_CODE).any(axis=1) if rows.max(initial=0) == MISSING_CODE else None
        if complete is not None:
            n_dropped += int((~complete).sum())
            if missing == "model":
                incomplete_tally.add(rows[~complete], None if weight is None else weight[~complete])
            rows, weight = rows[complete], None if weight is None else weight[complete]
        tally.add(rows, weight)
    tally.finish()
    incomplete = incomplete_tally.finish()
    texts = list(found.warnings)
    if not tally.n_rows and not incomplete_tally.n_rows:
        is_empty = "no row has an observed cell; nothing is left to count"
        has_missing = "every row has a missing cell; missing='model' uses what is there"
        raise InputError(f"{where}: {is_empty if missing == 'model' else has_missing}.")
    if n_dropped and missing == "drop":
        texts.append(f"{where}: {n_dropped} of {n_dropped + tally.n_rows} rows have missing cells and were dropped")
    if incomplete is None and incomplete_tally.n_empty:
        texts.append(f"{where}: {incomplete_tally.n_empty:,} rows without a single observed cell were left out")
    if not tally.total > 0 and incomplete is None:
        raise InputError("weights are all zero: at least one observation must count.")
    if incomplete is not None and not is_part:
        refuse_hidden(model, incomplete, tally.total)
    schema = None if variables is None or is_plain(variables) else Schema(tuple(variables))
    return _from_tally(model, tally, incomplete, schema, found.notes, texts)


def count_states(model: Model, rows: np.ndarray, weights: np.ndarray | None = None) -> Statistics:
    """The counts of rows (n, d) that are states already, of data that were counted before; with their weights (n,)."""
    return statistics_of(model, [(rows, weights)], "model", None, "x", CodingFindings(), is_part=True)


def _from_tally(
    model: Model,
    tally: Tally,
    incomplete: IncompleteRows | None,
    schema: Schema | None,
    notes: Sequence[str] = (),
    warnings: Sequence[str] = (),
) -> Statistics:
    """Statistics from the sums of complete rows; issues the warnings."""
    lowering = model.lowering
    count_warnings, count_notes = _check_counts(model, tally, incomplete, schema or model.schema)
    if incomplete is not None:
        count_warnings += missing_warnings(model, incomplete, tally.total)
        count_notes.append(missing_note(incomplete, tally.total))
    row, column, value = lowering.forward
    sums = np.concatenate([tally.node_part, tally.edge_part])
    factor_sums = np.bincount(column, weights=value * sums[row], minlength=model.n_parameters)
    counts = tally.total * lowering.constant + factor_sums
    kept = tally.kept()
    for array in (counts, tally.node_part, tally.edge_part, *kept):
        array.setflags(write=False)
    result = Statistics(
        *(model, tally.total, tally.n_rows, counts, tally.node_part, tally.edge_part, *kept, schema),
        warnings=(*warnings, *count_warnings),
        digest=tally.digest if incomplete is None else incomplete.digest(tally.digest),
        incomplete=incomplete,
        notes=(*notes, *count_notes),
        chunks=tuple(tally.chunks) if tally.chunks else None,
        _dense=tally.dense,
    )
    result.warn()
    return result


def _check_counts(
    model: Model, tally: Tally, incomplete: IncompleteRows | None, schema: Schema | None
) -> tuple[list[str], list[str]]:
    """Warnings and notes about the graph and the counts."""
    texts, notes = list[str](), list[str]()
    alone = np.flatnonzero(np.diff(model.adjacency.offset) == 0)
    if model.n_nodes > 1 and not model.n_edges:
        texts.append("the field has no edges: its variables are independent")
    elif model.n_nodes > 1 and alone.size:
        texts.append(_some(model, alone, "node has no edges", "nodes have no edges"))
    is_tied = bool((factors_per_block(model) > 1).all())  # then one observation has many tosses of every coin
    n_rows = tally.n_rows + (0 if incomplete is None else incomplete.n_rows)
    if n_rows == 1 and not is_tied:
        texts.append("only one observation (n = 1): parameters that are not tied can hardly be learned from it")
    if n_rows == 1 and is_tied and incomplete is None:  # as good as its many edges, unless all of them agree
        row = tally.kept()[0][0]
        if model.n_nodes > 1 and (row == row[0]).all():
            texts.append(f"all {row.size} nodes of the one observation are in state {row[0]}: no edge disagrees")
        return texts, notes
    cells, offset = tally.node_part, model.lowering.node_offset
    if model.is_binary:
        cells = np.stack([tally.total - cells, cells], axis=1).ravel()
    if incomplete is not None:
        cells = cells + incomplete.seen_cells(model)
    used = np.add.reduceat((cells > 0).astype(np.int64), offset[:-1])
    constant = np.flatnonzero(used == 1)
    if is_tied:
        pass  # neighbours tell about the interactions even where every column is constant, as it is in one image
    elif constant.size == model.n_nodes:
        texts.append("every column is constant: the data say nothing about the interactions")
    elif constant.size:
        what = _some(model, constant, "column is constant", "columns are constant")
        notes.append(f"{what}: what touches them is left to the prior, and has no finite MLE")
    if (model.states > 2).all() and model.n_nodes > 1 and not cells[offset[:-1]].any():
        levels = list(range(1, int(model.states.max()) + 1))[:9]
        texts.append(f"state 0 occurs in no column: if the values count from 1, pass levels={levels}")
    if (unused := np.flatnonzero((used > 1) & (used < model.states))).size:
        i = int(unused[0])
        state = int(np.flatnonzero(cells[offset[i] : offset[i + 1]] == 0)[0])
        named = f"state {state}" if schema is None else f"label {state_labels(schema.variables[i])[state]!r}"
        what = _some(model, unused, "column has an unused state", "columns have unused states")
        notes.append(f"{what} ({named} of {model.nodes[i]!r} never occurs): kept, and left to the prior")
    return texts, notes


def _some(model: Model, which: np.ndarray, one: str, many: str) -> str:
    return f"{which.size} {one if which.size == 1 else many}: {listed([model.nodes[i] for i in which.tolist()])}"
