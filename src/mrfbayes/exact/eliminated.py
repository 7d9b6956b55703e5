"""A clump of missing nodes too large to be enumerated: its own field, summed by elimination."""

from __future__ import annotations

import numpy as np

from mrfbayes.exact.clumps import flat_clumps
from mrfbayes.exact.graph import GraphRecursion
from mrfbayes.model.field import Model


class EliminatedClump:
    """One clump; ``row`` (d,) as in `mrfbayes.exact.clumps.ClumpRows`. Tables are those of the whole field, flat."""

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
