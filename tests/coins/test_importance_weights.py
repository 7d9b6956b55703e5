"""Importance weights: Pareto k of weights whose shape is known, effective size, resampling."""

import math

import numpy as np
import pytest

from mrfbayes.coins.importance_weights import (
    effective_size,
    pareto_k,
    resample,
    truncated_weights,
    weighted_quantile,
    weighted_ranks,
)


@pytest.mark.parametrize("k", [0.1, 0.3, 0.5, 0.9])
def test_pareto_k_recovers_the_shape(k):
    rng = np.random.default_rng(1)
    found = [pareto_k(np.log(rng.pareto(1 / k, 20_000) + 1)) for _ in range(5)]
    assert abs(np.mean(found) - k) < 0.1


def test_pareto_k_equals_that_of_arviz():
    from arviz_stats.base import array_stats

    rng = np.random.default_rng(2)
    for shape in (0.2, 0.6):
        log_weights = np.log(rng.pareto(1 / shape, 4000) + 1)
        _, theirs = array_stats.psislw(-log_weights)  # takes log-likelihoods
        assert abs(pareto_k(log_weights) - float(theirs)) < 0.03


def test_pareto_k_at_its_ends():
    assert pareto_k(np.zeros(1000)) == 0
    assert pareto_k(np.zeros(8)) == np.inf
    assert pareto_k(np.full(1000, -np.inf)) == np.inf
    one_giant = np.zeros(1000)
    one_giant[3] = 50
    assert pareto_k(one_giant) > 0.7


def test_effective_size():
    assert abs(effective_size(np.full(50, -1000.0)) - 50) < 1e-9
    assert abs(effective_size(np.log([1, 1e-300, 1e-300])) - 1) < 1e-9
    assert abs(effective_size(np.log([3.0, 1.0])) - 16 / 10) < 1e-12


def test_resampling_is_in_proportion():
    log_weights = np.log([0.1, 0.2, 0.3, 0.4]) + 700
    counts = np.bincount(resample(log_weights, 1000, np.random.default_rng(0)), minlength=4)
    assert np.abs(counts - [100, 200, 300, 400]).max() <= 1  # the comb leaves no more to chance
    assert resample(np.zeros(5), 0, np.random.default_rng(0)).size == 0


def test_truncated_weights_are_cut_at_root_n_times_their_mean():
    weights = np.array([1.0, 1.0, 1.0, 97.0])  # the mean is 25, root n is 2
    expected = np.array([1.0, 1.0, 1.0, 50.0])
    np.testing.assert_allclose(truncated_weights(np.log(weights) - 500), expected / expected.sum())
    np.testing.assert_allclose(truncated_weights(np.log([1.0, 2.0, 3.0, 2.0])), [1 / 8, 2 / 8, 3 / 8, 2 / 8])


def test_weighted_quantiles_are_those_of_repeated_values():
    values = np.array([[3.0, -1.0], [1.0, 5.0], [2.0, 0.0]])
    weights = np.array([0.5, 0.2, 0.3])
    ordered, middle = weighted_ranks(values, weights)
    np.testing.assert_array_equal(ordered, [[1.0, -1.0], [2.0, 0.0], [3.0, 5.0]])
    np.testing.assert_allclose(middle, [[0.1, 0.25], [0.35, 0.65], [0.75, 0.9]])
    np.testing.assert_allclose(weighted_quantile(ordered, middle, 0.35), [2.0, -1 + 0.1 / 0.4])
    np.testing.assert_allclose(weighted_quantile(ordered, middle, 0.75), [3.0, 0 + 5 * 0.1 / 0.25])


def naive_pareto_k(log_weights):
    """Zhang & Stephens (2009) on the largest weights, then ten observations' worth of 1/2, one step at a time."""
    n = len(log_weights)
    m = math.ceil(min(0.2 * n, 3 * math.sqrt(n)))
    weights = sorted(math.exp(one - max(log_weights)) for one in log_weights)
    x = [one - weights[n - m - 1] for one in weights[n - m :]]
    n_scales = 30 + int(math.sqrt(m))
    scales = [
        1 / x[-1] + (1 - math.sqrt(n_scales / (j - 0.5))) / (3 * x[int(m / 4 + 0.5) - 1])
        for j in range(1, n_scales + 1)
    ]
    shapes = [-sum(math.log1p(-b * one) for one in x) / m for b in scales]
    profiles = [m * (math.log(b / k) + k - 1) for b, k in zip(scales, shapes, strict=True)]
    beliefs = [1 / sum(math.exp(other - one) for other in profiles) for one in profiles]
    mean = sum(b * belief for b, belief in zip(scales, beliefs, strict=True))
    k = sum(math.log1p(-mean * one) for one in x) / m
    return k * m / (m + 10) + 0.5 * 10 / (m + 10)


@pytest.mark.parametrize("n", [60, 1_000])
@pytest.mark.parametrize("scale", [0.3, 1.0, 3.0])
def test_pareto_k_is_that_of_zhang_and_stephens(n, scale):
    logs = np.random.default_rng(n).normal(0, scale, n)
    assert pareto_k(logs) == pytest.approx(naive_pareto_k(logs.tolist()), rel=1e-9)
