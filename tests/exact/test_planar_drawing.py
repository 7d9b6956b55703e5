"""Drawings: half-edges in the order of their angles, no crossings, and fields on one face."""

import itertools

import numpy as np

import mrfbayes as mb
import oracles_planar
from mrfbayes.exact.planar_drawing import _straight_lines, draw, fielded_nodes


def crosses(p, q, r, s):
    """Whether the open segments p q and r s cross."""

    def side(a, b, c):
        return np.sign((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))

    return side(p, q, r) * side(p, q, s) < 0 and side(r, s, p) * side(r, s, q) < 0


def test_straight_lines_do_not_cross():
    _, pairs = oracles_planar.delaunay_pairs(30, 0.9, np.random.default_rng(1))
    at = np.stack(_straight_lines(pairs, 30), axis=1)
    assert len(np.unique(at, axis=0)) == 30
    for (a, b), (c, d) in itertools.combinations(pairs, 2):
        assert not crosses(at[a], at[b], at[c], at[d])
    circle = np.stack([np.cos(np.arange(30)), np.sin(np.arange(30))], axis=1)  # the check can fail
    assert any(crosses(*circle[[a, b, c, d]]) for (a, b), (c, d) in itertools.combinations(pairs, 2))


def test_half_edges_of_a_grid_are_in_the_order_of_their_angles():
    model = mb.grid(3, 4)
    drawing = draw(model)
    np.testing.assert_array_equal(drawing.end.reshape(-1, 2), model.edges)
    for v in range(12):
        here = drawing.half[drawing.offset[v] : drawing.offset[v + 1]]
        assert (drawing.end[here] == v).all()
        other = drawing.end[here ^ 1]
        step = np.stack(np.divmod(other, 4)) - np.array(divmod(v, 4))[:, None]
        angle = np.arctan2(step[0], step[1])
        np.testing.assert_array_equal(angle, np.sort(angle))
        first = here % 2 == 0
        np.testing.assert_array_equal(drawing.sign[here[first] // 2], np.where(angle[first] > 0, 1.0, -1.0))


def test_one_more_vertex_joins_the_nodes_with_factors_of_their_own():
    agree, one = [[0, 1], [1, 0]], [1, 0]
    factors = [mb.Factor(("a", "b"), outcomes=agree), mb.Factor(("b", "c"), outcomes=agree)]
    model = mb.Model(["a", "b", "c"], [*factors, mb.Factor(("c",), outcomes=one), mb.Factor(("a",), outcomes=one)])
    assert fielded_nodes(model).tolist() == [0, 2]
    drawing = draw(model)
    assert (drawing.n_nodes, drawing.n_vertices) == (3, 4)
    assert drawing.end.reshape(-1, 2).tolist() == [[0, 1], [1, 2], [0, 3], [2, 3]]


def test_what_is_not_planar_has_no_drawing():
    assert draw(mb.graph([(i, j) for i in range(5) for j in range(i)])) is None
    assert draw(mb.graph([(i, j) for i in range(3) for j in range(3, 6)])) is None
    assert draw(mb.grid(3, 3, fields=True)) is None
    assert draw(mb.grid(2, 2, states=3)) is None
