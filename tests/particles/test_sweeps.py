"""Packing, views, and sweeps on several threads."""

from __future__ import annotations

import numpy as np
import pytest

from mrfbayes.base.errors import InputError
from mrfbayes.base.random_streams import kernel_state, seed_sequence
from mrfbayes.model.lowering import adjacency
from mrfbayes.particles import sweeps as particles
from oracles import grid_pairs


@pytest.mark.parametrize("n", [1, 63, 64, 65, 1000])
def test_packing_puts_particle_k_into_bit_k_mod_64_of_word_k_div_64(n):
    x = np.random.default_rng(0).integers(0, 2, size=(n, 5), dtype=np.uint8)
    words = particles.pack(x)
    assert words.shape == (5, -(-n // 64))
    assert words.ctypes.data % 64 == 0
    for k in {0, n // 2, n - 1}:
        np.testing.assert_array_equal(words[:, k // 64] >> np.uint64(k % 64) & np.uint64(1), x[k])
    np.testing.assert_array_equal(particles.unpack(words, n), x)


@pytest.mark.parametrize("fields", [0.0, 1.0])
def test_any_number_of_threads_gives_the_same_particles(fields):
    rng = np.random.default_rng(1)
    pairs = grid_pairs(5, 4)
    view = particles.bit_view(adjacency(pairs, 20), fields * rng.normal(size=20), rng.normal(size=len(pairs)))
    start = particles.random_words(20, 64 * 55, rng)
    found = []
    for threads in (1, 2, 3, 50):
        words = start.copy()
        state = kernel_state(seed_sequence(2), "threads")
        particles.sweep(view, words, 2, state, threads)
        found.append([words, state])
    assert not np.array_equal(found[0][0], start)
    for other in found[1:]:
        for a, b in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(a, b)


def test_blocks_have_streams_of_their_own():
    view = particles.bit_view(adjacency(np.zeros((0, 2), dtype=np.int64), 1), np.zeros(1), np.zeros(0))
    words = particles.empty_words(1, 64 * 40)
    particles.sweep(view, words, 1, kernel_state(seed_sequence(3), "streams"))
    assert len(set(words[0].tolist())) == 40


def test_too_many_neighbours_are_refused_with_an_alternative():
    pairs = np.array([(0, j) for j in range(1, 8)])
    with pytest.raises(InputError, match=r"node 0 has 7 neighbours: .* at most 6; use spin_view"):
        particles.bit_view(adjacency(pairs, 8), np.zeros(8), np.zeros(7))


def test_symmetric_with_fields_is_refused():
    with pytest.raises(InputError, match=r"symmetric=True .*fields .*zero"):
        particles.bit_view(adjacency(np.array([(0, 1)]), 2), np.ones(2), np.zeros(1), symmetric=True)
