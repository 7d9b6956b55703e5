"""Coins with given cumulants: there and back, and what no coin can do."""

import numpy as np

from mrfbayes.calibration.matching import (
    Coins,
    coin_log_density,
    coin_moments,
    match,
    match_loop,
    skewness_doubts,
)
from mrfbayes.kernels.base.polygamma import polygammas
from mrfbayes.kernels.calibration.copula import match_cumulants


def test_moments_are_those_of_the_density():
    """By quadrature: mass, mean, variance, third and fourth cumulant of w, with the external effect taken off."""
    coins = Coins(np.array([3.0, 40.0]), np.array([8.0, 1.5]), np.array([0.4, -1.0]), 0)
    w, step = np.linspace(-40, 60, 200_001, retstep=True)
    density = np.exp(coin_log_density(coins, w[:, None])) * step
    np.testing.assert_allclose(density.sum(axis=0), 1, rtol=1e-9)
    mean = w @ density
    np.testing.assert_allclose(coins.mean, mean, rtol=1e-8)
    centred = w[:, None] - mean
    second, third, fourth = ((centred**k * density).sum(axis=0) for k in (2, 3, 4))
    np.testing.assert_allclose(coin_moments(coins)[1:], [second, third, fourth - 3 * second**2], rtol=1e-6)


def test_loop_variances_are_those_of_the_coins():
    """Not relative: mean, variance and third cumulant of the coins are the numbers that were given."""
    mode, third, shift = np.array([0.3, -1.0]), np.array([0.002, -0.01]), np.array([0.02, -0.05])
    variance = np.array([0.08, 0.2])
    coins = match_loop(mode, np.array([0.07, 0.18]), third, shift, variance, relative=False)
    assert coins.clipped == 0
    np.testing.assert_allclose(coins.mean, mode + shift, rtol=1e-9)
    np.testing.assert_allclose(coin_moments(coins)[1:3], [variance, third], rtol=1e-7)


def test_what_no_coin_can_do_is_clipped_and_counted():
    spread, third = np.array([0.1, 0.1, 0.1]), np.array([0.005, 0.0101, -0.5])  # |kappa| must stay below S^2 = 0.01
    coins = match(np.zeros(3), spread, third, np.zeros(3))
    assert coins.clipped == 2
    np.testing.assert_allclose(1 / coins.a + 1 / coins.b, spread)
    a, b = np.empty(3), np.empty(3)
    assert match_cumulants(spread, third, a, b) == 2
    np.testing.assert_allclose([polygammas(x)[1] + polygammas(y)[1] for x, y in zip(a, b, strict=True)], spread)


def test_missed_skewness_is_spoken_of_where_it_shows():
    """A coin of spread S has |kappa| below S^2: beyond it by 0.05 S^1.5 it is not seen, by 0.5 S^1.5 one does."""
    spread = np.array([0.01, 0.04])
    assert not skewness_doubts(spread, spread**2 + 0.05 * spread**1.5)
    (text,) = skewness_doubts(spread, np.array([-1, 1]) * (spread**2 + np.array([0.5, 0.05]) * spread**1.5))
    assert "1 of 2 coins are less skewed than the posterior" in text


def test_parameters_that_data_hardly_bound_are_spoken_of():
    """Skewness 2.8 is that of the threshold of a constant column, 0.6 that of a column with one cell that differs."""
    variance = np.array([9.0, 0.5])
    assert not skewness_doubts(variance, 0.6 * variance**1.5)
    (text,) = skewness_doubts(variance, np.array([-2.8, 0.6]) * variance**1.5)
    assert "1 of 2 parameters are hardly bounded by the data (skewness 2.8)" in text
