"""Distinct neighbourhood patterns of every node: what the pseudolikelihood needs to know of the data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mrfbayes.errors import CostError
from mrfbayes.model.field import Model

DENSE_NODE = 1 << 16  # a node with at most so many possible patterns is counted by direct look-up ...
DENSE_TOTAL = 1 << 25  # ... while the look-up tables of all nodes stay below 256 MiB
MAX_PATTERN_BYTES = 1 << 32


class PatternTable(NamedTuple):
    """Patterns ``node_offset[i]:node_offset[i+1]`` belong to node i.

    Pattern k of node i holds the states of its neighbours, in the order of ``model.adjacency``, at
    ``states[states_offset[i] + (k - node_offset[i]) * degree_i :][:degree_i]``, and stands for observations of total
    weight ``weight[k]``. A node without neighbours has one empty pattern.
    """

    node_offset: np.ndarray
    states_offset: np.ndarray
    states: np.ndarray
    weight: np.ndarray


class Chunk(NamedTuple):
    """Some observations: ``columns`` are planes (d, n_words) uint64 of a binary field, else (d, n) uint8.

    ``weight`` is (n,), or empty where every observation counts once.
    """

    columns: np.ndarray
    n: int
    weight: np.ndarray


class DenseCells:
    """Look-up tables of the nodes with few possible patterns, filled chunk by chunk."""

    def __init__(self, model: Model) -> None:
        self.model = model
        offset, neighbour, _ = model.adjacency
        log_radix = np.concatenate([[0.0], np.cumsum(np.log(model.states[neighbour]))])
        log_cells = log_radix[offset[1:]] - log_radix[offset[:-1]]
        cells = np.where(log_cells < np.log(DENSE_NODE) + 1e-9, np.rint(np.exp(log_cells)), 0.0)
        cells = np.where(np.cumsum(cells) <= DENSE_TOTAL, cells, 0.0)
        self.offset = np.concatenate([[0], np.cumsum(cells.astype(np.int64))])
        self.sparse = np.flatnonzero(cells == 0.0)
        self.cells = np.zeros(int(self.offset[-1]))

    def add(self, chunk: Chunk) -> None:
        """Count the observations of one chunk."""
        from mrfbayes.kernels import counting

        offset, neighbour, _ = self.model.adjacency
        if chunk.columns.dtype == np.uint64:
            counting.plane_patterns(chunk.columns, chunk.n, chunk.weight, offset, neighbour, self.offset, self.cells)
        else:
            counting.column_patterns(
                chunk.columns, chunk.weight, self.model.states, offset, neighbour, self.offset, self.cells
            )


def pattern_table(dense: DenseCells, chunks: Sequence[Chunk]) -> PatternTable:
    """The table of ``dense``, already filled, with the remaining nodes counted from ``chunks``."""
    from mrfbayes.kernels import counting

    model = dense.model
    offset, neighbour, _ = model.adjacency
    degree = np.diff(offset)
    used = np.zeros(model.n_nodes, dtype=np.int64)
    counting.count_used(dense.offset, dense.cells, used)
    sparse: dict[int, tuple[np.ndarray, np.ndarray]] = {}
    size = 0
    for i in dense.sparse.tolist():
        sparse[i] = _group(model, i, chunks)
        used[i] = sparse[i][1].size
        size += sparse[i][0].nbytes
        if size > MAX_PATTERN_BYTES:
            raise CostError(
                f"the distinct neighbourhood patterns of {model.n_nodes} nodes need more than "
                f"{MAX_PATTERN_BYTES / 2**30:.0f} GiB here: use a sparser graph or fewer observations."
            )
    node_offset = np.concatenate([[0], np.cumsum(used)])
    states_offset = np.concatenate([[0], np.cumsum(used * degree)])
    states = np.zeros(int(states_offset[-1]), dtype=np.uint8)
    weight = np.zeros(int(node_offset[-1]))
    counting.spread_used(
        dense.offset, dense.cells, model.states, offset, neighbour, node_offset, states_offset, states, weight
    )
    for i, (patterns, total) in sparse.items():
        states[states_offset[i] : states_offset[i + 1]] = patterns.ravel()
        weight[node_offset[i] : node_offset[i + 1]] = total
    table = PatternTable(node_offset, states_offset, states, weight)
    for array in table:
        array.setflags(write=False)
    return table


def column_bytes(chunk: Chunk, nodes: np.ndarray) -> np.ndarray:
    """States of ``nodes`` in every observation of the chunk, (len(nodes), n) uint8."""
    chosen = chunk.columns[nodes]
    if chunk.columns.dtype != np.uint64:
        return np.asarray(chosen)
    little = np.ascontiguousarray(chosen.astype("<u8", copy=False)).view(np.uint8)
    return np.unpackbits(little, axis=1, bitorder="little")[:, : chunk.n]


def _group(model: Model, node: int, chunks: Sequence[Chunk]) -> tuple[np.ndarray, np.ndarray]:
    """Distinct states (k, degree) of one node's neighbours with their weights, whatever the degree.

    Neighbours are taken in as many at a time as one integer holds; after each step the codes so far are replaced by
    their rank among the distinct ones, which is exact, unlike a hash.
    """
    offset, neighbour, _ = model.adjacency
    near = neighbour[offset[node] : offset[node + 1]]
    rows = np.concatenate([column_bytes(chunk, near) for chunk in chunks], axis=1)
    n = rows.shape[1]
    code = np.zeros(n, dtype=np.int64)
    room = distinct = 1
    for b, radix in enumerate(model.states[near].tolist()):
        if room * radix > 1 << 62:
            values, code = np.unique(code, return_inverse=True)
            room = distinct = values.size
        code = code * radix + rows[b]
        room *= radix
    _, first, code = np.unique(code, return_index=True, return_inverse=True)
    distinct = first.size
    weights = [chunk.weight if chunk.weight.size else np.ones(chunk.n) for chunk in chunks]
    total = np.bincount(code, weights=np.concatenate(weights), minlength=distinct)
    kept = total > 0
    return np.ascontiguousarray(rows[:, first[kept]].T), total[kept]
