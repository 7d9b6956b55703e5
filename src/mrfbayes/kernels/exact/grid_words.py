r"""Threshold draws for 1,024 particles at once, one bit each: the inner loops of `transfer_sample_words`.

Let K be the number of tosses of a fair coin up to the first head. The K-th binary digit of p is one with probability
:math:`\sum_b 2^{-b}\,\mathrm{digit}_b(p) = p`. So random one-hot planes [K = b] are made first, without looking at p,
and a node is the union over b of plane b and "digit b of this particle's p is one". The latter is a Boolean function
of the nodes that p depends on; functions of the first two of them are looked up in 16 prepared rows, and the
remaining nodes choose among the results. Particles with K beyond the planes are finished one by one.
"""

from __future__ import annotations

import numpy as np

from mrfbayes.kernels.base.bits import popcount, spread_digits
from mrfbayes.kernels.base.jit import kernel
from mrfbayes.kernels.base.random import next_word

DRAW_PLANES = 10  # one particle in 1,024 is finished by hand: measured to cost less than more planes
MOST_VARIABLES = 7  # nodes that a probability may depend on
WORDS = 16  # per row: 1,024 particles, four AVX2 registers

_U0, _U1, _U3, _U11, _U24, _U40 = (np.uint64(k) for k in (0, 1, 3, 11, 24, 40))
_S36, _S51, _LAST = np.uint64(36), np.uint64(51), np.uint64(2**51)
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
# A probability p is kept as the double 1 + p < 2: less the bits of 1.0, its bits are p in units of 2^-52.
BITS_OF_ONE = np.uint64(0x3FF0000000000000)
BELOW_TWO = 2.0 - 2.0**-52

# One array of rows at constant offsets, so that LLVM sees that they do not overlap and vectorises every loop.
_FUNCTION = np.uint64(0)  # 16 rows; row f is one at pattern q of the first two nodes where bit q of f is
_RESULT = np.uint64(16 * 16)  # 32 rows, one for each pattern of the other nodes
_PLANE = np.uint64(16 * 48)
_OPEN = np.uint64(16 * (48 + DRAW_PLANES))
_STREAM_A = np.uint64(16 * (49 + DRAW_PLANES))
_STREAM_B = np.uint64(16 * (50 + DRAW_PLANES))
_STREAM_C = np.uint64(16 * (51 + DRAW_PLANES))
_REFERENCE = np.uint64(16 * (52 + DRAW_PLANES))
_VARIABLE = np.uint64(16 * (53 + DRAW_PLANES))  # 8 rows
DRAW_WORK_WORDS = 16 * (61 + DRAW_PLANES)
DRAW_STREAM_WORDS = 3 * WORDS + 1


@kernel
def start_streams(stream, state):
    """One SFC64 generator a word, each from 192 bits of ``state``, warmed up for 12 rounds as in NumPy."""
    for i in range(3 * WORDS):
        stream[i] = next_word(state)
    for i in range(WORDS):
        a, b, c = stream[i], stream[WORDS + i], stream[2 * WORDS + i]
        for k in range(12):
            word = a + b + np.uint64(k + 1)
            a = b ^ (b >> _U11)
            b = c + (c << _U3)
            c = ((c << _U24) | (c >> _U40)) + word
        stream[i], stream[WORDS + i], stream[2 * WORDS + i] = a, b, c
    stream[3 * WORDS] = np.uint64(13)


@kernel
def load_streams(stream, work):
    for i in range(WORDS):
        w = np.uint64(i)
        work[w + _STREAM_A] = stream[i]
        work[w + _STREAM_B] = stream[WORDS + i]
        work[w + _STREAM_C] = stream[2 * WORDS + i]
        work[w] = _U0
        work[w + np.uint64(16 * 15)] = _ALL


@kernel
def store_streams(stream, work):
    for i in range(WORDS):
        w = np.uint64(i)
        stream[i] = work[w + _STREAM_A]
        stream[WORDS + i] = work[w + _STREAM_B]
        stream[2 * WORDS + i] = work[w + _STREAM_C]


@kernel
def encode(table, n, codes):
    """Gather the leading digits of four probabilities in one word: digit b (from 0) in bits 4 (15 - b) and up."""
    for i in range(n // 4):
        k = np.uint64(i)
        a = np.uint64(4) * k
        t0 = (table[a] - BITS_OF_ONE) >> _S36
        t1 = (table[a + _U1] - BITS_OF_ONE) >> _S36
        t2 = (table[a + np.uint64(2)] - BITS_OF_ONE) >> _S36
        t3 = (table[a + _U3] - BITS_OF_ONE) >> _S36
        code = spread_digits(t0) | (spread_digits(t1) << _U1)
        codes[k] = code | (spread_digits(t2) << np.uint64(2)) | (spread_digits(t3) << _U3)


@kernel(inline="always")
def _fill_planes(work, counter):
    """One-hot planes of K; returns the particles, over all words, that are still open."""
    remaining = _U0
    for i in range(WORDS):
        w = np.uint64(i)
        a = work[w + _STREAM_A]
        b = work[w + _STREAM_B]
        c = work[w + _STREAM_C]
        undecided = _ALL
        step = counter
        for plane in range(DRAW_PLANES):
            word = a + b + step
            step += _U1
            a = b ^ (b >> _U11)
            b = c + (c << _U3)
            c = ((c << _U24) | (c >> _U40)) + word
            work[w + _PLANE + np.uint64(16 * plane)] = undecided & word
            undecided &= ~word
        work[w + _STREAM_A] = a
        work[w + _STREAM_B] = b
        work[w + _STREAM_C] = c
        work[w + _OPEN] = undecided
        remaining |= undecided
    return remaining


@kernel(inline="always")
def _fill_functions(work):
    """The Boolean functions of the first two variables, but for the constant ones."""
    for i in range(WORDS):
        w = np.uint64(i)
        y0 = work[w + _VARIABLE]
        y1 = work[w + _VARIABLE + np.uint64(16)]
        either, both, differ = y0 | y1, y0 & y1, y0 ^ y1
        work[w + np.uint64(16 * 1)] = ~either
        work[w + np.uint64(16 * 2)] = y0 & ~y1
        work[w + np.uint64(16 * 3)] = ~y1
        work[w + np.uint64(16 * 4)] = y1 & ~y0
        work[w + np.uint64(16 * 5)] = ~y0
        work[w + np.uint64(16 * 6)] = differ
        work[w + np.uint64(16 * 7)] = ~both
        work[w + np.uint64(16 * 8)] = both
        work[w + np.uint64(16 * 9)] = ~differ
        work[w + np.uint64(16 * 10)] = y0
        work[w + np.uint64(16 * 11)] = y0 | ~y1
        work[w + np.uint64(16 * 12)] = y1
        work[w + np.uint64(16 * 13)] = y1 | ~y0
        work[w + np.uint64(16 * 14)] = either


@kernel(inline="always")
def _combine(work, code, result):
    row = _RESULT + ((np.uint64(result) & np.uint64(31)) << np.uint64(4))
    mask = np.uint64(15 * 16)  # also tells LLVM how far the offset can reach
    for i in range(WORDS):
        w = np.uint64(i)
        bits = _U0
        for plane in range(DRAW_PLANES):
            bits |= work[w + _PLANE + np.uint64(16 * plane)] & work[w + ((code >> np.uint64(56 - 4 * plane)) & mask)]
        work[w + row] = bits


@kernel(inline="always")
def _choose(work, variable, result, half):
    """Result row <- row or row + half, by a variable."""
    y = _VARIABLE + ((np.uint64(variable) & np.uint64(7)) << np.uint64(4))
    low = _RESULT + ((np.uint64(result) & np.uint64(15)) << np.uint64(4))
    high = _RESULT + ((np.uint64(result + half) & np.uint64(31)) << np.uint64(4))
    for i in range(WORDS):
        w = np.uint64(i)
        bits = work[w + low]
        work[w + low] = bits ^ (work[w + y] & (bits ^ work[w + high]))


@kernel
def _finish(work, table, first, n_variables, state):
    """Particles with K beyond the planes: draw the rest of K, look that digit up."""
    for i in range(WORDS):
        w = np.uint64(i)
        lanes = work[w + _OPEN]
        while lanes != _U0:
            lane = lanes & (~lanes + _U1)
            lanes ^= lane
            pattern = _U0
            for j in range(n_variables):
                hit = np.uint64((work[w + _VARIABLE + np.uint64(16 * j)] & lane) != _U0)
                pattern |= hit << np.uint64(j)
            digits = table[np.uint64(first) + pattern] - BITS_OF_ONE
            word = next_word(state) | _LAST
            zeros = popcount((word & (~word + _U1)) - _U1)
            bit = ((digits << np.uint64(DRAW_PLANES)) >> (_S51 - zeros)) & _U1
            work[w + _RESULT] |= lane & (~bit + _U1)


@kernel(inline="always")
def draw_node(space, first, counter, lanes, width, target, n_variables, reference, state):
    """Draw one node in the 1,024 particles of a block.

    ``lanes`` is a ring of ``width`` rows, a line of the grid. Row ``target`` is set; the node depends on the
    ``n_variables`` rows after it, relative to row ``reference`` unless that is negative, through ``table[first:]`` of
    ``space`` and its codes (see `encode`).
    """
    work = space.work
    if reference >= 0:
        for i in range(WORDS):
            work[np.uint64(i) + _REFERENCE] = lanes[np.uint64(16 * reference + i)]
    else:
        for i in range(WORDS):
            work[np.uint64(i) + _REFERENCE] = _U0
    for j in range(n_variables):
        y = _VARIABLE + ((np.uint64(j) & np.uint64(7)) << np.uint64(4))
        row = target + 1 + j
        at = np.uint64(16 * (row - width if row >= width else row))
        for i in range(WORDS):
            w = np.uint64(i)
            work[w + y] = lanes[at + w] ^ work[w + _REFERENCE]
    for j in range(n_variables, 2):
        y = _VARIABLE + ((np.uint64(j) & np.uint64(7)) << np.uint64(4))
        for i in range(WORDS):
            work[np.uint64(i) + y] = _U0
    remaining = _fill_planes(work, counter)
    _fill_functions(work)
    n_codes = 1 << max(n_variables - 2, 0)
    for k in range(n_codes):
        _combine(work, space.codes[np.uint64(first // 4 + k)], k)
    variable = n_variables - 1
    half = n_codes >> 1
    while half > 0:
        for k in range(half):
            _choose(work, variable, k, half)
        variable -= 1
        half >>= 1
    if remaining != _U0:
        _finish(work, space.table, first, n_variables, state)
    at = np.uint64(16 * target)
    for i in range(WORDS):
        w = np.uint64(i)
        lanes[at + w] = work[w + _RESULT] ^ work[w + _REFERENCE]
