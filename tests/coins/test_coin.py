"""The marginal of a coin as people call it: the kernels behind it are tested in tests/kernels/coins/test_coin.py."""

import numpy as np
import pytest
from scipy import stats

from mrfbayes import InputError
from mrfbayes.coins.coin import CoinMarginal

FORMS = ("printed", "gbd")
CASES = [(70, 100, 0.4), (3, 10, -1.0), (0, 10, 0.4), (10, 10, 0.4), (1, 1, 5.0), (2.5, 7.0, 0.0)]


def formula(theta, alpha, n, h, form):
    eta = 1 / (1 + np.exp(-h))
    power = n if form == "printed" else n + 2
    return theta**alpha * (1 - theta) ** (n - alpha) / (eta * theta + (1 - eta) * (1 - theta)) ** power


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("alpha", "n", "h"), CASES)
def test_density_is_the_formula(alpha, n, h, form):
    marginal = CoinMarginal(alpha, n, h, form)
    nodes, weights = np.polynomial.legendre.leggauss(400)
    theta, weights = (nodes + 1) / 2, weights / 2
    raw = formula(theta, alpha, n, h, form)
    density = raw / (weights @ raw)
    rough = alpha != int(alpha)  # Gauss-Legendre sees the fractional power at the end
    np.testing.assert_allclose(marginal.pdf(theta), density, rtol=1e-6 if rough else 1e-11, atol=1e-12)
    mean = weights @ (density * theta)
    assert abs(marginal.mean - mean) < (1e-7 if rough else 1e-12)
    assert abs(marginal.sd**2 - weights @ (density * (theta - mean) ** 2)) < (1e-7 if rough else 1e-12)
    cut = 0.37
    lower = (nodes + 1) / 2 * cut
    below = cut * weights @ marginal.pdf(lower)
    assert abs(marginal.cdf(cut) - below) < (1e-7 if rough else 1e-11)
    assert abs(marginal.cdf(cut) + marginal.sf(cut) - 1) < 1e-14


@pytest.mark.parametrize(("alpha", "n", "h"), CASES)
def test_mode_mapping(alpha, n, h):
    theta_hat = alpha * np.exp(-h) / (alpha * np.exp(-h) + (n - alpha))  # Eq. (5) solved for theta
    assert abs(CoinMarginal(alpha, n, h).mode - theta_hat) < 1e-14


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("alpha", "n", "h"), CASES)
def test_mode_has_the_largest_density(alpha, n, h, form):
    marginal = CoinMarginal(alpha, n, h, form)
    grid = np.linspace(0, 1, 4001)
    assert marginal.pdf(marginal.mode) >= marginal.pdf(grid).max() * (1 - 1e-12)


def test_gbd_is_mcdonald_and_xus():
    """a = 1, b = (1-eta)/eta, c = (2 eta - 1)/eta, p = alpha + 1, q = n - alpha + 1."""
    alpha, n, h = 7.0, 11.0, 0.9
    eta = 1 / (1 + np.exp(-h))
    b, c, p, q = (1 - eta) / eta, (2 * eta - 1) / eta, alpha + 1, n - alpha + 1
    theta = np.linspace(0.01, 0.99, 50)
    y = theta  # density ~ y^(p-1) (1 - (1-c) (y/b))^(q-1) / (1 + c y/b)^(p+q), on 0 < y < b / (1 - c) = 1
    density = y ** (p - 1) * (1 - (1 - c) * y / b) ** (q - 1) / (1 + c * y / b) ** (p + q)
    ratio = CoinMarginal(alpha, n, h, "gbd").pdf(theta) / density
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-11)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("n", [1, 10, 1000, 10**9])
def test_swapping_the_outcomes_mirrors_theta(n, form):
    alpha, h = 0.3 * n, 0.8
    one, other = CoinMarginal(alpha, n, h, form), CoinMarginal(n - alpha, n, -h, form)
    theta = np.array([2.0**-40, 2.0**-7, round(one.mode * 2**20) / 2**20, 0.5, 0.875])  # 1 - theta is exact
    np.testing.assert_allclose(one.logcdf(theta), other.logsf(1 - theta), rtol=1e-8 if n > 10**6 else 1e-11, atol=1e-14)
    assert abs(one.mean + other.mean - 1) < 1e-14


@pytest.mark.parametrize("form", FORMS)
def test_quantiles(form):
    marginal = CoinMarginal(70, 100, 0.4, form)
    q = np.array([1e-300, 1e-12, 0.025, 0.5, 0.975, 1 - 1e-12])
    np.testing.assert_allclose(marginal.cdf(marginal.ppf(q)), q, rtol=1e-11)
    assert marginal.ppf(0) == 0
    assert marginal.ppf(1) == 1
    assert isinstance(marginal.ppf(0.5), float)
    theta = np.linspace(0.3, 0.9, 7)
    np.testing.assert_allclose(marginal.from_normal(marginal.normal_score(theta)), theta, rtol=1e-13)


@pytest.mark.parametrize("form", FORMS)
def test_everywhere_on_and_off_the_interval(form):
    marginal = CoinMarginal(0, 10, 0.4, form)
    assert marginal.pdf(-0.1) == 0
    assert marginal.pdf(1.1) == 0
    assert marginal.pdf(0.0) > marginal.pdf(0.1) > 0
    assert marginal.pdf(1.0) == 0
    assert marginal.logcdf([0.0, 1.0, 2.0, -1.0]).tolist() == [-np.inf, 0, 0, -np.inf]
    assert marginal.logsf([0.0, 1.0, 2.0, -1.0]).tolist() == [0, -np.inf, -np.inf, 0]
    assert np.isnan(marginal.cdf(np.nan))
    assert marginal.logpdf(np.full((2, 3), 0.2)).shape == (2, 3)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("alpha", "n", "h"), CASES)
def test_draws_follow_the_distribution(alpha, n, h, form):
    marginal = CoinMarginal(alpha, n, h, form)
    draws = marginal.rvs(20_000, rng=5)
    assert stats.kstest(marginal.cdf(draws), "uniform").pvalue > 1e-6
    assert stats.kstest(marginal.cdf(draws**1.15), "uniform").pvalue < 1e-6  # the test can fail
    few = marginal.rvs(500, rng=6)
    assert stats.kstest(marginal.cdf(few), "uniform").pvalue > 1e-6


def test_draws_are_reproducible_and_shaped():
    marginal = CoinMarginal(70, 100, 0.4)
    assert marginal.rvs(rng=1) == marginal.rvs(rng=1)
    assert marginal.rvs((3, 4), rng=1).shape == (3, 4)
    np.testing.assert_array_equal(marginal.rvs(2000, rng=3), marginal.rvs(2000, rng=3))
    generator = np.random.default_rng(0)
    assert marginal.rvs(rng=generator) != marginal.rvs(rng=generator)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((1, 0, 0.0), "n = 0"),
        ((1, -3, 0.0), "n = -3"),
        ((1, np.nan, 0.0), "n = nan"),
        ((1, np.inf, 0.0), "n = inf"),
        ((1, "ten", 0.0), "n = 'ten'"),
        ((1, True, 0.0), "n = True"),
        ((-1, 10, 0.0), "alpha = -1"),
        ((11, 10, 0.0), "alpha = 11"),
        ((np.nan, 10, 0.0), "alpha = nan"),
        ((None, 10, 0.0), "alpha = None"),
        ((1, 10, np.inf), "log_odds_eta = inf"),
        ((1, 10, 1e4), "log_odds_eta = 10000"),
        ((1, 10, [0.0]), "log_odds_eta = "),
        ((1, 10, 0.0, "beta"), "form = 'beta'"),
        ((1, 10, 0.0, 3), "form = 3"),
    ],
)
def test_bad_arguments_are_named(arguments, words):
    with pytest.raises(InputError) as error:
        CoinMarginal(*arguments)
    assert words in str(error.value)


def test_bad_values_are_named():
    marginal = CoinMarginal(7, 10, 0.4)
    for call, words in (
        (lambda: marginal.pdf("half"), "theta = 'half'"),
        (lambda: marginal.ppf(1.5), "q = 1.5"),
        (lambda: marginal.ppf(np.nan), "q = nan"),
        (lambda: marginal.rvs(-1, rng=0), "size = -1"),
        (lambda: marginal.rvs(2, rng="seed"), "rng = 'seed'"),
        (lambda: marginal.rvs(2, rng=-1), "rng = -1"),
    ):
        with pytest.raises(InputError) as error:
            call()
        assert words in str(error.value)
