"""Sweeps of rows: conditionals, expectations of groups and completed rows against enumeration."""

import itertools

import numpy as np
import pytest

import mrfbayes as mb
import small_fields
from frequencies import ALPHA, chi_square_p
from mrfbayes.base.random_streams import kernel_state, seed_sequence
from mrfbayes.kernels.particles.rows import MissingNodes, complete_by_tables, complete_rows, log_weights, row_sweeps
from mrfbayes.particles.moments import row_view

# Edges in both directions between nodes with unequal numbers of states: rows and columns must not be swapped.
TABLES = mb.graph([(0, 1), (2, 1), (2, 0)], states=[3, 2, 4], fields=True, coupling="table")


def enumerated(model, w):
    """All states and their probabilities."""
    x = small_fields.states(model)
    logs = small_fields.sufficient(model, x) @ w
    weight = np.exp(logs - logs.max())
    return x, weight / weight.sum()


def test_log_weights_of_a_node_are_those_of_whole_states():
    w = np.random.default_rng(1).normal(size=TABLES.n_parameters)
    view, potential = row_view(TABLES), np.concatenate(TABLES.lowering.potentials(w))
    for row in ([0, 0, 0], [2, 1, 3], [1, 0, 2]):
        for i, states in enumerate(TABLES.states):
            every = np.array([[*row[:i], a, *row[i + 1 :]] for a in range(states)])
            expected = small_fields.sufficient(TABLES, every) @ w
            weights = np.full(4, np.nan)
            assert log_weights(view, potential, np.array(row, dtype=np.uint8), i, weights) == states
            np.testing.assert_allclose(weights[:states] - weights[0], expected - expected[0], atol=1e-12)


@pytest.mark.parametrize("model", [mb.grid(2, 3, fields=True), TABLES], ids=["binary", "tables"])
def test_groups_have_the_expectations_of_their_own_fields(model):
    n, counted, rng = 8_000, 5, np.random.default_rng(2)
    group = np.arange(2 * n) % 2
    w = rng.normal(scale=0.8, size=(2, model.n_parameters))
    potentials = np.array([[np.concatenate(model.lowering.potentials(row)) for row in w]])
    x = rng.integers(model.states, size=(1, 1, 2 * n, model.n_nodes)).astype(np.uint8)
    sums, stream = np.zeros((1, 1, *potentials.shape[1:])), kernel_state(seed_sequence(3), "rows").reshape(1, 1, 4)
    row_sweeps(row_view(model, group), potentials, x, np.array([20, counted]), sums, stream)
    forward = model.lowering.forward
    matrix = np.zeros((model.lowering.n_rows, model.n_parameters))
    np.add.at(matrix, (forward.row, forward.column), forward.value)
    band = 5.5 * np.abs(matrix).sum(axis=0) / np.sqrt(n)
    for g in range(2):
        every, p = enumerated(model, w[g])
        found = matrix.T @ (sums[0, 0, g] / (counted * n)) + model.lowering.constant
        error = np.abs(found - p @ small_fields.sufficient(model, every))
        assert (error < 0.5 * band).all()
        other = enumerated(model, w[1 - g])[1]  # what the other group would give is told apart
        assert (np.abs(found - other @ small_fields.sufficient(model, every)) > 0.5 * band).any()


def rows_with_missing(n):
    """Rows of four nodes of which the first is seen in state 2, and what is missing of them."""
    x = np.zeros((n, 4))
    x[:, 0] = 2
    missing = MissingNodes(np.arange(0, 3 * n + 1, 3), np.tile([1, 2, 3], n), np.array([3, 2, 3, 2]))
    return x, missing


@pytest.mark.parametrize("is_product", [True, False])
def test_completed_rows_have_the_law_given_what_is_seen(is_product):
    rng = np.random.default_rng(4)
    coupling = np.triu(rng.normal(size=(4, 4)), 1)
    coupling += coupling.T
    level = np.column_stack([np.zeros(4), rng.normal(size=(4, 2))])
    x, missing = rows_with_missing(20_000)
    complete_rows(x, missing, coupling, level, is_product, 12, kernel_state(seed_sequence(5), "x"), np.empty(3))
    assert (x[:, 0] == 2).all()
    logs = []
    for rest in itertools.product(range(2), range(3), range(2)):
        row = np.array([2, *rest])
        pairs = np.outer(row, row) if is_product else row[:, None] == row
        logs.append(level[np.arange(4), row].sum() + (np.triu(coupling, 1) * pairs).sum())
    p = np.exp(logs - np.logaddexp.reduce(logs))
    seen = np.bincount((x[:, 1:] @ [6, 2, 1]).astype(int), minlength=12)
    assert chi_square_p(seen, p) > ALPHA
    assert chi_square_p(seen, p[::-1]) < ALPHA


def test_rows_completed_by_tables_have_the_law_given_what_is_seen():
    n, w = 20_000, np.random.default_rng(6).normal(size=TABLES.n_parameters)
    x = np.tile([0.0, 1.0, 0.0], (n, 1))
    missing = MissingNodes(np.arange(0, 2 * n + 1, 2), np.tile([0, 2], n), np.array(TABLES.states, dtype=np.int64))
    potential = np.concatenate(TABLES.lowering.potentials(w))
    complete_by_tables(x, missing, row_view(TABLES), potential, 12, kernel_state(seed_sequence(7), "x"), np.empty(4))
    assert (x[:, 1] == 1).all()
    every, p = enumerated(TABLES, w)
    given = p[every[:, 1] == 1] / p[every[:, 1] == 1].sum()
    seen = np.bincount((4 * x[:, 0] + x[:, 2]).astype(int), minlength=12)
    assert chi_square_p(seen, given) > ALPHA
    assert chi_square_p(seen, given[::-1]) < ALPHA
