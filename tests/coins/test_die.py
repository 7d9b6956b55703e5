"""The die as a distribution on the simplex: against its formula by quadrature, the coin, and its own draws."""

import numpy as np
import pytest
from scipy import stats

from mrfbayes import InputError
from mrfbayes.coins.coin import CoinMarginal
from mrfbayes.coins.die import DieMarginal

ALPHA, LOG_ETA = [3.0, 0.0, 7.0], [0.4, -1.0, 0.2]
FOUR = ([3.0, 0.0, 7.0, 5.5], [0.4, -1.0, 0.2, 0.0])


def simplex_rule(points=50):
    """Nodes (m, m, 3) and weights of a product rule on the triangle."""
    x, w = np.polynomial.legendre.leggauss(points)
    x, w = (x + 1) / 2, w / 2
    first, second = np.meshgrid(x, x, indexing="ij")
    theta = np.stack([first, (1 - first) * second, (1 - first) * (1 - second)], axis=-1)
    return theta, np.outer(w, w) * (1 - first)


def formula(theta, alpha, log_eta):
    alpha, eta = np.array(alpha), np.exp(log_eta)
    return np.prod(theta**alpha, axis=-1) / (theta @ eta) ** (alpha.sum() + alpha.size)


def test_density_and_moments_by_quadrature():
    die = DieMarginal(ALPHA, LOG_ETA)
    theta, weights = simplex_rule()
    raw = formula(theta, ALPHA, LOG_ETA)
    density = raw / (weights * raw).sum()
    np.testing.assert_allclose(die.pdf(theta), density, rtol=1e-11)
    np.testing.assert_allclose(die.pdf(theta[..., :2]), density, rtol=1e-9)
    mean = np.einsum("ij,ijk->k", weights * density, theta)
    second = np.einsum("ij,ijk,ijl->kl", weights * density, theta, theta)
    np.testing.assert_allclose(die.mean, mean, rtol=1e-12)
    np.testing.assert_allclose(die.covariance, second - np.outer(mean, mean), rtol=1e-9, atol=1e-14)
    np.testing.assert_allclose(die.sd, np.sqrt(np.diagonal(second) - mean**2), rtol=1e-9)
    np.testing.assert_allclose(die.mean.sum(), 1, rtol=1e-13)


@pytest.mark.parametrize(("alpha", "n", "h"), [(3, 10, 0.7), (0, 5, -2.0), (1, 1, 4.0), (4e8, 1e9, 0.1)])
def test_two_outcomes_are_a_coin(alpha, n, h):
    die, coin = DieMarginal([alpha, n - alpha], [h, 0.0]), CoinMarginal(alpha, n, h, "gbd")
    theta = np.array([0.05, 0.3, coin.mean, 0.5, 0.97])
    np.testing.assert_allclose(die.logpdf(theta[:, None]), coin.logpdf(theta), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(die.normal_scores(theta[:, None])[:, 0], coin.normal_score(theta), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(die.mean[0], coin.mean, rtol=1e-12)
    np.testing.assert_allclose(die.sd[0], coin.sd, rtol=1e-13 * n + 1e-11)
    np.testing.assert_allclose(die.mode[0], coin.mode, atol=1e-12)


def test_lambda_is_dirichlet():
    die = DieMarginal(ALPHA, LOG_ETA)
    theta, _ = simplex_rule(9)
    lam = theta * np.exp(LOG_ETA)
    field = lam.sum(axis=-1)
    lam /= field[..., None]
    dirichlet = stats.dirichlet(np.array(ALPHA) + 1)
    expected = [dirichlet.pdf(v) for v in lam.reshape(-1, 3)] * (np.exp(sum(LOG_ETA)) / field.ravel() ** 3)
    np.testing.assert_allclose(die.pdf(theta).ravel(), expected, rtol=1e-11)


def test_sticks_are_independent_normals():
    die = DieMarginal(*FOUR)
    draws = die.rvs(20_000, rng=2)
    scores = die.normal_scores(draws)
    for column in scores.T:
        assert stats.kstest(column, "norm").pvalue > 1e-6
    assert np.abs(np.corrcoef(scores.T) - np.eye(3)).max() < 5.5 / np.sqrt(20_000)
    squares = np.corrcoef(scores.T**2)
    assert np.abs(squares - np.eye(3)).max() < 5.5 / np.sqrt(20_000)
    # draws with another effect must not pass
    other = DieMarginal(FOUR[0], [0.45, -1.0, 0.2, 0.0]).rvs(20_000, rng=2)
    assert min(stats.kstest(column, "norm").pvalue for column in die.normal_scores(other).T) < 1e-6


def test_scores_and_their_inverse():
    die = DieMarginal(*FOUR)
    z = np.concatenate([np.random.default_rng(0).normal(size=(300, 3)), np.full((1, 3), -7.5), np.full((1, 3), 7.5)])
    np.testing.assert_allclose(die.normal_scores(die.from_normal(z)), z, atol=1e-7)
    far = np.array([[1e-12, 0.5, 0.3, 0.2 - 1e-12], [0.4, 1e-12, 0.6 - 2e-12, 1e-12]])
    assert np.isfinite(die.normal_scores(far)).all()
    assert np.isfinite(die.logpdf(far)).all()


def test_draws_have_the_moments():
    die = DieMarginal(*FOUR)
    draws = die.rvs(100_000, rng=7)
    assert (np.abs(draws.mean(axis=0) - die.mean) < 5.5 * die.sd / np.sqrt(100_000)).all()
    np.testing.assert_allclose(draws.std(axis=0), die.sd, rtol=0.02)
    np.testing.assert_allclose(draws.sum(axis=1), 1, rtol=1e-12)
    again = die.from_normal(np.random.default_rng(1).normal(size=(3000, 3)))
    assert (np.abs(again.mean(axis=0) - die.mean) < 5.5 * die.sd / np.sqrt(3000)).all()


@pytest.mark.parametrize("scale", [1e-1, 1.0, 1e3, 1e8])
def test_mode(scale):
    die = DieMarginal(np.array([3.0, 1.0, 7.0]) * scale, LOG_ETA)
    step = 0.1 * die.sd[:2].min() * np.array([[1, 0], [-1, 0], [0, 1], [0, -1]])
    assert (die.logpdf(die.mode[:2] + step) < die.logpdf(die.mode)).all()


def test_shapes_and_seeds():
    die = DieMarginal(*FOUR)
    assert die.rvs(rng=1).shape == (4,)
    assert die.rvs((2, 5), rng=1).shape == (2, 5, 4)
    np.testing.assert_array_equal(die.rvs(10, rng=3), die.rvs(10, rng=3))
    assert die.logpdf([0.2, 0.3, 0.6, -0.1]) == -np.inf
    assert isinstance(die.logpdf([0.2, 0.3, 0.1]), float)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: DieMarginal([1, -1, 2], [0, 0, 0]), "alpha[1] = -1"),
        (lambda: DieMarginal([1, np.nan, 2], [0, 0, 0]), "alpha[1] = nan"),
        (lambda: DieMarginal([0, 0], [0, 0]), "all zero"),
        (lambda: DieMarginal([3], [0]), "alpha has shape (1,)"),
        (lambda: DieMarginal("abc", [0]), "alpha = 'abc'"),
        (lambda: DieMarginal([1, 2, 3], [0, 0]), "log_eta has 2 numbers, alpha has 3"),
        (lambda: DieMarginal([1, 2], [0, np.inf]), "log_eta[1] = inf"),
        (lambda: DieMarginal([1, 2], [0, 1e4]), "700 apart"),
        (lambda: DieMarginal(*FOUR).pdf([0.5, 0.5]), "theta has shape (2,)"),
        (lambda: DieMarginal(*FOUR).pdf([0.5, 0.5, 0.5, 0.5]), "sum to one"),
        (lambda: DieMarginal(*FOUR).pdf("x"), "theta = 'x'"),
        (lambda: DieMarginal(*FOUR).from_normal([0.0]), "z has shape (1,)"),
        (lambda: DieMarginal(*FOUR).rvs(-2), "size = -2"),
        (lambda: DieMarginal(*FOUR).rvs(2, rng=0.5), "rng = 0.5"),
    ],
)
def test_bad_arguments_are_named(call, words):
    with pytest.raises(InputError) as error:
        call()
    assert words in str(error.value)
