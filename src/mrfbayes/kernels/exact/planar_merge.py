r"""Merging two regions of a planar field over the edges that they share.

A region is summarised by the skew matrix G over its dangling half-edges. With a, b the blocks of the k shared
half-edges, U, V the blocks between kept and shared ones, D = diag(tau) and S = I + D b D a, merging gives

.. math::
    \log Z \mathrel{+}= \tfrac12 \log\det S, \quad
    G'_{AA} = G_A + U S^{-1} D b D U^T, \quad
    G'_{AB} = -U S^{-1} D V^T, \quad
    G'_{BB} = G_B + V D a S^{-1} D V^T.

Matrices are stored by rows in flat arrays; ``(begin, size)`` says where, and shared half-edges come last.

Along a direction tau is a power series, and so is everything above. Its terms stand in layers: n arrays of the same
layout, one behind the other in a flat one, and products are those of series, cut after n terms. With one term that is
the merge of numbers. How many there are is the length of a tuple, ``orders``, which the compiler knows.
"""

from __future__ import annotations

import math

import numpy as np

from mrfbayes.kernels.base.jit import kernel

U = np.uint64  # indices without a sign: sums of signed ones might be negative, and such loops stay scalar
ORDER_ZERO = (0,)  # the orders of a series of one term
LARGE_PRODUCT = 2**17  # multiplications of a product from which on BLAS is faster


@kernel
def add_large_product(c, into, a, left, b, right, shape):
    """`add_product` by BLAS, on copies; all columns of all rows."""
    rows, columns, inner, _ = shape
    first, second = np.empty((rows, inner)), np.empty((inner, columns))
    for i in range(rows):
        for k in range(inner):
            first[i, k] = a[left[0] + i * left[1] + k * left[2]]
    for k in range(inner):
        for j in range(columns):
            second[k, j] = b[right[0] + k * right[1] + j]
    product = np.dot(first, second)
    for i in range(rows):
        for j in range(columns):
            c[into[0] + i * into[1] + j] += product[i, j]


@kernel(fastmath={"contract"})
def add_product(c, into, a, left, b, right, shape):
    """C += A B for blocks of flat arrays, four inner terms and two rows at a time.

    into, right: (begin, row stride); left: (begin, row stride, column stride); shape: (rows, columns, inner, reach),
    where row i is only needed up to column i + reach.
    """
    rows, columns, inner, reach = shape
    if rows * columns * inner > LARGE_PRODUCT:
        add_large_product(c, into, a, left, b, right, shape)
        return
    step, stride = U(left[2]), U(right[1])
    full = inner - inner % 4
    for i in range(0, rows - 1, 2):
        width = U(min(columns, i + 1 + reach))
        c0, a0, b0 = U(into[0] + i * into[1]), U(left[0] + i * left[1]), U(right[0])
        c1, a1 = c0 + U(into[1]), a0 + U(left[1])
        for _ in range(0, full, 4):
            b1 = b0 + stride
            b2 = b1 + stride
            b3 = b2 + stride
            p0, q0 = a[a0], a[a1]
            p1, q1 = a[a0 + step], a[a1 + step]
            p2, q2 = a[a0 + step + step], a[a1 + step + step]
            p3, q3 = a[a0 + step + step + step], a[a1 + step + step + step]
            for j in range(width):
                v0, v1, v2, v3 = b[b0 + j], b[b1 + j], b[b2 + j], b[b3 + j]
                c[c0 + j] = c[c0 + j] + p0 * v0 + p1 * v1 + p2 * v2 + p3 * v3
                c[c1 + j] = c[c1 + j] + q0 * v0 + q1 * v1 + q2 * v2 + q3 * v3
            a0 += step + step + step + step
            a1 += step + step + step + step
            b0 = b3 + stride
        for _ in range(full, inner):
            p0, q0 = a[a0], a[a1]
            for j in range(width):
                v0 = b[b0 + j]
                c[c0 + j] += p0 * v0
                c[c1 + j] += q0 * v0
            a0 += step
            a1 += step
            b0 += stride
    if rows % 2:
        i = rows - 1
        width = U(min(columns, i + 1 + reach))
        c0, a0, b0 = U(into[0] + i * into[1]), U(left[0] + i * left[1]), U(right[0])
        for _ in range(inner):
            p0 = a[a0]
            for j in range(width):
                c[c0 + j] += p0 * b[b0 + j]
            a0 += step
            b0 += stride


@kernel(fastmath={"contract"})
def invert(work, k):
    """Turn [S | I], k rows of 2k at the beginning of ``work``, into [I | S^-1]; log det S, which is positive.

    Also returns the smallest pivot: what log Z loses to rounding is read off it.
    """
    total = 0.0
    weakest = 1.0
    width = 2 * k
    for p in range(k):
        best, row = -1.0, p
        for i in range(p, k):
            size = abs(work[i * width + p])
            if size > best:
                best, row = size, i
        here = U(p * width + p)
        rest = U(width - p)
        if row != p:
            other = U(row * width + p)
            for j in range(rest):
                work[here + j], work[other + j] = work[other + j], work[here + j]
        pivot = work[here]
        total += math.log(max(best, 1e-300))
        weakest = min(weakest, best)
        scale = 1.0 / pivot
        for j in range(rest):
            work[here + j] *= scale
        for i in range(k):
            if i != p:
                there = U(i * width + p)
                factor = work[there]
                for j in range(rest):
                    work[there + j] -= factor * work[here + j]
    return total, weakest


@kernel
def add_series_product(c, into, a, left, b, right, shape):
    """`add_product` for series: each tuple ends with the length of a layer as well, and ``shape`` with the orders."""
    rows, columns, inner, reach, orders = shape
    for n in range(len(orders)):
        for i in range(n + 1):
            add_product(
                c,
                (into[0] + n * into[2], into[1]),
                a,
                (left[0] + i * left[3], left[1], left[2]),
                b,
                (right[0] + (n - i) * right[2], right[1]),
                (rows, columns, inner, reach),
            )


@kernel
def scale(work, block, tau, orders, how):
    """Multiply a series of matrices, block = (begin, rows, columns, stride), by that of diag(tau), tau: (n k,).

    how: whether from the left, and +1 or -1, with which all is multiplied as well.
    """
    begin, rows, columns, stride = block
    is_left, sign = how
    terms = len(orders)
    layer, k = work.size // terms, tau.size // terms
    for i in range(rows):
        row = U(begin + i * stride)
        for j in range(U(columns)):
            at = U(i) if is_left else j
            for back in range(terms):
                n = terms - 1 - back  # the lower terms are still needed as they were
                total = sign * tau[at] * work[U(n * layer) + row + j]
                for lower in range(n):
                    total += sign * tau[U((n - lower) * k) + at] * work[U(lower * layer) + row + j]
                work[U(n * layer) + row + j] = total


@kernel
def clear(work, begin, size, orders):
    """Zeros from ``begin`` on, in every layer."""
    terms = len(orders)
    layer = work.size // terms
    for n in range(terms):
        here = U(n * layer + begin)
        for i in range(U(size)):
            work[here + i] = 0.0


@kernel
def shared_inverse(store, left, right, tau, work, orders):
    """[I | S^-1] of S = I + D b D a at the beginning of ``work``; log det S and the weakest pivot.

    Of a series, the first term stands thus, and beside the others S^-1 those of S; k * k numbers behind are scratch.
    """
    terms = len(orders)
    k = tau.size // terms
    of, layer, scratch = store.size // terms, work.size // terms, 2 * k * k
    na, nb = left[1], right[1]
    a0, b0 = left[0] + (na - k) * (na + 1), right[0] + (nb - k) * (nb + 1)
    clear(work, 0, scratch, orders)
    for n in range(terms):
        for i in range(k):
            for j in range(k):
                work[n * layer + scratch + i * k + j] = store[n * of + b0 + i * nb + j]
    for i in range(k):
        work[2 * k * i + i] = work[2 * k * i + k + i] = 1.0
    scale(work, (scratch, k, k, k), tau, orders, (True, 1.0))
    scale(work, (scratch, k, k, k), tau, orders, (False, 1.0))
    into, right_side = (0, 2 * k, layer), (a0, na, of)
    add_series_product(work, into, work, (scratch, k, 1, layer), store, right_side, (k, k, k, k, orders))
    found = invert(work, k)
    if terms > 1:
        higher_inverse(work, k, orders)
    return found


@kernel
def higher_inverse(work, k, orders):
    """The terms of S^-1 behind the first, X_n = -X_0 (S_1 X_{n-1} + ... + S_n X_0), beside those of S."""
    terms = len(orders)
    layer, scratch = work.size // terms, 2 * k * k
    for n in range(1, terms):
        for i in range(k * k):
            work[scratch + i] = 0.0
        for i in range(1, n + 1):
            add_product(
                work, (scratch, k), work, (i * layer, 2 * k, 1), work, ((n - i) * layer + k, 2 * k), (k, k, k, k)
            )
        for i in range(k * k):
            work[scratch + i] *= -1.0
        add_product(work, (n * layer + k, 2 * k), work, (k, 2 * k, 1), work, (scratch, k), (k, k, k, k))


@kernel
def contract(store, left, right, tau, work, orders):
    """Merge the regions at ``left`` and ``right``: (begin of G' in ``work``, log Z gained, weakest pivot).

    The rows of G' are the left region's kept half-edges, then the right one's. Only its lower triangle is made.
    """
    terms = len(orders)
    k = tau.size // terms
    of, to = store.size // terms, work.size // terms  # lengths of a layer
    na, nb = left[1], right[1]
    ma, mb = na - k, nb - k
    m = ma + mb
    small, tall = 2 * k * k, 3 * k * k
    out = tall + (na + nb) * k
    for n in range(terms):
        for i in range(ma):
            for j in range(i + 1):
                work[n * to + out + i * m + j] = store[n * of + left[0] + i * na + j]
        for i in range(mb):
            row = n * to + out + (ma + i) * m
            for j in range(ma):
                work[row + j] = 0.0
            for j in range(i + 1):
                work[row + ma + j] = store[n * of + right[0] + i * nb + j]
    a_low, b_low = left[0] + ma * na, right[0] + mb * nb  # rows of the shared half-edges: -U^T and -V^T, then a and b
    if k == 1:
        # One edge joins two regions as a bridge does: nothing changes within either.
        for n in range(terms):
            for i in range(mb):
                work[n * to + tall + i] = store[n * of + b_low + i]
        scale(work, (tall, 1, mb, mb), tau, orders, (True, 1.0))
        add_series_product(
            work, (out + ma * m, m, to), work, (tall, 1, 1, to), store, (a_low, na, of), (mb, ma, 1, m, orders)
        )
    if k < 2:
        return out, 0.0, 1.0
    log_det, weakest = shared_inverse(store, left, right, tau, work, orders)
    # E = D a S^-1 D
    scale(work, (k, k, k, 2 * k), tau, orders, (False, 1.0))
    clear(work, small, k * k, orders)
    inverse = (k, 2 * k, to)
    add_series_product(work, (small, k, to), store, (a_low + ma, na, 1, of), work, inverse, (k, k, k, k, orders))
    scale(work, (small, k, k, k), tau, orders, (True, -1.0))
    # N = V E, then G'_BB = G_B - N (-V^T)
    clear(work, tall, mb * k, orders)
    v = (right[0] + mb, nb, 1, of)
    add_series_product(work, (tall, k, to), store, v, work, (small, k, to), (mb, k, k, k, orders))
    into = (out + ma * m + ma, m, to)
    add_series_product(work, into, work, (tall, k, 1, to), store, (b_low, nb, of), (mb, mb, k, 0, orders))
    # N = V (S^-1 D)^T, then G'_BA = N U^T: minus the transpose of G'_AB
    for n in range(terms):
        for i in range(k):
            for j in range(k):
                work[n * to + small + j * k + i] = -work[n * to + k + 2 * k * i + j]
    clear(work, tall, mb * k, orders)
    add_series_product(work, (tall, k, to), store, v, work, (small, k, to), (mb, k, k, k, orders))
    into = (out + ma * m, m, to)
    add_series_product(work, into, work, (tall, k, 1, to), store, (a_low, na, of), (mb, ma, k, m, orders))
    # N = U (S^-1 D b D), then G'_AA = G_A - N (-U^T)
    clear(work, small, k * k, orders)
    at = (k, 2 * k, 1, to)
    add_series_product(work, (small, k, to), work, at, store, (b_low + mb, nb, of), (k, k, k, k, orders))
    scale(work, (small, k, k, k), tau, orders, (False, -1.0))
    clear(work, tall, ma * k, orders)
    u = (left[0] + ma, na, 1, of)
    add_series_product(work, (tall, k, to), store, u, work, (small, k, to), (ma, k, k, k, orders))
    add_series_product(work, (out, m, to), work, (tall, k, 1, to), store, (a_low, na, of), (ma, ma, k, 0, orders))
    return out, 0.5 * log_det, weakest


@kernel
def place_merged(work, out, places, store, into, orders):
    """Write G', of which the lower triangle stands at ``out``, to ``into`` with row i at ``places[i]``."""
    terms = len(orders)
    m = into[1]
    for n in range(terms):
        begin, to = n * (work.size // terms) + out, n * (store.size // terms) + into[0]
        for i in range(m):
            here = places[i]
            row = begin + i * m
            for j in range(i):
                there = places[j]
                store[to + here * m + there] = work[row + j]
                store[to + there * m + here] = -work[row + j]
            store[to + here * m + here] = 0.0
