"""What `tests/kernels/exact/test_graph.py` proves, one size up: connected graphs of up to 6 nodes, up to 4 states."""

import numpy as np
import pytest

import oracles
from kernels.exact.graph_cases import Problem, check


@pytest.mark.parametrize("fields", [True, False])
@pytest.mark.parametrize("states", [2, 3, 4])
def test_every_connected_graph_up_to_six_nodes(states, fields):
    graphs = list(oracles.connected_graphs(6))
    assert len(graphs) == 31 + 112
    for number, (n, pairs) in enumerate(graphs):
        check(Problem(pairs, np.full(n, states), number, fields=fields, max_low=(1, 4, 256)[number % 3]))
