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
from mrfbayes.kernels.base.planes import ROW_WORDS, choose_rows, combine_planes, fill_planes, store_functions
from mrfbayes.kernels.base.random import next_word, sfc64

DRAW_PLANES = 10  # one particle in 1,024 is finished by hand: measured to cost less than more planes
MOST_VARIABLES = 7  # nodes that a probability may depend on

_U0, _U1, _U3, _U4 = (np.uint64(k) for k in (0, 1, 3, 4))
_S36, _S51, _LAST = np.uint64(36), np.uint64(51), np.uint64(2**51)
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
# A probability p is kept as the double 1 + p < 2: less the bits of 1.0, its bits are p in units of 2^-52.
BITS_OF_ONE = np.uint64(0x3FF0000000000000)
BELOW_TWO = 2.0 - 2.0**-52

# Rows of the work space (`mrfbayes.kernels.base.planes`).
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
DRAW_STREAM_WORDS = 3 * ROW_WORDS + 1


@kernel
def start_streams(stream, state):
    """One SFC64 generator a word, each from 192 bits of ``state``, warmed up for 12 rounds as in NumPy."""
    for i in range(3 * ROW_WORDS):
        stream[i] = next_word(state)
    for i in range(ROW_WORDS):
        a, b, c = stream[i], stream[ROW_WORDS + i], stream[2 * ROW_WORDS + i]
        for k in range(12):
            _, a, b, c = sfc64(a, b, c, np.uint64(k + 1))
        stream[i], stream[ROW_WORDS + i], stream[2 * ROW_WORDS + i] = a, b, c
    stream[3 * ROW_WORDS] = np.uint64(13)


@kernel
def load_streams(stream, work):
    for i in range(ROW_WORDS):
        w = np.uint64(i)
        work[w + _STREAM_A] = stream[i]
        work[w + _STREAM_B] = stream[ROW_WORDS + i]
        work[w + _STREAM_C] = stream[2 * ROW_WORDS + i]
        work[w] = _U0
        work[w + np.uint64(16 * 15)] = _ALL


@kernel
def store_streams(stream, work):
    for i in range(ROW_WORDS):
        w = np.uint64(i)
        stream[i] = work[w + _STREAM_A]
        stream[ROW_WORDS + i] = work[w + _STREAM_B]
        stream[2 * ROW_WORDS + i] = work[w + _STREAM_C]


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


@kernel
def _finish(work, table, first, n_variables, state):
    """Particles with K beyond the planes: draw the rest of K, look that digit up."""
    for i in range(ROW_WORDS):
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
        for i in range(ROW_WORDS):
            work[np.uint64(i) + _REFERENCE] = lanes[np.uint64(16 * reference + i)]
    else:
        for i in range(ROW_WORDS):
            work[np.uint64(i) + _REFERENCE] = _U0
    for j in range(n_variables):
        y = _VARIABLE + ((np.uint64(j) & np.uint64(7)) << np.uint64(4))
        row = target + 1 + j
        at = np.uint64(16 * (row - width if row >= width else row))
        for i in range(ROW_WORDS):
            w = np.uint64(i)
            work[w + y] = lanes[at + w] ^ work[w + _REFERENCE]
    for j in range(n_variables, 2):
        y = _VARIABLE + ((np.uint64(j) & np.uint64(7)) << np.uint64(4))
        for i in range(ROW_WORDS):
            work[np.uint64(i) + y] = _U0
    remaining = fill_planes(work, _PLANE, DRAW_PLANES, counter)
    for i in range(ROW_WORDS):
        w = np.uint64(i)
        store_functions(work, w, work[w + _VARIABLE], work[w + _VARIABLE + np.uint64(16)])
    n_codes = 1 << max(n_variables - 2, 0)
    for k in range(n_codes):
        row = _RESULT + ((np.uint64(k) & np.uint64(31)) << _U4)
        combine_planes(work, _PLANE, DRAW_PLANES, space.codes[np.uint64(first // 4 + k)], row)
    variable = n_variables - 1
    half = n_codes >> 1
    while half > 0:
        for k in range(half):
            y = _VARIABLE + ((np.uint64(variable) & np.uint64(7)) << _U4)
            low = _RESULT + ((np.uint64(k) & np.uint64(15)) << _U4)
            choose_rows(work, y, low, _RESULT + ((np.uint64(k + half) & np.uint64(31)) << _U4))
        variable -= 1
        half >>= 1
    if remaining != _U0:
        _finish(work, space.table, first, n_variables, state)
    at = np.uint64(16 * target)
    for i in range(ROW_WORDS):
        w = np.uint64(i)
        lanes[at + w] = work[w + _RESULT] ^ work[w + _REFERENCE]
