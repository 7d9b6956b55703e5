"""Loops over vectors against NumPy and SciPy."""

import itertools

import numpy as np
import pytest
from scipy.special import logsumexp

import mrfbayes as mb
from mrfbayes.kernels.base.linear import (
    apply_map,
    apply_transpose,
    cholesky,
    choose,
    exp_from_top,
    log_odds_into,
    solve_lower,
    solve_upper,
    theta_into,
)


def test_map_and_its_transpose_are_products_with_one_matrix():
    model = mb.grid(2, 3, fields=True, tied="direction")
    forward, rng = model.lowering.forward, np.random.default_rng(1)
    matrix = np.zeros((model.lowering.n_rows, model.n_parameters))
    np.add.at(matrix, (forward.row, forward.column), forward.value)
    w, statistics = rng.normal(size=matrix.shape[1]), rng.normal(size=matrix.shape[0])
    out = np.full(matrix.shape[0], np.nan)
    apply_map(forward, w, out)
    np.testing.assert_allclose(out, matrix @ w, atol=1e-14)
    back = np.ones(matrix.shape[1])  # what is there is added to
    apply_transpose(forward, statistics, back)
    np.testing.assert_allclose(back, 1 + matrix.T @ statistics, atol=1e-14)


@pytest.mark.parametrize("offset", [[0, 1, 2, 3, 4, 5], [0, 2, 3, 5]], ids=["coins", "dice"])
def test_theta_is_the_softmax_of_each_block_and_comes_back(offset):
    offset, w = np.array(offset), 3 * np.random.default_rng(2).normal(size=5)
    theta, back = np.empty(5), np.empty(5)
    theta_into(offset, w, theta)
    for first, stop in itertools.pairwise(offset):
        expected = np.exp(w[first:stop] - logsumexp(np.append(w[first:stop], 0.0)))
        np.testing.assert_allclose(theta[first:stop], expected, rtol=1e-14)
    log_odds_into(offset, theta, back)
    np.testing.assert_allclose(back, w, rtol=1e-12)


def test_weights_are_relative_to_the_largest_of_the_first():
    values = np.array([-1000.0, -1001.0, -999.5, 7.0])
    top, total = exp_from_top(values, 3)
    assert top == -999.5
    assert total == pytest.approx(np.exp([-0.5, -1.5, 0.0]).sum())
    np.testing.assert_allclose(values, [*np.exp([-0.5, -1.5, 0.0]), 7.0])  # the fourth is left alone


def test_positive_definite_systems_are_solved_from_the_lower_triangle():
    rng = np.random.default_rng(3)
    root = rng.normal(size=(5, 5))
    matrix, right = root @ root.T, rng.normal(size=5)
    lower, factor = np.tril(matrix) + np.triu(np.full((5, 5), np.nan), 1), np.zeros((5, 5))
    assert cholesky(lower, 4, 0.0, factor)
    np.testing.assert_allclose(factor[:4, :4], np.linalg.cholesky(matrix[:4, :4]), rtol=1e-10)
    assert not factor[4].any()
    half = right.copy()
    solve_lower(factor, half, 4)
    np.testing.assert_allclose(half[:4], np.linalg.solve(factor[:4, :4], right[:4]), rtol=1e-9)
    solve_upper(factor, half, 4)
    np.testing.assert_allclose(half[:4], np.linalg.solve(matrix[:4, :4], right[:4]), rtol=1e-8)
    assert half[4] == right[4]
    assert not cholesky(np.array([[1.0, 0.0], [2.0, 4.0]]), 2, 0.0, np.zeros((2, 2)))  # of determinant zero


def test_choice_inverts_the_cumulative_weights():
    log_weights = np.log([0.2, 0.5, 0.3])
    for u, expected in [(0.0, 0), (0.19, 0), (0.21, 1), (0.69, 1), (0.71, 2), (0.999, 2)]:
        assert choose(log_weights.copy(), 3, u)[0] == expected
