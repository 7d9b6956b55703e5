"""Independent proposals: their weights, the chain's decisions, and importance-weighted moments, against loops."""

import numpy as np
import pytest
from scipy import stats

from kernels.run.chain_cases import new_state, room_for
from mrfbayes.base.random_streams import kernel_state
from mrfbayes.calibration.copula import copula_view
from mrfbayes.calibration.matching import Coins
from mrfbayes.kernels.base.random import uniform
from mrfbayes.kernels.run.chain import FAILED, LOG_LIKELIHOOD, LOG_TARGET, NOT_A_NUMBER, ChainSettings
from mrfbayes.kernels.run.independence import (
    N_SUMS,
    N_WEIGHTS,
    TOP,
    TOTAL,
    TOTAL_SQUARE,
    SumsView,
    decide,
    weighted_draws,
)


def empty_sums(p, keep=10):
    sums = np.zeros(N_SUMS)
    sums[TOP] = -np.inf
    return SumsView(np.zeros(keep), sums, np.zeros(p), np.zeros(p), kernel_state(np.random.SeedSequence(4)))


def test_weights_of_the_posterior_itself_are_equal(coins):
    """Beta coins of the posterior as the proposal: likelihood times prior over q does not change."""
    posterior = Coins(coins.heads + 1, coins.tails + 1, np.zeros(3), 0)
    proposal = copula_view(posterior, np.eye(3), coins.model.chart.offset)
    log_odds, theta, values, weights = np.empty((200, 3)), np.empty((200, 3)), np.empty(200), np.empty(200)
    weighted_draws(
        coins.view, proposal, coins.prior, kernel_state(np.random.SeedSequence(2)), log_odds, theta, values, weights
    )
    np.testing.assert_allclose(weights, weights[0], atol=1e-3)  # the table of quantiles is a piecewise cubic
    np.testing.assert_allclose(values - values[0], coins.log_likelihood(theta) - coins.log_likelihood(theta[0]))
    wrong = copula_view(Coins(coins.tails + 1, coins.heads + 1, np.zeros(3), 0), np.eye(3), coins.model.chart.offset)
    weighted_draws(
        coins.view, wrong, coins.prior, kernel_state(np.random.SeedSequence(2)), log_odds, theta, values, weights
    )
    ratio = stats.beta.logpdf(theta, coins.heads + 1, coins.tails + 1)
    ratio -= stats.beta.logpdf(theta, coins.tails + 1, coins.heads + 1)
    np.testing.assert_allclose(weights - weights[0], ratio.sum(axis=1) - ratio[0].sum(), atol=1e-2)


@pytest.fixture
def batch():
    """Sixty proposals (w, theta) with their values and weights, one of which has none."""
    rng = np.random.default_rng(3)
    log_odds = rng.normal(size=(60, 2))
    weights = 2 * rng.normal(size=60)
    weights[7] = -np.inf
    return (log_odds, 1 / (1 + np.exp(-log_odds))), rng.normal(size=60), weights


def started():
    state = new_state([0.5, 0.5], np.ones((1, 2)))
    state.numbers[LOG_TARGET] = -1.0
    return state


def test_decisions_and_weighted_moments_are_those_of_a_loop(batch):
    (log_odds, theta), values, weights = batch
    view, state, kept = empty_sums(2), started(), room_for(60, 2)
    twin, expected, current, weight = view.decisions.copy(), [], np.zeros(2), -1.0
    for w, proposed in zip(log_odds, weights, strict=True):
        if np.log(uniform(twin)) < proposed - weight:
            current, weight = w, proposed
        expected.append(current)
    decide(view, ChainSettings(0, 1, 0, 0, 1), state, (log_odds, theta), values, weights, kept)
    np.testing.assert_array_equal(kept.draws, expected)
    assert state.numbers[LOG_TARGET] == weight
    assert state.numbers[LOG_LIKELIHOOD] == values[weights == weight]
    share = np.exp(weights - weights.max())
    mean = share @ theta / share.sum()
    np.testing.assert_allclose(view.weighted_mean, mean, rtol=1e-12)
    np.testing.assert_allclose(view.weighted_square, share @ (theta - mean) ** 2, rtol=1e-12)
    np.testing.assert_allclose(
        view.sums[[TOP, TOTAL, TOTAL_SQUARE, N_WEIGHTS]], [weights.max(), share.sum(), (share**2).sum(), 60]
    )
    np.testing.assert_array_equal(view.log_weights, weights[:10])


def test_a_weight_that_is_no_number_stops_the_chain(batch):
    proposals, values, weights = batch
    weights[5] = np.nan
    state, kept = started(), room_for(60, 2)
    decide(empty_sums(2), ChainSettings(0, 1, 0, 0, 1), state, proposals, values, weights, kept)
    assert state.counters[FAILED] == NOT_A_NUMBER
    assert np.isnan(kept.draws[5:]).all()
    assert not np.isnan(kept.draws[:5]).any()
