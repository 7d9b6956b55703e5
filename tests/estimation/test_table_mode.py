"""The mode of tables: the gradient of their pseudolikelihood, their gauge, and the check of sampled modes."""

import itertools

import numpy as np
import pytest

import mrfbayes as mb
from estimation.table_cases import simulated, some_table
from mrfbayes.estimation import table_mode
from mrfbayes.estimation.table_mode import TableProblem, centred


def test_gradient_is_that_of_the_log_pseudolikelihood():
    rng = np.random.default_rng(1)
    q, length = 3, 3
    rows, weight = rng.integers(0, q, (12, length)), rng.uniform(0.5, 2, 12).astype(np.float32)
    offset = np.arange(length + 1) * q
    table = some_table(length, q, [(0, 1), (1, 2)], rng)
    problem = TableProblem((rows + offset[:-1]).astype(np.int32), weight, offset, 0.5)

    def value(t):
        total = 0.0
        for x, w in zip(rows, weight, strict=True):
            at = x + offset[:-1]
            for i in range(length):
                own = np.arange(q) + offset[i]
                logs = t[own, own] + sum(t[own, at[j]] for j in range(length) if j != i)
                total += w * (logs[x[i]] - np.logaddexp.reduce(logs))
        inside = ~np.kron(np.eye(length), np.ones((q, q))).astype(bool)
        return total - (t[inside] ** 2).sum() / 4 / 0.25 - (np.diag(t) ** 2).sum() / 18

    found, slope = problem.value_gradient(table)
    exact = table.astype(float)
    assert found == pytest.approx(value(exact), rel=1e-5)
    for a, b in ((0, 4), (2, 7), (3, 8), (1, 1), (5, 5)):
        step = np.zeros_like(exact)
        step[a, b] = step[b, a] = 1e-5
        assert slope[a, b] == pytest.approx((value(exact + step) - value(exact - step)) / 2e-5, abs=2e-4)
    assert abs(slope[0, 4]) > 1e-2


def test_centred_tables_sum_to_zero_and_leave_the_law_as_it_is():
    """Variables of 2, 3 and 4 states: log weights of all configurations change by one constant."""
    rng = np.random.default_rng(3)
    sizes = [2, 3, 4]
    offset = np.append(0, np.cumsum(sizes))
    owner = np.repeat(np.arange(3), sizes)
    table = rng.normal(size=(9, 9))
    table = np.where((owner[:, None] == owner) & ~np.eye(9, dtype=bool), 0.0, table + table.T).astype(np.float32)
    found = centred(table, offset)
    for i, j in itertools.permutations(range(3), 2):
        np.testing.assert_allclose(found[np.ix_(owner == i, owner == j)].sum(axis=1), 0.0, atol=1e-5)
    np.testing.assert_allclose([np.diag(found)[owner == i].sum() for i in range(3)], 0.0, atol=1e-5)

    def log_weights(t):
        states = [np.add(x, offset[:-1]) for x in itertools.product(*map(range, sizes))]
        return np.array([np.triu(t)[np.ix_(at, at)].sum() for at in states])

    change = log_weights(found) - log_weights(table)
    np.testing.assert_allclose(change, change[0], atol=1e-5)
    assert abs(change[0]) > 0.1


def test_pcd_has_converged_where_fresh_chains_see_no_gradient(monkeypatch):
    x, _ = simulated()
    found = mb.pair_tables(x, method="pcd", scale=0.3, steps=100, rng=1, progress=False)
    assert found.converged
    assert found.residual < 0.2
    monkeypatch.setattr(table_mode, "PCD_RATE", 1e-3)  # steps that hardly move from the start
    monkeypatch.setattr(table_mode.TableProblem, "climb", lambda self, table, most, bar: (table, True, 0))
    stuck = mb.pair_tables(x, method="pcd", scale=0.3, steps=20, rng=1, progress=False)
    assert not stuck.converged
    assert stuck.residual > 0.5
    assert "not converged" in repr(stuck)
