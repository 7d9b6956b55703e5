"""Nodes and edges: those of lattices, and what users give, read and checked."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pandas as pd
import pytest

import mrfbayes as mb


def named(graph):
    return {frozenset(f"{r},{c}" for r, c in edge) for edge in graph.edges}


def edges(model):
    return {frozenset(model.nodes[i] for i in pair) for pair in model.edges.tolist()}


@pytest.mark.parametrize(("rows", "columns"), [(3, 4), (2, 5), (2, 2), (1, 4), (3, 3)])
def test_neighbours_are_those_of_the_lattice(rows, columns):
    eight = nx.grid_2d_graph(rows, columns)
    eight.add_edges_from(((r, c), (r + 1, c + 1)) for r in range(rows - 1) for c in range(columns - 1))
    eight.add_edges_from(((r, c + 1), (r + 1, c)) for r in range(rows - 1) for c in range(columns - 1))
    assert edges(mb.grid(rows, columns, neighbours=8)) == named(eight)
    torus = {
        frozenset((f"{r},{c}", f"{(r + dr) % rows},{(c + dc) % columns}"))
        for r in range(rows)
        for c in range(columns)
        for dr, dc in ((0, 1), (1, 0))
    }
    assert edges(mb.grid(rows, columns, periodic=True)) == {edge for edge in torus if len(edge) == 2}


def test_directions_and_masks():
    model = mb.grid(3, 4, neighbours=8, tied="direction")
    assert model.parameters == ("horizontal", "vertical", "diagonal", "antidiagonal")
    mask = np.ones((3, 4), dtype=int)
    mask[1, 1] = mask[0, 3] = 0
    model = mb.grid(3, 4, mask=mask)
    assert len(model.nodes) == 10
    whole = mb.grid(3, 4)
    kept = {edge for edge in edges(whole) if not {"1,1", "0,3"} & edge}
    assert edges(model) == kept
    images = np.random.default_rng(4).integers(0, 2, size=(7, 3, 4))
    stats = mb.Data(images).count(model)
    np.testing.assert_array_equal(stats.rows, images.reshape(7, -1)[:, mask.ravel() == 1])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"neighbours": 6}, "neighbours = 6: choose 4 or 8"),
        ({"neighbours": None}, "neighbours = None: choose 4 or 8"),
        ({"periodic": "yes"}, "periodic = 'yes': choose True or False"),
        ({"mask": np.ones((2, 2))}, "mask has shape (2, 2): give 3 x 4 zeros and ones"),
        ({"mask": np.full((3, 4), 0.5)}, "give 3 x 4 zeros and ones"),
        ({"mask": np.zeros((3, 4))}, "mask is zero everywhere"),
    ],
)
def test_bad_grid_options_raise_input_error(options, message):
    with pytest.raises(mb.InputError) as caught:
        mb.grid(3, 4, **options)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        (None, "edges = None: expected pairs of nodes, a networkx graph, or the path"),
        (5, "edges = 5: expected pairs of nodes"),
        (np.array(5), "edges = array(5): expected pairs of nodes"),
        (["ab", "cd"], "edges[0] = 'ab': an edge is a pair of nodes"),
        ([([1], [2])], "edges[0] = ([1], [2]): [1] is a list; a node is a name or a whole number"),
        ([({}, "a")], "{} is a dict; a node is a name"),
        ([(None, "a")], "None is a NoneType; a node is a name"),
        ([(1.5, 2)], "1.5 is a float; a node is a name"),
        ([(True, False)], "True is a bool; a node is a name"),
        (
            [("a", "a"), ("a", "b"), ("b", "a")],
            "edges[0]: joins 'a' to itself; remove the self-loop.\nedges[2]: edge 'b', 'a' repeats edges[1]",
        ),
    ],
)
def test_bad_edges(edges, message):
    with pytest.raises(mb.InputError) as caught:
        mb.graph(edges)
    assert message in str(caught.value)


def test_edges_of_a_table_and_of_whole_floats():
    assert mb.graph(pd.DataFrame({"from": ["a", "b"], "to": ["b", "c"]})).nodes == ("a", "b", "c")
    assert mb.graph(np.array([[0.0, 1.0], [1.0, 2.0]])).nodes == ("0", "1", "2")
    assert mb.graph([((0, 0), (0, 1))]).nodes == ("(0, 0)", "(0, 1)")
