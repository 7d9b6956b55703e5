"""Elimination on logs: sums of strong fields, and the best configurations, against enumeration."""

from __future__ import annotations

import numpy as np
import pytest

import oracles
from kernels.exact.graph_cases import TOLERANCE, Problem
from mrfbayes.kernels.exact.graph import needs_logs
from mrfbayes.kernels.exact.graph_logs import elimination_best, forward_logs


@pytest.mark.parametrize("scale", [30.0, 300.0, 3000.0])
def test_strong_potentials_run_on_logs_when_needed(scale):
    problem = Problem(oracles.grid_pairs(2, 4), np.full(8, 2), 5, scale=scale)
    on_logs = needs_logs(problem.plan, problem.node_table, problem.edge_table, problem.scratch)
    assert on_logs == (scale > 100)
    statistics, log_weights = oracles.categorical_statistics(*problem.tables())
    log_z, mean, _, _ = oracles.derivatives_along(statistics, log_weights, problem.direction)
    got_log_z, got_mean = problem.moments()
    assert got_log_z == pytest.approx(log_z, rel=TOLERANCE)
    # The enumeration itself loses digits to the size of its log weights.
    np.testing.assert_allclose(got_mean, mean, atol=1e-16 * np.abs(log_weights).max() + TOLERANCE)


@pytest.fixture
def problem():
    """Two components with unequal numbers of states, tables cut into rows."""
    pairs = [(0, 1), (1, 2), (2, 0), (2, 3), (4, 5)]
    return Problem(pairs, [2, 3, 2, 4, 3, 2], 6, max_low=4)


def test_sum_of_logs_leaves_conditionals_of_the_scaled_pass(problem):
    log_z, _ = problem.moments()
    expected = problem.joint.copy()
    problem.joint[:] = np.nan
    tables = problem.node_table, problem.edge_table
    assert forward_logs(problem.plan, *tables, problem.joint, problem.scratch, False) == pytest.approx(log_z)
    np.testing.assert_allclose(problem.joint, expected, rtol=1e-12)


@pytest.mark.parametrize("k", [1, 7, 288, 1_000])
def test_best_configurations_are_the_first_of_all_sorted_by_weight(problem, k):
    x, log_weights = oracles.categorical_log_weights(*problem.tables())
    best = np.argsort(-log_weights)[:k]
    top = forward_logs(problem.plan, problem.node_table, problem.edge_table, problem.joint, problem.scratch, True)
    assert top == pytest.approx(log_weights.max())
    rows, regret = np.zeros((k, 6), dtype=np.uint8), np.empty(k)
    assert elimination_best(problem.plan, problem.joint, k, rows, regret) == len(best)
    np.testing.assert_array_equal(rows[: len(best)], x[best])
    np.testing.assert_allclose(top - regret[: len(best)], log_weights[best], atol=1e-12)
