r"""Monotone coupling from the past (Propp & Wilson, 1996) for binary fields whose couplings can be made positive.

With positive couplings P(x_i = 1 | rest) grows with the neighbours, so two copies that compare their probability with
the *same* uniform number stay ordered. Started from all zeros and all ones at time -T and driven by the randomness of
times -T .. -1, they bracket every start: where they meet, the value at time 0 is an exact draw. Where they have not
met, T doubles and the randomness of the later times is used again: each sweep has a stream of its own, keyed by its
time.

A field is equivalent to one with positive couplings if its spins can be relabelled (the gauge) so that every coupling
becomes positive, that is, if no cycle has an odd number of negative ones. Fields may have any sign.

Uniform numbers have 52 bits: an update differs from the conditional probabilities by at most 2^-52.
"""

from __future__ import annotations

import numpy as np

from mrfbayes.kernels.base.jit import kernel
from mrfbayes.kernels.base.random import next_word
from mrfbayes.kernels.particles.gibbs import LANES, STREAM_WORDS, fill_uniform, site_probabilities, start_stream

_ONE = np.uint64(1)
_NOW = np.int64(0)


@kernel
def find_gauge(offset, neighbour, edge, coupling, flip):
    """Relabelling ``flip`` (d,) of 0/1 that makes every coupling positive, and -1; or an edge on a frustrated cycle."""
    n_nodes = offset.size - 1
    flip[:] = 2  # not yet reached
    queue = np.empty(n_nodes, np.int64)
    for root in range(n_nodes):
        if flip[root] != 2:
            continue
        flip[root] = 0
        queue[0] = root
        head, tail = 0, 1
        while head < tail:
            node = queue[head]
            head += 1
            for position in range(offset[node], offset[node + 1]):
                c = coupling[edge[position]]
                if c == 0.0:
                    continue
                other = neighbour[position]
                wanted = flip[node] if c > 0.0 else 1 - flip[node]
                if flip[other] == 2:
                    flip[other] = wanted
                    queue[tail] = other
                    tail += 1
                elif flip[other] != wanted:
                    return edge[position]
    return -1


@kernel
def _start_sweep(key, time, state, stream):
    """The stream of the sweep at -time: SFC64 seeded with the block's key and the time, warmed up as in NumPy."""
    state[0] = key[0]
    state[1] = key[1]
    state[2] = key[2] ^ np.uint64(time)
    state[3] = _ONE
    for _ in range(12):
        next_word(state)
    start_stream(state, stream)


@kernel
def coupled_sweeps(view, key, lower, upper, begin, end):
    """Sweeps at times -begin .. -(end + 1) of both copies, each (d * LANES,) of +-1. Returns whether they are equal.

    ``view`` is a `gibbs.SpinView` with positive couplings; ``key`` (3,) uint64 stands for the randomness of this block.
    """
    state = np.empty(4, np.uint64)
    stream = np.empty(STREAM_WORDS, np.uint64)
    uniform, low, high = np.empty(LANES), np.empty(LANES), np.empty(LANES)
    n_nodes = view.field.size
    met = _are_equal(lower, upper)
    for time in range(begin, end, -1):
        _start_sweep(key, time, state, stream)
        for node in range(n_nodes):
            fill_uniform(stream, uniform)
            row = LANES * node
            site_probabilities(view, node, lower, low)
            for k in range(LANES):
                lower[row + k] = 1.0 if uniform[k] < low[k] else -1.0
            if not met:
                site_probabilities(view, node, upper, high)
                for k in range(LANES):
                    # The maximum: rounding must not turn the order around.
                    upper[row + k] = 1.0 if uniform[k] < max(low[k], high[k]) else -1.0
        met = met or _are_equal(lower, upper)
    if met:
        upper[:] = lower
    return met


@kernel
def _are_equal(lower, upper):
    for k in range(lower.size):
        if lower[k] != upper[k]:
            return False
    return True


@kernel
def couple_blocks(view, keys, windows, n, window, cap, first, last, x):
    """Windows of ``window``, twice that, ... up to ``cap`` sweeps for those blocks first .. last that have not met.

    ``windows`` (n_blocks,) is 0 for those; it becomes the window in which a block has met, and its draws go to ``x``
    (d, n) uint8.
    """
    n_nodes = view.field.size
    lower, upper = np.empty(n_nodes * LANES), np.empty(n_nodes * LANES)
    for block in range(first, last):
        length = window
        while windows[block] == 0 and length <= cap:
            lower[:] = -1.0
            upper[:] = 1.0
            if coupled_sweeps(view, keys[block], lower, upper, length, _NOW):
                windows[block] = length
                begin = LANES * block
                for node in range(n_nodes):
                    for k in range(min(LANES, n - begin)):
                        x[node, begin + k] = np.uint8(lower[LANES * node + k] > 0.0)
            length *= 2
