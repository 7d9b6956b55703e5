"""Draws through a copula against the change of variables, and coins from their cumulants."""

import numpy as np
import pytest
from scipy.special import log_softmax, logsumexp

from mrfbayes.base.random_streams import kernel_state
from mrfbayes.calibration.copula import copula_view
from mrfbayes.calibration.matching import Coins, coin_moments
from mrfbayes.kernels.base.polygamma import inverse_trigamma, polygammas
from mrfbayes.kernels.calibration.copula import correlate, draw_log_odds, draw_rows, match_cumulants, theta_into


@pytest.fixture
def copula():
    """Five coins with correlations of an autoregression, as the kernels take them."""
    coins = Coins(np.array([3.0, 9.0, 2.0, 4.0, 1.5]), np.array([5.0, 2.0, 2.0, 30.0, 6.0]), np.zeros(5), 0)
    return copula_view(coins, 0.6 ** np.abs(np.subtract.outer(np.arange(5), np.arange(5))), np.arange(6))


def test_correlated_scores_are_the_factor_times_normals():
    rng = np.random.default_rng(1)
    factor, normals = np.tril(rng.normal(size=(7, 7))), rng.normal(size=7)
    out = np.full(7, np.nan)
    correlate(np.ascontiguousarray(factor.T), normals, out)
    np.testing.assert_allclose(out, factor @ normals, atol=1e-14)


def test_density_of_a_draw_is_that_of_the_map_that_made_it(copula):
    """log q = log N(eps) - log |det dw / d eps|, by differences; far out, too, where quantiles go on straight."""
    for normals in (np.array([0.3, -1.2, 0.8, 0.1, -0.4]), np.array([9.5, 0.2, -0.3, 0.6, -9.0])):
        scores, w, step = np.empty(5), np.empty(5), 1e-6
        found = draw_log_odds(copula, normals.copy(), scores, w)
        slope = np.empty((5, 5))
        for j in range(5):
            ends = []
            for s in (1, -1):
                draw_log_odds(copula, normals + s * step * (np.arange(5) == j), scores, w)
                ends.append(w.copy())
            slope[:, j] = (ends[0] - ends[1]) / (2 * step)
        normal = -0.5 * normals @ normals - 2.5 * np.log(2 * np.pi)
        assert found == pytest.approx(normal - np.linalg.slogdet(slope)[1], abs=1e-6)


def test_draws_have_the_marginals_of_their_coins(copula):
    w = np.empty((20_000, 5))
    draw_rows(copula, kernel_state(np.random.SeedSequence(2)), w)
    a, b = np.array([3.0, 9.0, 2.0, 4.0, 1.5]), np.array([5.0, 2.0, 2.0, 30.0, 6.0])
    mean = a / (a + b)
    sd = np.sqrt(a * b / (a + b + 1)) / (a + b)
    error = (1 / (1 + np.exp(-w))).mean(axis=0) - mean
    assert np.abs(error / sd * np.sqrt(len(w))).max() < 5.5
    scores = np.corrcoef(w, rowvar=False)  # nearly those of the normals
    assert 0.5 < scores[0, 1] < 0.65
    assert 0.1 < scores[0, 3] < 0.3


def test_theta_and_the_log_of_its_jacobian():
    """The sum of the logs of the weights of all outcomes, where weights round to 0 or 1 as well."""
    coins, dice = np.arange(6), np.array([0, 2, 3, 5])
    for w in (np.array([0.3, -1.2, 2.0, 0.0, -0.7]), np.array([400.0, -350.0, 30.0, -500.0, 1.0])):
        theta = np.empty(5)
        expected = -np.logaddexp(0, w) - np.logaddexp(0, -w)
        assert theta_into(coins, w, theta) == pytest.approx(expected.sum(), rel=1e-12)
        np.testing.assert_allclose(theta, np.exp(-np.logaddexp(0, -w)), rtol=1e-12)
        blocks = [np.append(w[a:b], 0.0) for a, b in ((0, 2), (2, 3), (3, 5))]
        expected = sum(block.sum() - block.size * logsumexp(block) for block in blocks)
        assert theta_into(dice, w, theta) == pytest.approx(expected, rel=1e-12)
        np.testing.assert_allclose(theta, np.concatenate([np.exp(log_softmax(b))[:-1] for b in blocks]), rtol=1e-12)


def test_cumulants_of_a_coin_give_the_coin_back():
    rng = np.random.default_rng(0)
    a, b = np.exp(rng.uniform(-1, 6, (2, 300)))
    coins = Coins(a, b, np.zeros(300), 0)
    _, variance, third, _ = coin_moments(coins)
    found_a, found_b = np.empty(300), np.empty(300)
    clipped = match_cumulants(variance, third, found_a, found_b)
    inside = np.array(
        [abs(t) < -0.98 * polygammas(inverse_trigamma(v))[2] for v, t in zip(variance, third, strict=True)]
    )
    assert inside.sum() > 150
    assert clipped <= 300 - inside.sum()
    np.testing.assert_allclose(found_a[inside], a[inside], rtol=1e-9)
    np.testing.assert_allclose(found_b[inside], b[inside], rtol=1e-9)
