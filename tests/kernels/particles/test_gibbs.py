"""SIMD Gibbs sampling of binary and categorical fields: conditionals, law, counts."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from frequencies import ALPHA, chi_square_p, state_counts, stationary_error, without_jit
from mrfbayes.base.random_streams import kernel_state, seed_sequence
from mrfbayes.kernels.particles import gibbs
from mrfbayes.model.lowering import LinearMap, Lowering, adjacency
from mrfbayes.particles import sweeps as particles
from oracles import binary_probabilities, binary_states, binary_statistics, categorical_log_weights


def state(key):
    return kernel_state(seed_sequence(11), key)


def complete_field(d, seed=0, scale=0.5):
    rng = np.random.default_rng(seed)
    pairs = np.array(list(itertools.combinations(range(d), 2)))
    return rng.normal(size=d), scale * rng.normal(size=len(pairs)), pairs


def spin_view(field, coupling, pairs):
    return particles.spin_view(adjacency(pairs, len(field)), field, coupling)


def categorical_field(seed=1, scale=1.0):
    """Unequal numbers of states, pairs in both directions, an isolated node."""
    rng = np.random.default_rng(seed)
    states = np.array([3, 2, 4, 3, 2, 3])
    pairs = np.array([(0, 1), (2, 1), (2, 0), (3, 2), (1, 3), (4, 0)])
    nodes = [scale * rng.normal(size=r) for r in states]
    edges = [scale * rng.normal(size=(states[u], states[v])) for u, v in pairs]
    return states, pairs, nodes, edges


def table_view(states, pairs, nodes, edges):
    node_offset = np.concatenate([[0], np.cumsum(states)])
    edge_offset = np.concatenate([[0], np.cumsum([t.size for t in edges])])
    nothing = LinearMap(np.zeros(0, int), np.zeros(0, int), np.zeros(0))
    lowering = Lowering(False, pairs, states, node_offset, edge_offset, np.zeros(0), nothing)
    tables = np.concatenate(nodes), np.concatenate([t.ravel() for t in edges])
    return particles.table_view(adjacency(pairs, len(states)), lowering, *tables)


def categorical_law(pairs, nodes, edges):
    x, log_weights = categorical_log_weights(nodes, edges, pairs)
    weights = np.exp(log_weights - log_weights.max())
    return x, weights / weights.sum()


def spin_sweep_error(view, probabilities):
    """Sum over sites of ||pi P - pi||_1, P from the probabilities that the kernel compares with."""
    d = view.field.size
    x = binary_states(d)
    total = 0.0
    for node in range(d):
        zero = np.flatnonzero(x[:, node] == 0)
        conditional = np.empty(zero.size)
        for begin in range(0, zero.size, gibbs.LANES):
            some = zero[begin : begin + gibbs.LANES]
            spins, out = np.ones((d, gibbs.LANES)), np.empty(gibbs.LANES)
            spins[:, : some.size] = 2.0 * x[some].T - 1.0
            gibbs.site_probabilities(view, node, spins.reshape(-1), out)
            conditional[begin : begin + some.size] = out[: some.size]
        total += stationary_error(probabilities, conditional, np.stack([zero, zero + (1 << (d - 1 - node))], axis=1))
    return total


def test_spin_updates_leave_the_field_invariant_and_a_wrong_coupling_does_not():
    field, coupling, pairs = complete_field(10)
    probabilities = binary_probabilities(field, coupling, pairs)
    assert spin_sweep_error(spin_view(field, coupling, pairs), probabilities) < 1e-13
    coupling[7] += 1e-9
    assert spin_sweep_error(spin_view(field, coupling, pairs), probabilities) > 1e-13


def table_sweep_error(view, x, probabilities, states):
    total = 0.0
    index = np.arange(len(x)).reshape(states)
    for node, r in enumerate(states):
        groups = np.moveaxis(index, node, -1).reshape(-1, r)
        for begin in range(0, len(groups), gibbs.LANES):
            some = groups[begin : begin + gibbs.LANES]
            lanes = np.zeros((len(states), gibbs.LANES), dtype=np.uint64)
            lanes[:, : len(some)] = x[some[:, 0]].T
            weights = np.empty(r * gibbs.LANES)
            assert gibbs.site_weights(view, node, lanes.reshape(-1), weights, np.empty(gibbs.LANES)) == r
            conditional = weights.reshape(r, -1)[:, : len(some)].T
            conditional = conditional / conditional.sum(axis=1, keepdims=True)
            mass = probabilities[some].sum(axis=1, keepdims=True)
            total += np.abs(mass * conditional - probabilities[some]).sum()
    return total


def test_table_updates_leave_the_field_invariant_and_a_wrong_table_does_not():
    states, pairs, nodes, edges = categorical_field()
    x, probabilities = categorical_law(pairs, nodes, edges)
    assert table_sweep_error(table_view(states, pairs, nodes, edges), x, probabilities, states) < 1e-13
    edges[2][1, 0] += 1e-9
    assert table_sweep_error(table_view(states, pairs, nodes, edges), x, probabilities, states) > 1e-13


def test_spin_particles_follow_the_field():
    field, coupling, pairs = complete_field(8)
    n = 100_000
    x = np.random.default_rng(2).integers(0, 2, size=(8, n), dtype=np.uint8)
    gibbs.spin_sweep(spin_view(field, coupling, pairs), x, 60, state("spin law"))
    observed = state_counts(x.T)
    assert chi_square_p(observed, binary_probabilities(field, coupling, pairs)) > ALPHA
    coupling[3] += 0.1
    assert chi_square_p(observed, binary_probabilities(field, coupling, pairs)) < ALPHA


def test_categorical_particles_follow_the_field():
    states, pairs, nodes, edges = categorical_field(scale=0.5)
    n = 100_000
    x = np.zeros((len(states), n), dtype=np.uint8)
    gibbs.table_sweep(table_view(states, pairs, nodes, edges), x, 60, state("table law"))
    observed = state_counts(x.T, states)
    assert chi_square_p(observed, categorical_law(pairs, nodes, edges)[1]) > ALPHA
    edges[1][2, 1] += 0.2
    assert chi_square_p(observed, categorical_law(pairs, nodes, edges)[1]) < ALPHA


def no_counts(view):
    return gibbs.ColumnCounts(*(np.zeros(part.size, dtype=np.int64) for part in view[-2:]))


@pytest.mark.parametrize("n", [50_000, 50_001, 50_063])
def test_spin_counts_are_expected_counts(n):
    field, coupling, pairs = complete_field(9)
    view = spin_view(field, coupling, pairs)
    x = np.random.default_rng(3).integers(0, 2, size=(9, n), dtype=np.uint8)
    stream = state("spin counts")
    gibbs.spin_sweep(view, x, 60, stream)
    twin, twin_stream, counts = x.copy(), stream.copy(), no_counts(view)
    particles.sweep(view, x, 1, stream, counts=counts)
    gibbs.spin_sweep(view, twin, 1, twin_stream)
    np.testing.assert_array_equal(x, twin)
    ones, agreements = (part / gibbs.FIXED_POINT for part in counts)
    mean = binary_probabilities(field, coupling, pairs) @ binary_statistics(9, pairs)
    assert np.abs(np.concatenate([ones, agreements]) / n - mean).max() < 5.5 * 0.5 / np.sqrt(n)


def test_table_counts_are_expected_counts():
    states, pairs, nodes, edges = categorical_field()
    view = table_view(states, pairs, nodes, edges)
    n = 50_001
    x = np.zeros((len(states), n), dtype=np.uint8)
    stream = state("table counts")
    gibbs.table_sweep(view, x, 60, stream)
    twin, twin_stream, counts = x.copy(), stream.copy(), no_counts(view)
    particles.sweep(view, x, 1, stream, counts=counts)
    gibbs.table_sweep(view, twin, 1, twin_stream)
    np.testing.assert_array_equal(x, twin)
    node_cells, edge_cells = (part / gibbs.FIXED_POINT for part in counts)
    all_x, probabilities = categorical_law(pairs, nodes, edges)
    expected = [probabilities @ (all_x[:, [i]] == np.arange(r)) for i, r in enumerate(states)]
    for u, v in pairs:
        cell = all_x[:, u] * states[v] + all_x[:, v]
        expected.append(np.bincount(cell, probabilities, minlength=states[u] * states[v]))
    found = np.concatenate([node_cells, edge_cells]) / n
    assert np.abs(found - np.concatenate(expected)).max() < 5.5 * 0.5 / np.sqrt(n)


def test_extreme_potentials_neither_overflow_nor_divide_by_zero():
    pairs = np.array([(0, 1), (0, 2)])
    x = np.random.default_rng(4).integers(0, 2, size=(3, 200), dtype=np.uint8)
    view = spin_view(np.array([0.0, 3000.0, 0.0]), np.array([2000.0, -2000.0]), pairs)
    gibbs.spin_sweep(view, x, 60, state("extreme"))
    np.testing.assert_array_equal(x.T, np.tile([1, 1, 0], (200, 1)))
    nodes = [np.zeros(3), np.array([0.0, 0.0, 3000.0]), np.zeros(3)]
    edges = [2000.0 * np.eye(3), -2000.0 * (1 - np.eye(3))]
    gibbs.table_sweep(table_view(np.array([3, 3, 3]), pairs, nodes, edges), x, 60, state("extreme"))
    np.testing.assert_array_equal(x.T, np.full((200, 3), 2))


@pytest.mark.parametrize("kind", ["spin", "table"])
def test_any_number_of_threads_gives_the_same_particles(kind):
    view = spin_view(*complete_field(9)) if kind == "spin" else table_view(*categorical_field())
    n_nodes = view.offset.size - 1
    found = []
    for threads in (1, 2, 3):
        x = np.random.default_rng(5).integers(0, 2, size=(n_nodes, 500), dtype=np.uint8)
        stream = state("threads")
        particles.sweep(view, x, 2, stream, threads)
        found.append([x, stream])
    for other in found[1:]:
        for a, b in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(a, b)


def particles_of_both_kernels():
    x = np.random.default_rng(6).integers(0, 2, size=(6, 70), dtype=np.uint8)
    gibbs.spin_sweep(spin_view(*complete_field(6)), x, 2, state("jit"))
    y = x.copy()
    gibbs.table_sweep(table_view(*categorical_field()), y, 2, state("jit"))
    return x.tobytes().hex() + y.tobytes().hex()


def test_the_same_particles_without_the_jit():
    code = "from kernels.particles.test_gibbs import particles_of_both_kernels as run; print(run())"
    assert without_jit(code).strip() == particles_of_both_kernels()
