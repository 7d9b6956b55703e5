"""Exteriors of regions, known relations of vertices, and the law of the relations that are drawn."""

import numpy as np

import mrfbayes as mb
import oracles
from mrfbayes.base.random_streams import kernel_state
from mrfbayes.exact.planar_drawing import draw
from mrfbayes.exact.planar_passes import Dissection, kac_ward
from mrfbayes.kernels.exact.planar_inside import inside, right_child
from mrfbayes.kernels.exact.planar_merge import ORDER_ZERO
from mrfbayes.kernels.exact.planar_outside import PlanarDraw, descend, exterior_slots, find, finish


def relations(above, flip, tau=None, ends=None):
    """What is known of vertices whose relations are these, without any field."""
    nothing = np.zeros(0)
    parts = np.zeros(0, dtype=np.int8), np.zeros(0, dtype=np.int64), nothing, nothing if tau is None else tau
    return PlanarDraw(*parts, np.array(above), np.array(flip), np.zeros(1), nothing if ends is None else ends)


def test_relations_are_products_along_the_way_to_the_root():
    above, flip = [0, 0, 1, 2, 3, 5, 5], [0, 1, 1, 0, 1, 0, 1]
    expected = [(0, 0), (0, 1), (0, 0), (0, 0), (0, 1), (5, 0), (5, 1)]
    for order in (range(7), range(6, -1, -1)):  # paths that were halved before lead to the same root
        draw_ = relations(above, flip)
        for v in order:
            assert find(draw_, v) == expected[v]
        assert [find(draw_, v) for v in range(7)] == expected


def test_groups_get_a_state_each_and_keep_their_relations():
    state, groups = kernel_state(np.random.SeedSequence(1)), []
    for _ in range(400):
        known, x = relations([0, 0, 1, 3, 3], [0, 1, 1, 0, 1]), np.zeros(5, dtype=np.uint8)
        finish(known, state, x)
        assert (x[1] != x[0], x[2] == x[0], x[4] != x[3]) == (True, True, True)
        assert known.log_probability[0] == -2 * np.log(2)
        groups.append(2 * x[0] + x[3])
    assert np.bincount(groups, minlength=4).min() > 50  # four equal states: 100 each


def test_exteriors_along_a_path_do_not_overlap():
    tree = Dissection(draw(mb.grid(5, 6))).tree
    slot, parent = np.full(tree.vertex.size, -1), np.full(tree.vertex.size, -2)
    height, size = exterior_slots(tree, slot, parent), np.diff(tree.first) ** 2
    assert (slot + size).max() == height
    for region in np.flatnonzero(tree.vertex < 0):
        for child in (region + 1, right_child(tree, region)):
            assert parent[child] == region
            assert slot[child] >= slot[region] + size[region]


def test_slopes_at_both_ends_are_entries_of_the_green_function():
    drawing = draw(mb.grid(4, 5))
    found, t = Dissection(drawing), np.tanh(np.random.default_rng(2).normal(size=drawing.sign.size))
    f, matrix = kac_ward(drawing, t)
    green, tau = f.toarray() @ np.linalg.inv(matrix.toarray()), t * drawing.sign
    buffers, ends = found._make_buffers(True, 1), np.full(2 * t.size, np.nan)
    inside(found.tree, buffers, tau, ORDER_ZERO)
    known = found._drawn(tau, np.zeros(0, dtype=np.int8), ends)
    descend(found.tree, buffers, found._exterior(), known, np.zeros(4, dtype=np.uint64))
    slope = green[::2, 1::2].diagonal()
    np.testing.assert_allclose(ends.reshape(-1, 2), np.stack([slope, slope], axis=1), atol=1e-11)


def test_relations_that_are_drawn_have_the_probability_that_is_booked():
    """Each draw knows its own log-probability; that is the one of the field at that draw."""
    model = mb.grid(3, 3)
    coupling = 1.5 * np.random.default_rng(3).normal(size=model.n_edges)
    pairs = np.asarray(model.edges)
    x, booked = Dissection(draw(model)).sample(np.tanh(coupling / 2), 50, kernel_state(np.random.SeedSequence(4)))
    expected = (x[:, pairs[:, 0]] == x[:, pairs[:, 1]]) @ coupling - oracles.binary_log_z(np.zeros(9), coupling, pairs)
    np.testing.assert_allclose(booked, expected, atol=1e-11)
    assert len(np.unique(x, axis=0)) > 10
