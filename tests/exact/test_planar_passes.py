"""Passes over a drawing: errors that they report, covariances and windows, against a dense Green function."""

import numpy as np
import pytest

import mrfbayes as mb
import oracles
import oracles_planar
from mrfbayes.exact import planar_passes
from mrfbayes.exact.planar_drawing import draw
from mrfbayes.exact.planar_passes import SHIFTS, Dissection, Tiling, covariance_columns, kac_ward, pairs_at_vertices
from mrfbayes.exact.recursions import GridRecursion


def test_pairs_are_all_those_within_a_vertex():
    row, column = pairs_at_vertices(np.array([2, 0, 3]))
    expected = [(a, b) for part in ((0, 1), (2, 3, 4)) for a in part for b in part]
    assert list(zip(row.tolist(), column.tolist(), strict=True)) == expected


@pytest.fixture
def field():
    """A grid of 7 x 8 nodes: its drawing, t, and the Green function H = F (I - T F)^-1."""
    model = mb.grid(7, 8)
    t = np.tanh(np.random.default_rng(1).normal(size=model.n_edges) / 2)
    drawing = draw(model)
    f, matrix = kac_ward(drawing, t)
    return drawing, t, f.toarray() @ np.linalg.inv(matrix.toarray())


def test_value_and_slopes_are_those_of_the_whole_matrix(field):
    """L = log det / 2, and its derivative by tau between the halves of an edge."""
    drawing, t, green = field
    found = Dissection(drawing)
    value = 0.5 * np.linalg.slogdet(kac_ward(drawing, t)[1].toarray())[1]
    assert found.log_z(t)[0] == pytest.approx(value, abs=1e-10)
    slope = green[::2, 1::2].diagonal() * drawing.sign
    for way in (found.gradient, found.gradient_at_ends):
        np.testing.assert_allclose(way(t)[1], slope, atol=1e-10)


@pytest.mark.parametrize("shift", SHIFTS)
def test_windows_have_the_green_function_of_the_whole_field(field, shift):
    drawing, t, green = field
    needed = np.zeros(t.size, dtype=bool)
    needed[[0, 20, t.size - 1]] = True
    tiling, edges = Tiling(drawing, 4, shift), []
    for window in tiling.windows(t, needed):
        halves = np.stack([2 * window.edge, 2 * window.edge + 1], axis=1).ravel()
        np.testing.assert_allclose(window.green, green[np.ix_(halves, halves)], atol=1e-10)
        edges += window.edge.tolist()
    assert len(edges) == len(set(edges)) < t.size
    within = np.flatnonzero(needed & (tiling.of_edge >= 0))
    assert set(within) <= set(edges)


def test_covariance_in_batches_is_that_of_all_states(monkeypatch):
    model = mb.grid(2, 4)
    coupling = np.random.default_rng(2).normal(size=model.n_edges)
    expected = oracles.binary_cumulants(np.zeros(8), coupling, np.asarray(model.edges))[1][8:, 8:]
    monkeypatch.setattr(planar_passes, "COLUMN_BATCH_BYTES", 64 * model.n_edges * 3)  # three columns at a time
    found, parts = np.full(expected.shape, np.nan), 0
    for which, block, error in covariance_columns(draw(model), np.tanh(coupling / 2)):
        found[:, which] = block
        parts += 1
        assert error < 1e-12
    assert parts == 4
    np.testing.assert_allclose(found, expected, atol=1e-13)


def test_the_error_of_counts_is_known():
    """The estimate is within a factor of twenty of the truth wherever the truth can be seen at all."""
    model = mb.grid(12, 12)
    other = GridRecursion(model)
    found = Dissection(draw(model))
    for strength in (0.99, 0.995, 0.999):
        theta = np.random.default_rng(3).choice([1 - strength, strength], size=model.n_edges)
        mean = other.moments(np.zeros(model.n_nodes), np.log(theta) - np.log1p(-theta))[2]
        for way in (found.gradient, found.gradient_at_ends):
            _, slope, error = way(2 * theta - 1)
            truth = np.abs(theta + 2 * theta * (1 - theta) * slope - mean).max()
            assert truth / 20 < error < 20 * truth


def test_a_grid_with_products_large_enough_for_blas_has_the_kac_ward_determinant():
    rng = np.random.default_rng(2)
    model = mb.grid(40, 40)
    t = rng.uniform(-0.9, 0.9, size=model.n_edges)
    found, places = Dissection(draw(model)), np.stack(np.divmod(np.arange(1600), 40)[::-1], axis=1)
    constants = (np.logaddexp(0.0, 2 * np.arctanh(t)) - np.log(2.0)).sum() + 1600 * np.log(2.0)
    log_z = oracles_planar.kac_ward_log_z(places.astype(float), np.asarray(model.edges), 2 * np.arctanh(t))
    assert found.log_z(t)[0] + constants == pytest.approx(log_z, rel=1e-12)
    np.testing.assert_allclose(found.gradient(t)[1], found.gradient_at_ends(t)[1], atol=1e-11)
