"""Log Z of binary fields on any graph against enumeration, dense row matrices and closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest

import oracles
from kernels.exact.graph_cases import TOLERANCE
from mrfbayes.exact.ordering import find_order
from mrfbayes.kernels.exact.graph import elimination_log_z
from mrfbayes.kernels.exact.graph_binary import binary_tables, elimination_log_z_binary
from mrfbayes.kernels.exact.graph_plan import build_plan, log_z_scratch


def test_a_hub_that_two_sides_pull_apart():
    """Leaves favour state 1 by exp(900), the hub's own field state 0 by as much: a scaled table would be (0, 1)."""
    leaves = 30
    pairs = np.stack([np.zeros(leaves, dtype=np.int64), 1 + np.arange(leaves)], axis=1)
    field, coupling = np.full(leaves + 1, 60.0), np.full(leaves, 30.0)
    field[0] = -900.0
    plan = build_plan(pairs, np.full(leaves + 1, 2), np.arange(leaves, -1, -1))
    log_z = elimination_log_z_binary(plan, field, coupling, np.empty(log_z_scratch(plan)))
    sides = [leaves * np.logaddexp(30.0, 60.0), -900.0 + leaves * np.logaddexp(0.0, 90.0)]
    assert log_z == pytest.approx(np.logaddexp(*sides), rel=1e-14)


def test_many_children_do_not_overflow():
    """Each leaf doubles the hub's total: 2^5001 is no double."""
    leaves = 5_000
    pairs = np.stack([np.zeros(leaves, dtype=np.int64), 1 + np.arange(leaves)], axis=1)
    plan = build_plan(pairs, np.full(leaves + 1, 2), np.arange(leaves, -1, -1))
    scratch = np.empty(log_z_scratch(plan))
    for strength in (0.0, 1e-4, 0.5, 50.0):
        coupling = np.full(leaves, strength)
        expected = math.log(2) + leaves * np.logaddexp(0.0, strength)
        table = np.empty(2 * (leaves + 1) + 4 * leaves)
        binary_tables(np.zeros(leaves + 1), coupling, table)
        nodes, edges = table[: 2 * (leaves + 1)], table[2 * (leaves + 1) :]
        assert elimination_log_z_binary(plan, np.zeros(leaves + 1), coupling, scratch) == pytest.approx(
            expected, rel=1e-12
        )
        assert elimination_log_z(plan, nodes, edges, scratch) == pytest.approx(expected, rel=1e-12)


def _binary(pairs, n, seed, scale=1.0, max_low=128):
    rng = np.random.default_rng(seed)
    plan = build_plan(pairs, np.full(n, 2), find_order(pairs, np.full(n, 2)).order, max_low=max_low)
    return plan, scale * rng.normal(size=n), scale * rng.normal(size=len(pairs)), np.empty(log_z_scratch(plan))


def test_binary_kernel_on_every_connected_graph():
    for number, (n, pairs) in enumerate(oracles.connected_graphs(5)):
        for scale in (1.0, 30.0, 1000.0):
            plan, field, coupling, scratch = _binary(pairs, n, number, scale, (1, 4, 128)[number % 3])
            for f in (field, np.zeros(n)):
                expected = oracles.binary_log_z(f, coupling, pairs)
                got = elimination_log_z_binary(plan, f, coupling, scratch)
                assert got == pytest.approx(expected, rel=TOLERANCE, abs=TOLERANCE)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_potential_that_is_no_number_is_not_hidden(bad):
    plan, field, coupling, scratch = _binary(oracles.grid_pairs(3, 3), 9, 1)
    coupling[4] = bad
    assert not math.isfinite(elimination_log_z_binary(plan, field, coupling, scratch))


@pytest.mark.parametrize("shape", [(8, 8), (10, 10), (40, 6), (3, 60)])
def test_grids_against_dense_row_matrices(shape):
    rows, cols = max(shape), min(shape)
    pairs = oracles.grid_pairs(rows, cols)
    plan, field, coupling, scratch = _binary(pairs, rows * cols, rows)
    expected = oracles.grid_log_z_dense(rows, cols, field, coupling)
    assert elimination_log_z_binary(plan, field, coupling, scratch) == pytest.approx(expected, rel=1e-12)
