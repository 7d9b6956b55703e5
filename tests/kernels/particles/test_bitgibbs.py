"""The bit-sliced sampler: its thresholds, its update bit by bit, its law, its counts."""

from __future__ import annotations

import numpy as np
import pytest

from frequencies import (
    ALPHA,
    binary_fields,
    chi_square_p,
    exact_probabilities,
    state_counts,
    stationary_error,
    without_jit,
)
from mrfbayes.base.random_streams import kernel_state, seed_sequence
from mrfbayes.kernels.base.random import next_word
from mrfbayes.kernels.particles import bitgibbs, bitgibbs_block
from mrfbayes.model.lowering import adjacency
from mrfbayes.particles import sweeps as particles
from oracles import binary_probabilities, binary_states, binary_statistics, grid_pairs

CASES = binary_fields()
NAMES = [case[0] for case in CASES]


def make_view(case):
    _, field, coupling, pairs = case
    view = particles.bit_view(adjacency(pairs, len(field)), field, coupling)
    bitgibbs.set_thresholds(view)
    return view


def state(key):
    return kernel_state(seed_sequence(7), key)


def pattern_of(view, node, x):
    """The kernel's index of the neighbourhood of ``node`` in each row of ``x``, and the reference bit."""
    others = view.neighbour[view.offset[node] : view.offset[node + 1]]
    reference = np.zeros(len(x), dtype=np.int64)
    if view.symmetric and others.size:
        reference, others = x[:, others[0]], others[1:]
    pattern = sum(((x[:, v] ^ reference) << j for j, v in enumerate(others)), np.zeros(len(x), dtype=np.int64))
    return pattern, reference


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
def test_an_update_is_the_geometric_digit_of_the_threshold(case):
    # The slow twin: lane by lane, from the same planes and the same stream for the lanes that they leave open.
    view = make_view(case)
    d = view.field.size
    words = particles.random_words(d, 64 * 16, np.random.default_rng(3))
    work = np.zeros(bitgibbs_block.WORK_WORDS, dtype=np.uint64)
    stream = state("twin")
    bitgibbs_block.start_block(work, stream, np.full(16, 2**64 - 1, dtype=np.uint64))
    n_open = 0
    for node in range(d):
        before = particles.unpack(words, 1024).astype(np.int64)
        twin_stream = stream.copy()
        bitgibbs_block.update_node(view, words.reshape(-1), np.uint64(16), node, np.uint64(0), work, stream, 16)
        after = particles.unpack(words, 1024)
        rows = work[: 16 * 55].reshape(55, 16)
        planes = particles.unpack(rows[32 : 32 + bitgibbs_block.PLANES], 1024)
        assert (planes.sum(axis=1) <= 1).all()
        is_open = particles.unpack(rows[44:45], 1024)[:, 0]
        np.testing.assert_array_equal(is_open, 1 - planes.sum(axis=1))
        pattern, reference = pattern_of(view, node, before)
        for k in range(1024):
            if is_open[k]:
                n_open += 1
                word = int(next_word(twin_stream))
                tosses = bitgibbs_block.PLANES + 1 + ((word & -word).bit_length() - 1 if word else 63)
                tosses = min(tosses, 53)
            else:
                tosses = int(planes[k].argmax()) + 1
            threshold = int(view.thresholds[4 * view.code_offset[node] + pattern[k]])
            assert after[k, node] == (threshold >> (53 - tosses) & 1) ^ reference[k]
    assert n_open > 0 or d < 8


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
