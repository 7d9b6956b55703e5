"""The bit-sliced sampler: its thresholds, its law, its counts."""

from __future__ import annotations

import numpy as np
import pytest

from frequencies import (
    ALPHA,
    chi_square_p,
    exact_probabilities,
    state_counts,
    stationary_error,
    without_jit,
)
from kernels.particles.bitgibbs_cases import CASES, NAMES, make_view, pattern_of, state
from mrfbayes.base.random_streams import kernel_state, seed_sequence
from mrfbayes.kernels.particles import bitgibbs
from mrfbayes.model.lowering import adjacency
from mrfbayes.particles import sweeps as particles
from oracles import binary_probabilities, binary_states, binary_statistics, grid_pairs


def kernel_conditional(view, node, x):
    """P(x_node = 1 | rest) by the thresholds that the kernel compares with."""
    pattern, reference = pattern_of(view, node, x)
    probability = view.thresholds[4 * view.code_offset[node] + pattern] / 2.0**53
    return np.where(reference == 1, 1 - probability, probability)


def largest_stationary_error(view, probabilities):
    d = view.field.size
    x = binary_states(d)
    errors = []
    for node in range(d):
        zero = np.flatnonzero(x[:, node] == 0)
        pairs_of_states = np.stack([zero, zero + (1 << (d - 1 - node))], axis=1)
        errors.append(stationary_error(probabilities, kernel_conditional(view, node, x[zero]), pairs_of_states))
    return max(errors), sum(errors)


@pytest.mark.parametrize("case", [*CASES, "grid 2x5"], ids=[*NAMES, "grid 2x5"])
def test_each_site_update_leaves_the_field_invariant(case):
    # A sweep is the product of its site updates, so its error is at most the sum of theirs.
    if case == "grid 2x5":
        rng = np.random.default_rng(1)
        case = ("", rng.normal(size=10), rng.normal(size=13), grid_pairs(2, 5))
    view = make_view(case)
    _, sweep_error = largest_stationary_error(view, exact_probabilities(case))
    assert sweep_error < 1e-13


def test_invariance_test_detects_a_wrong_threshold():
    view = make_view(CASES[0])
    view.thresholds[0] += np.uint64(2**53 * 1e-10)
    error, _ = largest_stationary_error(view, exact_probabilities(CASES[0]))
    assert error > 1e-13


@pytest.mark.parametrize("size", [3.0, 200.0, 500.0])
def test_thresholds_of_extreme_couplings_are_finite_and_right(size):
    pairs = np.array([(0, 1), (0, 2), (0, 3)])
    coupling = size * np.array([1.0, 1.0, -1.999])
    view = make_view(("", np.array([0.5, 0, 0, 0]), coupling, pairs))
    for pattern in range(8):
        log_odds = 0.5 + sum(c if pattern >> j & 1 else -c for j, c in enumerate(coupling))
        expected = 1 / (1 + np.exp(-np.clip(log_odds, -700, 700)))
        assert view.thresholds[pattern] / 2.0**53 == pytest.approx(expected, abs=1e-14)


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_particles_follow_the_field(case):
    view = make_view(case)
    n = 64 * 1500
    words = particles.random_words(view.field.size, n, np.random.default_rng(4))
    bitgibbs.bit_sweep(view, words, 60, state("law"))
    observed = state_counts(particles.unpack(words, n))
    assert chi_square_p(observed, exact_probabilities(case)) > ALPHA
    _, field, coupling, pairs = case
    wrong = coupling.copy()
    wrong[0] += 0.1
    assert chi_square_p(observed, binary_probabilities(field, wrong, pairs)) < ALPHA


def counts_of(view, n):
    return bitgibbs.BitCounts(np.zeros(view.thresholds.size, dtype=np.int64), np.int64(n))


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_counts_are_those_of_the_particles_and_of_the_field(case):
    view = make_view(case)
    _, field, _, pairs = case
    d, n = len(field), 64 * 700 + 11
    words = particles.random_words(d, n, np.random.default_rng(5))
    stream = state("counts")
    bitgibbs.bit_sweep(view, words, 60, stream)
    twin_words, twin_stream = words.copy(), stream.copy()
    counts = counts_of(view, n)
    particles.sweep(view, words, 1, stream, counts=counts)
    bitgibbs.bit_sweep(view, twin_words, 1, twin_stream)
    np.testing.assert_array_equal(words, twin_words)

    x = particles.unpack(words, n)
    agreements, ones = (x[:, pairs[:, 0]] == x[:, pairs[:, 1]]).sum(axis=0), x.sum(axis=0)
    per_node = np.add.reduceat(counts.patterns, 4 * view.code_offset[:-1])
    np.testing.assert_array_equal(per_node, n)

    mean = exact_probabilities(case) @ binary_statistics(d, pairs)
    expected_agreements, expected_ones = np.zeros(len(pairs)), np.zeros(d)
    bitgibbs.expected_counts(view, counts, expected_agreements, expected_ones)
    averaged = np.concatenate([expected_ones, expected_agreements]) / n
    plain = np.concatenate([ones, agreements]) / n
    band = 5.5 * 0.5 / np.sqrt(n)  # an average of n independent numbers in [0, 1]
    assert np.abs(averaged - mean).max() < band
    assert np.abs(plain - mean).max() < band
    assert ((averaged - mean)[d:] ** 2).sum() < ((plain - mean)[d:] ** 2).sum() * 1.5


def test_thresholds_follow_couplings_that_change_between_sweeps():
    case = CASES[1]
    view = make_view((case[0], case[1], np.zeros(len(case[2])), case[3]))
    view.coupling[:] = case[2]
    words = particles.random_words(9, 64 * 20, np.random.default_rng(6))
    twin = words.copy()
    bitgibbs.bit_sweep(view, words, 3, state("change"))
    bitgibbs.bit_sweep(make_view(case), twin, 3, state("change"))
    np.testing.assert_array_equal(words, twin)


def test_the_same_particles_without_the_jit():
    code = """
import numpy as np
from mrfbayes.particles import sweeps as particles
from mrfbayes.kernels.particles import bitgibbs
from mrfbayes.model.lowering import adjacency
from mrfbayes.base.random_streams import kernel_state, seed_sequence
from frequencies import binary_fields
for _, field, coupling, pairs in binary_fields()[:2]:
    view = particles.bit_view(adjacency(pairs, len(field)), field, coupling)
    words = particles.random_words(len(field), 64 * 18, np.random.default_rng(8))
    counts = bitgibbs.BitCounts(np.zeros(view.thresholds.size, dtype=np.int64), np.int64(64 * 18 - 5))
    particles.sweep(view, words, 2, kernel_state(seed_sequence(9), "jit"), counts=counts)
    print(words.tobytes().hex(), counts.patterns.tolist())
"""
    slow = without_jit(code).splitlines()
    for line, (_, field, coupling, pairs) in zip(slow, CASES[:2], strict=True):
        view = particles.bit_view(adjacency(pairs, len(field)), field, coupling)
        words = particles.random_words(len(field), 64 * 18, np.random.default_rng(8))
        counts = counts_of(view, 64 * 18 - 5)
        particles.sweep(view, words, 2, kernel_state(seed_sequence(9), "jit"), counts=counts)
        assert line == f"{words.tobytes().hex()} {counts.patterns.tolist()}"
