"""The field that remains when some nodes are held at known states: its log Z, marginals and best configurations.

Holding a node adds to the tables of its neighbours what its edges say at the held state. The smaller field has a graph
and an elimination order of its own. Free nodes that no path joins to those asked about can be left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache

import numpy as np

from mrfbayes.exact.choice import chosen, recursion, refuse_many_edges
from mrfbayes.exact.planar import PlanarRecursion
from mrfbayes.exact.recursions import GraphRecursion, model_tables, ranges
from mrfbayes.model.field import Model


class HeldField:
    """A model with the nodes ``known`` held; ``wanted`` are the nodes asked about, by default all.

    Attributes
    ----------
    free : (f,) nodes that are summed over
    states : (f,) their numbers of states
    edges : (m', 2) edges between them, as places in ``free``
    inner : (m',) the numbers of these edges in the model
    node_offset, edge_offset : where each table starts in the flat tables of free nodes and inner edges
    is_whole : whether this is the whole model, nothing held and nothing left out
    """

    def __init__(self, model: Model, known: Sequence[int] = (), wanted: Sequence[int] | None = None) -> None:
        self.model = model
        self.known = np.array(known, dtype=np.int64)
        keep = np.ones(model.n_nodes, dtype=bool)
        keep[self.known] = False
        if wanted is not None:
            keep &= _joined(model, keep, wanted)
        self.free = np.flatnonzero(keep)
        self.is_whole = self.free.size == model.n_nodes
        self._asked = self.free if wanted is None else np.array(wanted, dtype=np.int64)
        self.states = model.states[self.free]
        u, v = model.edges.T
        self.inner = np.flatnonzero(keep[u] & keep[v])
        self.place = np.full(model.n_nodes, -1)
        self.place[self.free] = np.arange(self.free.size)
        self.edges = np.ascontiguousarray(self.place[model.edges[self.inner]]).reshape(-1, 2)
        self.node_offset = np.concatenate([[0], np.cumsum(self.states)])
        sizes = np.diff(model.lowering.edge_offset)[self.inner]
        self.edge_offset = np.concatenate([[0], np.cumsum(sizes)])
        self._node_cells = ranges(model.lowering.node_offset[self.free], self.states)
        self._edge_cells = ranges(model.lowering.edge_offset[self.inner], sizes)

    @cached_property
    def _border(self) -> tuple[np.ndarray, ...]:
        """For every state of a free end of an edge to a held node: cells in own and in whole tables, and the node."""
        model, column = self.model, np.full(self.model.n_nodes, -1)
        column[self.known] = np.arange(self.known.size)
        parts = []
        for side in (0, 1):
            free, held = model.edges[:, side], model.edges[:, 1 - side]
            edge = np.flatnonzero((self.place[free] >= 0) & (column[held] >= 0))
            width = model.states[model.edges[edge, 1]]
            own, across = (width, np.ones_like(width)) if side == 0 else (np.ones_like(width), width)
            count = model.states[free[edge]]
            state = ranges(np.zeros_like(count), count)
            cells = (
                np.repeat(self.node_offset[self.place[free[edge]]], count) + state,
                np.repeat(model.lowering.edge_offset[edge], count) + state * np.repeat(own, count),
                np.repeat(across, count),
                np.repeat(column[held[edge]], count),
            )
            parts.append(cells)
        return tuple(np.concatenate(pair).astype(np.int64) for pair in zip(*parts, strict=True))

    def cells(self, pattern: Sequence[int] | np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Cells of the own node and edge tables in those of the whole field, all nodes' before all edges'.

        Then pairs of cells: own ones of nodes, and those that edges to held nodes add to them where the held states are
        ``pattern``.
        """
        target, source, across, held = self._border
        first = int(self.model.lowering.node_offset[-1])
        beside = first + source + across * np.array(pattern, dtype=np.int64)[held]
        return self._node_cells, first + self._edge_cells, target, beside

    def tables(self, log_odds: np.ndarray, pattern: Sequence[int] = ()) -> tuple[np.ndarray, np.ndarray, float]:
        """Log-potential tables of free nodes and inner edges, and the log weight of what is held itself.

        Parameters
        ----------
        log_odds : (p,) w
        pattern : states of the nodes ``known``
        """
        model, lowering = self.model, self.model.lowering
        state = np.array(pattern, dtype=np.int64)
        node, edge = model_tables(model, log_odds)
        table, (nodes, edges, target, border) = np.concatenate([node, edge]), self.cells(state)
        added = np.bincount(target, weights=table[border], minlength=nodes.size)
        whole = np.full(model.n_nodes, -1)
        whole[self.known] = state
        a, b = whole[model.edges].T
        both = np.flatnonzero((a >= 0) & (b >= 0))
        cells = lowering.edge_offset[both] + a[both] * model.states[model.edges[both, 1]] + b[both]
        constant = node[lowering.node_offset[self.known] + state].sum() + edge[cells].sum()
        return node[nodes] + added, table[edges], float(constant + lowering.constant @ log_odds)

    @cached_property
    def graph(self) -> GraphRecursion:
        """The recursion over the free nodes, for tables."""
        if self.is_whole:
            found = recursion(self.model)  # refuses a wide grid at once
            if isinstance(found, GraphRecursion) and not self.model.is_binary:
                return found
        refuse_many_edges(self.states, len(self.edges))
        found = GraphRecursion(self.edges, self.states)
        found.is_binary = False  # tables of nodes next to held ones are of any form
        return found

    def log_z(self, log_odds: np.ndarray, pattern: Sequence[int] = ()) -> float:
        """Log of the sum over the free nodes of exp(w.s)."""
        if self.is_whole:
            lowering = self.model.lowering
            value = chosen(self.model, "log_z").log_z(*lowering.potentials(log_odds))
            return value + float(lowering.constant @ log_odds)
        node, edge, constant = self.tables(log_odds, pattern)
        return constant + (self.graph.log_z(node, edge) if self.free.size else 0.0)

    def marginals(self, log_odds: np.ndarray, pattern: Sequence[int] = ()) -> tuple[np.ndarray, np.ndarray]:
        """Probabilities of the states of free nodes and of the cells of inner edges, flat.

        Nodes that were not asked about, and their edges, may be NaN.
        """
        if not self.free.size:
            return np.zeros(0), np.zeros(0)
        found = chosen(self.model, "moments") if self.is_whole else None
        if found is None or (isinstance(found, PlanarRecursion) and not found.knows(self._asked)):
            return self.graph.moments(*self.tables(log_odds, pattern)[:2])[1:]
        node, edge = found.moments(*self.model.lowering.potentials(log_odds))[1:]
        return _binary_cells(self.model, node, edge) if self.model.is_binary else (node, edge)

    def best(self, log_odds: np.ndarray, pattern: Sequence[int] = (), k: int = 1) -> tuple[np.ndarray, np.ndarray]:
        """The ``k`` most probable whole configurations (k, d), best first, and their w.s (k,)."""
        node, edge, constant = self.tables(log_odds, pattern)
        if not self.free.size:
            best, value = np.zeros((1, 0), dtype=np.uint8), np.zeros(1)
        else:
            best, value = self.graph.best(node, edge, int(min(k, np.prod(self.states.astype(float)))))
        rows = np.zeros((len(best), self.model.n_nodes), dtype=np.uint8)
        rows[:, self.free] = best
        rows[:, self.known] = np.array(pattern, dtype=np.uint8)
        return rows, value + constant


@lru_cache(maxsize=8)
def _kept(model: Model, known: tuple[int, ...], wanted: tuple[int, ...] | None) -> HeldField:
    return HeldField(model, known, wanted)


def held_field(model: Model, known: Sequence[int] = (), wanted: Sequence[int] | None = None) -> HeldField:
    """A `HeldField`, with its elimination order, from the last few that were asked for."""
    return _kept(model, tuple(known), None if wanted is None else tuple(wanted))


def _joined(model: Model, keep: np.ndarray, wanted: Sequence[int]) -> np.ndarray:
    """Which nodes a path of ``keep`` (d,) nodes joins to one of ``wanted``."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    u, v = model.edges[keep[model.edges].all(axis=1)].T
    graph = coo_array((np.ones(u.size, dtype=np.int8), (u, v)), shape=(model.n_nodes, model.n_nodes))
    label = connected_components(graph, directed=False)[1]
    return np.isin(label, label[np.array(wanted, dtype=np.int64)])


def _binary_cells(model: Model, one: np.ndarray, agreement: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities of cells from P(x_i = 1) and P(x_u = x_v)."""
    first, second = one[model.edges].T
    both = (first + second + agreement - 1) / 2
    cells = np.stack([agreement - both, second - both, first - both, both], axis=1)
    return np.stack([1 - one, one], axis=1).ravel(), np.clip(cells, 0.0, 1.0).ravel()
