"""Clumps of missing nodes: what the rows with holes are cut into, so that each sum over missing cells is a small one.

Missing nodes of a row that no path of missing nodes joins are independent given what is seen. So a row's sum over its
missing cells is a product over clumps of connected missing nodes, each of which depends on the values of its seen
neighbours alone; equal clumps, of whatever rows, are counted once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mrfbayes.data.coding import MISSING_CODE
from mrfbayes.data.tally import IncompleteRows
from mrfbayes.exact.graph import GraphRecursion, model_tables, ranges
from mrfbayes.kernels.exact.clamped import Clumps, clump_projections
from mrfbayes.model.field import Model

ELSEWHERE = MISSING_CODE - 1  # a node that a clump does not touch
CLUMP_STATES = 1 << 12  # configurations of a clump that are summed over one by one; larger ones are eliminated
CELLS_AT_ONCE = 1 << 26
MOST_ENUMERATED = 2**20  # configurations: some 30 ms for each theta


@dataclass(frozen=True)
class ClumpRows:
    """Distinct clumps (u, d): `MISSING_CODE` at their nodes, states of seen neighbours, `ELSEWHERE`; and weights.

    ``row`` and ``clump`` say which clumps each of the rows with holes has.
    """

    rows: np.ndarray
    weight: np.ndarray
    row: np.ndarray
    clump: np.ndarray


def clump_rows(model: Model, holes: IncompleteRows) -> ClumpRows:
    """Cut the rows with holes into clumps, and join equal ones."""
    step = max(1, CELLS_AT_ONCE // max(model.n_nodes * 8, 1))
    parts, owners = [], []
    for first in range(0, len(holes.rows), step):
        rows, row = _cut(model, holes.rows[first : first + step])
        parts.append(rows)
        owners.append(row + first)
    every, row = np.concatenate(parts), np.concatenate(owners)
    as_bytes = np.ascontiguousarray(every).view(np.dtype((np.void, model.n_nodes))).ravel()
    _, index, clump = np.unique(as_bytes, return_index=True, return_inverse=True)
    weight = np.bincount(clump, weights=holes.weight[row], minlength=index.size)
    return ClumpRows(every[index], weight, row, clump)


def _cut(model: Model, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Clumps (c, d) of some rows, and the row of each."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    d = model.n_nodes
    hole = rows == MISSING_CODE
    row, node = np.nonzero(hole)
    number = np.full(rows.shape, -1, dtype=np.int64)
    number[row, node] = np.arange(row.size)
    pairs = [np.zeros((2, 0), dtype=np.int64)]
    for u, v in model.edges.tolist():
        both = np.flatnonzero(hole[:, u] & hole[:, v])
        pairs.append(np.stack([number[both, u], number[both, v]]))
    left, right = np.concatenate(pairs, axis=1)
    graph = coo_array((np.ones(left.size, dtype=np.int8), (left, right)), shape=(row.size, row.size))
    count, label = connected_components(graph, directed=False)
    clumps = np.full((count, d), ELSEWHERE, dtype=np.uint8)
    offset, neighbour, _ = model.adjacency
    place, near = _neighbours(offset, node)
    clumps[label[place], neighbour[near]] = rows[row[place], neighbour[near]]
    clumps[label, node] = MISSING_CODE
    owner = np.empty(count, dtype=np.int64)
    owner[label] = row
    return clumps, owner


def _neighbours(offset: np.ndarray, node: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each entry of ``node`` all places in the neighbour lists: index of the entry, and the place."""
    degree = offset[node + 1] - offset[node]
    return np.repeat(np.arange(node.size), degree), ranges(offset[node], degree)


def flat_clumps(model: Model, rows: np.ndarray, weight: np.ndarray) -> Clumps:
    """Clumps as the kernels take them."""
    lowering, (offset, neighbour, edge_of) = model.lowering, model.adjacency
    states, d = model.states, model.n_nodes
    node_cells = int(lowering.node_offset[-1])
    unit, node = np.nonzero(rows == MISSING_CODE)
    start = np.searchsorted(unit, np.arange(len(rows) + 1))
    entry, place = _neighbours(offset, node)
    other, edge = neighbour[place], edge_of[place]
    value = rows[unit[entry], other].astype(np.int64)
    columns = states[model.edges[edge, 1]] if edge.size else edge
    is_first = model.edges[edge, 0] == node[entry] if edge.size else edge == 1
    base = node_cells + lowering.edge_offset[edge]
    own, across = np.where(is_first, columns, 1), np.where(is_first, 1, columns)  # strides of this node and the other
    seen = value != MISSING_CODE
    own_terms = np.stack([lowering.node_offset[node], np.ones_like(node)], axis=1)
    edge_terms = np.stack([base[seen] + value[seen] * across[seen], own[seen]], axis=1)
    terms, term_start = _sorted_by(np.concatenate([np.arange(node.size), entry[seen]]), [own_terms, edge_terms], node)
    later = ~seen & (other < node[entry])
    position = np.searchsorted(unit * d + node, unit[entry[later]] * d + other[later]) - start[unit[entry[later]]]
    order = np.lexsort((position, entry[later]))
    pairs = np.stack([position, base[later], own[later], across[later]], axis=1)[order]
    pair_start = np.searchsorted(entry[later][order], np.arange(node.size + 1))
    arrays = (weight, start, states[node], term_start, terms, pair_start, pairs)
    kinds = (float, *(np.int64,) * 6)
    return Clumps(*(np.array(a, dtype=kind, order="C") for a, kind in zip(arrays, kinds, strict=True)))


def _sorted_by(owner: np.ndarray, parts: list[np.ndarray], node: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    order = np.argsort(owner, kind="stable")
    return np.concatenate(parts)[order], np.searchsorted(owner[order], np.arange(node.size + 1))


def configurations(model: Model, rows: np.ndarray) -> np.ndarray:
    """(u,) how many configurations each clump has, as floats: it may be astronomical."""
    log = np.where(rows == MISSING_CODE, np.log2(model.states), 0.0).sum(axis=1)
    with np.errstate(over="ignore"):
        return np.asarray(np.rint(np.exp2(log)))


class EliminatedClump:
    """A clump too large to be enumerated: its own field, summed by elimination.

    ``row`` (d,) is one of `ClumpRows`. Tables are those of the whole field, flat.
    """

    def __init__(self, model: Model, row: np.ndarray, weight: float) -> None:
        flat = flat_clumps(model, row[None, :], np.array([weight]))
        self.weight, states = weight, flat.states
        owner = np.repeat(np.arange(states.size), np.diff(flat.pair_start))
        before, base, own, across = flat.pairs.T
        self._recursion = GraphRecursion(np.stack([before, owner], axis=1), states)
        self._recursion.is_binary = False  # seen neighbours tilt a node's table any way: always take tables
        # Where the own tables come from: cells of a node's terms (terms, states), cells of a pair (earlier, later).
        self._terms = [
            flat.terms[flat.term_start[k] : flat.term_start[k + 1], :1]
            + np.arange(states[k]) * flat.terms[flat.term_start[k] : flat.term_start[k + 1], 1:]
            for k in range(states.size)
        ]
        self._pairs = np.concatenate(
            [
                np.zeros(0, dtype=np.int64),
                *(
                    base[k] + np.arange(states[before[k]])[:, None] * across[k] + np.arange(states[owner[k]]) * own[k]
                    for k in range(owner.size)
                ),
            ],
            axis=None,
        )
        self._node_offset = np.concatenate([[0], np.cumsum(states)])
        self.cells = self._recursion.n_bytes("moments") / 8

    def _own(self, table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.concatenate([table[cells].sum(axis=0) for cells in self._terms]), table[self._pairs]

    def _add(self, nodes: np.ndarray, pairs: np.ndarray, cells: np.ndarray) -> None:
        """Weighted sums of the own cells to those of the whole field."""
        for k, where in enumerate(self._terms):
            cells[where] += self.weight * nodes[self._node_offset[k] : self._node_offset[k + 1]]
        cells[self._pairs] += self.weight * pairs

    def log_z(self, table: np.ndarray) -> float:
        """Weighted log of the sum over all configurations."""
        return self.weight * self._recursion.log_z(*self._own(table))

    def moments(self, table: np.ndarray, cells: np.ndarray) -> float:
        """`log_z`; the weighted E[T] is added to ``cells``."""
        log_z, nodes, pairs = self._recursion.moments(*self._own(table))
        self._add(nodes, pairs, cells)
        return self.weight * log_z

    def sample(self, table: np.ndarray, n: int, state: np.ndarray) -> np.ndarray:
        """(n, nodes of the clump) independent draws."""
        return self._recursion.sample(*self._own(table), n, state)

    def series(self, table: np.ndarray, directions: np.ndarray, out: np.ndarray) -> None:
        """Derivatives of the weighted E[T] along each direction are added to ``out`` (directions, order, cells)."""
        own = (np.concatenate(self._own(direction)) for direction in directions)
        n_nodes = int(self._node_offset[-1])
        for k, found in enumerate(self._recursion.series(*self._own(table), own, out.shape[1])):
            for order, part in enumerate(found):
                self._add(part[:n_nodes], part[n_nodes:], out[k, order])


class Enumerated:
    """All configurations of a field, numbered with the first node's state changing fastest."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self._clumps = flat_clumps(model, _all_free(model), np.ones(1))
        self.size = int(np.prod(model.states))
        self._scratch = np.empty(2 * self.size)

    @staticmethod
    def is_feasible(model: Model) -> bool:
        """Whether the configurations are few enough."""
        return float(configurations(model, _all_free(model))[0]) <= MOST_ENUMERATED

    def probabilities(self, log_odds: np.ndarray) -> np.ndarray:
        """(K,) probability of every configuration."""
        table = np.concatenate(model_tables(self.model, log_odds))
        probability = np.empty(self.size)
        none = np.empty((0, table.size))
        clump_projections(self._clumps, 0, table, none, self._scratch, probability, np.empty((0, self.size)))
        return probability


def _all_free(model: Model) -> np.ndarray:
    return np.full((1, model.n_nodes), MISSING_CODE, dtype=np.uint8)
