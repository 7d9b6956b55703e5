r"""Merging two regions of a planar field over the edges that they share.

A region is summarised by the skew matrix G over its dangling half-edges. With a, b the blocks of the k shared
half-edges, U, V the blocks between kept and shared ones, D = diag(tau) and S = I + D b D a, merging gives

.. math::
    \log Z \mathrel{+}= \tfrac12 \log\det S, \quad
    G'_{AA} = G_A + U S^{-1} D b D U^T, \quad
    G'_{AB} = -U S^{-1} D V^T, \quad
    G'_{BB} = G_B + V D a S^{-1} D V^T.

Matrices are stored by rows in flat arrays; ``(begin, size)`` says where, and shared half-edges come last.
"""

from __future__ import annotations

import math

import numpy as np

from mrfbayes.kernels.base.jit import kernel

U = np.uint64  # indices without a sign: sums of signed ones might be negative, and such loops stay scalar


@kernel(fastmath={"contract"})
def add_product(c, into, a, left, b, right, shape):
    """C += A B for blocks of flat arrays, four inner terms and two rows at a time.

    into, right: (begin, row stride); left: (begin, row stride, column stride); shape: (rows, columns, inner, reach),
    where row i is only needed up to column i + reach.
    """
    rows, columns, inner, reach = shape
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
def shared_inverse(store, left, right, tau, work):
    """[I | S^-1] of S = I + D b D a at the beginning of ``work``; log det S and the weakest pivot."""
    k = tau.size
    na, nb = left[1], right[1]
    a0, b0 = left[0] + (na - k) * (na + 1), right[0] + (nb - k) * (nb + 1)
    width = U(k)
    for i in range(k):
        row = U(2 * k * i)
        for j in range(width + width):
            work[row + j] = 0.0
        work[2 * k * i + i] = 1.0
        work[2 * k * i + k + i] = 1.0
        for s in range(k):
            factor = tau[i] * store[b0 + i * nb + s] * tau[s]
            there = U(a0 + s * na)
            for j in range(width):
                work[row + j] += factor * store[there + j]
    return invert(work, k)


@kernel
def contract(store, left, right, tau, work):
    """Merge the regions at ``left`` and ``right``: (begin of G' in ``work``, log Z gained, weakest pivot).

    The rows of G' are the left region's kept half-edges, then the right one's. Only its lower triangle is made.
    """
    k = tau.size
    na, nb = left[1], right[1]
    ma, mb = na - k, nb - k
    m = ma + mb
    small, tall = 2 * k * k, 3 * k * k
    out = tall + (na + nb) * k
    for i in range(ma):
        for j in range(i + 1):
            work[out + i * m + j] = store[left[0] + i * na + j]
    for i in range(mb):
        row = out + (ma + i) * m
        for j in range(ma):
            work[row + j] = 0.0
        for j in range(i + 1):
            work[row + ma + j] = store[right[0] + i * nb + j]
    a_low, b_low = left[0] + ma * na, right[0] + mb * nb  # rows of the shared half-edges: -U^T and -V^T, then a and b
    if k == 1:
        # One edge joins two regions as a bridge does: nothing changes within either.
        for i in range(mb):
            factor = tau[0] * store[b_low + i]
            for j in range(ma):
                work[out + (ma + i) * m + j] = factor * store[a_low + j]
    if k < 2:
        return out, 0.0, 1.0
    log_det, weakest = shared_inverse(store, left, right, tau, work)
    for i in range(k):  # E = D a S^-1 D
        for j in range(k):
            work[k + 2 * k * i + j] *= tau[j]
            work[small + i * k + j] = 0.0
    add_product(work, (small, k), store, (a_low + ma, na, 1), work, (k, 2 * k), (k, k, k, k))
    for i in range(k):
        for j in range(k):
            work[small + i * k + j] *= -tau[i]
    # N = V E, then G'_BB = G_B - N (-V^T)
    for i in range(mb * k):
        work[tall + i] = 0.0
    add_product(work, (tall, k), store, (right[0] + mb, nb, 1), work, (small, k), (mb, k, k, k))
    add_product(work, (out + ma * m + ma, m), work, (tall, k, 1), store, (b_low, nb), (mb, mb, k, 0))
    # N = V (S^-1 D)^T, then G'_BA = N U^T: minus the transpose of G'_AB
    for i in range(k):
        for j in range(k):
            work[small + j * k + i] = -work[k + 2 * k * i + j]
    for i in range(mb * k):
        work[tall + i] = 0.0
    add_product(work, (tall, k), store, (right[0] + mb, nb, 1), work, (small, k), (mb, k, k, k))
    add_product(work, (out + ma * m, m), work, (tall, k, 1), store, (a_low, na), (mb, ma, k, m))
    # N = U (S^-1 D b D), then G'_AA = G_A - N (-U^T)
    for i in range(k * k):
        work[small + i] = 0.0
    add_product(work, (small, k), work, (k, 2 * k, 1), store, (b_low + mb, nb), (k, k, k, k))
    for i in range(k):
        for j in range(k):
            work[small + i * k + j] *= -tau[j]
    for i in range(ma * k):
        work[tall + i] = 0.0
    add_product(work, (tall, k), store, (left[0] + ma, na, 1), work, (small, k), (ma, k, k, k))
    add_product(work, (out, m), work, (tall, k, 1), store, (a_low, na), (ma, ma, k, 0))
    return out, 0.5 * log_det, weakest


@kernel
def place_merged(work, out, places, store, into):
    """Write G', of which the lower triangle stands at ``out``, to ``into`` with row i at ``places[i]``."""
    m = into[1]
    for i in range(m):
        here = places[i]
        row = out + i * m
        for j in range(i):
            there = places[j]
            store[into[0] + here * m + there] = work[row + j]
            store[into[0] + there * m + here] = -work[row + j]
        store[into[0] + here * m + here] = 0.0
