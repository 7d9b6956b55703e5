"""`calibrated` against the exact posterior by quadrature; its draws against its own marginals and copula."""

import numpy as np
import pytest
from scipy.special import ndtri
from scipy.stats import beta, kstest

import mrfbayes as mb
from mrfbayes.base.random_streams import seed_sequence
from mrfbayes.calibration.copula import coin_quantiles
from mrfbayes.calibration.full import calibrate
from mrfbayes.calibration.one_loop import usable
from mrfbayes.methods.problem import Problem
from mrfbayes.priors import Prior
from oracles import square_posterior

MODEL = mb.grid(2, 2)
DATA = np.random.default_rng(11).integers(0, 2, size=(40, 4)).astype(np.uint8)
DATA[:28, 1] = DATA[:28, 0]
DATA[:30, 3] = 1 - DATA[:30, 2]


@pytest.fixture(scope="module")
def posterior():
    return mb.sample(MODEL, DATA, "calibrated", chains=2, draws=20_000, thin=1, progress=False, rng=2)


def test_mean_and_sd_are_those_of_the_posterior(posterior):
    mean, sd = square_posterior(MODEL.edges, DATA, points=30)
    assert np.abs((posterior.mean - mean) / sd).max() < 0.02
    assert np.abs(posterior.sd / sd - 1).max() < 0.01
    assert posterior.target == "approximate"
    assert posterior.engine == "direct"
    assert posterior.details["clipped"] == 0


def test_draws_have_the_coins_moments(posterior):
    draws = posterior.draws.reshape(-1, 4)
    z = (draws.mean(axis=0) - posterior.mean) / posterior.sd * np.sqrt(len(draws))
    assert np.abs(z).max() < 5.5
    assert np.abs(draws.std(axis=0) / posterior.sd - 1).max() < 0.03


def test_draws_have_the_coins_distribution_and_the_copula(posterior):
    problem = Problem(MODEL, mb.Data(DATA).count(MODEL), Prior(MODEL, "uniform"), seed_sequence(2))
    found = calibrate(problem)
    w = posterior.log_odds.reshape(-1, 4)
    uniforms = beta.cdf(1 / (1 + np.exp(-w - found.coins.log_odds_eta)), found.coins.a, found.coins.b)
    assert min(kstest(column, "uniform").pvalue for column in uniforms.T) > 1e-6
    assert kstest(uniforms[:, 0] ** 1.03, "uniform").pvalue < 1e-6  # the test sees a coin that is a little off
    correlation = np.corrcoef(ndtri(uniforms), rowvar=False)
    assert np.abs(correlation - found.joint.correlation).max() < 5 / np.sqrt(len(w))
    assert np.abs(found.joint.correlation - np.eye(4)).max() > 10 / np.sqrt(len(w))


def test_quantiles_invert_the_distribution_function():
    problem = Problem(MODEL, mb.Data(DATA).count(MODEL), Prior(MODEL, "uniform"), seed_sequence(2))
    coins = calibrate(problem).coins
    z = np.array([-7.0, -1.0, 0.3, 2.0, 6.0])
    w, slope = coin_quantiles(coins, z)
    step = 1e-5
    numeric = (coin_quantiles(coins, z + step)[0] - coin_quantiles(coins, z - step)[0]) / (2 * step)
    np.testing.assert_allclose(slope, numeric, rtol=1e-5)
    theta = 1 / (1 + np.exp(-(w + coins.log_odds_eta[:, None])))
    np.testing.assert_allclose(ndtri(beta.cdf(theta, coins.a[:, None], coins.b[:, None]))[:, :4], z[:4] + 0 * w[:, :4])


def test_variances_that_are_not_positive_definite_are_drawn_back():
    spread = np.array([[1.0, 0.5], [0.5, 1.0]])
    same, share = usable(spread * 1.1, spread)
    assert share == 0
    np.testing.assert_array_equal(same, spread * 1.1)
    mixed, share = usable(np.array([[1.0, 1.4], [1.4, 1.0]]), spread)
    assert 0 < share < 1
    assert np.linalg.eigvalsh(mixed)[0] > 0


def test_a_bad_option_is_named():
    with pytest.raises(mb.InputError, match="variance = 'warp'"):
        mb.sample(MODEL, DATA, "calibrated", variance="warp", progress=False)
