"""Tables of all pairs against differences, enumeration and known contacts; alignments."""

import itertools

import numpy as np
import pytest

import mrfbayes as mb
from mrfbayes.base.random_streams import kernel_state, seed_sequence
from mrfbayes.estimation import table_mode
from mrfbayes.estimation.table_mode import TableProblem
from mrfbayes.kernels.estimation.pair_tables import table_gibbs


def some_table(length, q, contacts, rng, strength=1.0):
    table = np.zeros((length * q, length * q), np.float32)
    for i, j in contacts:
        block = rng.normal(0, strength, (q, q))
        block -= block.mean(axis=0) + block.mean(axis=1, keepdims=True) - block.mean()
        table[i * q : (i + 1) * q, j * q : (j + 1) * q] = block
        table[j * q : (j + 1) * q, i * q : (i + 1) * q] = block.T
    np.fill_diagonal(table, rng.normal(0, 0.5, length * q))
    return table


def simulated(length=10, q=6, n=3000, seed=0):
    rng = np.random.default_rng(seed)
    contacts = [(0, 5), (1, 7), (2, 9), (3, 8)]
    offset = np.arange(length + 1) * q
    x = (rng.integers(0, q, (n, length)) + offset[:-1]).astype(np.int32)
    table = some_table(length, q, contacts, rng)
    table_gibbs(x, offset, table, 50, np.empty(q, np.float32), kernel_state(seed_sequence(seed), "x"))
    return (x - offset[:-1]).astype(np.uint8), contacts


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


def test_gibbs_sweeps_have_the_enumerated_law():
    rng = np.random.default_rng(2)
    q, length, n = 3, 2, 40_000
    offset = np.arange(length + 1) * q
    table = some_table(length, q, [(0, 1)], rng)
    x = (rng.integers(0, q, (n, length)) + offset[:-1]).astype(np.int32)
    table_gibbs(x, offset, table, 20, np.empty(q, np.float32), kernel_state(seed_sequence(3), "x"))
    logs = np.array([table[a, a] + table[b, b] + table[a, b] for a, b in itertools.product(range(3), range(3, 6))])
    p = np.exp(logs - np.logaddexp.reduce(logs))
    seen = np.bincount(3 * x[:, 0] + x[:, 1] - 3, minlength=9)
    square = ((seen - n * p) ** 2 / (n * p)).sum()
    assert square < 45  # chi square of 8 degrees: 4e-7
    assert ((seen - n * p[::-1]) ** 2 / (n * p[::-1])).sum() > 45


@pytest.mark.parametrize("method", ["pseudo", "pcd"])
def test_contacts_are_found(method):
    x, contacts = simulated()
    found = mb.pair_tables(x, method=method, scale=0.3, steps=None if method == "pseudo" else 60, rng=1, progress=False)
    table = found.pairs()
    best = {(int(a), int(b)) for a, b in zip(table["first"][:4], table["second"][:4], strict=True)}
    assert best == set(contacts)
    assert (table["probability"][:4] > 0.99).all()
    assert (table["probability"][4:] > 0.5).sum() <= 2
    block = found.coupling(0, 5)
    np.testing.assert_allclose(block.sum(axis=0), 0, atol=1e-4)
    np.testing.assert_allclose(block, found.coupling("5", "0").T, atol=1e-6)
    assert (found.sd(0, 5) < 0.3).all()
    ax = mb.plots.contact_map(found, top=4, min_distance=1)
    assert len(ax.lines[0].get_xdata()) == 4


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


def test_hundreds_of_states_need_no_square_of_their_parameters():
    x = np.random.default_rng(4).integers(0, 21, (60, 30))
    found = mb.pair_tables(x, steps=2, progress=False)
    assert found.table.shape == (int(found.offset[-1]),) * 2
    assert "PairTables" in repr(found)


def test_bad_arguments_are_named():
    with pytest.raises(mb.InputError, match="method = 'exact'"):
        mb.pair_tables(np.zeros((3, 3), int), method="exact")
    with pytest.raises(mb.InputError, match="scale = 0"):
        mb.pair_tables(np.zeros((3, 3), int), scale=0)
