"""Coupling from the past: gauge, order of the two copies, randomness used again, law."""

from __future__ import annotations

import numpy as np
import pytest

from frequencies import ALPHA, chi_square_p, state_counts, without_jit
from mrfbayes.base.random_streams import kernel_state, seed_sequence
from mrfbayes.kernels.particles import coupling, gibbs
from mrfbayes.model.lowering import adjacency
from mrfbayes.particles import sweeps as particles
from oracles import binary_probabilities, grid_pairs


def ferromagnet(seed=0, rows=3, columns=3):
    rng = np.random.default_rng(seed)
    pairs = grid_pairs(rows, columns)
    return rng.normal(size=rows * columns), rng.uniform(0.2, 1.0, size=len(pairs)), pairs


def view_of(field, couplings, pairs):
    return particles.spin_view(adjacency(pairs, len(field)), field, couplings)


def keys_of(n_blocks, key="keys"):
    return np.stack([kernel_state(seed_sequence(13), key, i)[:3] for i in range(n_blocks)])


def draw(view, n, cap=2**12):
    keys = keys_of(-(-n // gibbs.LANES))
    windows, x = np.zeros(len(keys), dtype=np.int64), np.empty((view.field.size, n), dtype=np.uint8)
    coupling.couple_blocks(view, keys, windows, n, 8, cap, 0, len(keys), x)
    return x.T, windows


def gauge(pairs, couplings, d):
    flip = np.empty(d, dtype=np.int64)
    return coupling.find_gauge(*(np.array(a) for a in adjacency(pairs, d)), couplings, flip), flip


@pytest.mark.parametrize("seed", range(10))
def test_a_gauge_makes_balanced_couplings_positive(seed):
    rng = np.random.default_rng(seed)
    pairs = grid_pairs(3, 4)
    spins = rng.choice([-1, 1], size=12)
    couplings = rng.uniform(0.1, 1, size=len(pairs)) * spins[pairs[:, 0]] * spins[pairs[:, 1]]
    couplings[rng.integers(len(pairs))] = 0.0
    edge, flip = gauge(pairs, couplings, 12)
    assert edge == -1
    signs = 1 - 2 * flip
    assert (couplings * signs[pairs[:, 0]] * signs[pairs[:, 1]] >= 0).all()


def test_frustration_is_found_and_an_edge_of_its_cycle_named():
    pairs = np.array([(0, 1), (1, 2), (2, 3), (3, 1), (4, 0)])  # the cycle is 1, 2, 3
    edge, _ = gauge(pairs, np.array([-1.0, 1.0, 1.0, -1.0, -1.0]), 5)
    assert edge in (1, 2, 3)
    edge, _ = gauge(pairs, np.array([-1.0, 1.0, -1.0, -1.0, -1.0]), 5)
    assert edge == -1


def test_the_copies_stay_ordered_and_meet():
    view = view_of(*ferromagnet())
    size = 9 * gibbs.LANES
    for begin in (1, 3, 10):
        lower, upper = np.full(size, -1.0), np.full(size, 1.0)
        coupling.coupled_sweeps(view, keys_of(1)[0], lower, upper, begin, 0)
        assert (lower <= upper).all()
    assert coupling.coupled_sweeps(view, keys_of(1)[0], lower, upper, 500, 0)
    np.testing.assert_array_equal(lower, upper)


def test_a_longer_past_does_not_change_what_has_met():
    # This is what makes the draws exact: the randomness of each time is the same in every window.
    view = view_of(*ferromagnet())
    size = 9 * gibbs.LANES
    found = []
    for begin in (200, 300, 512):
        lower, upper = np.full(size, -1.0), np.full(size, 1.0)
        assert coupling.coupled_sweeps(view, keys_of(1)[0], lower, upper, begin, 0)
        found.append(lower)
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


def test_draws_follow_the_field():
    field, couplings, pairs = ferromagnet()
    x, windows = draw(view_of(field, couplings, pairs), 100_000)
    assert (windows > 0).all()
    assert chi_square_p(state_counts(x), binary_probabilities(field, couplings, pairs)) > ALPHA
    couplings[3] += 0.1
    assert chi_square_p(state_counts(x), binary_probabilities(field, couplings, pairs)) < ALPHA


def test_value_at_the_first_meeting_is_biased():
    # Negative control: coupling into the future, stopped where the copies meet, is the classical mistake.
    field, couplings, pairs = np.array([1.0, 0.0]), np.array([2.0]), np.array([(0, 1)])
    view = view_of(field, couplings, pairs)
    x = np.empty((2, 64 * 300), dtype=np.uint8)
    for block, key in enumerate(keys_of(300, "forwards")):
        lower, upper = np.full(2 * gibbs.LANES, -1.0), np.full(2 * gibbs.LANES, 1.0)
        met = np.zeros(gibbs.LANES, dtype=bool)
        time = 10_000
        while not met.all():
            coupling.coupled_sweeps(view, key, lower, upper, time, time - 1)
            rows = lower.reshape(2, -1)
            now = (rows == upper.reshape(2, -1)).all(axis=0) & ~met
            x[:, 64 * block + np.flatnonzero(now)] = rows[:, now] > 0
            met |= now
            time -= 1
    assert chi_square_p(state_counts(x.T), binary_probabilities(field, couplings, pairs)) < ALPHA


def test_blocks_that_do_not_meet_under_the_cap_are_reported():
    field, couplings, pairs = ferromagnet()
    _, windows = draw(view_of(0 * field, couplings + 6.0, pairs), 100, cap=32)
    np.testing.assert_array_equal(windows, 0)


def two_blocks():
    x, windows = draw(view_of(*ferromagnet(rows=2, columns=2)), 70)
    return x.tobytes().hex() + str(windows)


def test_the_same_draws_without_the_jit():
    assert (
        without_jit("from kernels.particles.test_coupling import two_blocks; print(two_blocks())").strip()
        == two_blocks()
    )
