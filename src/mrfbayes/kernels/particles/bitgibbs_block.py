"""One node, one block of particles: the inner loops of the bit-sliced sampler (`kernels.particles.bitgibbs`).

Rows are 16 words of one array at constant offsets, so that LLVM can tell that they do not overlap and vectorises every
loop. Row f < 16 holds Boolean function f of two variables: it is one at pattern q of them where bit q of f is. From row
``plane`` on come one-hot planes of K, the number of tosses of a fair coin up to the first head; after them one row of
the particles with K beyond the planes, and three rows with the states of one SFC64 generator per word.
"""

from __future__ import annotations

import numpy as np

from mrfbayes.kernels.base.bits import popcount
from mrfbayes.kernels.base.jit import kernel
from mrfbayes.kernels.base.random import next_word, sfc64

ROW_WORDS = 16  # 1,024 particles: four AVX2 registers; LLVM unrolls shorter loops instead of vectorising them
PLANES = 12
DIGITS = 53

_U0, _U1, _U4 = (np.uint64(k) for k in (0, 1, 4))
_ROW, _ALL = np.uint64(ROW_WORDS), np.uint64(0xFFFFFFFFFFFFFFFF)

# Rows of the work space of a block; the two variables are the first two pattern bits.
_RESULT = np.uint64(16 * 16)  # 16 rows: one per accumulator
_PLANE = np.uint64(16 * 32)  # PLANES rows
_OPEN = np.uint64(16 * 44)
_STREAM_A, _STREAM_B, _STREAM_C = np.uint64(16 * 45), np.uint64(16 * 46), np.uint64(16 * 47)
_PATTERN = np.uint64(16 * 48)  # 4 rows: pattern bits 2..5
_FIRST = np.uint64(16 * 52)  # the first neighbour where patterns are relative to it, else 0
_LANES = np.uint64(16 * 53)  # particles that count
_SELECT = np.uint64(16 * 54)
_COUNTER = np.uint64(16 * 55)
WORK_WORDS = 16 * 55 + 1


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


@kernel(forceinline=True)
def _next_planes(work):
    """One-hot planes from fresh random words; returns whether particles are left open, in any word."""
    counter = work[_COUNTER]
    work[_COUNTER] = counter + np.uint64(PLANES)
    return fill_planes(work, _PLANE, PLANES, counter)


@kernel(forceinline=True)
def _fill_functions(words, work, rows, masks, real):
    """Pattern bits 0..2, and the functions of the first two: row f is one at pattern q where bit q of f is."""
    row_first, row_0, row_1, row_2 = rows
    mask_first, mask_0, mask_1, mask_2 = masks
    for i in range(real):
        w = np.uint64(i)
        first = words[row_first + w] & mask_first
        y0 = (words[row_0 + w] ^ first) & mask_0
        y1 = (words[row_1 + w] ^ first) & mask_1
        y2 = (words[row_2 + w] ^ first) & mask_2
        work[w + _FIRST] = first
        work[w + _PATTERN] = y2
        store_functions(work, w, y0, y1)


@kernel(forceinline=True)
def _merge(work, variable, half):
    """Accumulators a and a + half become one, by the pattern bit that tells them apart."""
    y = _PATTERN + ((np.uint64(variable - 2) << _U4) & np.uint64(3 * 16))
    for a in range(half):
        low = _RESULT + ((np.uint64(a) << _U4) & np.uint64(15 * 16))
        choose_rows(work, y, low, low + (np.uint64(half) << _U4))


@kernel(forceinline=True)
def _finish(thresholds, first_threshold, n_variables, words, here, work, state, real):
    """The open lanes, one by one: draw K beyond PLANES, look up that digit of the lane's threshold."""
    for i in range(real):
        w = np.uint64(i)
        lanes = work[w + _OPEN]
        while lanes != _U0:
            lane = lanes & (~lanes + _U1)
            lanes ^= lane
            digit = np.uint64(DIGITS - 1 - PLANES)
            word = next_word(state)
            while (word & _U1) == _U0 and digit > _U0:
                word >>= _U1
                digit -= _U1
            pattern = 0
            if work[w + np.uint64(16 * 10)] & lane:
                pattern |= 1
            if work[w + np.uint64(16 * 12)] & lane:
                pattern |= 2
            for j in range(2, n_variables):
                if work[w + _PATTERN + np.uint64(16 * (j - 2))] & lane:
                    pattern |= 1 << j
            if (thresholds[first_threshold + pattern] >> digit) & _U1:
                words[here + w] ^= lane


@kernel(forceinline=True)
def update_node(view, words, n_words, node, start, work, state, real):
    """Gibbs update of one node in one block of particles. Leaves the patterns in ``work`` for the counts."""
    first, last = view.offset[node], view.offset[node + 1]
    here = np.uint64(node) * n_words + start
    row_first, row_0, row_1, row_2 = here, here, here, here
    mask_first, mask_0, mask_1, mask_2 = _U0, _U0, _U0, _U0
    if view.symmetric and last > first:
        row_first = np.uint64(view.neighbour[first]) * n_words + start
        mask_first = _ALL
        first += 1
    n_variables = last - first
    if n_variables > 0:
        row_0 = np.uint64(view.neighbour[first]) * n_words + start
        mask_0 = _ALL
    if n_variables > 1:
        row_1 = np.uint64(view.neighbour[first + 1]) * n_words + start
        mask_1 = _ALL
    if n_variables > 2:
        row_2 = np.uint64(view.neighbour[first + 2]) * n_words + start
        mask_2 = _ALL
    rows = (row_first, row_0, row_1, row_2)
    masks = (mask_first, mask_0, mask_1, mask_2)
    _fill_functions(words, work, rows, masks, real)
    for j in range(3, n_variables):
        other = np.uint64(view.neighbour[first + j]) * n_words + start
        row = _PATTERN + ((np.uint64(j - 2) << _U4) & np.uint64(3 * 16))
        for i in range(real):
            w = np.uint64(i)
            work[w + row] = words[other + w] ^ work[w + _FIRST]
    remaining = _next_planes(work)
    at = view.code_offset[node]
    n_codes = view.code_offset[node + 1] - at
    for a in range(n_codes):
        row = _RESULT + ((np.uint64(a) << _U4) & np.uint64(15 * 16))
        combine_planes(work, _PLANE, PLANES, view.codes[at + a], row)
    variable = n_variables - 1
    half = n_codes >> 1
    while half > 1:
        _merge(work, variable, half)
        variable -= 1
        half >>= 1
    for i in range(real):  # the last merge; with a single accumulator the pattern bit is 0
        w = np.uint64(i)
        bits = work[w + _RESULT]
        bits ^= work[w + _PATTERN] & (bits ^ work[w + _RESULT + np.uint64(16)])
        words[here + w] = bits ^ work[w + _FIRST]
    if remaining != _U0:
        _finish(view.thresholds, 4 * at, n_variables, words, here, work, state, real)


@kernel
def count_node(view, node, work, counts):
    """Count the patterns met by the update just made."""
    at = view.code_offset[node]
    n_codes = view.code_offset[node + 1] - at
    for a in range(n_codes):
        flip = _U0 if a & 1 else _ALL
        for i in range(ROW_WORDS):  # with a single code the pattern bit is 0
            w = np.uint64(i)
            work[w + _SELECT] = work[w + _LANES] & (work[w + _PATTERN] ^ flip)
        bit = 1
        while (2 << bit) <= n_codes:
            flip = _U0 if (a >> bit) & 1 else _ALL
            row = _PATTERN + ((np.uint64(bit) << _U4) & np.uint64(3 * 16))
            for i in range(ROW_WORDS):
                w = np.uint64(i)
                work[w + _SELECT] &= work[w + row] ^ flip
            bit += 1
        count_0, count_1, count_2, count_3 = _U0, _U0, _U0, _U0
        for i in range(ROW_WORDS):
            w = np.uint64(i)
            lanes = work[w + _SELECT]
            count_0 += popcount(lanes & work[w + np.uint64(16 * 1)])
            count_1 += popcount(lanes & work[w + np.uint64(16 * 2)])
            count_2 += popcount(lanes & work[w + np.uint64(16 * 4)])
            count_3 += popcount(lanes & work[w + np.uint64(16 * 8)])
        counts.patterns[4 * (at + a)] += np.int64(count_0)
        counts.patterns[4 * (at + a) + 1] += np.int64(count_1)
        counts.patterns[4 * (at + a) + 2] += np.int64(count_2)
        counts.patterns[4 * (at + a) + 3] += np.int64(count_3)


@kernel
def start_block(work, state, lanes):
    """Constant rows, one generator per word, seeded from the block's own stream, and the particles that count."""
    work[:] = _U0
    for i in range(16):
        work[np.uint64(16 * 15 + i)] = _ALL
        work[np.uint64(i) + _STREAM_A] = next_word(state)
        work[np.uint64(i) + _STREAM_B] = next_word(state)
        work[np.uint64(i) + _STREAM_C] = next_word(state)
    for i in range(lanes.size):
        work[np.uint64(i) + _LANES] = lanes[i]
    work[_COUNTER] = _U1
    _next_planes(work)  # PLANES = 12 rounds of warm-up, as many as in NumPy
