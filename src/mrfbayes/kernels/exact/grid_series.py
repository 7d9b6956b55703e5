r"""Covariances and third cumulants of a binary grid: the two-way pass on power series truncated after t^2.

Along a line (field + t * field_direction, coupling + t * coupling_direction) the expected statistics are

.. math:: E_t[T] = E[T] + t\,\mathrm{Cov}[T]v + \tfrac{t^2}{2}\,\kappa_3[T, v, v] + O(t^3)

Messages hold three planes, the coefficients of 1, t and t^2. A weight e^{t delta} turns (a, b, c) into
(a, b + delta a, c + delta b + delta^2 a / 2). At the start of every line a message is divided by the series of its
total: without that the coefficients would grow like powers of E[v.T] and cancel in the end.
"""

from __future__ import annotations

import math

import numpy as np

from mrfbayes.kernels.base.jit import kernel
from mrfbayes.kernels.exact.grid_moments import (
    COIN,
    HEADROOM,
    backward_gain,
    block_offsets,
    coin_weights,
    forward_gain,
    taken_out,
)

_U1, _U2 = np.uint64(1), np.uint64(2)
_LN2 = math.log(2.0)


@kernel(inline="always")
def _lift(a, b, c, delta):
    """The series a + b t + c t^2 times e^{delta t}."""
    return a, b + delta * a, c + delta * (b + 0.5 * delta * a)


@kernel(inline="always")
def _quotient(a0, a1, a2, b0, b1, b2):
    """Value, first and second derivative of a quotient of series."""
    q0 = a0 / b0
    q1 = (a1 - q0 * b1) / b0
    q2 = (a2 - q0 * b2 - q1 * b1) / b0
    return q0, q1, 2.0 * q2


@kernel(fastmath={"contract"})
def _forward_node(s, src, dst, width, t, coin, direction, scale):
    """As in `transfer_moments`, for series."""
    k = COIN * t
    u, v, agree, differ = coin[k], coin[k + 1], coin[k + 2], coin[k + 3]
    f0, f1 = coin[k + 4] * scale, coin[k + 5] * scale
    delta, along, node = direction[3 * t], direction[3 * t + 1], direction[3 * t + 2]
    size = np.uint64(2**width)
    n = 2 ** min(t, width)
    g0, gamma0, g1, gamma1 = agree * f0, along, differ * f1, node
    for side in range(2):
        if t < width:
            top = np.uint64(n)
            for i in range(side * (n // 2), n // 2 if side == 0 else n):
                j = np.uint64(i)
                k0 = src + j
                a0, b0, c0 = s[k0], s[k0 + size], s[k0 + size + size]
                k0 = dst + j
                s[k0], s[k0 + size], s[k0 + size + size] = _lift(g0 * a0, g0 * b0, g0 * c0, gamma0)
                k0 = dst + top + j
                s[k0], s[k0 + size], s[k0 + size + size] = _lift(g1 * a0, g1 * b0, g1 * c0, gamma1)
        else:
            half = np.uint64(n // 2)
            for i in range(side * (n // 4), n // 4 if side == 0 else n // 2):
                j = np.uint64(i)
                k0 = src + _U2 * j
                k1 = k0 + _U1
                a0, b0, c0 = s[k0], s[k0 + size], s[k0 + size + size]
                a1, b1, c1 = s[k1], s[k1 + size], s[k1 + size + size]
                d0, e0, h0 = _lift(a0, b0, c0, delta)
                d1, e1, h1 = _lift(a1, b1, c1, delta)
                k0 = dst + j
                s[k0], s[k0 + size], s[k0 + size + size] = _lift(
                    g0 * (u * d0 + v * a1), g0 * (u * e0 + v * b1), g0 * (u * h0 + v * c1), gamma0
                )
                k1 = dst + half + j
                s[k1], s[k1 + size], s[k1 + size + size] = _lift(
                    g1 * (v * a0 + u * d1), g1 * (v * b0 + u * e1), g1 * (v * c0 + u * h1), gamma1
                )
        g0, gamma0, g1, gamma1 = differ * f0, 0.0, agree * f1, along + node


@kernel(fastmath={"reassoc", "contract"})
def _normalise(s, src, width, n):
    """Divide a message of n states by the series of its total, up to the total's own size."""
    size = np.uint64(2**width)
    t0, t1, t2 = 0.0, 0.0, 0.0
    for i in range(n):
        k = src + np.uint64(i)
        t0 += s[k]
        t1 += s[k + size]
        t2 += s[k + size + size]
    e1 = t1 / t0
    e2 = e1 * e1 - t2 / t0
    for i in range(n):
        k = src + np.uint64(i)
        a, b = s[k], s[k + size]
        s[k + size] = b - e1 * a
        s[k + size + size] += e2 * a - e1 * b


@kernel
def _forward_block(layout, coin, direction, s, base, block):
    """A block of the forward pass (`grid_moments.forward_block`) on truncated series."""
    width = layout.width
    slot = 3 * 2**width
    first = block * layout.lines_per_block * width
    last = min((block + 1) * layout.lines_per_block, layout.length) * width
    lift = 0
    floor = 0.0
    for t in range(first, last):
        src = np.uint64(base + (t - first) * slot)
        dst = np.uint64(base + (t - first + 1) * slot)
        if t % width == 0 and t:
            _normalise(s, src, width, 2**width)
        exponent, scale, floor = taken_out(s, src, 2 ** min(t, width), floor, forward_gain(coin, t))
        lift += exponent
        _forward_node(s, src, dst, width, t, coin, direction, scale)
    return lift


@kernel(inline="always")
def _planes(s, start, size, n):
    """n coefficients of 1, t and t^2 each, from ``start`` on."""
    return s[start : start + n], s[start + size : start + size + n], s[start + 2 * size : start + 2 * size + n]


@kernel(fastmath={"reassoc", "contract"})
def _backward_span(forward, zero, one, before, u, v, delta, g0, gamma0, g1, gamma1):
    # Slices, not offsets, for the reason given in `transfer_moments`.
    fa, fb, fc = forward
    xa, xb, xc = zero
    ya, yb, yc = one
    ba, bb, bc = before
    p00, p01, p10, p11 = 0.0, 0.0, 0.0, 0.0
    q00, q01, q10, q11 = 0.0, 0.0, 0.0, 0.0
    r00, r01, r10, r11 = 0.0, 0.0, 0.0, 0.0
    for j in range(xa.size):
        x0, y0, z0 = _lift(g0 * xa[j], g0 * xb[j], g0 * xc[j], gamma0)
        x1, y1, z1 = _lift(g1 * ya[j], g1 * yb[j], g1 * yc[j], gamma1)
        a, e, c = fa[2 * j], fb[2 * j], fc[2 * j]
        p00 += a * x0
        p01 += a * x1
        q00 += a * y0 + e * x0
        q01 += a * y1 + e * x1
        r00 += a * z0 + e * y0 + c * x0
        r01 += a * z1 + e * y1 + c * x1
        a, e, c = fa[2 * j + 1], fb[2 * j + 1], fc[2 * j + 1]
        p10 += a * x0
        p11 += a * x1
        q10 += a * y0 + e * x0
        q11 += a * y1 + e * x1
        r10 += a * z0 + e * y0 + c * x0
        r11 += a * z1 + e * y1 + c * x1
        a, e, c = _lift(x0, y0, z0, delta)
        ba[2 * j] = u * a + v * x1
        bb[2 * j] = u * e + v * y1
        bc[2 * j] = u * c + v * z1
        a, e, c = _lift(x1, y1, z1, delta)
        ba[2 * j + 1] = u * a + v * x0
        bb[2 * j + 1] = u * e + v * y0
        bc[2 * j + 1] = u * c + v * z0
    return p00, p01, p10, p11, q00, q01, q10, q11, r00, r01, r10, r11


@kernel(fastmath={"reassoc", "contract"})
def _backward_first_line(s, f, b, b2, size, top, start, stop, g0, gamma0, g1, gamma1):
    p0, p1, q0, q1, r0, r1 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for j in range(start, stop):
        k = b + j
        x0, y0, z0 = _lift(g0 * s[k], g0 * s[k + size], g0 * s[k + size + size], gamma0)
        k = b + top + j
        x1, y1, z1 = _lift(g1 * s[k], g1 * s[k + size], g1 * s[k + size + size], gamma1)
        k = f + j
        a, e, c = s[k], s[k + size], s[k + size + size]
        p0 += a * x0
        p1 += a * x1
        q0 += a * y0 + e * x0
        q1 += a * y1 + e * x1
        r0 += a * z0 + e * y0 + c * x0
        r1 += a * z1 + e * y1 + c * x1
        k = b2 + j
        s[k], s[k + size], s[k + size + size] = x0 + x1, y0 + y1, z0 + z1
    return p0, p1, q0, q1, r0, r1


@kernel
def _backward_node(s, f, b, b2, width, t, coin, direction, scale, expected):
    """Backward message before node t; ``expected`` (4, 3): series of one, along, across and total, unnormalised."""
    k = COIN * t
    u, v, agree, differ = coin[k], coin[k + 1], coin[k + 2], coin[k + 3]
    f0, f1 = coin[k + 4] * scale, coin[k + 5] * scale
    delta, along, node = direction[3 * t], direction[3 * t + 1], direction[3 * t + 2]
    size = 2**width
    if t < width:
        n = 2**t
        left = _backward_first_line(s, f, b, b2, size, n, 0, n // 2, agree * f0, along, differ * f1, node)
        right = _backward_first_line(s, f, b, b2, size, n, n // 2, n, differ * f0, 0.0, agree * f1, along + node)
        for order in range(3):
            k = 2 * order
            expected[0, order] = left[k + 1] + right[k + 1]
            expected[1, order] = left[k] + right[k + 1]
            expected[2, order] = 0.0
            expected[3, order] = left[k] + left[k + 1] + right[k] + right[k + 1]
        return
    n = 2**width
    half, quarter = n // 2, n // 4
    rest = half - quarter
    left = _backward_span(
        _planes(s, f, n, 2 * quarter),
        _planes(s, b, n, quarter),
        _planes(s, b + half, n, quarter),
        _planes(s, b2, n, 2 * quarter),
        *(u, v, delta, agree * f0, along, differ * f1, node),
    )
    right = _backward_span(
        _planes(s, f + 2 * quarter, n, 2 * rest),
        _planes(s, b + quarter, n, rest),
        _planes(s, b + half + quarter, n, rest),
        _planes(s, b2 + 2 * quarter, n, 2 * rest),
        *(u, v, delta, differ * f0, 0.0, agree * f1, along + node),
    )
    for order in range(3):  # by what the edge across does: first the terms where it agrees ...
        k = 4 * order
        expected[0, order] = u * (left[k + 3] + right[k + 3])
        expected[1, order] = u * (left[k] + right[k + 3])
        expected[2, order] = u * (left[k] + left[k + 3] + right[k] + right[k + 3])
        expected[3, order] = expected[2, order]
    for row in range(4):
        a, e, c = _lift(expected[row, 0], expected[row, 1], expected[row, 2], delta)
        expected[row, 0], expected[row, 1], expected[row, 2] = a, e, c
    for order in range(3):  # ... then those where it does not
        k = 4 * order
        expected[0, order] += v * (left[k + 1] + right[k + 1])
        expected[1, order] += v * (left[k + 2] + right[k + 1])
        expected[3, order] += v * (left[k + 1] + left[k + 2] + right[k + 1] + right[k + 2])


@kernel
def transfer_taylor(layout, field, coupling, field_direction, coupling_direction, scratch, node_series, agree_series):
    """Expected statistics along a direction, to second order, and A(field, coupling).

    Parameters
    ----------
    layout : GridLayout
    field, field_direction : (d,) float array
    coupling, coupling_direction : (m,) float array
    scratch : (`transfer_scratch(layout, "taylor")`,) float array
        Overwritten.
    node_series : (3, d) float array
        Filled with E[x_i] and its first and second derivatives in t: row 1 is Cov[x_i, v.T], row 2 the third
        cumulant of (x_i, v.T, v.T), where v is the direction and T all statistics.
    agree_series : (3, m) float array
        Series of the expected agreement of each edge.
    """
    width = layout.width
    size = 2**width
    slot = 3 * size
    d = width * layout.length
    coin = scratch[: COIN * d]
    direction = scratch[COIN * d : (COIN + 3) * d]
    expected = scratch[(COIN + 3) * d : (COIN + 3) * d + 12].reshape((4, 3))
    starts = (COIN + 3) * d + 12
    nodes_per_block, n_blocks, slots, back = block_offsets(layout, starts, slot)

    log_z = coin_weights(layout, field, coupling, coin)
    for t in range(d):
        across, along = layout.across[t], layout.along[t]
        direction[3 * t] = coupling_direction[across] if across >= 0 else 0.0
        direction[3 * t + 1] = coupling_direction[along] if along >= 0 else 0.0
        direction[3 * t + 2] = field_direction[layout.node[t]]

    scratch[slots], scratch[slots + size], scratch[slots + 2 * size] = math.ldexp(1.0, HEADROOM - 1), 0.0, 0.0
    lift = 0
    for block in range(n_blocks):
        if block:
            end = slots + nodes_per_block * slot
            for i in range(slot):
                scratch[slots + i] = scratch[end + i]
        for i in range(slot):
            scratch[starts + block * slot + i] = scratch[slots + i]
        lift += _forward_block(layout, coin, direction, scratch, slots, block)
    end = slots + (d - (n_blocks - 1) * nodes_per_block) * slot
    total = 0.0
    for i in range(size):
        total += scratch[end + i]
    log_z += lift * _LN2 + math.log(math.ldexp(total, 1 - HEADROOM))

    b, b2 = back, back + slot
    floor = 1.0
    for i in range(slot):
        scratch[back + i] = math.ldexp(1.0, HEADROOM) if i < size else 0.0
    for block in range(n_blocks - 1, -1, -1):
        if block < n_blocks - 1:
            for i in range(slot):
                scratch[slots + i] = scratch[starts + block * slot + i]
            _forward_block(layout, coin, direction, scratch, slots, block)
        first = block * nodes_per_block
        for t in range(min(first + nodes_per_block, d) - 1, first - 1, -1):
            if t % width == width - 1:
                _normalise(scratch, np.uint64(b), width, size)
            f = slots + (t - first) * slot
            _, scale, floor = taken_out(scratch, np.uint64(b), 2 ** min(t + 1, width), floor, backward_gain(coin, t))
            _backward_node(scratch, f, b, b2, width, t, coin, direction, scale, expected)
            _store(expected, 0, node_series, layout.node[t])
            _store(expected, 1, agree_series, layout.along[t])
            _store(expected, 2, agree_series, layout.across[t])
            b, b2 = b2, b
    return log_z


@kernel
def _store(expected, row, series, index):
    if index >= 0:
        a, total = expected[row], expected[3]
        series[0, index], series[1, index], series[2, index] = _quotient(a[0], a[1], a[2], total[0], total[1], total[2])
