"""Lowering: the field as the kernels see it, linear in the log-odds w.

Binary variables: log weight of x = constant.w + sum_i field_i x_i + sum_e coupling_e [x_u = x_v].
Otherwise: one log-potential table per node and per edge, flat.
Either way there is a sparse matrix M with (field, coupling) or (node tables, edge tables) = M w, and the sufficient
statistics are s = constant + M^T T, T being the (expected) values x_i, [x_u = x_v], or the cells' indicators.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from mrfbayes.model.chart import Chart
    from mrfbayes.model.factors import FactorGroup


class LinearMap(NamedTuple):
    """A sparse matrix as triplets, sorted by row; kernels take it as it is (`mrfbayes.kernels.base.linear`)."""

    row: np.ndarray
    column: np.ndarray
    value: np.ndarray


@dataclass(frozen=True)
class Lowering:
    """The lowered field.

    Attributes
    ----------
    binary : whether the (field, coupling) form is used
    n_nodes, n_edges : sizes
    pairs : (m, 2) the ends of each edge
    states : (d,) numbers of states
    node_offset, edge_offset : where each table starts in the flat node and edge tables (one more entry at the end);
        an edge's table is row-major in the direction of ``pairs``
    constant : (p,) the part of s that does not depend on x
    forward : M, rows = fields then couplings (binary), or node cells then edge cells
    """

    binary: bool
    pairs: np.ndarray
    states: np.ndarray
    node_offset: np.ndarray
    edge_offset: np.ndarray
    constant: np.ndarray
    forward: LinearMap

    @property
    def n_nodes(self) -> int:
        """Number of variables."""
        return int(self.states.size)

    @property
    def n_edges(self) -> int:
        """Number of pairs."""
        return len(self.pairs)

    @property
    def n_node_rows(self) -> int:
        """How many rows of M belong to nodes: d fields, or all node cells."""
        return self.n_nodes if self.binary else int(self.node_offset[-1])

    @property
    def n_rows(self) -> int:
        """Number of rows of M."""
        return self.n_node_rows + (self.n_edges if self.binary else int(self.edge_offset[-1]))

    @cached_property
    def is_plain(self) -> bool:
        """Whether this is the paper's field: no fields and coupling_e = w_e."""
        row, column, value = self.forward
        m = self.n_edges
        return (
            self.binary
            and self.constant.size == m
            and row.size == m
            and bool((value == 1.0).all())
            and np.array_equal(row, self.n_nodes + np.arange(m))
            and np.array_equal(column, np.arange(m))
        )

    @cached_property
    def matrix(self) -> csr_array:
        """M as a sparse matrix."""
        from scipy.sparse import csr_array

        row, column, value = self.forward
        return csr_array((value, (row, column)), shape=(self.n_rows, self.constant.size))

    def potentials(self, log_odds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(field, coupling) or (node table, edge table) at w."""
        row, column, value = self.forward
        flat = np.asarray(np.bincount(row, weights=value * log_odds[column], minlength=self.n_rows))
        return flat[: self.n_node_rows], flat[self.n_node_rows :]

    def tables(self, log_odds: np.ndarray) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Log-potentials at w: (r,) of every node, (r_u, r_v) of every edge."""
        node, edge = self.potentials(log_odds)
        if self.binary:
            return [np.array([0.0, field]) for field in node], [coupling * np.eye(2) for coupling in edge]
        shapes = self.states[self.pairs].tolist()
        cells = np.split(edge, self.edge_offset[1:-1])
        edges = [table.reshape(shape) for table, shape in zip(cells, shapes, strict=False)]
        return np.split(node, self.node_offset[1:-1]), edges

    def statistics(self, node_part: np.ndarray, edge_part: np.ndarray) -> np.ndarray:
        """s (p,) = constant + M^T T from T's node part and edge part."""
        row, column, value = self.forward
        t = np.concatenate([node_part, edge_part])
        return np.asarray(self.constant + np.bincount(column, weights=value * t[row], minlength=self.constant.size))

    def statistics_direction(self, node_part: np.ndarray, edge_part: np.ndarray) -> np.ndarray:
        """M^T T without the constant: for derivatives and covariances."""
        return np.asarray(self.statistics(node_part, edge_part) - self.constant)


def sparse_map(entries: Iterable[tuple[np.ndarray, np.ndarray, float]], shape: tuple[int, int]) -> csr_array:
    """Sum of matrices, each with one value at the places (rows, columns)."""
    from scipy.sparse import coo_array

    kept = [(np.full(row.size, value), row, column) for row, column, value in entries if value]
    none = (np.zeros(0), np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))
    value, row, column = (np.concatenate(part) for part in zip(none, *kept, strict=True))
    return coo_array((value, (row, column)), shape=shape).tocsr()


def lower(
    states: np.ndarray, edges: np.ndarray, groups: Sequence[FactorGroup], n_parameters: int, chart: Chart
) -> Lowering:
    """Lower the factors of a model; see the module's docstring."""
    node_offset = np.concatenate([[0], np.cumsum(states)])
    cells = states[edges[:, 0]] * states[edges[:, 1]] if len(edges) else np.zeros(0, dtype=np.int64)
    edge_offset = np.concatenate([[0], np.cumsum(cells)])
    binary = bool((states == 2).all())
    find_edge = EdgeFinder(edges, int(states.size))
    entries: list[tuple[np.ndarray, np.ndarray, float]] = []
    constant = np.zeros(n_parameters)
    for group in groups:
        for outcome, weight in enumerate(group.statistics):
            parameter = chart.offset[group.block] + outcome
            placed, first = [(group.scope[:, 0], parameter, weight)], node_offset
            if group.arity == 2:
                edge, swapped = find_edge(group.scope)
                placed = [(edge[k], parameter[k], table) for k, table in ((~swapped, weight), (swapped, weight.T))]
                first = node_offset[-1] + edge_offset
            for where, parameters, table in placed:
                if binary:
                    terms = _binary_terms(table, where, edges, int(states.size))
                else:
                    terms = [(first[where] + cell, float(amount), False) for cell, amount in enumerate(table.ravel())]
                for target, amount, always in terms:
                    if always:
                        constant += amount * np.bincount(parameters, minlength=n_parameters)
                    else:
                        entries.append((target, parameters, amount))
    n_rows = int(states.size + len(edges) if binary else node_offset[-1] + edge_offset[-1])
    matrix = sparse_map(entries, (n_rows, n_parameters)).tocoo()
    forward = LinearMap(matrix.row.astype(np.int64), matrix.col.astype(np.int64), matrix.data)
    arrays = (node_offset, edge_offset, constant, *forward)
    for array in arrays:
        array.setflags(write=False)
    return Lowering(binary, edges, states, node_offset, edge_offset, constant, forward)


def _binary_terms(
    table: np.ndarray, where: np.ndarray, edges: np.ndarray, n_nodes: int
) -> list[tuple[np.ndarray, float, bool]]:
    """A 2 or 2x2 table as constant + fields + agreement: (rows of M, amount, is the constant)."""
    nowhere = np.zeros(0, dtype=np.int64)
    if table.ndim == 1:
        return [(nowhere, float(table[0]), True), (where, float(table[1] - table[0]), False)]
    t00, t01, t10, t11 = table.ravel()
    agreement = (t00 + t11 - t01 - t10) / 2
    field_u = ((t10 - t00) + (t11 - t01)) / 2
    field_v = ((t01 - t00) + (t11 - t10)) / 2
    return [
        (nowhere, float(t00 - agreement), True),
        (edges[where, 0], float(field_u), False),
        (edges[where, 1], float(field_v), False),
        (n_nodes + where, float(agreement), False),
    ]


class EdgeFinder:
    """Finds the index of an edge by its ends, for whole arrays of pairs."""

    def __init__(self, edges: np.ndarray, n_nodes: int) -> None:
        self._n_nodes = n_nodes
        self._edges = edges
        key = self._key(edges)
        self._order = np.argsort(key, kind="stable")
        self._sorted = key[self._order]

    def _key(self, pairs: np.ndarray) -> np.ndarray:
        return np.asarray(pairs.min(axis=1) * self._n_nodes + pairs.max(axis=1)) if len(pairs) else np.zeros(0, int)

    def __call__(self, pairs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Index of each pair's edge, and whether the pair runs against the edge's direction."""
        index = self._order[np.searchsorted(self._sorted, self._key(pairs))]
        return index, self._edges[index, 0] != pairs[:, 0]


class Adjacency(NamedTuple):
    """Neighbours of node i: ``neighbour[offset[i]:offset[i+1]]``, through edges ``edge[...]``, by edge index."""

    offset: np.ndarray
    neighbour: np.ndarray
    edge: np.ndarray


def adjacency(edges: np.ndarray, n_nodes: int) -> Adjacency:
    """Neighbour lists of the (m, 2) ``edges``; each edge is listed at both ends."""
    m = len(edges)
    ends = np.concatenate([edges[:, 0], edges[:, 1]])
    others = np.concatenate([edges[:, 1], edges[:, 0]])
    index = np.tile(np.arange(m), 2)
    order = np.lexsort((index, ends))
    offset = np.concatenate([[0], np.cumsum(np.bincount(ends, minlength=n_nodes))])
    arrays = [np.ascontiguousarray(a, dtype=np.int64) for a in (offset, others[order], index[order])]
    for array in arrays:
        array.setflags(write=False)
    return Adjacency(*arrays)
