"""Calibrated coins against cumulants by enumeration, and the cases in which they must come out exactly."""

import itertools

import numpy as np
import pytest

import mrfbayes as mb
from mrfbayes.calibration import expansion as calibration
from mrfbayes.calibration import one_loop as loops
from mrfbayes.calibration.cumulants import ExactCumulants
from mrfbayes.calibration.full import MOMENT_CELLS, moments_cost
from mrfbayes.calibration.matching import match, match_loop, skewness_doubts
from mrfbayes.calibration.one_loop import Effort, one_loop
from mrfbayes.exact.clamped import Observed
from mrfbayes.kernels.base.polygamma import polygammas
from mrfbayes.kernels.calibration.copula import match_cumulants
from mrfbayes.particles.moments import row_statistics
from mrfbayes.priors import Prior
from oracles import cumulants

SEED = np.random.SeedSequence(7)


def test_what_no_coin_can_do_is_clipped_and_counted():
    spread, third = np.array([0.1, 0.1, 0.1]), np.array([0.005, 0.0101, -0.5])  # |kappa| must stay below S^2 = 0.01
    coins = match(np.zeros(3), spread, third, np.zeros(3))
    assert coins.clipped == 2
    np.testing.assert_allclose(1 / coins.a + 1 / coins.b, spread)
    a, b = np.empty(3), np.empty(3)
    assert match_cumulants(spread, third, a, b) == 2
    np.testing.assert_allclose([polygammas(x)[1] + polygammas(y)[1] for x, y in zip(a, b, strict=True)], spread)


def test_missed_skewness_is_spoken_of_where_it_shows():
    """A coin of spread S has |kappa| below S^2: beyond it by 0.05 S^1.5 nobody sees it, by 0.5 S^1.5 one does."""
    spread = np.array([0.01, 0.04])
    assert not skewness_doubts(spread, spread**2 + 0.05 * spread**1.5)
    (text,) = skewness_doubts(spread, np.array([-1, 1]) * (spread**2 + np.array([0.5, 0.05]) * spread**1.5))
    assert "1 of 2 coins are less skewed than the posterior" in text


def calibrated_numbers(model, counts, n, prior="uniform"):
    prior = Prior(model, prior)
    mode = calibration.find_mode(model, Observed(counts, n, None), prior, np.zeros(model.n_parameters))
    return mode, calibration.third_order(mode, n, calibration.prior_tensors(prior, mode.w, mode.covariance))


def coins_both_ways(mode, order, n):
    spread = np.diag(mode.covariance)
    numbers = (mode.w, spread, order.third, order.shift)
    variance = one_loop(mode, n, order, SEED, Effort(samples=4_096, pairs=2_048))
    return match(*numbers), match_loop(*numbers, np.diag(variance), True)


def test_a_tree_comes_out_exactly():
    """Agreement coins on a tree are independent: lambda = theta ~ Beta(alpha + 1, n - alpha + 1), eta = 1/2."""
    model = mb.graph([(0, 1), (1, 2), (1, 3), (3, 4)])
    counts, n = np.array([13.0, 4.0, 20.0, 9.0]), 20.0  # the third edge always agrees: no finite MLE
    mode, order = calibrated_numbers(model, counts, n)
    for coins in coins_both_ways(mode, order, n):
        np.testing.assert_allclose(coins.a, counts + 1, rtol=1e-8)
        np.testing.assert_allclose(coins.b, n - counts + 1, rtol=1e-8)
        np.testing.assert_allclose(coins.log_odds_eta, 0, atol=1e-8)
    assert np.abs(mode.covariance - np.diag(np.diag(mode.covariance))).max() < 1e-12


def test_a_single_coin_comes_out_exactly_under_a_beta_prior():
    model = mb.graph([(0, 1)])
    mode, order = calibrated_numbers(model, np.array([3.0]), 10.0, "beta(2.5, 0.7)")
    for coins in coins_both_ways(mode, order, 10.0):
        assert coins.a == pytest.approx(5.5, rel=1e-9)
        assert coins.b == pytest.approx(7.7, rel=1e-9)
        assert coins.log_odds_eta == pytest.approx(0, abs=1e-9)


def test_the_log_odds_of_a_single_die_come_out_exactly():
    """Of a Dirichlet, theta_k / (theta_k + theta_K) is Beta(alpha_k, alpha_K)."""
    model = mb.Model({"x": 4}, [mb.Factor("x", outcomes=np.arange(4))])
    counts, n = np.array([7.0, 0.0, 11.0]), 20.0
    mode, order = calibrated_numbers(model, counts, n)
    coins = coins_both_ways(mode, order, n)[0]
    np.testing.assert_allclose(coins.a, counts + 1, rtol=1e-5)
    np.testing.assert_allclose(coins.b, n - counts.sum() + 1, rtol=1e-5)
    np.testing.assert_allclose(coins.log_odds_eta, 0, atol=1e-5)


def enumerated(model, w):
    """Statistics of every state and their probabilities."""
    states = np.array(list(itertools.product(*(range(r) for r in model.states))), dtype=np.uint8)
    statistics = row_statistics(model, states)
    weights = np.exp(statistics @ w - (statistics @ w).max())
    return statistics, weights / weights.sum()


def prior_derivatives(prior, w):
    """Third and fourth derivatives of a coin's prior as full tensors."""
    p = w.size
    third, fourth = np.zeros((p, p, p)), np.zeros((p, p, p, p))
    j = np.arange(p)
    third[j, j, j], fourth[j, j, j, j] = prior.third_w(w), prior.fourth_w(w)
    return third, fourth


@pytest.mark.parametrize(
    ("model", "prior"),
    [
        (mb.grid(2, 3, fields=True), "uniform"),
        (mb.graph([(0, 1), (1, 2), (0, 2), (2, 3)], fields=True, coupling="both-one"), "normal(0, 1)"),
    ],
)
def test_third_order_and_loops_are_those_of_the_tensors(model, prior, monkeypatch):
    n = 60.0
    p = model.n_parameters
    statistics, probabilities = enumerated(model, np.random.default_rng(5).normal(0, 0.8, p))
    mode, order = calibrated_numbers(model, n * probabilities @ statistics, n, prior)
    s = mode.covariance

    statistics, probabilities = enumerated(model, mode.w)
    mean, covariance, kappa3 = cumulants(statistics, probabilities)
    d = statistics - mean
    fourth = np.einsum("s,sa,sb,sc,sd->abcd", probabilities, d, d, d, d, optimize=True)
    for x, y in (("ab", "cd"), ("ac", "bd"), ("ad", "bc")):
        fourth -= np.einsum(f"{x},{y}->abcd", covariance, covariance)
    t3, t4 = prior_derivatives(Prior(model, prior), mode.w)
    l3, l4 = -n * kappa3 + t3, -n * fourth + t4

    third = np.einsum("abc,aj,bj,cj->j", l3, s, s, s, optimize=True)
    shift = 0.5 * np.einsum("abc,ab,cj->j", l3, s, s, optimize=True)
    np.testing.assert_allclose(order.third, third, rtol=1e-8, atol=1e-14)
    np.testing.assert_allclose(order.shift, shift, rtol=1e-8, atol=1e-14)

    inner = 0.5 * np.einsum("abcd,cd->ab", l4, s)
    inner += 0.5 * np.einsum("acd,bef,ce,df->ab", l3, l3, s, s, optimize=True)
    inner += np.einsum("abc,c->ab", l3, shift)
    correction = s @ inner @ s
    found = one_loop(mode, n, order, SEED) - s
    scale = np.sqrt(np.outer(np.diag(s), np.diag(s)))
    np.testing.assert_allclose(found / scale, correction / scale, atol=1e-8)
    assert np.abs(correction / scale).max() > 3e-2  # and it is no small thing here
    monkeypatch.setattr(ExactCumulants, "states", lambda self: None)
    sampled = one_loop(mode, n, order, SEED) - s
    assert np.abs(np.diag((sampled - correction) / scale)).max() < 5e-3  # noise 1e-3
    assert np.abs((sampled - correction) / scale).max() < 1e-2
    monkeypatch.setattr(loops, "POLARISED_CELLS", 0.0)
    in_pairs = one_loop(mode, n, order, SEED) - s
    assert np.abs((in_pairs - correction) / scale).max() < 2e-2
    assert np.abs(sampled - in_pairs).max() > 0


def test_statistics_of_rows():
    model = mb.graph([(0, 1), (1, 2)], states=3, tied=True, fields=True, coupling="score")
    rows = np.array([[0, 2, 1], [1, 1, 2]], dtype=np.uint8)
    np.testing.assert_allclose(row_statistics(model, rows)[:, 0], [2, 3])


def test_samples_of_a_tied_image_are_part_of_the_cost():
    """Loops need samples: one parameter of 28 x 28 pixels took ten minutes, though its derivatives are quick."""
    assert moments_cost(mb.grid(28, 28, tied=True)) > MOMENT_CELLS > moments_cost(mb.grid(20, 20, tied=True))
