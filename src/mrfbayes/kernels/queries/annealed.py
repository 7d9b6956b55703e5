"""Log weights of many configurations at once, for annealing, which needs them after every sweep."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mrfbayes.kernels.base.jit import kernel


class RowTables(NamedTuple):
    """Tables of all nodes and edges, one after the other, and where each begins."""

    pairs: np.ndarray
    states: np.ndarray
    node_offset: np.ndarray
    edge_offset: np.ndarray
    node_table: np.ndarray
    edge_table: np.ndarray


@kernel
def row_values(tables, rows, out):
    """``out``[i] = sum of the cells of all tables that the rows (n, d) uint8 meet."""
    for i in range(rows.shape[0]):
        total = 0.0
        for node in range(tables.states.size):
            total += tables.node_table[tables.node_offset[node] + rows[i, node]]
        for e in range(tables.pairs.shape[0]):
            u, v = tables.pairs[e, 0], tables.pairs[e, 1]
            total += tables.edge_table[tables.edge_offset[e] + rows[i, u] * tables.states[v] + rows[i, v]]
        out[i] = total
