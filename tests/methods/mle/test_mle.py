"""MLE-L: the product, the copula and its normalisation, direct draws against the chain, and what is refused."""

import warnings

import numpy as np
import pytest
from scipy import stats

import mrfbayes as mb
from mrfbayes.data.statistics import Statistics
from mrfbayes.kernels.coins.coin import normal_score
from mrfbayes.methods.mle.mle import exchangeable_log_density

RNG = np.random.default_rng(8)
GRID = mb.grid(2, 3)  # seven edges
THETA_HAT = np.array([0.55, 0.62, 0.7, 0.48, 0.81, 0.66, 0.35])
COUNTS = np.array([60.0, 68, 77, 51, 90, 70, 33])
N = 100.0
STATISTICS = Statistics.from_counts(GRID, COUNTS, N)
FORMS = ("printed", "gbd")


def likelihood(rho=0.0, marginal="printed", model=GRID, statistics=STATISTICS, estimate=THETA_HAT):
    return mb.likelihood(model, statistics, "mle", estimate=estimate, rho=rho, marginal=marginal)


def small(p):
    """A chain of p edges with p coins."""
    model = mb.graph([(i, i + 1) for i in range(p)])
    return model, Statistics.from_counts(model, COUNTS[:p] / 5, N / 5), THETA_HAT[:p]


def formula(theta, theta_hat, counts, n, form):
    """Sum over coins of Eq. (3) with eta from Eq. (5), by the printed formulas."""
    lam_hat = counts / n
    eta = lam_hat * (1 - theta_hat) / (lam_hat + theta_hat - 2 * lam_hat * theta_hat)  # Eq. (5)
    g = eta * theta + (1 - eta) * (1 - theta)
    lam = eta * theta / g  # Eq. (4)
    total = counts * np.log(lam) + (n - counts) * np.log(1 - lam)
    if form == "gbd":
        total += np.log(eta * (1 - eta)) - 2 * np.log(g)
    return total.sum(axis=-1)


@pytest.mark.parametrize("form", FORMS)
def test_independent_copula_is_the_product(form):
    lik = likelihood(marginal=form)
    theta = np.random.default_rng(1).uniform(0.02, 0.98, (50, 7))
    expected = formula(theta, THETA_HAT, COUNTS, N, form)
    np.testing.assert_allclose(lik.log_likelihood(theta), expected, rtol=1e-12)
    product = sum(lik.marginal(j).logpdf(theta[:, j]) for j in range(7))
    np.testing.assert_allclose(lik.log_likelihood(theta) - lik.log_evidence, product, rtol=1e-12, atol=1e-11)
    assert isinstance(lik.log_likelihood(theta[0]), float)
    assert lik.log_likelihood(theta.reshape(5, 10, 7)).shape == (5, 10)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("rho", [0.05, -0.1, 0.6])
def test_copula_is_the_gaussian_one(rho, form):
    """Eq. (8) with the full matrix, its inverse and its determinant, from scores by integration."""
    lik, product = likelihood(rho, form), likelihood(0.0, form)
    matrix = np.full((7, 7), rho) + (1 - rho) * np.eye(7)
    theta = np.random.default_rng(2).uniform(0.05, 0.95, (20, 7))
    u = np.stack([lik.marginal(j).normal_score(theta[:, j]) for j in range(7)], axis=1)
    quadratic = np.einsum("ni,ij,nj->n", u, np.linalg.inv(matrix) - np.eye(7), u)
    expected = product.log_likelihood(theta) - 0.5 * np.linalg.slogdet(matrix)[1] - 0.5 * quadratic
    np.testing.assert_allclose(lik.log_likelihood(theta), expected, rtol=1e-7, atol=1e-6)
    full = likelihood(matrix, form)
    np.testing.assert_allclose(full.log_likelihood(theta), lik.log_likelihood(theta), rtol=1e-9, atol=1e-9)


def test_copula_without_determinant_is_detected():
    scores = np.zeros(7)
    assert exchangeable_log_density(0.3, np.linalg.slogdet(np.full((7, 7), 0.3) + 0.7 * np.eye(7))[1], scores) > 0.5


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("p", "rho"), [(2, 0.4), (2, -0.7), (3, 0.3), (3, -0.4)])
def test_copula_density_integrates_to_one(p, rho, form):
    model, statistics, theta_hat = small(p)
    lik = likelihood(rho, form, model, statistics, theta_hat)
    nodes, weights = np.polynomial.legendre.leggauss(48)
    axes = np.meshgrid(*[(nodes + 1) / 2] * p, indexing="ij")
    volume = np.prod(np.meshgrid(*[weights / 2] * p, indexing="ij"), axis=0)
    theta = np.stack(axes, axis=-1)
    total = (volume * np.exp(lik.log_likelihood(theta) - lik.log_evidence)).sum()
    assert abs(total - 1) < 2e-5
    marginal = (volume * np.exp(lik.log_likelihood(theta) - lik.log_evidence) * axes[0]).sum()
    assert abs(marginal - lik.marginal(0).mean) < 2e-5  # the copula leaves the marginals alone


@pytest.mark.parametrize("rho", [0.0, 0.05, -0.1, 0.9])
@pytest.mark.parametrize("n", [10.0, 1000.0, 1e9])
def test_finite_everywhere(rho, n):
    lik = likelihood(rho, statistics=Statistics.from_counts(GRID, COUNTS / N * n, n))
    ends = np.array([1e-12, 0.5, 1 - 1e-12])
    theta = np.random.default_rng(3).choice(ends, (40, 7))
    values = lik.log_likelihood(np.concatenate([theta, np.full((1, 7), 1e-12), np.full((1, 7), 1 - 1e-12)]))
    assert np.isfinite(values).all()


def test_tables_and_integration_meet_at_the_ends():
    """Far out the score is integrated, inside it is looked up: no step between the two."""
    lik = likelihood(0.3, statistics=Statistics.from_counts(GRID, COUNTS * 10, N * 10))
    theta = np.tile(THETA_HAT, (2001, 1))
    theta[:, 0] = np.linspace(0.2, 0.9, 2001)
    values = lik.log_likelihood(theta)
    bend = np.diff(values, 3)
    inside = np.abs(np.median(bend))
    assert np.abs(bend).max() < max(1e-3, 50 * inside)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("rho", [0.0, 0.3, -0.15])
def test_direct_draws_have_the_copula(rho, form):
    lik = likelihood(rho, form)
    draws = lik.draw(40_000, rng=3)
    z = np.stack([lik.marginal(j).normal_score(draws[:4000, j]) for j in range(7)], axis=1)
    for j in (0, 4):
        assert stats.kstest(z[:, j], "norm").pvalue > 1e-6
    sample = np.corrcoef(z.T)[np.triu_indices(7, 1)]
    assert np.abs(sample - rho).max() < 5.5 / np.sqrt(4000)
    assert np.abs(sample - rho - 0.15).max() > 5.5 / np.sqrt(4000)  # the band can reject
    means = np.array([lik.marginal(j).mean for j in range(7)])
    sds = np.array([lik.marginal(j).sd for j in range(7)])
    assert (np.abs(draws.mean(axis=0) - means) < 5.5 * sds / np.sqrt(40_000)).all()


def test_draws_with_a_full_matrix():
    factor = np.tril(np.random.default_rng(5).normal(size=(7, 7))) + 2 * np.eye(7)
    matrix = factor @ factor.T
    scale = np.sqrt(np.diagonal(matrix))
    matrix = matrix / np.outer(scale, scale)
    np.fill_diagonal(matrix, 1.0)
    lik = likelihood((matrix + matrix.T) / 2)
    draws = lik.draw(4000, rng=3)
    z = np.stack([lik.marginal(j).normal_score(draws[:, j]) for j in range(7)], axis=1)
    assert np.abs(np.corrcoef(z.T) - matrix).max() < 5.5 / np.sqrt(4000)


def test_draws_do_not_depend_on_how_they_are_cut(monkeypatch):
    lik = likelihood(0.2)
    whole = lik.draw(1000, rng=9)
    monkeypatch.setattr("mrfbayes.coins.induced.NORMALS_AT_A_TIME", 7 * 64)
    np.testing.assert_array_equal(whole, lik.draw(1000, rng=9))


@pytest.mark.parametrize("rho", [0.0, 0.2])
def test_chain_and_direct_draws_agree(rho):
    lik = likelihood(rho)
    chain = mb.sample(
        GRID, STATISTICS, "mle", engine="mh", estimate=_Estimate(), rho=rho, draws=2_000, thin=100, warmup=10_000,
        chains=4,
        rng=1, progress=False,
    )  # fmt: skip
    mean = np.array([lik.marginal(j).mean for j in range(7)])
    sd = np.array([lik.marginal(j).sd for j in range(7)])
    assert chain.target == "approximate"
    assert (np.abs(chain.mean - mean) / chain.mcse).max() < 5.5
    assert (np.abs(chain.mean - mean - 0.1 * sd) / chain.mcse).max() > 5.5  # a tenth of an sd would be seen
    np.testing.assert_allclose(chain.sd, sd, rtol=0.06)
    direct = mb.sample(
        GRID, STATISTICS, "mle", estimate=_Estimate(), rho=rho, draws=2_000, thin=10, rng=1, progress=False
    )
    assert direct.engine == "direct"
    error = np.sqrt(chain.mcse**2 + sd**2 / direct.draws[..., 0].size)
    assert (np.abs(chain.mean - direct.mean) / error).max() < 5.5


class _Estimate:
    theta = THETA_HAT
    log_odds = np.log(THETA_HAT / (1 - THETA_HAT))
    boundary = ()
    penalised = False
    warnings = ()


def test_mode_mapping():
    lik = likelihood()
    np.testing.assert_allclose([lik.marginal(j).mode for j in range(7)], THETA_HAT, rtol=1e-13)
    best = lik.log_likelihood(THETA_HAT)
    nearby = np.clip(THETA_HAT + RNG.normal(size=(200, 7)) * 0.01, 0.01, 0.99)
    assert (lik.log_likelihood(nearby) < best).all()


@pytest.mark.parametrize("n", [1, 3, 10**9])
def test_extreme_counts_at_their_own_estimate(n):
    """n from 1 to 10^9; the coin of an outcome that never fails is not flat, and nothing is nan."""
    model = mb.graph([(0, 1), (1, 2)])
    statistics = Statistics.from_counts(model, [n, max(n // 3, 0)], n)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mb.MRFWarning)
        theta = np.array([(n + 1) / (n + 2), (max(n // 3, 0) + 1) / (n + 2)])
        lik = mb.likelihood(model, statistics, "mle", estimate=theta, rho=0.3)
    assert lik.details["penalised"]
    for j in range(2):
        marginal = lik.marginal(j)
        assert 0 < marginal.mean < 1
        assert np.isfinite([marginal.mean, marginal.sd, marginal.logpdf(theta[j])]).all()
    assert np.isfinite(lik.log_likelihood(np.full((1, 2), 1e-12))).all()
    assert np.isfinite(lik.draw(1000, rng=0)).all()


def test_normal_scores_are_the_definition():
    lik = likelihood()
    coin = lik.induced.coins[0]
    assert abs(normal_score(coin, 0.3) - lik.marginal(0).normal_score(1 / (1 + np.exp(-0.3)))) < 1e-12


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"rho": 1.0}, "rho = 1 is outside"),
        ({"rho": -0.2}, "rho = -0.2 is outside (-0.166667, 1)"),
        ({"rho": np.nan}, "rho = nan"),
        ({"rho": "high"}, "rho = 'high'"),
        ({"rho": None}, "rho = None"),
        ({"rho": np.eye(3)}, "rho has shape (3, 3), expected a number or a (7, 7)"),
        ({"rho": np.ones((7, 7))}, "not positive definite"),
        ({"rho": np.tri(7)}, "not symmetric"),
        ({"rho": 2 * np.eye(7)}, "rho[0, 0] = 2"),
        ({"rho": np.full((7, 7), np.nan)}, "not finite"),
        ({"marginal": "beta"}, "marginal = 'beta'"),
        ({"marginal": 2}, "marginal = 2"),
        ({"copula": 1}, "no option 'copula'"),
    ],
)
def test_bad_options_are_named(options, words):
    with pytest.raises(mb.InputError) as error:
        mb.likelihood(GRID, STATISTICS, "mle", estimate=THETA_HAT, **options)
    assert words in str(error.value)


def test_bad_arguments_are_named():
    lik = likelihood()
    other = mb.grid(2, 2)
    for call, words in (
        (lambda: mb.likelihood(GRID, STATISTICS, "ml"), "method = 'ml'"),
        (lambda: mb.likelihood(other, STATISTICS, "mle", estimate=THETA_HAT), "another model"),
        (lambda: mb.likelihood(GRID, STATISTICS, "mle", estimate=THETA_HAT[:3]), "estimate has shape (3,)"),
        (lambda: mb.likelihood(GRID, STATISTICS, "mle", estimate=[0.5] * 6 + [1.0]), "estimate[6] = 1"),
        (lambda: mb.likelihood(GRID, STATISTICS, "mle", estimate="best"), "estimate"),
        (lambda: mb.likelihood(GRID, STATISTICS, "mle", estimate=[0.5] * 6 + [1 - 1e-12]), "has not converged"),
        (lambda: mb.likelihood(GRID, STATISTICS, "mle", estimate=THETA_HAT, rng=-2), "rng = -2"),
        (lambda: lik.log_likelihood([0.5] * 6), "theta has shape (6,)"),
        (lambda: lik.log_likelihood([0.5] * 6 + [0.0]), "theta[6] = 0"),
        (lambda: lik.log_likelihood(np.full((2, 6), 0.5)), "theta has shape (2, 6)"),
        (lambda: lik.log_likelihood([[0.5] * 7, [0.5] * 6 + [np.nan]]), "theta[1][6] = nan"),
        (lambda: lik.marginal(7), "j = 7"),
        (lambda: lik.marginal("no such edge"), "j = 'no such edge'"),
        (lambda: lik.marginal(1.5), "j = 1.5"),
        (lambda: lik.draw(-1), "size = -1"),
        (lambda: lik.draw(2, rng="x"), "rng = 'x'"),
    ):
        with pytest.raises(mb.InputError) as error:
            call()
        assert words in str(error.value)
    assert lik.marginal(GRID.parameters[2]).alpha == COUNTS[2]
    assert lik.marginal(-1).alpha == COUNTS[-1]
