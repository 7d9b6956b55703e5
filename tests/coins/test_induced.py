"""The induced likelihood: external effects in closed form, its integral, and draws of the copula."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import logit, ndtri

import mrfbayes as mb
from mrfbayes.coins.induced import Correlation, Induced, WeightedDraws, external_effects
from mrfbayes.data.statistics import Statistics
from mrfbayes.priors import Prior

RING = mb.graph([("a", "b"), ("b", "c"), ("c", "d"), ("a", "d")])
THETA = np.array([0.6, 0.7, 0.55, 0.35])
N = 200.0


def ring_effects(theta):
    """eta of every edge of a ring: the rest is a path whose ends agree with probability (1 + prod(2 theta - 1)) / 2."""
    return np.array([0.5 * (1 + np.prod(np.delete(2 * theta - 1, j))) for j in range(theta.size)])


@pytest.fixture(scope="module")
def statistics():
    """Counts that are those expected at THETA, which is then the maximum of the likelihood."""
    eta = ring_effects(THETA)
    agree = THETA * eta / (THETA * eta + (1 - THETA) * (1 - eta))
    return Statistics.from_counts(RING, N * agree, N)


def test_the_external_effect_is_that_of_the_rest_of_the_ring(statistics):
    found = external_effects(statistics, THETA)
    np.testing.assert_allclose(found.log_odds_eta, logit(ring_effects(THETA)), atol=1e-12)
    assert not found.penalised
    path = mb.graph([("a", "b"), ("b", "c")])  # nothing acts on the edges of a tree
    at = np.array([0.3, 0.8])
    np.testing.assert_allclose(
        external_effects(Statistics.from_counts(path, N * at, N), at).log_odds_eta, 0, atol=1e-12
    )


def test_an_empty_outcome_needs_a_penalised_estimate(statistics):
    with pytest.raises(mb.InputError, match=r"theta\[1\] = 1"):
        external_effects(statistics, [0.6, 1 - 1e-10, 0.5, 0.4])
    empty = Statistics.from_counts(RING, [N, 120.0, 110.0, 90.0], N)
    found = external_effects(empty, THETA)
    assert found.penalised
    assert "a--b" in found.warnings[0]
    eta = ring_effects(THETA)  # expected instead of observed frequencies: again those of the ring
    np.testing.assert_allclose(found.log_odds_eta, logit(eta), atol=1e-9)


def test_the_evidence_is_the_product_of_the_coins_integrals(statistics):
    induced = Induced.make(statistics, THETA, 0.0, "printed")

    def likelihood(theta, alpha, eta):
        coin = theta * eta / (theta * eta + (1 - theta) * (1 - eta))
        return np.exp(alpha * np.log(coin) + (N - alpha) * np.log1p(-coin))

    cases = zip(statistics.counts, ring_effects(THETA), THETA, strict=True)
    total = sum(np.log(quad(likelihood, 0, 1, (alpha, eta), points=[at], epsabs=0)[0]) for alpha, eta, at in cases)
    assert induced.log_evidence == pytest.approx(total, abs=1e-7)
    assert induced.marginal(2).mean == pytest.approx(THETA[2], abs=0.02)


@pytest.mark.parametrize("rho", [0.4, -0.2, np.eye(4) + 0.6 * (np.eye(4)[[1, 0, 2, 3]] - np.diag([0, 0, 1, 1]))])
def test_draws_have_their_marginals_and_their_correlation(statistics, rho):
    induced = Induced.make(statistics, THETA, rho, "printed")
    draws = induced.draw(4_000, np.random.SeedSequence(1))
    sd = np.array([induced.marginal(j).sd for j in range(4)])
    mean = np.array([induced.marginal(j).mean for j in range(4)])
    assert (np.abs(draws.mean(axis=0) - mean) < 5.5 * sd / np.sqrt(4_000)).all()
    assert (np.abs(draws.std(axis=0) / sd - 1) < 5.5 / np.sqrt(8_000)).all()
    ranks = np.argsort(np.argsort(draws, axis=0), axis=0)
    found = np.corrcoef(ndtri((ranks + 0.5) / 4_000).T)
    expected = np.array(rho) if np.ndim(rho) else np.full((4, 4), rho) + (1 - rho) * np.eye(4)
    assert np.abs(found - expected).max() < 5.5 / np.sqrt(4_000)


@pytest.mark.parametrize(
    ("rho", "words"),
    [
        (1.0, "rho = 1 is outside"),
        (-0.34, r"rho = -0.34 is outside \(-0.333333"),
        ("high", "rho = 'high'"),
        (np.eye(3), r"shape \(3, 3\)"),
        (np.eye(4) + np.eye(4, k=1) / 2, "not symmetric"),
        (np.diag([1.0, 1, 2, 1]), r"rho\[2, 2\] = 2"),
        (np.full((4, 4), -0.4) + 1.4 * np.eye(4), "not positive definite"),
    ],
)
def test_what_is_no_correlation_is_refused(rho, words):
    with pytest.raises(mb.InputError, match=words):
        Correlation.of(rho, 4)


@pytest.mark.filterwarnings("ignore::mrfbayes.MRFWarning")
def test_light_tails_are_not_weighted_to_heavy_ones():
    """Weights that grow like e^w / w^2 have no variance, which a pilot may not see."""
    model = mb.grid(1, 2)
    statistics = mb.Data(np.zeros((20, 2), dtype=int)).count(model)
    induced = Induced.make(statistics, mb.estimate(model, statistics, prior="uniform"), 0.0, "printed")
    found = WeightedDraws.pilot(induced, Prior(model, "cauchy(0, 2.5)"), np.random.SeedSequence(1))
    assert found.has_light_tails
    assert not found.is_trusted
    assert "tails are heavier" in found.warnings[0]
    assert not WeightedDraws.pilot(induced, Prior(model, "normal(0, 10)"), np.random.SeedSequence(1)).has_light_tails


def test_dice_of_nominal_variables_need_no_counts_above_zero():
    """Their sufficient statistics are double-centred sums."""
    rng = np.random.default_rng(0)
    levels = np.array(["lo", "mid", "hi"])
    data = mb.Data({name: levels[rng.integers(0, 3, 60)] for name in "ab"}, kinds={"a": "nominal", "b": "nominal"})
    model = mb.Model.from_data(data)
    statistics = data.count(model)
    assert (statistics.counts < 0).any()
    induced = Induced.make(statistics, mb.estimate(model, data, progress=False), 0.0, "printed")
    assert np.isfinite(induced.coins).all()
    draws = model.chart.log_odds(induced.draw(2_000, np.random.SeedSequence(1)))
    assert np.abs(draws.mean(axis=0)).max() < 1.5  # independent variables
