"""Third cumulants of a planar field within blocks, from its Green function."""

from __future__ import annotations

import numpy as np

from mrfbayes.kernels.base.borrowed import borrow
from mrfbayes.kernels.base.jit import kernel


@kernel(fastmath={"contract", "reassoc", "nsz"})
def _triples(h, weight, a, b):
    """Sum over c < b of weight_c tr(H_ac J H_cb Y), Y = J H_ba J; ``h`` (4, k, k) has the entries of the 2x2 blocks."""
    y00, y01, y10, y11 = h[3, a, b], -h[1, a, b], -h[2, a, b], h[0, a, b]  # of J H_ba J, as H_ba = -H_ab'
    p, q, r, s = h[0, a], h[1, a], h[2, a], h[3, a]
    e, f, g, i = h[0, b], h[1, b], h[2, b], h[3, b]
    total = 0.0
    for c in range(b):
        first = (p[c] * f[c] - q[c] * e[c]) * y00 + (p[c] * i[c] - q[c] * g[c]) * y10
        second = (r[c] * f[c] - s[c] * e[c]) * y01 + (r[c] * i[c] - s[c] * g[c]) * y11
        total -= weight[c] * (first + second)
    return total


@kernel
def block_cubes(green, weight, spread, members, offset, cubes):
    """The sum over distinct a, b, c in block j of v_a v_b v_c kappa_abc into ``cubes``, for every block.

    green: (2m, 2m) H of a window without its 2x2 diagonal; weight: (m,) derivative of tau by the log-odds; members:
    edges of the window, block after block (``offset``), with v, the rows of S, at the same places in ``spread``.
    """
    green, weight, spread, members = borrow(green), borrow(weight), borrow(spread), borrow(members)
    largest = 0
    for j in range(cubes.size):
        largest = max(largest, offset[j + 1] - offset[j])
    h, own = np.empty((4, largest, largest)), np.empty(largest)
    for j in range(cubes.size):
        begin = offset[j]
        k = offset[j + 1] - begin
        for a in range(k):
            at = members[begin + a]
            own[a] = spread[begin + a] * weight[at]
            for b in range(k):
                to = members[begin + b]
                h[0, a, b], h[1, a, b] = green[2 * at, 2 * to], green[2 * at, 2 * to + 1]
                h[2, a, b], h[3, a, b] = green[2 * at + 1, 2 * to], green[2 * at + 1, 2 * to + 1]
        total = 0.0
        for a in range(k):
            for b in range(a):
                total += own[a] * own[b] * _triples(h, own, a, b)
        cubes[j] = -6.0 * total
