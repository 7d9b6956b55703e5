"""Chains against the posterior itself: enumerated and weighed, or by quadrature of the method's own density."""

import warnings

import numpy as np
import pytest
from scipy import optimize, stats

import mrfbayes as mb
import small_fields
from mrfbayes.kernels.base.contracts import log_likelihood
from mrfbayes.methods.problem import Problem
from mrfbayes.methods.registry import REGISTRY, method_row
from mrfbayes.priors import Prior
from mrfbayes.results import diagnostics

N = 40
LIMIT = 5.5  # standard errors: alpha = 1e-6 over some thirty comparisons
FIELDS = {
    "2x3 grid": lambda: mb.grid(2, 3),
    "four nodes with fields": lambda: mb.graph(small_fields.SQUARE, fields=True),
}
EXACT = [row.key for row in REGISTRY.values() if row.target == "exact"]
STICKY = {"moller"}  # the log of its weights has a variance of about p: tested with two parameters below


class Reference:
    """Posterior moments of theta under the uniform prior, from 200,000 weighed draws and enumerated partition sums."""

    def __init__(self, name):
        self.model = FIELDS[name]()
        theta = small_fields.random_theta(self.model, 1, 0.45, 0.8)
        self.x = small_fields.draw(self.model, theta, N, 2)
        self._every = small_fields.sufficient(self.model, small_fields.states(self.model))
        self._counts = small_fields.sufficient(self.model, self.x).sum(axis=0)
        p = self.model.n_parameters
        at = optimize.minimize(lambda w: -self.log_density(w[None])[0], np.zeros(p), method="BFGS")
        shape = 1.2 * np.linalg.inv(self.information(at.x))
        proposal = stats.multivariate_t(at.x, shape, df=8, seed=3)
        w = proposal.rvs(200_000)
        log_weight = self.log_density(w) - proposal.logpdf(w)
        weight = np.exp(log_weight - log_weight.max())
        weight /= weight.sum()
        theta = 1 / (1 + np.exp(-w))
        self.efficiency = 1 / (weight**2).sum() / len(w)
        self.mean = weight @ theta
        self.sd = np.sqrt(weight @ (theta - self.mean) ** 2)
        self.error = np.sqrt(weight**2 @ (theta - self.mean) ** 2)

    def log_density(self, w):
        """Of log-odds, for coins: likelihood, and theta (1 - theta) for the uniform prior."""
        prior = -np.logaddexp(0, w).sum(axis=1) - np.logaddexp(0, -w).sum(axis=1)
        return w @ self._counts - N * np.logaddexp.reduce(w @ self._every.T, axis=1) + prior

    def information(self, w):
        theta = 1 / (1 + np.exp(-w))
        return N * small_fields.moments(self.model, theta)[1] + np.diag(2 * theta * (1 - theta))


@pytest.fixture(scope="module")
def references():
    return {name: Reference(name) for name in FIELDS}


def sample(model, x, method, **settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mb.MRFWarning)  # augmented chains stick, and say so
        return mb.sample(model, x, method, engine="mh", rng=4, progress=False, **settings)


def deviation(posterior, mean, sd, error=0.0):
    """Largest error of means and sds in Monte-Carlo standard errors."""
    return max(
        np.abs((posterior.mean - mean) / np.hypot(posterior.mcse, error)).max(),
        np.abs((posterior.sd - sd) / np.hypot(diagnostics.mcse_sd(posterior.draws), error)).max(),
    )


@pytest.mark.parametrize("name", FIELDS)
def test_references_are_good(references, name):
    assert references[name].efficiency > 0.3


@pytest.mark.parametrize("key", [key for key in EXACT if key not in STICKY])
@pytest.mark.parametrize("name", FIELDS)
def test_exact_targets(references, name, key):
    truth = references[name]
    options = {"levels": 5} if key == "mavm" else {}
    posterior = sample(truth.model, truth.x, key, draws=2_000, thin=20, warmup=5_000, chains=4, **options)
    assert posterior.ess.min() > 300
    assert deviation(posterior, truth.mean, truth.sd, truth.error) < LIMIT


@pytest.mark.parametrize("name", FIELDS)
def test_the_comparison_has_teeth(references, name):
    """A method with another target is told apart, and so are wrong moments."""
    truth = references[name]
    posterior = sample(truth.model, truth.x, "pseudo", draws=2_000, thin=30, warmup=5_000, chains=4)
    assert deviation(posterior, truth.mean, truth.sd, truth.error) > LIMIT
    posterior = sample(truth.model, truth.x, "exchange-exact", draws=2_000, thin=30, warmup=5_000, chains=4)
    assert deviation(posterior, truth.mean[::-1], truth.sd, truth.error) > LIMIT
    assert deviation(posterior, truth.mean, 1.1 * truth.sd, truth.error) > LIMIT


@pytest.mark.parametrize("key", ["importance", "auxiliary", "exchange", "persistent"])
def test_averaged_ratios_come_close(references, key):
    """Their target is not the posterior; with little noise it is near."""
    truth = references["2x3 grid"]
    posterior = sample(truth.model, truth.x, key, draws=1_875, thin=8, warmup=3_000, chains=2, particles=2_000)
    assert 0 < posterior.details["noise"] < 1
    assert np.abs((posterior.mean - truth.mean) / truth.sd).max() < 0.25
    assert np.abs(posterior.sd / truth.sd - 1).max() < 0.25


def test_noise_is_reported_and_warned_about(references):
    truth = references["2x3 grid"]
    for particles, is_noisy in ((20, True), (2_000, False)):
        posterior = sample(truth.model, truth.x, "exchange", draws=2_000, chains=1, particles=particles)
        assert (posterior.details["noise"] > 1) == is_noisy
        assert any("sd(n log r)" in text for text in posterior.warnings) == is_noisy


def by_quadrature(log_density, points=60):
    """Mean and sd of theta in (0, 1)^2 by Gauss-Legendre."""
    nodes, weights = np.polynomial.legendre.leggauss(points)
    theta = (nodes + 1) / 2
    values = np.array([[log_density(np.array([a, b])) for b in theta] for a in theta])
    density = np.exp(values - values.max()) * np.outer(weights, weights)
    density /= density.sum()
    margins = density.sum(axis=1), density.sum(axis=0)
    mean = np.array([margin @ theta for margin in margins])
    return mean, np.sqrt(np.array([margin @ theta**2 for margin in margins]) - mean**2)


TIED = {
    "2x3 grid": lambda: mb.grid(2, 3, tied="direction"),
    "four nodes with fields": lambda: mb.graph(small_fields.SQUARE, fields=True, tied=True),
}
APPROXIMATE = [
    ("pseudo", {}),
    ("laplace", {}),
    ("laplace", {"coordinate": "theta"}),
    ("laplace", {"fisher": "exact", "centre": "bethe"}),
]


@pytest.mark.parametrize(("key", "options"), APPROXIMATE, ids=str)
@pytest.mark.parametrize("name", TIED)
def test_deterministic_approximations_have_their_own_density(name, key, options):
    model = TIED[name]()
    x = small_fields.draw(model, np.array([0.62, 0.55]), N, 2)
    problem = Problem(model, small_fields.count(model, x), Prior(model, "uniform"), np.random.SeedSequence(0))
    view = method_row(key).prepare(problem, **options).view
    mean, sd = by_quadrature(lambda theta: log_likelihood(view, theta))
    posterior = sample(model, x, key, draws=2_000, thin=50, warmup=5_000, chains=4, **options)
    assert deviation(posterior, mean, sd) < LIMIT
    assert deviation(posterior, mean + 0.1 * sd, sd) > LIMIT


@pytest.mark.parametrize("key", sorted(STICKY))
@pytest.mark.parametrize("name", TIED)
def test_exact_targets_with_two_parameters(name, key):
    model = TIED[name]()
    x = small_fields.draw(model, np.array([0.62, 0.55]), 20, 2)
    mean, sd = by_quadrature(lambda theta: small_fields.log_likelihood(model, theta, x), points=40)
    posterior = sample(model, x, key, draws=2_000, thin=30, warmup=5_000, chains=4)
    assert posterior.ess.min() > 300
    assert deviation(posterior, mean, sd) < LIMIT
    assert deviation(posterior, mean[::-1], sd) > LIMIT
