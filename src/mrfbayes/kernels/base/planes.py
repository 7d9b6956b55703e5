"""Threshold draws in rows of 16 words, a bit per particle: what both bit-sliced samplers do with their work space.

Rows are 16 words of one array at constant offsets, so that LLVM can tell that they do not overlap and vectorises every
loop. Row f < 16 holds Boolean function f of two variables: it is one at pattern q of them where bit q of f is. From row
``plane`` on come one-hot planes of K, the number of tosses of a fair coin up to the first head; after them one row of
the particles with K beyond the planes, and three rows with the states of one SFC64 generator per word.
"""

from __future__ import annotations

import numpy as np

from mrfbayes.kernels.base.jit import kernel
from mrfbayes.kernels.base.random import sfc64

ROW_WORDS = 16  # 1,024 particles: four AVX2 registers; LLVM unrolls shorter loops instead of vectorising them

_U0, _U1, _ROW = np.uint64(0), np.uint64(1), np.uint64(ROW_WORDS)
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)


@kernel(inline="always")
def fill_planes(work, plane, n_planes, counter):
    """One-hot planes [K = b], b = 1..n_planes, from fresh words; the particles, over all words, that are still open."""
    undecided_row = plane + _ROW * np.uint64(n_planes)
    stream_a = undecided_row + _ROW
    stream_b = stream_a + _ROW
    stream_c = stream_b + _ROW
    remaining = _U0
    for i in range(ROW_WORDS):
        w = np.uint64(i)
        a, b, c = work[w + stream_a], work[w + stream_b], work[w + stream_c]
        undecided = _ALL
        step = counter
        for k in range(n_planes):
            word, a, b, c = sfc64(a, b, c, step)
            step += _U1
            work[w + plane + np.uint64(ROW_WORDS * k)] = undecided & word
            undecided &= ~word
        work[w + stream_a] = a
        work[w + stream_b] = b
        work[w + stream_c] = c
        work[w + undecided_row] = undecided
        remaining |= undecided
    return remaining


@kernel(forceinline=True)
def store_functions(work, w, y0, y1):
    """Word w of all functions of two variables but for the constant ones, which stay."""
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
def combine_planes(work, plane, n_planes, code, row):
    """Row <- union over planes of [K = b] and the function whose ones are digit b of this code's four thresholds."""
    mask = np.uint64(15 * 16)  # also tells LLVM how far the offset can reach
    for i in range(ROW_WORDS):
        w = np.uint64(i)
        bits = _U0
        for k in range(n_planes):
            function = (code >> np.uint64(56 - 4 * k)) & mask
            bits |= work[w + plane + np.uint64(ROW_WORDS * k)] & work[w + function]
        work[w + row] = bits


@kernel(forceinline=True)
def choose_rows(work, variable, low, high):
    """Row ``low`` <- row ``high`` where row ``variable`` is one."""
    for i in range(ROW_WORDS):
        w = np.uint64(i)
        bits = work[w + low]
        work[w + low] = bits ^ (work[w + variable] & (bits ^ work[w + high]))
