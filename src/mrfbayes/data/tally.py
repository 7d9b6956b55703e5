"""The accumulator behind `mrfbayes.Data.count`: coded rows in, in batches of any size, sums and samples out.

Rows are cut into chunks whose size depends on the field alone, so that every result, the hash too, is the same
however the data arrive.
"""

from __future__ import annotations

import hashlib

import numpy as np

from mrfbayes.data.patterns import DenseCells, PatternChunk
from mrfbayes.model.field import Model

CHUNK_BYTES = 1 << 26
CHUNK_ROWS = 1 << 16
KEPT_ROWS = 4096
KEPT_BYTES = 1 << 26
RETAINED_BYTES = 1 << 30  # packed observations kept for later use; beyond this only sums are
_ROW_SEED = 20_2404  # which rows are kept must not depend on the user's seed: same data, same statistics


def kept_rows(n_nodes: int) -> int:
    """How many of the observed rows are kept as they are."""
    return int(np.clip(KEPT_BYTES // n_nodes, 64, KEPT_ROWS))


def chunk_rows(n_nodes: int) -> int:
    """Rows per chunk: a multiple of 64."""
    return int(np.clip(CHUNK_BYTES // n_nodes // 64 * 64, 64, CHUNK_ROWS))


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
        self._size = chunk_rows(model.n_nodes)
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
        from mrfbayes.kernels.data import counting

        by_column = rows.flags.f_contiguous and not rows.flags.c_contiguous
        if not self.model.is_binary:
            return PatternChunk(np.array(rows.T, order="C"), len(rows), weight)
        if by_column:
            return PatternChunk(row_words(rows.T), len(rows), weight)
        planes = np.zeros((rows.shape[1], (len(rows) + 63) // 64), dtype=np.uint64)
        counting.pack_planes(row_words(rows), planes)
        return PatternChunk(planes, len(rows), weight)

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


def row_words(rows: np.ndarray) -> np.ndarray:
    """0/1 rows (n, d) as words (n, ceil(d / 64)): column c is bit c % 64 of word c // 64."""
    n, d = rows.shape
    packed = np.packbits(rows, axis=1, bitorder="little")
    if d % 64:
        padded = np.zeros((n, (d + 63) // 64 * 8), dtype=np.uint8)
        padded[:, : packed.shape[1]] = packed
        packed = padded
    return packed.view("<u8").astype(np.uint64, copy=False)


class _RowSample:
    """A random subset of the rows, in proportion to their weights, without replacement.

    Each row draws an exponential time at the rate of its weight; the earliest are kept (Efraimidis & Spirakis 2006),
    and one more, whose time t tells how probable it was to keep a row of weight w: 1 - exp(-w t). A kept row stands for
    w over that probability (Cohen & Kaplan 2007), so that weighted averages over the kept rows are unbiased.
    """

    def __init__(self, n_nodes: int) -> None:
        self._room = kept_rows(n_nodes) + 1
        self._random = np.random.Generator(np.random.SFC64(_ROW_SEED))
        self._time = np.full(self._room, np.inf)  # infinite: a free place
        self._weight = np.ones(self._room)
        self._index = np.zeros(self._room, dtype=np.int64)
        self._rows = np.empty((self._room, n_nodes), dtype=np.uint8)
        self._seen = 0

    def add(self, rows: np.ndarray, weight: np.ndarray) -> None:
        """Offer (k, d) rows; only those that are kept are copied."""
        time = self._random.standard_exponential(len(rows))
        if weight.size:
            with np.errstate(divide="ignore"):
                time = time / weight
        early = np.flatnonzero(time < self._time.max())
        kept = np.argpartition(np.concatenate([self._time, time[early]]), self._room - 1)[: self._room]
        leaves = np.ones(self._room, dtype=bool)
        leaves[kept[kept < self._room]] = False
        place = np.flatnonzero(leaves)
        enters = early[np.sort(kept[kept >= self._room]) - self._room]
        self._time[place] = time[enters]
        self._weight[place] = weight[enters] if weight.size else 1.0
        self._index[place] = self._seen + enters
        self._rows[place] = rows[enters]
        self._seen += len(rows)

    def kept(self) -> tuple[np.ndarray, np.ndarray]:
        """The kept rows in the order of the data, and the weight that each stands for."""
        used = np.flatnonzero(np.isfinite(self._time))
        weight = self._weight
        if used.size == self._room:
            last = self._time.argmax()
            used, weight = used[used != last], weight / -np.expm1(-weight * self._time[last])
        used = used[np.argsort(self._index[used])]
        return self._rows[used], weight[used]
