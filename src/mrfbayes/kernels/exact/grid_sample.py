r"""Exact independent samples of a binary grid, drawn backwards through the messages of the transfer recursion.

Given the ``width`` nodes after it in the sweep, a node does not depend on the others:

.. math:: P(x_{t-w} = o \mid x_{t-w+1}, \dots, x_t) \propto u_t(o, x_t)\, F_{t-1}(h, o)

so a sample is one threshold draw per node, last node first, and what a draw depends on is a shift register again: the
node just drawn enters at bit 0, the oldest leaves at the top.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mrfbayes.kernels.base.jit import kernel
from mrfbayes.kernels.base.random import next_word, sfc64, uniform
from mrfbayes.kernels.exact.grid import COIN, block_offsets, coin_weights, forward_again, forward_pass

# A probability p is kept as the double 1 + p < 2: less the bits of 1.0, its bits are p in units of 2^-52.
BITS_OF_ONE = np.uint64(0x3FF0000000000000)
BELOW_TWO = 2.0 - 2.0**-52
_U0, _U1, _U2, _U3, _U16, _U28, _U32, _U36, _U48 = (np.uint64(k) for k in (0, 1, 2, 3, 16, 28, 32, 36, 48))
_LOW16, _LOW36 = np.uint64(2**16 - 1), np.uint64(2**36 - 1)


class Space(NamedTuple):
    """Where a line is drawn; everything is uint64 but ``leading``, uint16."""

    table: np.ndarray  # 1 + P(one), as bits, of each node for each state of those after it
    leading: np.ndarray  # leading digits of one probability each
    register: np.ndarray  # (particles,)


@kernel
def _last_line_marginals(s, message, width, out):
    """Sum the last message over its oldest node, the next one, and so on: 2^width numbers, then 2^(width-1), ..."""
    n = 2**width
    for i in range(n):
        s[out + i] = s[message + i]
    while n > 1:
        for i in range(n // 2):
            s[out + n + i] = s[out + 2 * i] + s[out + 2 * i + 1]
        out += n
        n //= 2


@kernel
def transfer_sample(layout, field, coupling, scratch, random_state, out):
    """Exact independent samples.

    Parameters
    ----------
    layout : GridLayout
    field : (d,) float array
    coupling : (m,) float array
    scratch : (`transfer_scratch(layout, "sample", n)`,) float array
        Overwritten.
    random_state : (4,) uint64 array
    out : (n, d) uint8 array
    """
    width = layout.width
    size = 2**width
    half = size // 2
    n = out.shape[0]
    d = width * layout.length
    coin = scratch[: COIN * d]
    starts = COIN * d
    nodes_per_block, n_blocks, slots, marginals = block_offsets(layout, starts, size)
    register = scratch[marginals + 2 * size : marginals + 2 * size + n].view(np.int64)
    coin_weights(layout, field, coupling, coin)
    forward_pass(layout, coin, scratch, starts, slots)
    _last_line_marginals(scratch, slots + (d - (n_blocks - 1) * nodes_per_block) * size, width, marginals)

    register[:] = 0
    for position in range(width - 1, -1, -1):
        node = layout.node[d - width + position]
        # The marginal of the nodes from this one on comes after those of 2^width, ..., 2^(width-position+1) numbers.
        base = marginals + 2 * size - (size >> position) * 2
        for k in range(n):
            zero = scratch[base + 2 * register[k]]
            one = scratch[base + 2 * register[k] + 1]
            x = np.int64(uniform(random_state) * (zero + one) < one)
            register[k] = 2 * register[k] + x
            out[k, node] = x
    for block in range(n_blocks - 1, -1, -1):
        if block < n_blocks - 1:
            forward_again(layout, coin, scratch, starts, slots, block)
        first = block * nodes_per_block
        for t in range(min(first + nodes_per_block, d) - 1, max(first, width) - 1, -1):
            base = slots + (t - first) * size
            node = layout.node[t - width]
            u, v = coin[COIN * t], coin[COIN * t + 1]
            for k in range(n):
                newest = register[k] >= half
                h = register[k] & (half - 1)
                zero = scratch[base + 2 * h] * (v if newest else u)
                one = scratch[base + 2 * h + 1] * (u if newest else v)
                x = np.int64(uniform(random_state) * (zero + one) < one)
                register[k] = 2 * (register[k] & (half - 1)) + x
                out[k, node] = x


@kernel
def _table_last_line(s, marginal, n, table):
    """1 + P(one) of a node of the last line for each of n states of those after it."""
    for i in range(n):
        zero, one = s[marginal + 2 * i], s[marginal + 2 * i + 1]
        p = 1.0 + one / (zero + one)
        s[table + i] = p if p < BELOW_TWO else BELOW_TWO


@kernel
def _half_table(s, message, half, u, v, table, spare):
    f, to, other = np.uint64(message), np.uint64(table), np.uint64(spare)
    for i in range(half):
        j = np.uint64(i)
        zero, one = s[f + _U2 * j] * u, s[f + _U2 * j + _U1] * v
        p = 1.0 + one / (zero + one)
        s[to + j] = p if p < BELOW_TWO else BELOW_TWO  # also where no state is possible: 0 / 0
        s[other + j] = zero + one  # nobody reads it, but without a second store LLVM does not vectorise the division


@kernel
def _leading_bits(table, leading):
    """The first 16 binary digits of the probabilities."""
    for i in range(table.size):
        leading[i] = np.uint16((table[i] - BITS_OF_ONE) >> _U36)


@kernel
def _decide(table, index, digits, random, state):
    """Compare with all 52 digits where the first 16 do not decide (once in 65,536 draws)."""
    if random != digits:
        return np.uint64(random < digits)
    return np.uint64((next_word(state) >> _U28) < ((table[index] - BITS_OF_ONE) & _LOW36))


@kernel
def _draw_line(table, leading, stride, width, register, state):
    """Draw a line in every particle, four at a time on one random word per node; leaves its states in ``register``."""
    mask = np.uint64(2**width - 1)
    a, b, c, counter = state[0], state[1], state[2], state[3]
    for group in range(register.size // 4):
        g = np.uint64(4 * group)
        p0, p1, p2, p3 = register[g], register[g + _U1], register[g + _U2], register[g + _U3]
        base = np.uint64(stride * width)
        for _ in range(width):
            base -= np.uint64(stride)
            word, a, b, c = sfc64(a, b, c, counter)  # `next_word`, with the state kept in registers
            counter += _U1
            r0 = word & _LOW16
            r1 = (word >> _U16) & _LOW16
            r2 = (word >> _U32) & _LOW16
            r3 = word >> _U48
            t0 = np.uint64(leading[base + p0])
            t1 = np.uint64(leading[base + p1])
            t2 = np.uint64(leading[base + p2])
            t3 = np.uint64(leading[base + p3])
            tied = np.uint64(r0 == t0) | np.uint64(r1 == t1) | np.uint64(r2 == t2) | np.uint64(r3 == t3)
            x0, x1, x2, x3 = np.uint64(r0 < t0), np.uint64(r1 < t1), np.uint64(r2 < t2), np.uint64(r3 < t3)
            if tied != _U0:
                state[0], state[1], state[2], state[3] = a, b, c, counter
                x0 = _decide(table, base + p0, t0, r0, state)
                x1 = _decide(table, base + p1, t1, r1, state)
                x2 = _decide(table, base + p2, t2, r2, state)
                x3 = _decide(table, base + p3, t3, r3, state)
                a, b, c, counter = state[0], state[1], state[2], state[3]
            p0 = ((p0 << _U1) | x0) & mask
            p1 = ((p1 << _U1) | x1) & mask
            p2 = ((p2 << _U1) | x2) & mask
            p3 = ((p3 << _U1) | x3) & mask
        register[g], register[g + _U1], register[g + _U2], register[g + _U3] = p0, p1, p2, p3
    state[0], state[1], state[2], state[3] = a, b, c, counter


@kernel
def _store_line(layout, line, register, words):
    """Turn the registers of 64 particles into one word per node."""
    for position in range(layout.width):
        node = layout.node[line * layout.width + position]
        shift = np.uint64(position)
        for w in range(words.shape[1]):
            bits = _U0
            for lane in range(64):
                bits |= ((register[np.uint64(64 * w + lane)] >> shift) & _U1) << np.uint64(lane)
            words[node, w] = bits


@kernel
def _draw(layout, line, stride, space, state, words):
    """Draw a line in every particle from the tables of its nodes."""
    _leading_bits(space.table[: layout.width * stride], space.leading)
    _draw_line(space.table, space.leading, stride, layout.width, space.register, state)
    _store_line(layout, line, space.register, words)


@kernel
def transfer_sample_words(layout, field, coupling, scratch, random_state, words):
    """Exact independent samples as bits: particle k is bit k % 64 of word k // 64 of each node.

    Parameters
    ----------
    layout : GridLayout
    field : (d,) float array
    coupling : (m,) float array
    scratch : (`transfer_scratch(layout, "sample", 64 * n_words)`,) float array
        Overwritten.
    random_state : (4,) uint64 array
    words : (d, n_words) uint64 array
    """
    s, width = scratch, layout.width
    size = 2**width
    d = width * layout.length
    coin = s[: COIN * d]
    coin_weights(layout, field, coupling, coin)
    stride = max(4, size)  # between the tables of two nodes
    starts = COIN * d
    nodes_per_block, n_blocks, slots, marginals = block_offsets(layout, starts, size)
    tables = marginals + 2 * size
    leading = tables + width * stride
    rest = leading + width * stride // 4
    space = Space(
        s[tables:leading].view(np.uint64),
        s[leading:rest].view(np.uint16),
        s[rest : rest + 64 * words.shape[1]].view(np.uint64),
    )
    space.register[:] = _U0
    forward_pass(layout, coin, s, starts, slots)
    _last_line_marginals(s, slots + (d - (n_blocks - 1) * nodes_per_block) * size, width, marginals)
    for position in range(width):
        n = size >> position
        _table_last_line(s, marginals + 2 * size - 2 * n, n // 2, tables + position * stride)
    _draw(layout, layout.length - 1, stride, space, random_state, words)
    for block in range(n_blocks - 1, -1, -1):
        if block < n_blocks - 1:
            forward_again(layout, coin, s, starts, slots, block)
        first = block * layout.lines_per_block
        for line in range(min(first + layout.lines_per_block, layout.length) - 1, max(first, 1) - 1, -1):
            for position in range(width):  # messages into a line give the probabilities of the line before
                t = line * width + position
                message, to = slots + (t - first * width) * size, tables + position * stride
                u, v = coin[COIN * t], coin[COIN * t + 1]
                _half_table(s, message, size // 2, u, v, to, marginals)
                _half_table(s, message, size // 2, v, u, to + size // 2, marginals)
            _draw(layout, line - 1, stride, space, random_state, words)
