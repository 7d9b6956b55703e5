"""The accumulator behind `mrfbayes.Data.count`: coded rows in, in batches of any size, sums and samples out.

Rows are cut into chunks whose size depends on the field alone, so that every result, the hash too, is the same
however the data arrive.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np

from mrfbayes.base.checks import require_memory
from mrfbayes.base.errors import InputError
from mrfbayes.data.coding import MISSING_CODE
from mrfbayes.data.patterns import DenseCells, PatternChunk, row_words
from mrfbayes.data.values import listed
from mrfbayes.model.field import Model

MISSING_AT_RANDOM = (
    "assumed to be missing at random: whether a cell is missing may depend on the observed cells, not on the missing "
    "value itself; if it does, results are biased, and the data cannot tell"
)
NAMED_PAIRS = 5
MERGED_ROWS = 1 << 16  # rows with missing cells that are collected before equal ones are joined


@dataclass(frozen=True, eq=False)
class IncompleteRows:
    """The distinct rows with missing cells; rows that are equal in what is missing and in what is seen count once.

    Attributes
    ----------
    rows : (k, d) uint8 states, 255 where a cell is missing; each row has a missing cell and a seen one
    weight : (k,) total weight of the observations that each row stands for
    n_rows : how many observations they are
    n_empty : observations without a single cell, which say nothing and are left out
    """

    rows: np.ndarray
    weight: np.ndarray
    n_rows: int
    n_empty: int = 0

    @property
    def n(self) -> float:
        """Total weight."""
        return float(self.weight.sum())

    @property
    def seen(self) -> np.ndarray:
        """(k, d) whether each cell is there."""
        return np.asarray(self.rows != MISSING_CODE)

    @property
    def share(self) -> float:
        """Share of the cells of these rows that are missing, by weight."""
        return float(self.weight @ (~self.seen).mean(axis=1) / max(self.n, 1e-300))

    @property
    def description(self) -> str:
        """How many rows they are, in words."""
        return "1 row has missing cells" if self.n_rows == 1 else f"{self.n_rows:,} rows have missing cells"

    def digest(self, complete: str) -> str:
        """SHA-256 of these rows after those without missing cells, whose digest is ``complete``."""
        known = hashlib.sha256(b"mrfbayes incomplete 1" + complete.encode())
        for array in (np.array(self.rows.shape, dtype="<i8"), self.rows, self.weight.astype("<f8")):
            known.update(np.ascontiguousarray(array).data)
        return known.hexdigest()

    def seen_cells(self, model: Model) -> np.ndarray:
        """Weight of every state of every node, flat as the node tables are."""
        node_offset = model.lowering.node_offset
        row, node = np.nonzero(self.seen)
        where = node_offset[node] + self.rows[row, node]
        return np.bincount(where, weights=self.weight[row], minlength=int(node_offset[-1]))


class IncompleteTally:
    """Collects rows with missing cells from batches; see `add` and `finish`."""

    def __init__(self, n_nodes: int) -> None:
        self._n_nodes = n_nodes
        self._parts: list[tuple[np.ndarray, np.ndarray]] = []
        self._waiting = 0
        self.n_rows = 0
        self.n_empty = 0

    def add(self, rows: np.ndarray, weight: np.ndarray | None) -> None:
        """Take in (k, d) states with `MISSING_CODE` in each row, and their weights (k,) or None."""
        weights = np.ones(len(rows)) if weight is None else np.asarray(weight, dtype=float)
        known = (rows != MISSING_CODE).any(axis=1)
        self.n_empty += int((~known).sum())
        self.n_rows += int(known.sum())
        self._parts.append((np.ascontiguousarray(rows[known]), weights[known]))
        self._waiting += int(known.sum())
        if self._waiting > MERGED_ROWS:
            self._merge()

    def join(self, part: IncompleteRows) -> None:
        """Take in the rows of another data set."""
        self.add(part.rows, part.weight)
        self.n_rows += part.n_rows - len(part.rows)
        self.n_empty += part.n_empty

    def finish(self) -> IncompleteRows | None:
        """The distinct rows, in order of their values; None where there are none of any weight."""
        if not self.n_rows:
            return None
        self._merge()
        rows, weight = self._parts[0]
        kept = weight > 0
        if not kept.any():
            return None
        rows, weight = np.ascontiguousarray(rows[kept]), weight[kept]
        rows.setflags(write=False)
        weight.setflags(write=False)
        return IncompleteRows(rows, weight, self.n_rows, self.n_empty)

    def _merge(self) -> None:
        rows, weights = (np.concatenate(arrays) for arrays in zip(*self._parts, strict=True))
        needed = 3 * rows.nbytes  # sorted, compared, joined
        require_memory(needed, f"{len(rows):,} rows with missing cells", "missing='drop' leaves such rows out")
        as_bytes = rows.view(np.dtype((np.void, self._n_nodes))).ravel()
        _, first, group = np.unique(as_bytes, return_index=True, return_inverse=True)
        total = np.bincount(group, weights=weights, minlength=first.size)
        self._parts = [(rows[first], total)]
        self._waiting = 0


def refuse_hidden(model: Model, incomplete: IncompleteRows, n_complete: float) -> None:
    """Refuse variables without an observed cell, unless observed variables share all their parameters.

    States of a hidden variable with parameters of its own can be renamed without a change of the likelihood.
    """
    if n_complete > 0:
        return
    is_hidden = np.logical_not(incomplete.seen.any(axis=0))
    if not is_hidden.any():
        return
    touches_hidden = [is_hidden[group.scope].any(axis=1) for group in model.groups]
    is_known = np.zeros(model.chart.n_blocks, dtype=bool)  # blocks with a factor of observed variables only
    for group, hidden in zip(model.groups, touches_hidden, strict=True):
        is_known[group.block[~hidden]] = True
    refused: set[int] = set()
    for group, hidden in zip(model.groups, touches_hidden, strict=True):
        scope = group.scope[hidden & ~is_known[group.block]]
        refused.update(scope[is_hidden[scope]].tolist())
    if refused:
        names = listed([model.nodes[i] for i in sorted(refused)])
        what = "variable has" if len(refused) == 1 else "variables have"
        raise InputError(
            f"{len(refused)} {what} no observed cell and parameters that no observed variables share: {names}; states "
            "of hidden variables can be permuted: leave them out of the model, or tie the parameters (tied=True)."
        )


def missing_note(incomplete: IncompleteRows, n_complete: float) -> str:
    """How many cells are missing, and what using the others assumes."""
    share = incomplete.share * incomplete.n / (incomplete.n + n_complete)
    return f"{incomplete.description} ({share:.1%} of all cells), {MISSING_AT_RANDOM}"


def missing_warnings(model: Model, incomplete: IncompleteRows, n_complete: float) -> list[str]:
    """Rows that were left out, and pairs of neighbours that were never seen together."""
    texts = []
    if incomplete.n_empty:
        texts.append(f"{incomplete.n_empty:,} rows without a single observed cell were left out")
    if n_complete > 0 or not model.n_edges:
        return texts
    seen = incomplete.seen
    if (apart := np.array([not (seen[:, u] & seen[:, v]).any() for u, v in model.edges.tolist()])).any():
        pairs = [f"{model.nodes[u]!r} and {model.nodes[v]!r}" for u, v in model.edges[apart][:NAMED_PAIRS].tolist()]
        more = ", ..." if apart.sum() > NAMED_PAIRS else ""
        what = f"neighbours that were never observed together: {'; '.join(pairs)}{more}"
        texts.append(f"{what}: their interactions rest on the prior and on other variables")
    return texts


CHUNK_BYTES = 1 << 26
CHUNK_ROWS = 1 << 16
KEPT_ROWS = 4096
KEPT_BYTES = 1 << 26
RETAINED_BYTES = 1 << 30  # packed observations kept for later use; beyond this only sums are
_ROW_SEED = 20_2404  # which rows are kept must not depend on the user's seed: same data, same statistics


class Tally:
    """Sums of a stream of coded rows; see `add` and `finish`."""

    def __init__(self, model: Model) -> None:
        lowering = model.lowering
        self.model = model
        self.node_part = np.zeros(lowering.n_node_rows)
        self.edge_part = np.zeros(lowering.n_rows - lowering.n_node_rows)
        self.n_rows = 0
        self.total = 0.0
        self.chunks: list[PatternChunk] | None = []
        self.dense: DenseCells | None = None
        self._digest = hashlib.sha256(b"mrfbayes data 1")
        self._retained = 0
        self._size = int(np.clip(CHUNK_BYTES // model.n_nodes // 64 * 64, 64, CHUNK_ROWS))  # rows of a chunk
        self._pending: list[tuple[np.ndarray, np.ndarray | None]] = []
        self._n_pending = 0
        self._sample = _RowSample(model.n_nodes)

    def add(self, rows: np.ndarray, weight: np.ndarray | None = None) -> None:
        """Take in (k, d) uint8 states, checked, with their weights (k,) or None."""
        start = 0
        while start < len(rows):
            take = min(len(rows) - start, self._size - self._n_pending)
            part = slice(start, start + take)
            self._pending.append((rows[part], None if weight is None else weight[part]))
            self._n_pending += take
            start += take
            if self._n_pending == self._size:
                self._flush()

    @property
    def n_seen(self) -> int:
        """Rows taken in so far."""
        return self.n_rows + self._n_pending

    def finish(self) -> None:
        """Take in what is left."""
        if self._n_pending:
            self._flush()

    def kept(self) -> tuple[np.ndarray, np.ndarray]:
        """Up to `KEPT_ROWS` observed rows, a random subset where there are more, and their weights, which add to n."""
        rows, weight = self._sample.kept()
        return rows, weight * (self.total / max(weight.sum(), 1e-300))

    @property
    def digest(self) -> str:
        """Hash of states and weights."""
        return self._digest.hexdigest()

    def _flush(self) -> None:
        parts, weights = zip(*self._pending, strict=True)
        self._pending, self._n_pending = [], 0
        rows = parts[0] if len(parts) == 1 else np.concatenate(parts)
        if weights[0] is None:
            weight = np.zeros(0)
        else:
            weight = np.ascontiguousarray(weights[0] if len(weights) == 1 else np.concatenate(weights), dtype=float)
        chunk = self._pack(rows, weight)
        for array in (np.array(rows.shape, dtype="<i8"), chunk.columns, weight):
            self._digest.update(np.ascontiguousarray(array).data)
        self._sample.add(rows, weight)
        self._count(chunk)
        self.n_rows += len(rows)
        self.total += float(weight.sum()) if weight.size else len(rows)
        self._retain(chunk)

    def _pack(self, rows: np.ndarray, weight: np.ndarray) -> PatternChunk:
        columns = np.ascontiguousarray(rows.T)
        return PatternChunk(row_words(columns) if self.model.is_binary else columns, len(rows), weight)

    def _count(self, chunk: PatternChunk) -> None:
        from mrfbayes.kernels.data import counting

        lowering, nodes, edges = self.model.lowering, self.node_part, self.edge_part
        if chunk.columns.dtype != np.uint64:
            places = (lowering.states, lowering.pairs, lowering.node_offset, lowering.edge_offset)
            counting.column_counts(chunk.columns, chunk.weight, *places, nodes, edges)
        else:
            counting.plane_counts(chunk.columns, chunk.n, chunk.weight, lowering.pairs, nodes, edges)

    def _retain(self, chunk: PatternChunk) -> None:
        """Keep the packed chunk while there is room; afterwards keep only the patterns that fit look-up tables."""
        self._retained += chunk.columns.nbytes + chunk.weight.nbytes
        if self.chunks is not None and self._retained <= RETAINED_BYTES:
            self.chunks.append(chunk)
            return
        if self.chunks is not None:
            earlier, self.chunks = self.chunks, None
            self.dense = dense = DenseCells.of_all(self.model)
            if dense is not None:
                for before in earlier:
                    dense.add(before)
        if self.dense is not None:
            self.dense.add(chunk)


class _RowSample:
    """A random subset of the rows, in proportion to their weights, without replacement.

    Each row draws an exponential time at the rate of its weight; the earliest are kept (Efraimidis & Spirakis 2006),
    and one more, whose time t tells how probable it was to keep a row of weight w: 1 - exp(-w t). A kept row stands for
    w over that probability (Cohen & Kaplan 2007), so that weighted averages over the kept rows are unbiased.
    """

    def __init__(self, n_nodes: int) -> None:
        self._size = int(np.clip(KEPT_BYTES // n_nodes, 64, KEPT_ROWS)) + 1
        self._random = np.random.Generator(np.random.SFC64(_ROW_SEED))
        self._time = np.full(self._size, np.inf)  # infinite: a free place
        self._weight = np.ones(self._size)
        self._index = np.zeros(self._size, dtype=np.int64)
        self._rows = np.empty((self._size, n_nodes), dtype=np.uint8)
        self._seen = 0

    def add(self, rows: np.ndarray, weight: np.ndarray) -> None:
        """Offer (k, d) rows; only those that are kept are copied."""
        time = self._random.standard_exponential(len(rows))
        if weight.size:
            with np.errstate(divide="ignore"):
                time = time / weight
        early = np.flatnonzero(time < self._time.max())
        kept = np.argpartition(np.concatenate([self._time, time[early]]), self._size - 1)[: self._size]
        leaves = np.ones(self._size, dtype=bool)
        leaves[kept[kept < self._size]] = False
        place = np.flatnonzero(leaves)
        enters = early[np.sort(kept[kept >= self._size]) - self._size]
        self._time[place] = time[enters]
        self._weight[place] = weight[enters] if weight.size else 1.0
        self._index[place] = self._seen + enters
        self._rows[place] = rows[enters]
        self._seen += len(rows)

    def kept(self) -> tuple[np.ndarray, np.ndarray]:
        """The kept rows in the order of the data, and the weight that each stands for."""
        used = np.flatnonzero(np.isfinite(self._time))
        weight = self._weight
        if used.size == self._size:
            last = self._time.argmax()
            used, weight = used[used != last], weight / -np.expm1(-weight * self._time[last])
        used = used[np.argsort(self._index[used])]
        return self._rows[used], weight[used]
