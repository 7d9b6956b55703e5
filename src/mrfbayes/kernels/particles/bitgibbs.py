r"""Bit-sliced Gibbs sampling of binary fields: 64 particles per machine word, any graph of degree at most 6.

A node's full conditional is a number T_p in [0, 1] that depends on the pattern p of its neighbours alone. Let K be the
number of tosses of a fair coin until the first head, P(K = b) = 2^-b. Then **the K-th binary digit of T_p is one with
probability** :math:`\sum_b 2^{-b} \mathrm{digit}_b(T_p) = T_p`, and K has nothing to do with p. So the random part, the
one-hot planes [K = b], is made without looking at the field; the deterministic part selects, plane by plane, which
patterns have a one at that digit: a Boolean function of the neighbours, looked up among the 16 functions of the first
two, with one accumulator for each pattern of the others.

After `PLANES` planes one lane in 4,096 is still open; those are finished one by one to all 53 digits. The law of one
update differs from the conditional probability, rounded down to a multiple of 2^-53, by at most 2^-53 in total
variation.

Without fields the law does not change when all spins flip, so neighbours are encoded relative to the first one, and the
new spin too: half the patterns (`BitView.symmetric`).

Random planes come from one SFC64 generator (Doty-Humphrey; NumPy's ``SFC64``) per word of a block, each seeded with
192 bits of the block's own stream and warmed up for 12 rounds as in NumPy; the counter makes the period 2^64 at least.

Particles are split into blocks of 16 words, 1,024 particles, each with its own stream. So results do not depend on how
blocks are spread over threads. Note that two particles that share K need not be ordered as their thresholds are: this
update is not a monotone coupling (`mrfbayes.kernels.particles.coupling` has one).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mrfbayes.base.types import Workspace
from mrfbayes.kernels.base.bits import spread_digits
from mrfbayes.kernels.base.fastmath import exp, sigmoid
from mrfbayes.kernels.base.jit import kernel, without_refcount
from mrfbayes.kernels.base.linear import largest_size
from mrfbayes.kernels.base.random import next_word
from mrfbayes.kernels.particles.bitgibbs_block import (
    DIGITS,
    ROW_WORDS,
    WORK_WORDS,
    count_node,
    start_block,
    update_node,
)

MAX_DEGREE = 6
SAFE_LOG_ODDS = 700.0  # products of odds stay below 1.8e308 when their |logs| sum to less

_U0, _U1, _U2, _U4, _U37 = (np.uint64(k) for k in (0, 1, 2, 4, 37))
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
FROM_THE_FIRST = np.int64(0)  # a literal 0 would be a type of its own, and compile everything a second time
_UNITS = 2.0**DIGITS
_TOP = np.int64(2**DIGITS - 1)


class BitView(NamedTuple):
    """A binary field made ready for bit-sliced sampling. Write to `field` and `coupling`, then `set_thresholds`."""

    offset: np.ndarray  # (d + 1,) int64: the neighbours of i are entries offset[i] .. offset[i + 1]
    neighbour: np.ndarray  # (2m,) int64
    edge: np.ndarray  # (2m,) int64: index of the edge to that neighbour
    code_offset: np.ndarray  # (d + 1,) int64: one code per four patterns
    codes: Workspace  # uint64: bits 4(15-b) .. 4(15-b)+3 are binary digit b of four thresholds
    thresholds: Workspace  # uint64, four per code: conditional probabilities in units of 2^-53
    field: Workspace  # (d,) log-odds
    coupling: Workspace  # (m,) log-odds of agreement
    odds: Workspace  # (2m + d,) work space: odds of agreement, their inverses, odds of the fields
    symmetric: bool  # no fields: patterns are relative to the first neighbour


class BitCounts(NamedTuple):
    """Whole-number counts of the first ``n_particles`` particles. Added to, never cleared, by kernels."""

    patterns: np.ndarray  # int64, like thresholds: how often each neighbour pattern was met by an update; or empty
    n_particles: np.int64


@kernel(forceinline=True)
def _site_probabilities(view, node, out):
    """P(bit = 1 | pattern) into ``out``, and their number; the bit is x, or [x differs from the first neighbour].

    Odds multiply: two products per pair of patterns instead of two exponentials.
    """
    here = np.uint64(node)
    first, last = np.uint64(view.offset[here]), np.uint64(view.offset[here + _U1])
    n_edges = np.uint64(view.coupling.size)
    out[0] = view.odds[_U2 * n_edges + here]
    if view.symmetric and last > first:
        out[0] = view.odds[n_edges + np.uint64(view.edge[first])]
        first += _U1
    n_patterns = 1
    for position in range(first, last):
        edge = np.uint64(view.edge[np.uint64(position)])
        agree, differ = view.odds[edge], view.odds[n_edges + edge]
        for p in range(n_patterns):
            odds = out[np.uint64(p)]
            out[np.uint64(n_patterns + p)] = odds * agree
            out[np.uint64(p)] = odds * differ
        n_patterns *= 2
    while n_patterns < 4:  # neighbours that are not there do not matter
        for p in range(n_patterns):
            out[np.uint64(n_patterns + p)] = out[np.uint64(p)]
        n_patterns *= 2
    for p in range(0, n_patterns, 4):
        for q in range(4):
            odds = out[np.uint64(p + q)]
            out[np.uint64(p + q)] = odds / (1.0 + odds)
    return n_patterns


@kernel
def _extreme_probabilities(view, node, out):
    """Thresholds of a node's patterns from sums of log-odds, where products of odds might overflow."""
    first, last = view.offset[node], view.offset[node + 1]
    base = view.field[node]
    if view.symmetric and last > first:
        base = -view.coupling[view.edge[first]]
        first += 1
    n_patterns = max(4, 1 << (last - first))
    for p in range(n_patterns):
        log_odds = base
        for j in range(last - first):
            coupling = view.coupling[view.edge[first + j]]
            log_odds += coupling if (p >> j) & 1 else -coupling
        out[p] = sigmoid(log_odds)
    return n_patterns


@kernel(forceinline=True)
def _write_codes(view, node, n_patterns, probabilities):
    at = np.uint64(view.code_offset[node])
    for a in range(n_patterns >> 2):
        code = _U0
        for q in range(4):
            threshold = np.uint64(min(np.int64(probabilities[np.uint64(4 * a + q)] * _UNITS), _TOP))
            view.thresholds[np.uint64(4 * a + q) + _U4 * at] = threshold
            code |= spread_digits(threshold >> _U37) << np.uint64(q)
        view.codes[at + np.uint64(a)] = code


@kernel
def set_thresholds(view):
    """Thresholds and their digits from ``view.field`` and ``view.coupling``."""
    view = without_refcount(view)
    coupling, field, odds = view.coupling, view.field, view.odds
    n_edges, n_nodes = coupling.size, field.size
    for e in range(n_edges):
        odds[e] = exp(coupling[e])
    for e in range(n_edges):
        odds[n_edges + e] = 1.0 / odds[e]
    for node in range(n_nodes):
        odds[2 * n_edges + node] = exp(field[node])
    probabilities = np.empty(1 << MAX_DEGREE)
    if (MAX_DEGREE + 1) * max(largest_size(coupling), largest_size(field)) < SAFE_LOG_ODDS:
        for node in range(n_nodes):
            n_patterns = _site_probabilities(view, node, probabilities)
            _write_codes(view, node, n_patterns, probabilities)
    else:  # in a loop of its own: in one loop with the other it would cost as much again
        for node in range(n_nodes):
            n_patterns = _extreme_probabilities(view, node, probabilities)
            _write_codes(view, node, n_patterns, probabilities)


@kernel
def block_streams(random_state, n, size):
    """Streams (blocks, 4) for ``n`` things in blocks of ``size``, seeded with 192 bits and warmed up as in NumPy."""
    states = np.empty(((n + size - 1) // size, 4), np.uint64)
    for block in range(states.shape[0]):
        for k in range(3):
            states[block, k] = next_word(random_state)
        states[block, 3] = _U1
        for _ in range(12):
            next_word(states[block])
    return states


@kernel
def _lanes_of(start, real, n_particles, lanes):
    """Particles of words start .. start + real that exist: the last word may be partly filled."""
    for i in range(real):
        filled = min(n_particles - 64 * (start + i), 64)
        lanes[i] = _ALL >> np.uint64(64 - filled) if filled > 0 else _U0


@kernel
def _sweep_block(view, flat, n_words, start, real, n_sweeps, work, state, counts):
    """Sweeps of one block of particles, words ``start`` .. of every node; ``work`` has been started."""
    view, flat, work, state, counts = without_refcount((view, flat, work, state, counts))
    counting = counts.patterns.size > 0
    for _ in range(n_sweeps):
        for node in range(view.field.size):
            update_node(view, flat, n_words, node, start, work, state, real)
            if counting:
                count_node(view, node, work, counts)


@kernel
def sweep_blocks(view, words, n_sweeps, states, first, last, counts):
    """Sweeps of blocks first .. last, each with its own stream in ``states``; what threads run side by side.

    Adds to ``counts`` unless its arrays are empty.
    """
    n_words = words.shape[1]
    flat = words.reshape(-1)
    work = np.empty(WORK_WORDS, np.uint64)
    lanes = np.empty(ROW_WORDS, np.uint64)
    for block in range(first, last):
        begin = ROW_WORDS * block
        real = min(ROW_WORDS, n_words - begin)
        _lanes_of(begin, real, counts.n_particles, lanes)
        start_block(work, states[block], lanes[:real])
        _sweep_block(view, flat, np.uint64(n_words), np.uint64(begin), real, n_sweeps, work, states[block], counts)


@kernel
def bit_sweep(view, words, n_sweeps, random_state):
    """``n_sweeps`` systematic Gibbs sweeps over all nodes of the particles in ``words`` (d, n_words).

    Thresholds are computed first, from ``view.field`` and ``view.coupling``.
    """
    set_thresholds(view)
    sweep_all(view, words, n_sweeps, random_state, BitCounts(np.empty(0, np.int64), FROM_THE_FIRST))


@kernel
def sweep_all(view, words, n_sweeps, random_state, counts):
    """Sweeps of all blocks, at the thresholds that ``view`` has."""
    states = block_streams(random_state, words.shape[1], ROW_WORDS)
    sweep_blocks(view, words, n_sweeps, states, FROM_THE_FIRST, states.shape[0], counts)


@kernel
def expected_counts(view, counts, agreements, ones):
    """Rao-Blackwellised counts: E[agree | neighbours] and E[x | neighbours], summed over particles and sweeps.

    An edge is seen from both of its ends; the two are averaged. Without fields E[x] is exactly one half: both a
    particle and its mirror image are counted.
    """
    view, counts = without_refcount((view, counts))
    agreements[:] = 0.0
    excess = np.empty(1 << MAX_DEGREE)  # expected ones less expected zeros, by pattern
    for node in range(view.field.size):
        first, last = np.uint64(view.offset[node]), np.uint64(view.offset[node + 1])
        at = np.uint64(4 * view.code_offset[node])
        n_patterns = 4 * view.code_offset[node + 1] - np.int64(at)
        total, node_mean = 0.0, 0.0
        for p in range(n_patterns):
            count = np.float64(counts.patterns[at + np.uint64(p)])
            one = count * (np.float64(np.int64(view.thresholds[at + np.uint64(p)])) / _UNITS)
            total += count
            node_mean += one
            excess[np.uint64(p)] = 2.0 * one - count
        zeros = total - node_mean
        if view.symmetric and last > first:
            agreements[np.uint64(view.edge[first])] += 0.5 * zeros
            first += _U1
        stride = 1
        for position in range(first, last):
            # Agreement is a one where the neighbour is one, else a zero.
            with_one = 0.0
            for p in range(stride, n_patterns, 2 * stride):
                for q in range(stride):
                    with_one += excess[np.uint64(p + q)]
            agreements[np.uint64(view.edge[np.uint64(position)])] += 0.5 * (with_one + zeros)
            stride *= 2
        ones[node] = 0.5 * total if view.symmetric else node_mean
