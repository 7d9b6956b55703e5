"""The Metropolis-Hastings chain: its proposal, its moments, its target, and that it can be cut anywhere."""

import numpy as np
import pytest
from scipy import stats

from kernels.run.chain_cases import new_state, room_for
from mrfbayes.kernels.run.chain import (
    ACCEPTED,
    ALL,
    KEPT,
    NOTHING,
    OUTSIDE,
    STAYED,
    STEP,
    ChainSettings,
    add_stay,
    log_targets,
    propose,
    run_likelihood,
    run_walk,
)
from mrfbayes.results import diagnostics

LIMIT = 5.5  # Monte-Carlo standard errors


def test_a_dense_proposal_is_the_factor_times_normals():
    """Seven parameters: rows of four at a time, and three that are left."""
    rng = np.random.default_rng(1)
    factor, current = np.tril(rng.normal(size=(7, 7))), rng.normal(size=7)
    state, proposal = new_state(np.full(7, 0.5), factor.T), np.empty(7)
    state.numbers[1] = np.log(0.3)
    propose(ChainSettings(0, 1, NOTHING, 1), state, current, proposal)
    np.testing.assert_allclose(proposal, current + 0.3 * factor @ state.normals, atol=1e-14)
    assert state.normals.all()


def test_moments_of_a_chain_that_stays_are_those_of_all_steps():
    rng = np.random.default_rng(2)
    points, stays = rng.normal(size=(6, 3)), np.array([1, 4, 0, 2, 7, 1])
    mean, square, done = np.zeros(3), np.zeros(3), 0
    for point, stayed in zip(points, stays, strict=True):
        done += stayed
        add_stay(point, stayed, done, mean, square)
    every = np.repeat(points, stays, axis=0)
    np.testing.assert_allclose(mean, every.mean(axis=0), atol=1e-14)
    np.testing.assert_allclose(square, ((every - every.mean(axis=0)) ** 2).sum(axis=0), atol=1e-13)


def test_target_is_the_density_of_log_odds(coins):
    """Likelihood times the logistic density of w, which is what a uniform theta has."""
    points, out = np.random.default_rng(3).normal(size=(5, 3)), np.empty(5)
    log_targets(coins.view, coins.prior, points, np.empty(3), out)
    theta = 1 / (1 + np.exp(-points))
    expected = coins.log_likelihood(theta) + stats.logistic.logpdf(points).sum(axis=1)
    np.testing.assert_allclose(out - out[0], expected - expected[0], atol=1e-10)


@pytest.mark.parametrize("loop", [run_walk, run_likelihood], ids=["log-odds", "theta"])
def test_draws_have_the_posterior_and_a_chain_can_be_cut_anywhere(coins, loop):
    in_log_odds, steps = loop is run_walk, 40_000
    settings = ChainSettings(500, 2, ALL, 1, int(in_log_odds))
    scale = np.eye(3) * (0.5 if in_log_odds else 0.1)
    whole, kept = new_state(np.full(3, 0.5), scale), room_for(steps // 2 + 1, 3)
    loop(coins.view, coins.prior, settings, whole, kept, 500 + steps)
    draws = kept.draws[: whole.counters[KEPT]]
    assert len(draws) == steps // 2
    theta = 1 / (1 + np.exp(-draws)) if in_log_odds else draws
    posterior = stats.beta(coins.heads + 1, coins.tails + 1)
    error = (theta.mean(axis=0) - posterior.mean()) / diagnostics.mcse_mean(theta[None])
    assert np.abs(error).max() < LIMIT
    assert np.abs((theta.std(axis=0) - posterior.std()) / diagnostics.mcse_sd(theta[None])).max() < LIMIT
    np.testing.assert_allclose(
        kept.log_likelihood[: len(draws)] - kept.log_likelihood[0],
        coins.log_likelihood(theta) - coins.log_likelihood(theta[0]),
        atol=1e-9,
    )
    cut, first, second = new_state(np.full(3, 0.5), scale), room_for(200, 3), room_for(400, 3, first=151)
    loop(coins.view, coins.prior, settings, cut, first, 803)
    assert cut.counters[KEPT] == 151
    loop(coins.view, coins.prior, settings, cut, second, 397)
    np.testing.assert_array_equal(np.concatenate([first.draws[:151], second.draws[:199]]), draws[:350])
    assert cut.counters[STEP] == 1_200
    assert 0 < whole.counters[ACCEPTED] < steps


def test_steps_out_of_the_parameter_space_are_counted_and_refused(coins):
    state, kept = new_state(np.full(3, 0.5), np.eye(3) * 100.0), room_for(50, 3)
    run_likelihood(coins.view, coins.prior, ChainSettings(0, 1, NOTHING, 1), state, kept, 50)
    assert state.counters[OUTSIDE] == state.counters[STAYED] == 50
    np.testing.assert_array_equal(kept.draws, 0.5)
