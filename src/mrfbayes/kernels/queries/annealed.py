"""Log weights of many configurations at once, for annealing, which needs them after every sweep."""

from __future__ import annotations

from mrfbayes.kernels.base.jit import kernel


@kernel
def binary_row_values(pairs, field, coupling, rows, out):
    """``out``[i] = sum field * x + sum coupling * [x_u = x_v] of the rows (n, d) uint8."""
    for i in range(rows.shape[0]):
        total = 0.0
        for node in range(field.size):
            if rows[i, node]:
                total += field[node]
        for e in range(coupling.size):
            if rows[i, pairs[e, 0]] == rows[i, pairs[e, 1]]:
                total += coupling[e]
        out[i] = total


@kernel
def table_row_values(pairs, states, node_offset, edge_offset, node_table, edge_table, rows, out):
    """``out``[i] = sum of the cells of all tables that the rows (n, d) uint8 meet."""
    for i in range(rows.shape[0]):
        total = 0.0
        for node in range(states.size):
            total += node_table[node_offset[node] + rows[i, node]]
        for e in range(pairs.shape[0]):
            u, v = pairs[e, 0], pairs[e, 1]
            total += edge_table[edge_offset[e] + rows[i, u] * states[v] + rows[i, v]]
        out[i] = total
