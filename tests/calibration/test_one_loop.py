"""The covariance to one loop: against full tensors, and drawn back where it is not positive definite."""

import itertools

import numpy as np
import pytest

import mrfbayes as mb
from calibration.expansion_cases import calibrated_numbers
from mrfbayes.calibration import one_loop as loops
from mrfbayes.calibration.cumulants import ExactCumulants
from mrfbayes.calibration.one_loop import one_loop, usable
from mrfbayes.particles.moments import row_statistics
from mrfbayes.priors import Prior
from oracles import cumulants

SEED = np.random.SeedSequence(7)


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


def test_a_covariance_that_is_not_positive_is_drawn_towards_the_leading_order():
    """Eigenvalues 1 and 1 of S, 2.5 and -0.5 of the loops: an eighth at a time until the smaller is above 0.2."""
    spread = np.diag([0.04, 0.09])
    scale = np.sqrt(np.outer(np.diag(spread), np.diag(spread)))
    loops_only = np.array([[1.0, 1.5], [1.5, 1.0]]) * scale
    found, raised = usable(loops_only, spread)
    assert raised == 0.5  # 1 - 1.5 (1 - 4/8) = 0.25; three eighths would leave 0.0625
    np.testing.assert_allclose(found, np.array([[1.0, 0.75], [0.75, 1.0]]) * scale)
    sound = np.array([[1.0, 0.3], [0.3, 1.0]]) * scale
    np.testing.assert_array_equal(usable(sound, spread)[0], sound)
