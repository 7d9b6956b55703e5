"""MLE-L beyond the paper's field: dice, score coins, ties, node coins, and data without a finite MLE."""

import numpy as np
import pytest

import mrfbayes as mb
from mrfbayes.coins.induced import external_effects
from mrfbayes.data.statistics import Statistics

FORMS = ("printed", "gbd")


def potts():
    """A 3-state field with node dice, some data, and a theta to stand for the estimate."""
    model = mb.graph([(0, 1), (1, 2)], states=3, fields=True)
    rng = np.random.default_rng(4)
    x = rng.integers(0, 3, (60, 3))
    x[:25, 1] = x[:25, 0]
    theta = model.chart.theta(0.3 * rng.normal(size=model.n_parameters))
    return model, mb.Data(x).count(model), theta


def by_blocks(lik, draws):
    """Log density of the product of the marginals, and the normal scores, from the marginals themselves."""
    chart = lik.model.chart
    log_density, scores = np.zeros(len(draws)), np.empty_like(draws)
    for block in range(chart.n_blocks):
        first, stop = chart.offset[block : block + 2]
        marginal = lik.marginal(int(first))
        if stop - first == 1:
            log_density += marginal.logpdf(draws[:, first])
            scores[:, first] = marginal.normal_score(draws[:, first])
        else:
            log_density += marginal.logpdf(draws[:, first:stop])
            scores[:, first:stop] = marginal.normal_scores(draws[:, first:stop])
    return log_density, scores


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("rho", [0.0, 0.15, "matrix"])
def test_dice_and_coins_in_one_copula(rho, form):
    model, statistics, theta = potts()
    p = model.n_parameters
    matrix = np.full((p, p), 0.15) + 0.85 * np.eye(p)
    if isinstance(rho, float):
        matrix = np.full((p, p), rho) + (1 - rho) * np.eye(p)
    lik = mb.likelihood(model, statistics, "mle", estimate=theta, rho=matrix if rho == "matrix" else rho, marginal=form)
    draws = lik.draw(2000, rng=1)
    model.theta(draws[0])
    product, scores = by_blocks(lik, draws)
    quadratic = np.einsum("ni,ij,nj->n", scores, np.linalg.inv(matrix) - np.eye(p), scores)
    expected = product - 0.5 * np.linalg.slogdet(matrix)[1] - 0.5 * quadratic
    np.testing.assert_allclose(lik.log_likelihood(draws) - lik.log_evidence, expected, atol=1e-6)
    assert np.abs(np.corrcoef(scores.T) - matrix).max() < 5.5 / np.sqrt(2000)


def test_chain_on_dice_agrees_with_direct_draws():
    model = mb.graph([(0, 1)], states=3, fields=True)
    x = np.random.default_rng(5).integers(0, 3, (40, 2))
    x[:15, 1] = x[:15, 0]
    theta = model.chart.theta(np.array([0.3, -0.2, 0.4, 0.1, -0.5]))
    options = {"estimate": _at(model, theta), "rho": 0.2, "rng": 1, "progress": False}
    chain = mb.sample(model, x, "mle", engine="mh", draws=2_000, thin=10, warmup=3_000, chains=2, **options)
    draws = mb.sample(model, x, "mle", draws=4_000, thin=1, chains=1, **options).draws[0]
    error = np.sqrt(chain.mcse**2 + draws.var(axis=0) / len(draws))
    assert (np.abs(chain.mean - draws.mean(axis=0)) / error).max() < 5.5
    assert (np.abs(chain.mean - draws.mean(axis=0) - 0.3 * chain.sd) / error).max() > 5.5


class _at:
    boundary, penalised, warnings = (), False, ()

    def __init__(self, model, theta):
        self.theta, self.log_odds = theta, model.chart.log_odds(theta)


def test_node_coins_by_the_printed_formula():
    model = mb.graph([(0, 1), (1, 2), (0, 2)], fields=True)
    counts, n = np.array([30.0, 25, 33, 10, 20, 27]), 50.0
    theta_hat = np.array([0.6, 0.55, 0.7, 0.3, 0.45, 0.5])
    lik = mb.likelihood(model, Statistics.from_counts(model, counts, n), "mle", estimate=theta_hat)
    theta = np.random.default_rng(0).uniform(0.1, 0.9, 6)
    lam_hat = counts / n
    eta = lam_hat * (1 - theta_hat) / (lam_hat + theta_hat - 2 * lam_hat * theta_hat)
    lam = eta * theta / (eta * theta + (1 - eta) * (1 - theta))
    assert abs(lik.log_likelihood(theta) - (counts @ np.log(lam) + (n - counts) @ np.log(1 - lam))) < 1e-11
    for j in range(6):
        assert abs(lik.marginal(j).mode - theta_hat[j]) < 1e-13


def test_score_coins_are_tossed_s_times():
    model = mb.graph([(0, 1)], states=3, coupling="score")
    tosses = int(model.chart.tosses[0])
    assert tosses == 4  # x_u x_v up to 4
    statistics = Statistics.from_counts(model, np.append(22.0, np.full(model.n_parameters - 1, 5.0)), 15.0)
    theta = np.full(model.n_parameters, 0.3)
    marginal = mb.likelihood(model, statistics, "mle", estimate=theta).marginal(0)
    assert marginal.n == 60
    assert marginal.alpha == 22
    assert abs(marginal.mode - 0.3) < 1e-13


def test_tied_block_sums_its_factors_and_warns():
    model = mb.grid(3, 3, tied=True)
    x = np.random.default_rng(1).integers(0, 2, (20, 9))
    statistics = mb.Data(x).count(model)
    agree = sum(int((x[:, u] == x[:, v]).sum()) for u, v in model.edges)
    lik = mb.likelihood(model, statistics, "mle", estimate=[0.52])
    assert lik.marginal(0).alpha == agree
    assert lik.marginal(0).n == 20 * 12
    assert any("shared by several factors" in text for text in lik.warnings)
    assert not mb.likelihood(mb.grid(3, 3), x, "mle", estimate=np.full(12, 0.52)).warnings


def no_finite_mle():
    """A 4-cycle on which one edge always agrees."""
    model = mb.graph([(0, 1), (1, 2), (2, 3), (0, 3)])
    x = np.random.default_rng(6).integers(0, 2, (40, 4))
    x[:, 1] = x[:, 0]
    return model, x


def test_without_a_finite_mle():
    model, x = no_finite_mle()
    with pytest.warns(mb.MRFWarning):
        estimate = mb.estimate(model, x, progress=False)
    lik = mb.likelihood(model, x, "mle", estimate=estimate, rho=0.05)
    assert lik.details["penalised"]
    assert any("no finite maximum likelihood estimate" in text and "0--1" in text for text in lik.warnings)
    expected = mb.expected_counts(model, estimate.theta)
    effects = external_effects(lik.statistics, estimate)
    np.testing.assert_allclose(
        effects.log_odds_eta, np.log(expected / (1 - expected)) - estimate.log_odds, rtol=1e-8, atol=1e-8
    )
    for j in range(4):
        marginal = lik.marginal(j)
        assert np.isfinite([marginal.mean, marginal.sd]).all()
        assert marginal.sd < 0.2  # not flat: a uniform one has 0.29
        assert abs(marginal.mean - estimate.theta[j]) < 2 * marginal.sd
    with pytest.warns(mb.MRFWarning, match="MLE-L uses the penalised estimate"):
        posterior = mb.sample(model, x, "mle", estimate=estimate, draws=2_000, rng=0, prior="uniform", progress=False)
    assert any("no finite" in text for text in posterior.warnings)
    assert np.isfinite(posterior.draws).all()


def test_mode_equation_gives_the_expected_counts(monkeypatch):
    """Where E[s] is out of reach, the equation that the posterior mode solves gives the same numbers."""
    model, x = no_finite_mle()
    statistics = mb.Data(x).count(model)
    with pytest.warns(mb.MRFWarning):
        estimate = mb.estimate(model, x, progress=False)
    other = mb.estimate(model, x, prior="normal(0.5, 0.5)", progress=False)
    exact = [external_effects(statistics, found).log_odds_eta for found in (estimate, other)]

    def refuse(*arguments):
        raise mb.CostError("too wide")

    monkeypatch.setattr("mrfbayes.exact.quantities.moments_w", refuse)
    for found, known in zip((estimate, other), exact, strict=True):
        np.testing.assert_allclose(external_effects(statistics, found).log_odds_eta, known, atol=1e-5)
    with pytest.raises(mb.InputError, match="whose prior is known"):
        external_effects(statistics, estimate.theta)


def test_at_a_finite_mle_both_readings_agree():
    """Expected and observed frequencies agree at the maximum likelihood estimate: Eq. (5)."""
    model = mb.grid(2, 3)
    x = mb.simulate(model, np.full(7, 0.65), 200, rng=3)
    estimate = mb.estimate(model, x, algorithm="exact", progress=False)
    statistics = mb.Data(x).count(model)
    observed = external_effects(statistics, estimate)
    assert not observed.penalised
    expected = mb.expected_counts(model, estimate.theta)
    other = np.log(expected / (1 - expected)) - estimate.log_odds
    np.testing.assert_allclose(observed.log_odds_eta, other, atol=1e-4)


def test_zero_counts_of_a_die_are_not_the_end():
    model = mb.graph([(0, 1)], states=3, fields=True)
    x = np.random.default_rng(2).integers(0, 2, (30, 2))  # state 2 never occurs: a note, not a warning
    statistics = mb.Data(x).count(model)
    theta = model.chart.theta(np.array([0.2, 1.5, 1.4, 1.6, 1.3]))
    lik = mb.likelihood(model, statistics, "mle", estimate=theta, rho=0.1)
    assert lik.details["penalised"]
    assert np.isfinite(lik.draw(500, rng=0)).all()
    assert np.isfinite(lik.log_likelihood(theta))
