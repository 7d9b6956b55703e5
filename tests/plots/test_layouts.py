"""Places of nodes and of their names."""

import numpy as np
import pytest

import mrfbayes as mb
from mrfbayes.plots.layouts import SIDES, _apart, label_sides, positions


def test_names_stand_where_they_cover_neither_nodes_nor_names():
    rng = np.random.default_rng(2)
    places, wide, tall, gap = rng.uniform(-1, 1, (17, 2)), np.full(17, 0.3), 0.06, 0.05
    half = np.array([0.15, 0.03])

    def covered(side):
        centres = places + SIDES[side] * (half + gap)
        pairs = np.abs(centres[:, None] - centres) < 2 * half
        nodes = np.abs(centres[:, None] - places) < half
        return (pairs.all(axis=2).sum() - 17) // 2 + nodes.all(axis=2).sum()

    side = label_sides(places, wide, tall, gap)
    outwards = np.where(places[:, 0] > 0, 0, 1)
    assert covered(side) == 0 < covered(outwards)


def test_a_circle_begins_at_the_top_and_goes_clockwise():
    model = mb.complete(list("abcd"))
    np.testing.assert_allclose(positions(model, "circle"), [[0, 1], [1, 0], [0, -1], [-1, 0]], atol=1e-12)


def test_pixels_stand_as_in_the_image():
    places = positions(mb.grid(2, 3))
    np.testing.assert_array_equal(places, [[0, 0], [1, 0], [2, 0], [0, -1], [1, -1], [2, -1]])
    mask = np.array([[False, True], [True, True]])
    np.testing.assert_array_equal(positions(mb.grid(2, 2, mask=mask)), [[1, 0], [0, -1], [1, -1]])


def test_springs_pull_strong_edges_together_and_keep_nodes_apart():
    model = mb.complete([str(k) for k in range(6)])
    strength = np.where((model.edges == [0, 1]).all(axis=1), 1.0, 0.05)
    places = positions(model, "spring", strength)
    distance = np.hypot(*np.moveaxis(places[:, None] - places, 2, 0))[np.triu_indices(6, 1)]
    assert np.abs(places).max() <= 1 + 1e-12
    assert distance.argmin() == 0  # of the first edge
    assert distance.min() > 0.9 / np.sqrt(6) * 0.99


def test_nodes_that_cover_each_other_are_moved_apart():
    places = np.array([[0.0, 0.0], [0.02, 0.0], [0.9, 0.9], [-0.9, 0.9], [-0.9, -0.9], [0.9, -0.9]])
    moved = _apart(places)
    assert np.hypot(*(moved[1] - moved[0])) > 0.99 * 0.9 / np.sqrt(6)
    assert moved[0, 0] < 0 < moved[1, 0]  # away from each other
    np.testing.assert_array_equal(moved[2:], places[2:])


def test_places_by_name_are_put_in_the_order_of_the_nodes():
    model = mb.graph([("a", "b")])
    np.testing.assert_array_equal(positions(model, {"b": (3, 4), "a": (1, 2)}), [[1, 2], [3, 4]])
    with pytest.raises(mb.InputError, match="layout = 'foo': choose one of 'auto', 'circle'"):
        positions(mb.grid(2, 2), "foo")
    with pytest.raises(mb.InputError, match="layout: expected numbers"):
        positions(mb.grid(1, 1), [["a", "b"]])
    with pytest.raises(mb.InputError, match=r"shape \(3, 2\)"):
        positions(model, np.zeros((3, 2)))
