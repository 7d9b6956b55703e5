"""One node, one block of particles: the update lane by lane, and its counts."""

from __future__ import annotations

import numpy as np
import pytest

from kernels.particles.bitgibbs_cases import CASES, NAMES, make_view, pattern_of, state
from mrfbayes.kernels.base.random import next_word
from mrfbayes.kernels.particles import bitgibbs, bitgibbs_block
from mrfbayes.particles import sweeps as particles


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


@pytest.mark.parametrize("case", CASES[:8], ids=NAMES[:8])
def test_counts_are_the_patterns_that_the_update_met(case):
    """Only of the lanes that count: 1,000 of 1,024."""
    view, n = make_view(case), 1_000
    words = particles.random_words(view.field.size, 64 * 16, np.random.default_rng(5))
    lanes = np.full(16, 2**64 - 1, dtype=np.uint64)
    lanes[15] = 2 ** (n - 15 * 64) - 1
    work, stream = np.zeros(bitgibbs_block.WORK_WORDS, dtype=np.uint64), state("lanes")
    bitgibbs_block.start_block(work, stream, lanes)
    counts = bitgibbs.BitCounts(np.zeros(view.thresholds.size, dtype=np.int64), np.int64(n))
    for node in range(view.field.size):
        pattern = pattern_of(view, node, particles.unpack(words, n).astype(np.int64))[0]
        bitgibbs_block.update_node(view, words.reshape(-1), np.uint64(16), node, np.uint64(0), work, stream, 16)
        bitgibbs_block.count_node(view, node, work, counts)
        first, stop = 4 * view.code_offset[node : node + 2]
        np.testing.assert_array_equal(counts.patterns[first:stop], np.bincount(pattern, minlength=stop - first))
