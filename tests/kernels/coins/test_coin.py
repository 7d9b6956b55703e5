"""The coin's integrals against 25-digit ones; tails and quantiles against each other."""

import mpmath as mp
import numpy as np
import pytest
from scipy.special import log_ndtr, ndtri

from coin_oracles import distribution
from kernels.coins.coin_cases import CASES, EXTREME, FORMS, make
from mrfbayes.kernels.base import normal
from mrfbayes.kernels.coins import coin as kernels


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
