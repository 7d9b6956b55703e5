"""Pseudolikelihoods, pair counts and similar rows against loops."""

import itertools

import numpy as np
import pytest
from scipy.special import log_softmax, softmax

from mrfbayes.kernels.estimation.pair_tables import add_conditionals, add_pairs, similar_rows

OFFSET = np.array([0, 3, 5, 9])  # variables of 3, 2 and 4 states


@pytest.fixture
def rows():
    """Places (10, 3) of the states of ten rows, and weights."""
    rng = np.random.default_rng(1)
    places = rng.integers(0, np.diff(OFFSET), size=(10, 3)) + OFFSET[:-1]
    return places.astype(np.int32), rng.uniform(0.5, 2.0, size=10).astype(np.float32)


def test_conditionals_and_residuals_are_those_of_every_variable(rows):
    """The gradient in entry (a, b) is the sum over rows with a of the residual of state b."""
    places, weight = rows
    table = np.random.default_rng(2).normal(size=(9, 9)).astype(np.float32)
    table += table.T
    for first, stop in itertools.pairwise(OFFSET):
        table[first:stop, first:stop] *= np.eye(stop - first, dtype=np.float32)
    value, expected = 0.0, np.zeros((9, 9))
    for row, w in zip(places, weight, strict=True):
        residual = np.zeros(9)
        for i in range(3):
            own = np.arange(OFFSET[i], OFFSET[i + 1])
            logs = table[own, own].astype(float) + sum(table[own, row[j]] for j in range(3) if j != i)
            value += w * log_softmax(logs)[row[i] - OFFSET[i]]
            residual[own] = -w * softmax(logs)
            residual[row[i]] += w
        expected[row] += residual
    gradient = np.zeros((9, 9), dtype=np.float32)
    found = add_conditionals(places, weight, OFFSET, table, gradient, np.empty(9, np.float32))
    assert found == pytest.approx(value, rel=1e-5)
    np.testing.assert_allclose(gradient, expected, atol=1e-5)


def test_pair_counts_are_products_of_indicators(rows):
    places, weight = rows
    indicator = np.zeros((10, 9))
    np.put_along_axis(indicator, places.astype(np.int64), 1.0, axis=1)
    counts = np.ones((9, 9), dtype=np.float32)  # what is there is added to
    add_pairs(places, weight, counts)
    np.testing.assert_allclose(counts, 1 + indicator.T @ (weight[:, None] * indicator), rtol=1e-5)


def test_similar_rows_count_themselves_and_reach_the_least_number():
    states = np.random.default_rng(3).integers(0, 3, size=(40, 6)).astype(np.uint8)
    equal = (states[:, None] == states).sum(axis=2)
    for least in (3, 4, 6):
        counts = np.empty(40)
        similar_rows(states, least, counts)
        np.testing.assert_array_equal(counts, (equal >= least).sum(axis=1))
