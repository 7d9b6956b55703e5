"""The innermost loops of elimination: on one array and offsets into it.

Slices would be counted references inside the loops, and a plan handed over by value costs more than a short row; so
these take plain arrays and offsets, as unsigned numbers, which need no check for negative indices. ``n`` is the length
of a row: the low part of a step's scope. How a row meets the cells of a message is said by ``access``: see
`mrfbayes.kernels.exact.graph_plan`. Rows of the states of the eliminated variable follow each other.
"""

from __future__ import annotations

import numpy as np

from mrfbayes.kernels.base.jit import kernel
from mrfbayes.kernels.exact.graph_plan import UNIT_STRIDE, VARIABLE_FASTEST

RELAXED = {"nnan", "nsz", "contract", "reassoc"}  # inputs are checked to be finite; sums in any order
_ONE, _TWO = np.uint64(1), np.uint64(2)


@kernel(fastmath=RELAXED)
def scale(s, start, n, factor):
    """Multiply ``n`` cells by ``factor``."""
    a = np.uint64(start)
    for k in range(n):
        s[a + np.uint64(k)] *= factor


@kernel(fastmath=RELAXED)
def total(s, start, n):
    """Sum of ``n`` cells."""
    a = np.uint64(start)
    whole = 0.0
    for k in range(n):
        whole += s[a + np.uint64(k)]
    return whole


@kernel
def fill(s, start, n, value):
    """Set ``n`` cells to ``value``."""
    a = np.uint64(start)
    for k in range(n):
        s[a + np.uint64(k)] = value


@kernel
def repeat(s, start, filled, n):
    """Repeat the first ``filled`` cells until there are ``n``, a multiple of ``filled``."""
    a = np.uint64(start)
    while filled < n:
        count, shift = min(filled, n - filled), np.uint64(filled)
        for k in range(count):
            i = np.uint64(k)
            s[a + shift + i] = s[a + i]
        filled += count


@kernel(fastmath=RELAXED)
def scaled_copy(s, source, target, n, factor):
    """target = factor * source."""
    a, b = np.uint64(source), np.uint64(target)
    for k in range(n):
        i = np.uint64(k)
        s[b + i] = factor * s[a + i]


@kernel(fastmath=RELAXED)
def add_scaled(s, source, target, n, factor):
    """target += factor * source."""
    a, b = np.uint64(source), np.uint64(target)
    for k in range(n):
        i = np.uint64(k)
        s[b + i] += factor * s[a + i]


@kernel(fastmath=RELAXED)
def join_message(s, source, target, n, states, message, child, lookup, is_sum):
    """Target row of each state x = source row times (or plus) the message, from ``message`` + x * child.stride on."""
    a, b, m, t = np.uint64(source), np.uint64(target), np.uint64(message), np.uint64(child.low_index)
    if child.access == VARIABLE_FASTEST and states == 2:
        shift = np.uint64(n)
        for k in range(n):
            i = np.uint64(k)
            first, second = s[m + _TWO * i], s[m + _TWO * i + _ONE]
            if is_sum:
                s[b + i] = s[a + i] + first
                s[b + shift + i] = s[a + shift + i] + second
            else:
                s[b + i] = s[a + i] * first
                s[b + shift + i] = s[a + shift + i] * second
        return
    for _ in range(states):
        if child.access == UNIT_STRIDE:
            for k in range(n):
                i = np.uint64(k)
                s[b + i] = s[a + i] + s[m + i] if is_sum else s[a + i] * s[m + i]
        else:
            for k in range(n):
                i = np.uint64(k)
                cell = m + np.uint64(lookup[t + i])
                s[b + i] = s[a + i] + s[cell] if is_sum else s[a + i] * s[cell]
        a += np.uint64(n)
        b += np.uint64(n)
        m += np.uint64(child.stride)


@kernel(fastmath=RELAXED)
def add_to_message(s, rows, n, states, message, child, lookup):
    """Add the row of each state x to the table that starts at ``message`` + x * child.stride."""
    a, m, t = np.uint64(rows), np.uint64(message), np.uint64(child.low_index)
    if child.access == VARIABLE_FASTEST and states == 2:
        b = a + np.uint64(n)
        for k in range(n):
            i = np.uint64(k)
            s[m + _TWO * i] += s[a + i]
            s[m + _TWO * i + _ONE] += s[b + i]
        return
    for _ in range(states):
        if child.access == UNIT_STRIDE:
            for k in range(n):
                i = np.uint64(k)
                s[m + i] += s[a + i]
        else:
            for k in range(n):
                i = np.uint64(k)
                s[m + np.uint64(lookup[t + i])] += s[a + i]
        a += np.uint64(n)
        m += np.uint64(child.stride)


@kernel(fastmath=RELAXED)
def divide_into(s, source, divisor, n, factor, out, start):
    """out[start...] = factor * source / divisor."""
    a, b, c = np.uint64(source), np.uint64(divisor), np.uint64(start)
    for k in range(n):
        i = np.uint64(k)
        out[c + i] = factor * s[a + i] / s[b + i]


@kernel(fastmath=RELAXED)
def spread_mass(s, mass, joint, start, row, n):
    """row += mass * joint[start...]; returns what was added in all."""
    a, b, c = np.uint64(mass), np.uint64(start), np.uint64(row)
    whole = 0.0
    for k in range(n):
        i = np.uint64(k)
        part = s[a + i] * joint[b + i]
        s[c + i] += part
        whole += part
    return whole


@kernel(fastmath=RELAXED)
def first_mean(s, row, n, shift, joint, start, slope, mean):
    """slope[start...] = row + shift, and mean += joint * that."""
    a, b, c = np.uint64(row), np.uint64(start), np.uint64(mean)
    for k in range(n):
        i = np.uint64(k)
        value = s[a + i] + shift
        slope[b + i] = value
        s[c + i] += joint[b + i] * value


@kernel(fastmath=RELAXED)
def second_mean(s, row, n, joint, start, delta, bend, mean):
    """bend[start...] = row + delta^2 / 2, and mean += joint * that."""
    a, b, c = np.uint64(row), np.uint64(start), np.uint64(mean)
    for k in range(n):
        i = np.uint64(k)
        value = s[a + i] + 0.5 * delta[b + i] * delta[b + i]
        bend[b + i] = value
        s[c + i] += joint[b + i] * value


@kernel(fastmath=RELAXED)
def subtract(s, mean, n, slope, start):
    """slope[start...] -= mean."""
    a, b = np.uint64(mean), np.uint64(start)
    for k in range(n):
        i = np.uint64(k)
        slope[b + i] -= s[a + i]


@kernel(fastmath=RELAXED)
def multiply(out, factor, start, n):
    """out[start...] *= factor[start...]."""
    a = np.uint64(start)
    for k in range(n):
        i = np.uint64(k)
        out[a + i] *= factor[a + i]
