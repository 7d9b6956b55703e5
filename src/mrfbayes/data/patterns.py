"""Distinct neighbourhood patterns of every node: what the pseudolikelihood needs to know of the data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mrfbayes.base.errors import CostError
from mrfbayes.model.field import Model

DENSE_NODE = 1 << 17  # a node with at most so many possible patterns is counted by direct look-up ...
DENSE_TOTAL = 1 << 25  # ... for as many nodes at a time as take 256 MiB
MAX_PATTERN_BYTES = 1 << 32
SHORT_CHUNK = 1024  # rows; shorter chunks, of very wide data, are joined rather than visited one by one


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


class PatternChunk(NamedTuple):
    """Some observations: ``columns`` are planes (d, n_words) uint64 of a binary field, else (d, n) uint8.

    ``weight`` is (n,), or empty where every observation counts once.
    """

    columns: np.ndarray
    n: int
    weight: np.ndarray


class Patterns(NamedTuple):
    """Patterns of some nodes in a row: how many each has (``used``), and as in `PatternTable`, flat."""

    used: np.ndarray
    states: np.ndarray
    weight: np.ndarray


def possible_patterns(model: Model) -> np.ndarray:
    """(d,) number of states that each node's neighbours can be in, as floats: it may be astronomical."""
    offset, neighbour, _ = model.adjacency
    log_radix = np.concatenate([[0.0], np.cumsum(np.log2(model.states[neighbour]))])
    with np.errstate(over="ignore"):
        return np.asarray(np.rint(np.exp2(log_radix[offset[1:]] - log_radix[offset[:-1]])))


class DenseCells:
    """Look-up tables of nodes ``first``..``stop``-1, filled chunk by chunk."""

    def __init__(self, model: Model, first: int, stop: int, cells: np.ndarray) -> None:
        self.model = model
        self.first, self.stop = first, stop
        size = np.zeros(model.n_nodes, dtype=np.int64)
        size[first:stop] = cells[first:stop]
        self.offset = np.concatenate([[0], np.cumsum(size)])
        self.cells = np.zeros(int(self.offset[-1]))

    @classmethod
    def of_all(cls, model: Model) -> DenseCells | None:
        """One table for all nodes, or None where it would be too large."""
        cells = possible_patterns(model)
        fits = cells.max() <= DENSE_NODE and cells.sum() <= DENSE_TOTAL
        return cls(model, 0, model.n_nodes, cells) if fits else None

    def add(self, chunk: PatternChunk) -> None:
        """Count the observations of one chunk."""
        from mrfbayes.kernels.data import counting

        offset, neighbour, _ = self.model.adjacency
        if chunk.columns.dtype == np.uint64:
            counting.plane_patterns(chunk.columns, chunk.n, chunk.weight, offset, neighbour, self.offset, self.cells)
        else:
            counting.column_patterns(
                chunk.columns, chunk.weight, self.model.states, offset, neighbour, self.offset, self.cells
            )

    def patterns(self) -> Patterns:
        """The cells in use, as patterns."""
        from mrfbayes.kernels.data import counting

        offset, neighbour, _ = self.model.adjacency
        used = np.diff(np.concatenate([[0], np.cumsum(self.cells > 0)])[self.offset])
        node_offset, states_offset = _offsets(used, self.model)
        states = np.zeros(int(states_offset[-1]), dtype=np.uint8)
        weight = np.zeros(int(node_offset[-1]))
        places = (self.model.states, offset, neighbour, node_offset, states_offset)
        counting.write_patterns(self.offset, self.cells, *places, states, weight)
        return Patterns(used[self.first : self.stop], states, weight)


def patterns_of(model: Model, chunks: Sequence[PatternChunk]) -> list[Patterns]:
    """Patterns of all nodes, node by node in order, counted from the observations."""
    cells = possible_patterns(model)
    large = cells > DENSE_NODE
    if len(chunks) > 1 and chunks[0].n < SHORT_CHUNK:
        columns, n, weight = zip(*chunks, strict=True)
        chunks = [PatternChunk(np.concatenate(columns, axis=1), sum(n), np.concatenate(weight))]
    if large.any():
        rows = [row_words(column_bytes(chunk).T, model.is_binary) for chunk in chunks]
        words = np.ascontiguousarray(np.concatenate(rows).T)
        weights = np.concatenate([chunk.weight if chunk.weight.size else np.ones(chunk.n) for chunk in chunks])
    parts: list[Patterns] = []
    first = size = 0
    while first < model.n_nodes:
        if large[first]:
            states, weight = _group(model, first, words, weights)
            parts.append(Patterns(np.array([weight.size]), states.ravel(), weight))
            first += 1
        else:
            total = np.cumsum(cells[first:])
            beyond = np.flatnonzero(large[first:] | (total > max(DENSE_TOTAL, cells[first])))
            stop = first + int(beyond[0]) if beyond.size else model.n_nodes
            dense = DenseCells(model, first, stop, cells)
            for chunk in chunks:
                dense.add(chunk)
            parts.append(dense.patterns())
            first = stop
        size += parts[-1].states.nbytes + parts[-1].weight.nbytes
        if size > MAX_PATTERN_BYTES:
            raise CostError(
                f"the distinct neighbourhood patterns of {model.n_nodes} nodes need more than "
                f"{MAX_PATTERN_BYTES / 2**30:.0f} GiB here: use a sparser graph or fewer observations."
            )
    return parts


def pattern_table(model: Model, parts: Sequence[Patterns]) -> PatternTable:
    """One table of the parts that, in order, hold all nodes."""
    used, states, weight = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    table = PatternTable(*_offsets(used, model), states, weight)
    for array in table:
        array.setflags(write=False)
    return table


def _offsets(used: np.ndarray, model: Model) -> tuple[np.ndarray, np.ndarray]:
    """Where each node's patterns start, and where their states do."""
    degree = np.diff(model.adjacency.offset)
    return np.concatenate([[0], np.cumsum(used)]), np.concatenate([[0], np.cumsum(used * degree)])


def column_bytes(chunk: PatternChunk, nodes: np.ndarray | slice = slice(None)) -> np.ndarray:
    """States of ``nodes``, by default all, in every observation of the chunk, (len(nodes), n) uint8."""
    chosen = chunk.columns[nodes]
    if chunk.columns.dtype != np.uint64:
        return np.asarray(chosen)
    little = np.ascontiguousarray(chosen.astype("<u8", copy=False)).view(np.uint8)
    return np.unpackbits(little, axis=1, bitorder="little")[:, : chunk.n]


def _group(model: Model, node: int, words: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distinct states (k, degree) of one node's neighbours with their weights, whatever the degree.

    ``words`` (w, n) are those of `row_words`. They are taken in one after the other; after each of them the code so far
    is the number of a group, which is exact, unlike a hash.
    """
    import pandas as pd

    offset, neighbour, _ = model.adjacency
    near = neighbour[offset[node] : offset[node + 1]]
    is_near = np.zeros((1, model.n_nodes), dtype=np.uint8)
    is_near[0, near] = 1 if model.is_binary else 255
    masks = row_words(is_near, model.is_binary)[0]
    codes = (pd.factorize(words[k] & masks[k])[0] for k in np.flatnonzero(masks).tolist())
    group = next(codes)
    for code in codes:
        group = pd.factorize(group * len(group) + code)[0]
    first = np.empty(group.max() + 1, dtype=np.int64)
    first[group[::-1]] = np.arange(group.size)[::-1]  # of equal indices the last assignment holds
    total = np.bincount(group, weights=weight)
    kept = total > 0
    states = np.ascontiguousarray(words[:, first[kept]].T).astype("<u8", copy=False).view(np.uint8)
    states = np.unpackbits(states, axis=1, bitorder="little") if model.is_binary else states
    return states[:, near], total[kept]


def row_words(rows: np.ndarray, is_binary: bool = True) -> np.ndarray:
    """Rows (n, d) of states as words (n, w): if binary, column c is bit c % 64 of word c // 64, else byte c % 8."""
    packed = np.packbits(rows, axis=1, bitorder="little") if is_binary else rows
    padded = np.zeros((len(rows), -(-packed.shape[1] // 8) * 8), dtype=np.uint8)
    padded[:, : packed.shape[1]] = packed
    return padded.view("<u8").astype(np.uint64, copy=False)
