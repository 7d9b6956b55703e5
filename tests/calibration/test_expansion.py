"""Calibrated coins against cumulants by enumeration, and the cases in which they must come out exactly."""

import numpy as np
import pytest

import mrfbayes as mb
from calibration.expansion_cases import calibrated_numbers
from mrfbayes.calibration.matching import match, match_loop
from mrfbayes.calibration.one_loop import Effort, one_loop
from mrfbayes.particles.moments import row_statistics

SEED = np.random.SeedSequence(7)


def coins_both_ways(mode, order, n):
    spread = np.diag(mode.covariance)
    numbers = (mode.w, spread, order.third, order.shift)
    variance = one_loop(mode, n, order, SEED, Effort(samples=4_096, pairs=2_048))
    return match(*numbers), match_loop(*numbers, np.diag(variance), True)


def test_a_tree_comes_out_exactly():
    """Agreement coins on a tree are independent: lambda = theta ~ Beta(alpha + 1, n - alpha + 1), eta = 1/2."""
    model = mb.graph([(0, 1), (1, 2), (1, 3), (3, 4)])
    counts, n = np.array([13.0, 4.0, 20.0, 9.0]), 20.0  # the third edge always agrees: no finite MLE
    mode, order = calibrated_numbers(model, counts, n)
    for coins in coins_both_ways(mode, order, n):
        np.testing.assert_allclose(coins.a, counts + 1, rtol=1e-8)
        np.testing.assert_allclose(coins.b, n - counts + 1, rtol=1e-8)
        np.testing.assert_allclose(coins.log_odds_eta, 0, atol=1e-8)
    assert np.abs(mode.covariance - np.diag(np.diag(mode.covariance))).max() < 1e-12


def test_a_single_coin_comes_out_exactly_under_a_beta_prior():
    model = mb.graph([(0, 1)])
    mode, order = calibrated_numbers(model, np.array([3.0]), 10.0, "beta(2.5, 0.7)")
    for coins in coins_both_ways(mode, order, 10.0):
        assert coins.a == pytest.approx(5.5, rel=1e-9)
        assert coins.b == pytest.approx(7.7, rel=1e-9)
        assert coins.log_odds_eta == pytest.approx(0, abs=1e-9)


def test_the_log_odds_of_a_single_die_come_out_exactly():
    """Of a Dirichlet, theta_k / (theta_k + theta_K) is Beta(alpha_k, alpha_K)."""
    model = mb.Model({"x": 4}, [mb.Factor("x", outcomes=np.arange(4))])
    counts, n = np.array([7.0, 0.0, 11.0]), 20.0
    mode, order = calibrated_numbers(model, counts, n)
    coins = coins_both_ways(mode, order, n)[0]
    np.testing.assert_allclose(coins.a, counts + 1, rtol=1e-5)
    np.testing.assert_allclose(coins.b, n - counts.sum() + 1, rtol=1e-5)
    np.testing.assert_allclose(coins.log_odds_eta, 0, atol=1e-5)


def test_statistics_of_rows():
    model = mb.graph([(0, 1), (1, 2)], states=3, tied=True, fields=True, coupling="score")
    rows = np.array([[0, 2, 1], [1, 1, 2]], dtype=np.uint8)
    np.testing.assert_allclose(row_statistics(model, rows)[:, 0], [2, 3])
