"""Fields made ready for the bit-sliced sampler, and the neighbourhoods that its thresholds are indexed by."""

from __future__ import annotations

import numpy as np

from frequencies import binary_fields
from mrfbayes.base.random_streams import kernel_state, seed_sequence
from mrfbayes.kernels.particles import bitgibbs
from mrfbayes.model.lowering import adjacency
from mrfbayes.particles import sweeps as particles

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
