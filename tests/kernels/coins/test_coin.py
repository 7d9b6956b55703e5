"""The coin's integrals against 25-digit ones; tails, quantiles and tables against each other."""

import mpmath as mp
import numpy as np
import pytest
from scipy.special import log_ndtr, ndtri

from coin_oracles import distribution
from mrfbayes.coins.coin import coin_rows
from mrfbayes.kernels.base import normal
from mrfbayes.kernels.coins import coin as kernels
from mrfbayes.kernels.coins import scores

CASES = [
    (3, 10, 0.3),
    (1, 1, 2.0),
    (2.5, 7.25, -4.0),
    (0, 1000, -1.0),
    (700, 1000, 0.5),
    (4 * 10**8, 10**9, 0.2),
]
EXTREME = [
    *CASES,
    (0, 1, 0.0),
    (3, 10**9, 1.5),
    (0, 1, -30.0),
    (1, 1, -30.0),  # a plateau thirty log-odds wide
    (0, 10**9, 0.1),
    (10**9, 10**9, -0.1),
    (5, 6, 12.0),
    (1, 2, 0.0),
    (0.5, 1.5, 1.0),
]
FORMS = ("printed", "gbd")


def make(alpha, n, h, form):
    return coin_rows(np.array([float(alpha)]), np.array([float(n - alpha)]), np.array([float(h)]), form)[0]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("alpha", "n", "h"), CASES)
def test_against_mpmath(alpha, n, h, form):
    row = make(alpha, n, h, form)
    z = np.array([-6.0, -3.0, -1.0, 0.0, 1.0, 3.0, 6.0])
    points = [kernels.quantile(row, v) for v in z]
    ends = kernels.quantile(row, -12.0), kernels.quantile(row, 12.0)
    tails, mean, variance, logs = distribution(alpha, n, h, form, points, *ends)
    bulk = 1e-13 if n < 10**6 else 3e-11  # at n = 10^9 a rounding of w moves the density by that much
    for v, w, (lower, upper), log in zip(z, points, tails, logs, strict=True):
        log_lower, log_upper = kernels.log_cdf_sf(row, w)
        assert abs(mp.exp(mp.mpf(log_lower)) / lower - 1) < bulk
        assert abs(mp.exp(mp.mpf(log_upper)) / upper - 1) < bulk
        assert abs(kernels.log_density(row, w) - log) < bulk
        assert abs(kernels.normal_score(row, w) - v) < 1e-13 * (1 + abs(v)) * (1 if n < 10**6 else 100)
    found_mean, found_variance = kernels.moments(row)
    assert abs(found_mean - mean) < 1e-10 * mp.sqrt(variance)
    assert abs(found_variance / variance - 1) < 1e-10


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("alpha", "n", "h"), EXTREME)
def test_both_tails_are_finite_and_monotone(alpha, n, h, form):
    row = make(alpha, n, h, form)
    near = [kernels.quantile(row, v) for v in np.linspace(-8, 8, 81)]
    w = np.unique(np.concatenate([np.linspace(-27.7, 27.7, 150), near]))
    lower, upper = np.array([kernels.log_cdf_sf(row, v) for v in w]).T
    score = np.array([kernels.normal_score(row, v) for v in w])
    assert np.isfinite(score).all()
    slack = 1e-9 * (1 + np.abs(score[1:]))  # a step of one rounding at n = 10^9
    assert (np.diff(score) > -slack).all()
    far = np.diff(w) > 1e-3
    assert (np.diff(score)[far] > 0).all()
    small = lower < np.log(0.5)
    assert np.isfinite(lower[small]).all()
    assert np.isfinite(upper[~small]).all()
    np.testing.assert_allclose(np.exp(lower) + np.exp(upper), 1.0, atol=1e-14)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("alpha", "n", "h"), EXTREME)
def test_quantiles_invert_scores(alpha, n, h, form):
    row = make(alpha, n, h, form)
    for z in (-8.0, -2.5, -0.1, 0.0, 1.0, 8.0):
        assert abs(kernels.normal_score(row, kernels.quantile(row, z)) - z) < 1e-9


def test_gbd_is_a_beta():
    from scipy.stats import beta

    alpha, n, h = 37.0, 90.0, -0.7
    row = make(alpha, n, h, "gbd")
    w = np.linspace(-2, 3, 21)
    found = np.array([np.exp(kernels.log_cdf_sf(row, v)[0]) for v in w])
    np.testing.assert_allclose(found, beta(alpha + 1, n - alpha + 1).cdf(1 / (1 + np.exp(-(w + h)))), rtol=1e-11)


def test_log_total_is_the_integral():
    alpha, n, h = 7.0, 12.0, 0.8
    theta = np.polynomial.legendre.leggauss(60)
    t, weights = (theta[0] + 1) / 2, theta[1] / 2
    eta = 1 / (1 + np.exp(-h))
    lam = eta * t / (eta * t + (1 - eta) * (1 - t))
    value = np.log(weights @ (lam**alpha * (1 - lam) ** (n - alpha)))
    assert abs(kernels.log_total(make(alpha, n, h, "printed")) - value) < 1e-12


def test_normal_in_log_scale():
    x = np.concatenate([np.linspace(0, 60, 601), [34.999999, 35.000001, 1e4]])
    found = np.array([normal.log_upper_tail(v) for v in x])
    np.testing.assert_allclose(found, log_ndtr(-x), rtol=2e-15, atol=1e-15)
    logs = np.concatenate([-np.geomspace(np.log(2), 1e8, 400), np.log(np.linspace(0.01, 0.5, 50))])
    again = np.array([normal.log_upper_tail(normal.upper_quantile(v)) for v in logs])
    np.testing.assert_allclose(again, logs, rtol=1e-14)
    for p in (1e-5, 0.3, 0.5, 0.7, 0.999):
        assert abs(normal.quantile_from_tail(np.log(p), False) - ndtri(p)) < 1e-13
        assert abs(normal.quantile_from_tail(np.log(p), True) + ndtri(p)) < 1e-13


@pytest.mark.parametrize(("alpha", "n", "h"), [case for case in EXTREME if case[:2] != (1, 1) or case[2] > 0])
def test_score_tables_keep_their_error(alpha, n, h):
    row = make(alpha, n, h, "printed")
    cells, rows, error = scores.all_tables(row[None, :], scores.SCORES)
    first, count, low, per_unit = rows[0, :4]
    assert error <= scores.SCORE_ERROR
    assert first == 0
    assert low <= max(-scores.LOG_ODDS_LIMIT, kernels.quantile(row, -scores.SCORE_LIMIT))
    x = np.random.default_rng(3).uniform(0, count, 200)
    k = x.astype(int)
    c, f = cells[k], x - k
    found = c[:, 0] + f * (c[:, 1] + f * (c[:, 2] + f * c[:, 3]))
    exact = np.array([kernels.normal_score(row, low + v / per_unit) for v in x])
    assert np.abs(found - exact).max() < 1.5 * scores.SCORE_ERROR


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("alpha", "n", "h"), EXTREME)
def test_draw_tables_keep_their_error(alpha, n, h, form):
    row = make(alpha, n, h, form)
    coins = row[None, :]
    cells, rows, error = scores.all_tables(coins, scores.DRAWS)
    assert error <= scores.DRAW_ERROR
    z = np.concatenate([np.linspace(-9, 9, 181), np.random.default_rng(4).normal(size=100)])
    values = z.reshape(-1, 1).copy()
    scores.thetas_of_normals(coins, cells, rows, values)
    w = np.array([kernels.quantile(row, v) for v in z])
    exact = np.where(w < 0, np.exp(np.minimum(w, 0)), 1) / (1 + np.exp(-np.abs(w)))
    found = values[:, 0]
    assert np.abs(found - exact).max() < 1e-9
    # and small values are right relative to themselves
    assert np.abs(found / exact - 1).max() < 2 * scores.RELATIVE_ERROR
    assert ((found > 0) & (found <= 1)).all()
