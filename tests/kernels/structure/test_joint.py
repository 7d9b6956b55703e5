"""The conditional of all cells of a table at once: against sums over all configurations, and its derivatives."""

import itertools

import numpy as np
import pytest

import mrfbayes as mb
from mrfbayes.kernels.structure.joint import _cholesky, _height, _set_cells, _slopes
from structure.move_cases import search_parts

MODEL = mb.graph([(0, 1), (1, 2)], states=3, coupling="table")
STATES = np.array(list(itertools.product(range(3), repeat=3)))
# A log-odds for each pair of states but those of the first category.
S = np.column_stack(
    [(STATES[:, u] == a) & (STATES[:, v] == b) for u, v in ((0, 1), (1, 2)) for a in (1, 2) for b in (1, 2)]
)


@pytest.fixture(scope="module")
def parts():
    """At unequal log-odds, with the cells of the first edge set."""
    parts = search_parts(MODEL, np.random.default_rng(3).integers(0, 3, (80, 3)))
    parts.state.w[0] = np.linspace(-0.8, 0.9, 8)
    p = np.exp(S @ parts.state.w[0])
    _set_cells(parts.moves, parts.line, (p / p.sum())[None], 0)
    return parts


def height(parts, move, with_slab):
    return _height(parts.moves, parts.state, parts.line, 0, 0, 9, np.ascontiguousarray(move), with_slab)


def test_cells_of_the_edge_are_those_of_all_configurations(parts):
    p = np.exp(S @ parts.state.w[0])
    expected = [p[(STATES[:, 0] == a) & (STATES[:, 1] == b)].sum() / p.sum() for a in range(3) for b in range(3)]
    np.testing.assert_allclose(parts.line.weight[0], expected)


def test_heights_are_log_likelihoods(parts):
    counts, w = parts.moves.raw_count[0], parts.state.w[0]

    def log_likelihood(move):
        moved = w + np.append(move, np.zeros(4))
        return counts @ moved - 80 * np.log(np.exp(S @ moved).sum())

    for move in np.random.default_rng(5).normal(0, 0.7, (3, 4)):
        found = height(parts, move, False) - height(parts, np.zeros(4), False)
        assert found == pytest.approx(log_likelihood(move) - log_likelihood(np.zeros(4)), abs=1e-9)


def test_slopes_are_derivatives_of_the_height(parts):
    at, step = np.array([0.3, -0.2, 0.1, 0.4]), 1e-3 * np.eye(4)
    gradient, information = np.empty(4), np.empty((4, 4))
    _slopes(parts.moves, parts.state, parts.line, 0, 0, 9, at, gradient, information)
    first = [(height(parts, at + e, True) - height(parts, at - e, True)) / 2e-3 for e in step]
    np.testing.assert_allclose(gradient, first, rtol=1e-5)
    sums = [
        [sum(s * t * height(parts, at + s * d + t * e, True) for s in (1, -1) for t in (1, -1)) for d in step]
        for e in step
    ]
    np.testing.assert_allclose(information, -np.array(sums) / 4e-6, rtol=1e-4, atol=1e-4)


def test_the_factor_is_that_of_numpy():
    rng = np.random.default_rng(2)
    half = rng.normal(size=(5, 5))
    matrix = half @ half.T + np.eye(5)
    factor = matrix.copy()
    assert _cholesky(factor) == pytest.approx(0.5 * np.linalg.slogdet(matrix)[1])
    np.testing.assert_allclose(np.tril(factor), np.linalg.cholesky(matrix))
