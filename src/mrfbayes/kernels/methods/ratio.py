r"""Ratios of partition functions from particles: log weights of all particles, and their averages.

The log weight of a particle is :math:`\delta \cdot T(x)` with T its ones and agreements (or cells). Binary particles
are bits, 64 to the word: eight rows of bits at a time are transposed so that each particle's eight bits form a byte,
which selects one of 256 sums.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from mrfbayes.base.types import Workspace
from mrfbayes.kernels.base.bits import popcount
from mrfbayes.kernels.base.contracts import dispatched, implements
from mrfbayes.kernels.base.fastmath import exp, sigmoid
from mrfbayes.kernels.base.jit import kernel

_U1, _U2, _U4 = np.uint64(1), np.uint64(2), np.uint64(4)
_NIBBLES, _PAIRS, _BITS = (np.uint64(m) for m in (0x0F0F0F0F0F0F0F0F, 0x3333333333333333, 0x5555555555555555))
_OPTIMAL_STEPS, _OPTIMAL_TOLERANCE = 100, 1e-10


class WordWeigher(NamedTuple):
    """How bits are weighed."""

    nodes: np.ndarray  # (k,) the nodes that have a field at all
    pairs: np.ndarray  # (m, 2)
    n: int  # particles that count; bits beyond are ignored
    rows: Workspace  # (8, n_words) uint64
    table: Workspace  # (256,)


class ColumnWeigher(NamedTuple):
    """How particles of more than two states, (d, n) uint8, are weighed."""

    states: np.ndarray  # (d,)
    pairs: np.ndarray  # (m, 2)
    node_offset: np.ndarray
    edge_offset: np.ndarray
    n: int


@dispatched
def weigh(weigher, particles, node_step, edge_step, out):
    """Write the log weights of the particles into ``out[:n]``, in no particular order."""


@dispatched
def weigh_all(weigher, particles, node_step, edge_step, work):
    """Sum of the log weights; ``work`` is as long as an array of all of them."""


@kernel
def _exchange_bits(rows, low, high, shift, mask):
    for w in range(rows.shape[1]):
        x, y = rows[low, w], rows[high, w]
        rows[low, w] = (x & mask) | ((y & mask) << shift)
        rows[high, w] = ((x >> shift) & mask) | (y & ~mask)


@kernel
def transpose_bytes(rows):
    """Turn eight rows of bits into bytes: byte q of row j then holds the eight bits of particle 8 q + j."""
    for j in range(4):
        _exchange_bits(rows, j, j + 4, _U4, _NIBBLES)
    for j in (0, 1, 4, 5):
        _exchange_bits(rows, j, j + 2, _U2, _PAIRS)
    for j in (0, 2, 4, 6):
        _exchange_bits(rows, j, j + 1, _U1, _BITS)


@kernel
def _load_row(weigher, words, k, row):
    """Bits of the k-th statistic: the ones of a node, then the agreements of an edge."""
    if k < weigher.nodes.size:
        i = weigher.nodes[k]
        for w in range(row.size):
            row[w] = words[i, w]
    else:
        e = k - weigher.nodes.size
        u, v = weigher.pairs[e, 0], weigher.pairs[e, 1]
        for w in range(row.size):
            row[w] = ~(words[u, w] ^ words[v, w])


@kernel
def _step_of(weigher, node_step, edge_step, k):
    if k < weigher.nodes.size:
        return node_step[weigher.nodes[k]]
    return edge_step[k - weigher.nodes.size]


@implements(weigh, WordWeigher)
@kernel
def weigh_words(weigher, particles, node_step, edge_step, out):
    n_rows = weigher.nodes.size + weigher.pairs.shape[0]
    table, rows = weigher.table, weigher.rows
    index = rows.reshape(-1).view(np.uint8)
    out[:] = 0.0
    for first in range(0, n_rows, 8):
        used = min(8, n_rows - first)
        table[0] = 0.0
        for b in range(used):
            _load_row(weigher, particles, first + b, rows[b])
            step = _step_of(weigher, node_step, edge_step, first + b)
            for c in range(1 << b):
                table[c + (1 << b)] = table[c] + step
        rows[used:] = np.uint64(0)
        transpose_bytes(rows)
        for q in range(index.size):
            out[q] += table[index[q]]
    # The weight of particle 8 q + j is at j * stride + q: close the gaps that particles which do not count leave.
    stride = index.size // 8
    place = (weigher.n + 7) // 8
    for j in range(1, 8):
        for q in range((weigher.n - j + 7) // 8):
            out[place] = out[j * stride + q]
            place += 1


@implements(weigh_all, WordWeigher)
@kernel
def weigh_all_words(weigher, particles, node_step, edge_step, work):
    n_words = particles.shape[1]
    rest = np.uint64(weigher.n - 64 * (n_words - 1))
    last = np.uint64(0xFFFFFFFFFFFFFFFF) if rest == np.uint64(64) else (_U1 << rest) - _U1
    row = weigher.rows[0]
    total = 0.0
    for k in range(weigher.nodes.size + weigher.pairs.shape[0]):
        _load_row(weigher, particles, k, row)
        row[n_words - 1] &= last
        count = np.int64(0)
        for w in range(n_words):
            count += np.int64(popcount(row[w]))
        total += _step_of(weigher, node_step, edge_step, k) * count
    return total


@implements(weigh, ColumnWeigher)
@kernel
def weigh_columns(weigher, particles, node_step, edge_step, out):
    out[: weigher.n] = 0.0
    for i in range(weigher.states.size):
        column, base = particles[i], weigher.node_offset[i]
        for t in range(weigher.n):
            out[t] += node_step[base + column[t]]
    for e in range(weigher.pairs.shape[0]):
        u, v = weigher.pairs[e, 0], weigher.pairs[e, 1]
        first, second, base, width = particles[u], particles[v], weigher.edge_offset[e], weigher.states[v]
        for t in range(weigher.n):
            out[t] += edge_step[base + first[t] * width + second[t]]


@implements(weigh_all, ColumnWeigher)
@kernel
def weigh_all_columns(weigher, particles, node_step, edge_step, work):
    weigh_columns(weigher, particles, node_step, edge_step, work)
    total = 0.0
    for t in range(weigher.n):
        total += work[t]
    return total


@kernel
def _relative_variance(values, mean):
    """Variance of the mean of ``values``, relative to its square."""
    total = 0.0
    for value in values:
        total += (value - mean) ** 2
    n = values.size
    return total / (max(n - 1, 1) * n * mean * mean)


@kernel
def log_mean_exp(log_weights, scale, work):
    """Log of the mean of exp(scale * log_weights), and that logarithm's variance (delta method)."""
    n = log_weights.size
    top = scale * log_weights[0]
    for t in range(1, n):
        top = max(top, scale * log_weights[t])
    for t in range(n):
        work[t] = exp(scale * log_weights[t] - top)
    mean = 0.0
    for t in range(n):
        mean += work[t]
    mean /= n
    return top + math.log(mean), _relative_variance(work[:n], mean)


@kernel
def of_all(data, log_r, variance):
    """The log ratio of all n observations from that of one, and its variance."""
    return data.n * log_r, data.n * data.n * variance


@kernel
def optimal_log_ratio(log_ratios, log_ratios_proposed, start, work):
    """Log r with the optimal alpha of Meng & Wong (1996), iterated from ``start``, and its variance.

    ``log_ratios`` are log P(x; theta) / P(x; proposal), unnormalised, of particles drawn at theta and at the proposal.
    """
    log_r = start
    variance = 0.0
    for _ in range(_OPTIMAL_STEPS):
        above, below = 0.0, 0.0
        n_proposed, n = log_ratios_proposed.size, log_ratios.size
        for t in range(n_proposed):
            work[t] = sigmoid(log_ratios_proposed[t] - log_r)
        for t in range(n_proposed):
            above += work[t]
        above /= n_proposed
        variance = _relative_variance(work[:n_proposed], above)
        for t in range(n):
            work[t] = sigmoid(log_r - log_ratios[t])
        for t in range(n):
            below += work[t]
        below /= n
        variance += _relative_variance(work[:n], below)
        change = math.log(above / below)
        log_r += change
        if abs(change) < _OPTIMAL_TOLERANCE:
            break
    return log_r, variance
