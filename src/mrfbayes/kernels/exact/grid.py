r"""Exact log partition function of a binary grid: a transfer recursion, node by node, as a shift register.

The grid is swept line by line across its shorter side. The message holds one number for each state of the last
``width`` nodes; the oldest node is bit 0 and the newest the top bit. Adding node ``t`` sums out bit 0 (node
``t - width``, its neighbour one line back), shifts the rest down, and enters ``t`` at the top:

.. math:: F_t(x, h) = \phi_t(x)\, l_t(h_\mathrm{top}, x) \sum_o u_t(o, x)\, F_{t-1}(h, o)

so every loop runs with unit stride, whatever the position in the line. Two nodes are added per pass where possible.

Weights enter relative to "all agree, all zero": an edge has the ratio r = disagree / agree, a node the odds z. The
product of the agreement weights and a lower bound of the largest *true* message entry are followed in two scalars;
only when one of them gets small is the message rescaled, by a power of two, so that a rescaling changes no bit of the
result. Entries below the largest by more than 1e-320 may underflow; what comes later can lift a state by at most the
couplings that leave the frontier, (width + 1) * max|coupling| nats, so this loses nothing while that is below 700.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from mrfbayes.kernels.base.jit import kernel

_U0, _U1, _U2, _U3, _U4 = (np.uint64(k) for k in range(5))
_TINY = 1e-75  # a message is rescaled before its largest entry can have lost this factor
_HEADROOM = 300  # messages are scaled to 2^300: more room below than above, where two nodes gain at most e^120
_LN2 = math.log(2.0)


class GridLayout(NamedTuple):
    """The sweep over a grid: ``length`` lines of ``width`` nodes; entry t is the t-th node of the sweep."""

    width: int
    length: int
    lines_per_block: int  # lines whose messages are kept at once by the two-way passes
    node: np.ndarray  # (d,) int64: which node of the grid
    along: np.ndarray  # (d,) int64: edge to the previous node of the line, or -1
    across: np.ndarray  # (d,) int64: edge to the node one line back, or -1


def grid_layout(rows: int, cols: int, block_bytes: int = 2**19) -> GridLayout:
    """Lay out a grid with row-major nodes and edges (i, i+1), (i, i+cols) sorted by their ends.

    Parameters
    ----------
    rows, cols : int
        The sweep goes across the shorter side.
    block_bytes : int
        Memory for the messages that a two-way pass keeps at once. Lines that do not fit are recomputed from one
        message per block. The default fits the second-level cache, which is faster than keeping all of them.
    """
    row, col = np.divmod(np.arange(rows * cols, dtype=np.int64), cols)
    has_right, has_down = col + 1 < cols, row + 1 < rows
    first_edge = np.cumsum(has_right.astype(np.int64) + has_down) - has_right - has_down
    to_right = np.where(has_right, first_edge, -1).reshape(rows, cols)
    to_down = np.where(has_down, first_edge + has_right, -1).reshape(rows, cols)
    from_left = np.full((rows, cols), -1, dtype=np.int64)
    from_above = from_left.copy()
    from_left[:, 1:] = to_right[:, :-1]
    from_above[1:] = to_down[:-1]
    node = np.arange(rows * cols, dtype=np.int64).reshape(rows, cols)
    along, across = from_left, from_above
    if rows < cols:
        node, along, across = node.T, from_above.T, from_left.T
    length, width = node.shape
    fitting = max(1, int(block_bytes // (8 * width * 2**width)))
    # With many lines a block of about sqrt(length / width) lines needs least memory in all.
    lines = min(length, max(fitting, math.isqrt(length // width)))
    return GridLayout(width, length, lines, node.ravel(), along.ravel(), across.ravel())


def transfer_scratch(layout: GridLayout, work: str, particles: int = 0) -> int:
    """How many float64 numbers the scratch array of a kernel must hold.

    ``work`` is "log_z" for `transfer_log_z`, "moments" for `transfer_moments`, "sample" for `transfer_sample` and
    `transfer_sample_words`, which draw ``particles`` samples at once (64 for each word).
    """
    d = layout.width * layout.length
    size = 2**layout.width
    blocks = -(-layout.length // layout.lines_per_block)
    slots = layout.lines_per_block * layout.width + 1
    sizes = {
        "log_z": 2 * size + 6 * d,
        "moments": 6 * d + (blocks + slots + 2) * size,
        "sample": 6 * d + (blocks + slots + 2) * size + layout.width * (max(4, size) * 5 // 4) + particles,
    }
    return sizes[work]


@kernel(fastmath={"contract"})
def _one_node(s, src, dst, n, r, q, z):
    """Add a node: r = ratio of the edge across, q = ratio of the edge along (1: none), z = odds of the node."""
    half = np.uint64(n // 2)
    w0, w1 = 1.0, q * z  # weight of the new node being zero or one, apart from the edge across
    for side in range(2):  # the node before it
        start = side * (n // 4)
        for i in range(start, n // 4 if side == 0 else n // 2):
            j = np.uint64(i)
            a = s[src + _U2 * j]
            b = s[src + _U2 * j + _U1]
            s[dst + j] = w0 * a + (w0 * r) * b
            s[dst + half + j] = (w1 * r) * a + w1 * b
        w0, w1 = q, z


@kernel(fastmath={"contract"})
def _two_nodes(s, src, dst, n, r1, q1, z1, r2, q2, z2):
    """Add two neighbours of one line in a single pass; the arguments are those of `_one_node`."""
    quarter = np.uint64(n // 4)
    dst10, dst01 = dst + quarter, dst + quarter + quarter
    dst11 = dst01 + quarter
    w0, w1 = 1.0, q1 * z1
    for side in range(2):
        w00, w01, w10, w11 = w0, w0 * q2 * z2, w1 * q2, w1 * z2  # weight of the new nodes (first, second)
        v00, v01, v10, v11 = w00 * r2, w01 * r2, w10 * r2, w11 * r2
        for i in range(side * (n // 8), n // 8 if side == 0 else n // 4):
            j = np.uint64(i)
            a = s[src + _U4 * j]
            b = s[src + _U4 * j + _U1]
            c = s[src + _U4 * j + _U2]
            d = s[src + _U4 * j + _U3]
            g00 = a + r1 * b  # second old node, first new node
            g01 = r1 * a + b
            g10 = c + r1 * d
            g11 = r1 * c + d
            s[dst + j] = w00 * g00 + v00 * g10
            s[dst01 + j] = v01 * g00 + w01 * g10
            s[dst10 + j] = w10 * g01 + v10 * g11
            s[dst11 + j] = v11 * g01 + w11 * g11
        w0, w1 = q1, z1


@kernel
def _first_line_node(s, src, k, q, z):
    """Enter node k of the first line: the message grows from 2^k to 2^(k+1) states, in place."""
    n = 2**k
    grown = src + np.uint64(n)
    middle = n // 2
    for i in range(middle):
        j = np.uint64(i)
        s[grown + j] = s[src + j] * (q * z)
    for i in range(middle, n):
        j = np.uint64(i)
        s[grown + j] = s[src + j] * z
        s[src + j] *= q


@kernel(fastmath={"contract"})
def _close_line(s, src, dst, n, r, q):
    """Last node of a line when states are counted up to a global flip: it takes over as the node that is zero."""
    last = np.uint64(n - 1)
    for i in range(n // 2):
        j = np.uint64(i)
        s[dst + j] = s[src + j] + r * s[src + (last - j)]
    for i in range(n // 2, n):
        j = np.uint64(i)
        s[dst + j] = q * s[src + j] + (q * r) * s[src + (last - j)]


@kernel
def _rescale(s, src, n):
    """Divide a message by a power of two so that its largest entry is about 2^headroom; return the exponent."""
    largest = 0.0
    for i in range(n):
        largest = max(largest, s[src + np.uint64(i)])
    exponent = math.frexp(largest)[1] - _HEADROOM
    factor = math.ldexp(1.0, -exponent)
    for i in range(n):
        s[src + np.uint64(i)] *= factor
    return exponent


@kernel(fastmath={"reassoc"})
def _total(s, src, n):
    total = 0.0
    for i in range(n):
        total += s[src + np.uint64(i)]
    return total


@kernel(inline="always")
def _edge(edge, agree, ratio):
    """(agreement weight, ratio) of an edge, neutral where there is none."""
    if edge < 0:
        return 1.0, 1.0
    return agree[edge], ratio[edge]


@kernel(inline="always")
def _least_gain(r, q, z):
    """Weight of the better state of a new node, relative to "agree, zero", for the worst state of its neighbours."""
    return min(min(max(1.0, r * q * z), max(r * q, z)), min(max(q, r * z), max(r, q * z)))


@kernel
def _sweep_half(layout, agree, ratio, s):
    """Sweep without fields: states up to a global flip, the last node of the line before being zero.

    Returns (lift, total, product_lift, product): the ratios' products summed over all x are 2^lift * total, and the
    product of the agreement weights is 2^product_lift * product.
    """
    width = layout.width
    n = 2 ** (width - 1)
    src, dst = _U0, np.uint64(n)
    lift, product_lift = 0, 0
    product = 1.0
    floor = 1.0  # at most about the largest entry times product, relative to the last rescaling
    s[0] = 2.0**_HEADROOM
    for k in range(width):
        weight, q = _edge(layout.along[k], agree, ratio)
        if product * weight < _TINY or floor * weight * max(1.0, q) < _TINY:
            lift += _rescale(s, src, 2**k)
            product, shift = math.frexp(product)
            product_lift += shift
            floor = 1.0
        product *= weight
        floor *= weight * max(1.0, q)
        if k < width - 1:
            _first_line_node(s, src, k, q, 1.0)
        else:
            for i in range(n // 2, n):  # the last node is zero
                s[src + np.uint64(i)] *= q

    for line in range(1, layout.length):
        t = line * width
        end = t + width - 1
        while t <= end:
            u1, r1 = _edge(layout.across[t], agree, ratio)
            l1, q1 = _edge(layout.along[t], agree, ratio)
            # An odd number of nodes before the last one: the first goes alone, where it has no edge along.
            pair = t < end and ((end - t) % 2 == 0)
            u2, r2, l2, q2 = 1.0, 1.0, 1.0, 1.0
            if pair:
                u2, r2 = _edge(layout.across[t + 1], agree, ratio)
                l2, q2 = _edge(layout.along[t + 1], agree, ratio)
            step = u1 * l1 * u2 * l2
            step_floor = step * _least_gain(r1, q1, 1.0) * _least_gain(r2, q2, 1.0)
            if product * step < _TINY or floor * step_floor < _TINY:
                lift += _rescale(s, src, n)
                product, shift = math.frexp(product)
                product_lift += shift
                floor = 1.0
            product *= step
            floor *= step_floor
            if pair:
                _two_nodes(s, src, dst, n, r1, q1, 1.0, r2, q2, 1.0)
                t += 2
            elif t < end:
                _one_node(s, src, dst, n, r1, q1, 1.0)
                t += 1
            else:
                _close_line(s, src, dst, n, r1, q1)
                t += 1
            src, dst = dst, src
    return lift, 2.0 * _total(s, src, n) / 2.0**_HEADROOM, product_lift, product


@kernel
def _sweep_full(layout, agree, ratio, absent, odds, s):
    """Sweep with fields; returns what `_sweep_half` does, ``product`` including the weights of "all zero"."""
    width = layout.width
    n = 2**width
    src, dst = _U0, np.uint64(n)
    lift, product_lift = 0, 0
    product = 1.0
    floor = 1.0
    s[0] = 2.0**_HEADROOM
    t = 0
    while t < layout.width * layout.length:
        i1 = layout.node[t]
        u1, r1 = _edge(layout.across[t], agree, ratio)
        l1, q1 = _edge(layout.along[t], agree, ratio)
        z1 = odds[i1]
        step = u1 * l1 * absent[i1]
        step_floor = step * _least_gain(r1, q1, z1)
        pair = t >= width and (width - t % width) % 2 == 0
        u2, r2, l2, q2, z2 = 1.0, 1.0, 1.0, 1.0, 1.0
        if pair:
            i2 = layout.node[t + 1]
            u2, r2 = _edge(layout.across[t + 1], agree, ratio)
            l2, q2 = _edge(layout.along[t + 1], agree, ratio)
            z2 = odds[i2]
            step2 = u2 * l2 * absent[i2]
            step *= step2
            step_floor *= step2 * _least_gain(r2, q2, z2)
        if product * step < _TINY or floor * step_floor < _TINY:
            lift += _rescale(s, src, 2 ** min(t, width))
            product, shift = math.frexp(product)
            product_lift += shift
            floor = 1.0
        product *= step
        floor *= step_floor
        if t < width:
            _first_line_node(s, src, t, q1, z1)
            t += 1
            continue
        if pair:
            _two_nodes(s, src, dst, n, r1, q1, z1, r2, q2, z2)
            t += 2
        else:
            _one_node(s, src, dst, n, r1, q1, z1)
            t += 1
        src, dst = dst, src
    return lift, _total(s, src, n) / 2.0**_HEADROOM, product_lift, product


@kernel
def transfer_log_z(layout, field, coupling, scratch):
    """A(field, coupling): log of the sum over x of exp(sum field * x + sum coupling * agree).

    Parameters
    ----------
    layout : GridLayout
    field : (d,) float array
    coupling : (m,) float array
    scratch : (`transfer_scratch(layout, "log_z")`,) float array
        Overwritten.
    """
    d, m = field.size, coupling.size
    messages = 2 * 2**layout.width
    ratio = scratch[messages : messages + m]
    agree = scratch[messages + m : messages + 2 * m]
    log_z, lost = 0.0, 0.0  # compensated: equal couplings would round the same way thousands of times
    for e in range(m):
        ratio[e] = math.exp(-coupling[e])
        agree[e] = 1.0 / (1.0 + ratio[e])
        term = coupling[e] - lost
        larger = log_z + term
        lost = (larger - log_z) - term
        log_z = larger
    if np.any(field):
        odds = scratch[messages + 2 * m : messages + 2 * m + d]
        absent = scratch[messages + 2 * m + d : messages + 2 * m + 2 * d]
        for i in range(d):
            odds[i] = math.exp(field[i])
            absent[i] = 1.0 / (1.0 + odds[i])
        lift, total, _, _ = _sweep_full(layout, agree, ratio, absent, odds, scratch)
    else:
        lift, total, _, _ = _sweep_half(layout, agree, ratio, scratch)
    return log_z + lift * _LN2 + math.log(total)
