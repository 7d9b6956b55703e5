"""Dissections of drawings region by region, and log Z inside chains against enumeration."""

import numpy as np
import pytest

import mrfbayes as mb
import oracles
import oracles_planar
from mrfbayes.exact.planar import PlanarRecursion
from mrfbayes.exact.planar_drawing import draw
from mrfbayes.kernels.exact.planar_inside import (
    dissect,
    kept_slots,
    log_z_error,
    planar_log_z,
    right_child,
    stacked_slots,
)

TRIANGLES = 40


@pytest.fixture(scope="module")
def dissection():
    """A triangulation: its tree, and the vertices of every region."""
    drawing = draw(mb.graph(oracles_planar.delaunay_pairs(TRIANGLES, 0.9, np.random.default_rng(1))[1]))
    places = drawing.x, drawing.y
    tree = dissect(drawing.offset, drawing.half, drawing.end, places, places)
    inside = [set() for _ in tree.vertex]
    for region in range(len(tree.vertex) - 1, -1, -1):
        if tree.vertex[region] >= 0:
            inside[region] = {int(tree.vertex[region])}
        else:
            inside[region] = inside[region + 1] | inside[right_child(tree, region)]
    return drawing, tree, inside


def test_regions_are_halved_down_to_single_vertices(dissection):
    drawing, tree, inside = dissection
    assert inside[0] == set(range(drawing.n_vertices))
    assert [len(part) for part in inside] == tree.n_within.tolist()
    for region in np.flatnonzero(tree.vertex < 0):
        parts = inside[region + 1], inside[right_child(tree, region)]
        assert parts[0].isdisjoint(parts[1])
        assert min(map(len, parts)) >= len(inside[region]) // 4


def test_dangling_half_edges_are_those_that_leave_a_region(dissection):
    """Those that its parent keeps come first, with their places there; every edge is cut once."""
    drawing, tree, inside = dissection
    end = drawing.end
    for region, part in enumerate(inside):
        dangling = tree.dangling[tree.first[region] : tree.first[region + 1]]
        expected = [h for h in range(end.size) if end[h] in part and end[h ^ 1] not in part]
        assert sorted(dangling) == expected
    for region in np.flatnonzero(tree.vertex < 0):
        cut = tree.cut[tree.cut_first[region] : tree.cut_first[region + 1]]
        parent = tree.dangling[tree.first[region] : tree.first[region + 1]]
        for child, shared in ((region + 1, cut), (right_child(tree, region), cut ^ 1)):
            first, stop = tree.first[child], tree.first[child + 1]
            assert all(end[h] in inside[child] for h in shared)
            np.testing.assert_array_equal(tree.dangling[stop - len(shared) : stop], shared)
            kept = slice(first, stop - len(shared))
            np.testing.assert_array_equal(tree.dangling[kept], parent[tree.place[kept]])
    assert sorted(tree.cut // 2) == list(range(end.size // 2))


def test_slots_of_what_is_needed_at_once_do_not_overlap(dissection):
    _, tree, _ = dissection
    size = np.diff(tree.first) ** 2
    for make, needed in ((stacked_slots, None), (kept_slots, np.flatnonzero(tree.vertex < 0))):
        slot = np.full(size.size, -1)
        height = make(tree, slot)
        assert (slot + size).max() <= height
        groups = [needed] if needed is not None else []
        groups += [[r + 1, right_child(tree, r)] for r in np.flatnonzero(tree.vertex < 0)]
        for group in groups:
            cells = np.concatenate([np.arange(slot[r], slot[r] + size[r]) for r in group])
            assert np.unique(cells).size == cells.size


@pytest.mark.parametrize("around", [[], [0, 1, 2]])
def test_log_z_inside_chains_is_that_of_all_states(around):
    agree, one = [[0, 1], [1, 0]], [1, 0]
    pairs = oracles.grid_pairs(3, 3)
    factors = [mb.Factor((f"v{u}", f"v{v}"), outcomes=agree) for u, v in pairs]
    factors += [mb.Factor((f"v{u}",), outcomes=one) for u in around]
    model, rng = mb.Model([f"v{i}" for i in range(9)], factors), np.random.default_rng(2)
    plan = PlanarRecursion(draw(model)).plan()
    for _ in range(2):  # the room of the plan is used again
        field, coupling = np.zeros(9), 2 * rng.normal(size=len(model.edges))
        field[around] = rng.normal(size=len(around))
        expected = oracles.binary_log_z(field, coupling, np.asarray(model.edges))
        assert planar_log_z(plan, field, coupling) == pytest.approx(expected, rel=1e-13)


def test_lost_digits_are_infinite():
    model = mb.grid(12, 12)
    theta = np.random.default_rng(3).choice([1e-4, 1 - 1e-4], size=model.n_edges)
    plan = PlanarRecursion(draw(model)).plan()
    assert planar_log_z(plan, np.zeros(144), np.log(theta) - np.log1p(-theta)) == np.inf
    assert log_z_error(144, 0.0) == np.inf
    assert log_z_error(144, 1e-5) == pytest.approx(2.0**-52 * 1e10, rel=0.01)
