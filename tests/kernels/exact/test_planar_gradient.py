"""Derivatives of log Z by the adjoint of the merges, against the Green function and against differences."""

import numpy as np
import pytest

import mrfbayes as mb
from mrfbayes.exact.planar_drawing import draw
from mrfbayes.exact.planar_passes import Dissection
from mrfbayes.kernels.exact.planar_gradient import gather, gradient
from mrfbayes.kernels.exact.planar_inside import inside
from mrfbayes.kernels.exact.planar_merge import ORDER_ZERO


@pytest.fixture(params=["grid", "wheel"])
def dissection(request):
    wheel = [(0, i) for i in range(1, 8)] + [(i, i % 7 + 1) for i in range(1, 8)]
    return Dissection(draw(mb.grid(4, 5) if request.param == "grid" else mb.graph(wheel)))


def slopes(dissection, tau, orders):
    """Derivatives by tau of each edge, (terms, m), and tau times them at both ends, by `gradient` itself."""
    tree, buffers = dissection.tree, dissection._make_buffers(True, len(orders))
    inside(tree, buffers, tau, orders)
    slope, ends = np.full(tau.size, np.nan), np.full(2 * tree.cut.size, np.nan)
    gradient(tree, buffers, tau, slope, ends, orders)
    by_edge = np.empty((len(orders), tree.cut.size))
    by_edge[:, tree.cut // 2] = np.where(tree.cut % 2, -1, 1) * slope.reshape(len(orders), -1)
    return by_edge, ends


def value(dissection, tau):
    return inside(dissection.tree, dissection._make_buffers(False, 1), tau, ORDER_ZERO)[0]


def test_slopes_are_differences_of_the_upward_pass(dissection):
    m, step = dissection.drawing.sign.size, 1e-6
    tau = np.random.default_rng(1).uniform(-0.8, 0.8, size=m)
    (slope,), ends = slopes(dissection, tau, ORDER_ZERO)
    for e in range(m):
        moved = [value(dissection, tau + s * step * (np.arange(m) == e)) for s in (1, -1)]
        assert slope[e] == pytest.approx((moved[0] - moved[1]) / (2 * step), abs=1e-8)
    np.testing.assert_allclose(ends.reshape(m, 2), np.stack([tau * slope] * 2, axis=1), atol=1e-12)


def test_terms_of_a_series_are_differences_of_slopes(dissection):
    rng, m, step = np.random.default_rng(2), dissection.drawing.sign.size, 1e-4
    tau, along = rng.uniform(-0.8, 0.8, size=m), rng.normal(size=m)
    series = np.concatenate([tau, along, np.zeros(m)])
    (here, first, second), _ = slopes(dissection, series, (0, 1, 2))
    ahead, behind = (slopes(dissection, tau + s * step * along, ORDER_ZERO)[0][0] for s in (1, -1))
    np.testing.assert_allclose(first, (ahead - behind) / (2 * step), atol=1e-6 * np.abs(first).max())
    np.testing.assert_allclose(second, (ahead - 2 * here + behind) / (2 * step**2), atol=1e-5 * np.abs(second).max())


def test_gathered_rows_and_columns():
    matrix, places, work = np.arange(9.0), np.array([2, 0, 1]), np.zeros(12)
    gather(matrix, (0, 3), places, work, 3, ORDER_ZERO)
    np.testing.assert_array_equal(work[3:].reshape(3, 3), matrix.reshape(3, 3)[np.ix_(places, places)])
