"""Priors inside kernels against SciPy's densities and against differences."""

import numba
import numpy as np
import pytest
from scipy import stats

from mrfbayes.kernels.priors import exchangeable_precision, is_inside, log_prior, log_prior_gradient, log_prior_w
from mrfbayes.model.build import graph
from mrfbayes.priors import Cauchy, Dirichlet, Exchangeable, Logistic, Normal, Prior

MODEL = graph([(0, 1), (1, 2)], states=[3, 2, 2], fields=True, coupling="table")
DENSITIES = {
    "normal": (Normal(0.3, 1.5), stats.norm(0.3, 1.5)),
    "cauchy": (Cauchy(-0.2, 2.5), stats.cauchy(-0.2, 2.5)),
    "logistic": (Logistic(0.1, 0.7), stats.logistic(0.1, 0.7)),
}


@pytest.fixture
def points():
    """Two points w and their theta."""
    w = np.random.default_rng(1).normal(size=(2, MODEL.n_parameters))
    return w, np.array([MODEL.chart.theta(row) for row in w])


def jacobian(theta):
    """log |d theta / d w|: the logs of all outcomes' weights."""
    return np.log(theta).sum() + np.log(MODEL.chart.last_weight(theta)).sum()


@pytest.mark.parametrize("name", DENSITIES)
def test_densities_of_log_odds_are_those_of_scipy(name, points):
    given, density = DENSITIES[name]
    view = Prior(MODEL, [given] * (MODEL.chart.offset.size - 1)).view
    (w, other), (theta, other_theta) = points
    expected = density.logpdf(w).sum() - density.logpdf(other).sum()
    found = [log_prior_w(view, row, at, jacobian(at)) for row, at in zip((w, other), (theta, other_theta), strict=True)]
    assert found[0] - found[1] == pytest.approx(expected, rel=1e-12)
    in_theta = [log_prior(view, at) + jacobian(at) for at in (theta, other_theta)]
    assert in_theta[0] - in_theta[1] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("given", [Dirichlet(1.7), Cauchy(0.4, 1.0), Exchangeable(1.3)], ids=str)
def test_gradient_is_added_and_is_that_of_the_value(given, points):
    view, w = Prior(MODEL, [given] * (MODEL.chart.offset.size - 1)).view, points[0][0]
    gradient, spare, step = np.ones(w.size), np.zeros(w.size), 1e-6
    assert np.isfinite(log_prior_gradient(view, w, gradient))
    for j in range(w.size):
        ends = [log_prior_gradient(view, w + s * step * (np.arange(w.size) == j), spare) for s in (1, -1)]
        assert gradient[j] - 1 == pytest.approx((ends[0] - ends[1]) / (2 * step), abs=1e-7)


def test_precision_of_a_table_is_the_inverse_covariance_of_double_centred_cells():
    """Of 3 x 4 independent cells with sd scale / 2: contrasts with the last row and the last column."""
    rows, columns, scale = 2, 3, 0.8
    one = [np.eye(n + 1)[:n] - np.eye(n + 1)[n] for n in (rows, columns)]  # each less the last
    contrast = np.kron(*one)
    covariance = contrast @ contrast.T * (scale / 2) ** 2
    found = [[exchangeable_precision(rows, columns, scale, i, j) for j in range(6)] for i in range(6)]
    np.testing.assert_allclose(np.array(found) @ covariance, np.eye(6), atol=1e-12)


def test_border_of_the_parameter_space_is_outside():
    coins, dice = np.arange(4), np.array([0, 2, 3])
    for offset in (coins, dice):
        assert is_inside(offset, np.array([0.4, 0.5, 0.6]))
        for bad in ([0.0, 0.5, 0.6], [0.4, 0.5, 1.0], [0.4, -0.1, 0.6], [0.4, np.nan, 0.6]):
            assert not is_inside(offset, np.array(bad))
    assert is_inside(coins, np.array([0.5, 0.5, 0.6]))
    assert not is_inside(dice, np.array([0.5, 0.5, 0.6]))  # nothing is left for the last side


def test_a_compiled_function_is_called_inside_only(points):
    @numba.cfunc("float64(CPointer(float64), int64)")
    def weighted(theta, p):
        return 10.0 * theta[0] + theta[p - 1]

    view, theta = Prior(MODEL, weighted).view, points[1][0]
    assert log_prior(view, theta) == pytest.approx(10 * theta[0] + theta[-1])
    assert log_prior_w(view, points[0][0], theta, 0.25) == pytest.approx(10 * theta[0] + theta[-1] + 0.25)
    assert log_prior_w(view, points[0][0], np.zeros(theta.size), 0.25) == -np.inf
