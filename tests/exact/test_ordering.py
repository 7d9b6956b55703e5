"""Elimination orders: what they claim is true, and known widths are reached."""

from __future__ import annotations

import networkx
import numpy as np
import pytest

import oracles
from mrfbayes.exact.ordering import find_order
from mrfbayes.kernels.exact.graph_plan import build_plan


def simulate(pairs, states, order):
    """Width, cells and largest table of an order, by eliminating on a networkx graph."""
    graph = networkx.Graph()
    graph.add_nodes_from(range(len(states)))
    graph.add_edges_from(np.asarray(pairs).tolist())
    width, sizes = 0, []
    for v in order:
        around = list(graph[v])
        width = max(width, len(around))
        sizes.append(int(states[v]) * int(np.prod([int(states[u]) for u in around], dtype=object)))
        graph.add_edges_from((a, b) for a in around for b in around if a != b)
        graph.remove_node(v)
    return width, sum(sizes), max(sizes)


def pairs_of(graph):
    graph = networkx.convert_node_labels_to_integers(graph)
    return np.array(graph.edges, dtype=np.int64).reshape(-1, 2), len(graph)


GRAPHS = {
    "tree": networkx.random_labeled_tree(50, seed=1),
    "cycle": networkx.cycle_graph(30),
    "grid": networkx.grid_2d_graph(6, 6),
    "strip": networkx.grid_2d_graph(40, 4),
    "regular": networkx.random_regular_graph(3, 30, seed=1),
    "complete": networkx.complete_graph(9),
    "apart": networkx.disjoint_union(networkx.grid_2d_graph(3, 3), networkx.path_graph(4)),
    "isolated": networkx.empty_graph(3),
    "small world": networkx.watts_strogatz_graph(40, 4, 0.1, seed=2),
}


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("mixed", [False, True])
def test_an_order_costs_what_it_says(name, mixed):
    pairs, n = pairs_of(GRAPHS[name])
    states = 2 + np.arange(n) % 3 if mixed else np.full(n, 2)
    found = find_order(pairs, states)
    assert found.complete
    assert sorted(found.order) == list(range(n))
    assert (found.width, found.cells, found.largest) == simulate(pairs, states, found.order.tolist())
    plan = build_plan(pairs, states, found.order)
    assert plan.width == found.width
    assert plan.n_joint == found.cells  # the plan's own arrangement changes no table


@pytest.mark.parametrize(
    ("name", "treewidth"), [("tree", 1), ("cycle", 2), ("strip", 4), ("complete", 8), ("isolated", 0), ("apart", 3)]
)
def test_known_treewidths_are_found(name, treewidth):
    pairs, n = pairs_of(GRAPHS[name])
    assert find_order(pairs, np.full(n, 2)).width == treewidth


def test_a_long_strip_needs_its_short_side():
    found = find_order(oracles.grid_pairs(500, 10), np.full(5000, 2))
    assert found.width == 10
    assert found.cells < 5000 * 2**11


def test_unequal_states_are_weighed():
    """A hub with many states and light leaves that form a ring: the hub stays to the end."""
    n = 12
    ring = [(i, (i + 1) % n) for i in range(n)]
    pairs = np.array([*ring, *((i, n) for i in range(n))])
    states = np.append(np.full(n, 2), 50)
    assert find_order(pairs, states).cells <= n * 2**3 * 50 + 50


def test_hopeless_graphs_are_given_up_soon():
    pairs = np.array(networkx.complete_graph(60).edges)
    found = find_order(pairs, np.full(60, 2))
    assert not found.complete
    assert found.width == 59
    assert sorted(found.order) == list(range(60))


def test_the_same_graph_gives_the_same_order():
    pairs = oracles.grid_pairs(8, 8)
    np.testing.assert_array_equal(find_order(pairs, np.full(64, 2)).order, find_order(pairs, np.full(64, 2)).order)
