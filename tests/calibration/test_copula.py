"""Coins joined by a copula: cubics that join, constants of normal densities, quantiles of known distributions."""

import numpy as np
import pytest
from scipy import stats

import mrfbayes as mb
from mrfbayes.calibration import copula
from mrfbayes.calibration.matching import Coins

ROOT = np.array([[0.8, 0.3, 0.52], [0.0, 0.6, 0.8], [0.0, 0.0, 1.0]])
CORRELATION = ROOT @ ROOT.T


@pytest.fixture
def coins():
    return Coins(np.array([3.0, 9.0, 2.0]), np.array([5.0, 2.0, 2.0]), np.zeros(3), 0)


class Joint(copula.CopulaJoint):
    view = None


def log_constant(covariance):
    """Log density of a normal distribution at its mean."""
    return stats.multivariate_normal(cov=covariance).logpdf(np.zeros(len(covariance)))


def test_cubics_and_their_slopes_join(coins):
    cells = copula.coin_cells(coins)
    end, slope = cells.sum(axis=2), cells @ [0, 1, 2, 3]
    np.testing.assert_allclose(end[:, :-1], cells[:, 1:, 0], atol=1e-9)
    np.testing.assert_allclose(slope[:, :-1], cells[:, 1:, 1], atol=1e-9)


def test_constants_are_those_of_normal_densities(coins):
    offset = np.arange(4)
    whole = copula.copula_view(coins, CORRELATION, offset)
    assert whole.log_constant == pytest.approx(log_constant(CORRELATION))
    assert copula.factored_view(coins, ROOT, offset).log_constant == pytest.approx(log_constant(CORRELATION))
    held = copula.hold(whole, CORRELATION, np.array([1, 2]), np.array([0.3, 0.2]), np.array([0.1, 0.1]))
    precision = np.linalg.inv(CORRELATION)[0, 0]  # of the first, given the others
    assert held.log_constant == pytest.approx(log_constant(np.array([[1 / precision]])))


@pytest.mark.parametrize("probability", [0.05, 0.4, 0.95])
def test_quantiles_of_coins_without_eta_are_those_of_beta_distributions(probability, coins):
    chart = mb.graph([(0, 1), (1, 2), (2, 3)]).chart
    expected = stats.beta.ppf(probability, coins.a, coins.b)
    np.testing.assert_allclose(chart.theta(Joint(chart, coins).quantile(probability)), expected, rtol=1e-10)
