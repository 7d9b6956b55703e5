"""MLE-L under other priors: importance weights against the chain and against quadrature."""

import numpy as np
import pytest

import mrfbayes as mb
from mrfbayes.data.statistics import Statistics

MODEL = mb.graph([(0, 1), (1, 2)])
THETA_HAT = np.array([0.7, 0.35])
STATISTICS = Statistics.from_counts(MODEL, [28.0, 15.0], 40.0)
PRIORS = {
    "beta(3, 2)": lambda t: t**2 * (1 - t),
    "normal(0, 0.7)": lambda t: np.exp(-0.5 * (np.log(t / (1 - t)) / 0.7) ** 2) / (t * (1 - t)),
    "cauchy(0, 1)": lambda t: 1 / (1 + np.log(t / (1 - t)) ** 2) / (t * (1 - t)),
}


class Estimate:
    theta, log_odds = THETA_HAT, np.log(THETA_HAT / (1 - THETA_HAT))
    boundary, penalised, warnings = (), False, ()


def by_quadrature(prior, rho):
    """Posterior means and sds by Gauss-Legendre on the unit square."""
    lik = mb.likelihood(MODEL, STATISTICS, "mle", estimate=THETA_HAT, rho=rho)
    nodes, weights = np.polynomial.legendre.leggauss(120)
    t = (nodes + 1) / 2
    theta = np.stack(np.meshgrid(t, t, indexing="ij"), axis=-1)
    log_density = lik.log_likelihood(theta)
    density = np.exp(log_density - log_density.max()) * np.outer(weights, weights)
    density *= prior(theta[..., 0]) * prior(theta[..., 1])
    density /= density.sum()
    mean = np.einsum("ij,ijk->k", density, theta)
    return mean, np.sqrt(np.einsum("ij,ijk->k", density, theta**2) - mean**2)


@pytest.mark.parametrize("rho", [0.0, 0.4])
@pytest.mark.parametrize("prior", PRIORS)
def test_weighted_draws_follow_the_posterior(prior, rho):
    posterior = mb.sample(
        MODEL, STATISTICS, "mle", estimate=Estimate(), rho=rho, prior=prior, draws=40_000, thin=1, chains=1, rng=2,
        progress=False,
    )  # fmt: skip
    assert posterior.engine == "direct"
    assert posterior.details["pareto_k"] < 0.7
    efficiency = posterior.details["importance_efficiency"]
    assert 0.3 < efficiency <= 1
    mean, sd = by_quadrature(PRIORS[prior], rho)
    error = sd / np.sqrt(40_000 * efficiency)
    assert (np.abs(posterior.mean - mean) / error).max() < 5.5
    flat, _ = by_quadrature(np.ones_like, rho)
    assert (np.abs(posterior.mean - flat) / error).max() > 5.5  # the prior is felt
    np.testing.assert_allclose(posterior.sd, sd, rtol=0.03)


def test_a_prior_far_from_the_likelihood_goes_to_the_chain():
    with pytest.warns(mb.MRFWarning, match="too far for importance weights"):
        posterior = mb.sample(
            MODEL, STATISTICS, "mle", estimate=Estimate(), prior="normal(-8, 0.2)", draws=2_000, thin=10, warmup=10_000,
            rng=2,
            progress=False, chains=2,
        )  # fmt: skip
    assert posterior.engine == "mh"
    assert posterior.details["pareto_k"] > 0.7
    assert any("importance weights" in text for text in posterior.warnings)


def test_chain_under_a_prior_agrees_with_quadrature():
    posterior = mb.sample(
        MODEL, STATISTICS, "mle", estimate=Estimate(), rho=0.4, prior="beta(3, 2)", engine="mh", draws=2_000, thin=50,
        warmup=5_000, chains=2, rng=3, progress=False,
    )  # fmt: skip
    mean, _ = by_quadrature(PRIORS["beta(3, 2)"], 0.4)
    assert (np.abs(posterior.mean - mean) / posterior.mcse).max() < 5.5
