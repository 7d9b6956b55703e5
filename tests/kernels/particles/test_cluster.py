"""Swendsen-Wang moves: transition matrix, law, both signs, fields, more states."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from frequencies import ALPHA, chi_square_p, state_counts, without_jit
from mrfbayes.base.random_streams import kernel_state, seed_sequence
from mrfbayes.kernels.base.linear import choose
from mrfbayes.kernels.particles import cluster
from mrfbayes.particles import sweeps as particles
from oracles import categorical_log_weights

SQUARE = np.array([(0, 1), (1, 2), (3, 2), (3, 0), (0, 2)])  # two frustrated or satisfied triangles


def agreement_field(r, fields, seed=0, pairs=SQUARE):
    """Couplings of both signs; ``fields`` scales the node tables."""
    rng = np.random.default_rng(seed)
    d = int(pairs.max()) + 1
    return rng.normal(size=len(pairs)), fields * rng.normal(size=(d, r)), pairs


def view_of(coupling, tables, pairs):
    d, r = tables.shape
    return cluster.ClusterView(pairs, coupling.copy(), np.arange(d + 1) * r, tables.ravel().copy(), bool(tables.any()))


def law(coupling, tables, pairs):
    x, log_weights = categorical_log_weights(list(tables), [c * np.eye(tables.shape[1]) for c in coupling], pairs)
    weights = np.exp(log_weights - log_weights.max())
    return x, weights / weights.sum()


def components(d, bonds):
    label = list(range(d))
    for u, v in bonds:
        old, new = label[u], label[v]
        label = [new if k == old else k for k in label]
    return [[i for i in range(d) if label[i] == k] for k in sorted(set(label))]


def transition_matrix(view, x, r, wrong_sign=False):
    """P from the kernel's bond probabilities and the kernel's law of a shift, by enumeration of the bonds."""
    index = {tuple(row): k for k, row in enumerate(x.tolist())}
    d = x.shape[1]
    bond = [cluster.bond_probability(c) for c in view.coupling]
    if wrong_sign:
        bond = [1 - p for p in bond]
    matrix = np.zeros((len(x), len(x)))
    tables = view.node_table.reshape(d, r)
    for k, row in enumerate(x.tolist()):
        satisfied = [e for e, (u, v) in enumerate(view.pairs.tolist()) if (row[u] == row[v]) == (view.coupling[e] > 0)]
        for chosen in itertools.product((0, 1), repeat=len(satisfied)):
            weight = np.prod([bond[e] if c else 1 - bond[e] for e, c in zip(satisfied, chosen, strict=True)])
            parts = components(d, [view.pairs[e] for e, c in zip(satisfied, chosen, strict=True) if c])
            shifts = [
                shift_law(np.array([sum(tables[i, (row[i] + s) % r] for i in part) for s in range(r)]))
                for part in parts
            ]
            for picks in itertools.product(range(r), repeat=len(parts)):
                after = list(row)
                for part, s in zip(parts, picks, strict=True):
                    for i in part:
                        after[i] = (row[i] + s) % r
                matrix[k, index[tuple(after)]] += weight * np.prod([q[s] for q, s in zip(shifts, picks, strict=True)])
    return matrix


def shift_law(log_weights):
    """Probabilities of the shifts that `choose` draws: the weights that it leaves, normalised."""
    weights = log_weights.copy()
    choose(weights, weights.size, 0.5)
    return weights / weights.sum()


@pytest.mark.parametrize(("r", "fields"), [(2, 0.0), (2, 1.0), (3, 0.0), (3, 1.0)])
def test_moves_leave_the_field_invariant(r, fields):
    field = agreement_field(r, fields)
    x, probabilities = law(*field)
    matrix = transition_matrix(view_of(*field), x, r)
    np.testing.assert_allclose(matrix.sum(axis=1), 1, rtol=1e-12)
    assert np.abs(probabilities @ matrix - probabilities).sum() < 1e-13


def test_invariance_test_detects_wrong_bonds():
    field = agreement_field(2, 1.0)
    x, probabilities = law(*field)
    matrix = transition_matrix(view_of(*field), x, 2, wrong_sign=True)
    assert np.abs(probabilities @ matrix - probabilities).sum() > 1e-3


@pytest.mark.parametrize(("r", "fields"), [(2, 0.0), (2, 1.0), (3, 0.0), (3, 1.0), (5, 0.5)])
def test_particles_follow_the_field(r, fields):
    coupling, tables, pairs = agreement_field(r, fields)
    n = 60_000
    x = np.random.default_rng(1).integers(0, r, size=(len(tables), n), dtype=np.uint8)
    particles.sweep(view_of(coupling, tables, pairs), x, 40, kernel_state(seed_sequence(17), "law"))
    observed = state_counts(x.T, [r] * len(tables))
    assert chi_square_p(observed, law(coupling, tables, pairs)[1]) > ALPHA
    coupling[0] += 0.2
    assert chi_square_p(observed, law(coupling, tables, pairs)[1]) < ALPHA


def test_any_number_of_threads_gives_the_same_particles():
    view = view_of(*agreement_field(3, 1.0))
    found = []
    for threads in (1, 2, 5):
        x = np.zeros((4, 300), dtype=np.uint8)
        particles.sweep(view, x, 3, kernel_state(seed_sequence(17), "threads"), threads)
        found.append(x)
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


def some_particles():
    x = np.zeros((4, 70), dtype=np.uint8)
    particles.sweep(view_of(*agreement_field(3, 1.0)), x, 3, kernel_state(seed_sequence(17), "jit"))
    return x.tobytes().hex()


def test_the_same_particles_without_the_jit():
    assert (
        without_jit("from kernels.particles.test_cluster import some_particles; print(some_particles())").strip()
        == some_particles()
    )
