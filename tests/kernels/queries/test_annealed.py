"""Values of many rows against sums written out table by table."""

import numpy as np

from mrfbayes.kernels.queries.annealed import RowTables, row_values


def test_rows_meet_the_cells_of_their_states():
    rng = np.random.default_rng(1)
    states, pairs = np.array([2, 3, 4]), np.array([[0, 1], [2, 1]])
    node_tables = [rng.normal(size=r) for r in states]
    edge_tables = [rng.normal(size=(states[u], states[v])) for u, v in pairs]
    flat_nodes, flat_edges = np.concatenate(node_tables), np.concatenate([table.ravel() for table in edge_tables])
    tables = RowTables(pairs, states, np.array([0, 2, 5, 9]), np.array([0, 6, 18]), flat_nodes, flat_edges)
    rows = rng.integers(0, states, size=(50, 3)).astype(np.uint8)
    out = np.empty(50)
    row_values(tables, rows, out)
    expected = sum(node_tables[i][rows[:, i]] for i in range(3))
    expected = expected + sum(table[rows[:, u], rows[:, v]] for table, (u, v) in zip(edge_tables, pairs, strict=True))
    np.testing.assert_allclose(out, expected, rtol=1e-12)
