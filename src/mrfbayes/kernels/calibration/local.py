"""Joint draws of very many correlated normals, each given a few before it: a draw is one pass (Vecchia 1988)."""

from __future__ import annotations

import math

import numpy as np

from mrfbayes.kernels.base.borrowed import borrow
from mrfbayes.kernels.base.cholesky import cholesky, solve_lower, solve_upper
from mrfbayes.kernels.base.jit import kernel
from mrfbayes.kernels.base.random import normal

MOST_EARLIER = 32  # normals that one is regressed on


@kernel
def _lookup(offset, member, spread, a, b):
    """S_ab from the row of a, 0 where b is not in its block."""
    for k in range(offset[a], offset[a + 1]):
        if member[k] == b:
            return spread[k]
    return 0.0


@kernel
def count_earlier(offset, member, counts):
    """How many of the block of each j come before it, at most `MOST_EARLIER`."""
    for j in range(counts.size):
        counts[j] = 0
        for k in range(offset[j], offset[j + 1]):
            if member[k] < j and counts[j] < MOST_EARLIER:
                counts[j] += 1


@kernel
def conditionals(offset, member, spread, first, last, weight_offset, source, weight, residual):
    """Regression of the normals first .. last on those in their blocks that come before; returns how many were dropped.

    ``spread`` holds rows of S within blocks (``offset``, ``member``); the correlation of a and b is taken from both
    rows. A regression that leaves no variance is dropped.
    """
    index = np.empty(MOST_EARLIER, dtype=np.int64)
    matrix, right = np.empty((MOST_EARLIER, MOST_EARLIER)), np.empty(MOST_EARLIER)
    cut = 0
    for j in range(first, last):
        count = 0
        for k in range(offset[j], offset[j + 1]):
            if member[k] < j and count < MOST_EARLIER:
                index[count] = member[k]
                count += 1
        start = weight_offset[j]
        residual[j] = 1.0
        for a in range(count + 1):
            u = j if a == count else index[a]
            for b in range(min(a + 1, count)):
                v = index[b]
                scale = math.sqrt(spread[offset[u]] * spread[offset[v]])
                both = _lookup(offset, member, spread, u, v) + _lookup(offset, member, spread, v, u)
                value = 1.0 if u == v else 0.5 * both / scale
                if a == count:
                    right[b] = value
                else:
                    matrix[a, b] = value
        left = _solve(matrix, right, count)
        if left < 0.01:
            cut += 1
            right[:count] = 0.0
            left = 1.0
        for a in range(count):
            source[start + a] = index[a]
            weight[start + a] = right[a]
        residual[j] = math.sqrt(left)
    return cut


@kernel
def _solve(matrix, right, count):
    """Replace ``right`` by matrix^-1 right (Cholesky in place); returns 1 - right' matrix^-1 right, -1 on failure."""
    if not cholesky(matrix, count, 1e-9, matrix):
        return -1.0
    solve_lower(matrix, right, count)
    left = 1.0
    for i in range(count):
        left -= right[i] * right[i]
    solve_upper(matrix, right, count)
    return left


@kernel
def draw_scores(weight_offset, source, weight, residual, random_state, out):
    """One joint draw of all normal scores into ``out`` (p,)."""
    random_state = borrow(random_state)
    for j in range(out.size):
        total = residual[j] * normal(random_state)
        for k in range(weight_offset[j], weight_offset[j + 1]):
            total += weight[k] * out[source[k]]
        out[j] = total


@kernel
def local_third(offset, member, spread, variance, third, cube, shift):
    """Prior's part: sum_k S_jk^3 t_k and sum_k S_jk S_kk t_k over the block of every j."""
    for j in range(offset.size - 1):
        a, b = 0.0, 0.0
        for k in range(offset[j], offset[j + 1]):
            s, t = spread[k], third[member[k]]
            a += s * s * s * t
            b += s * variance[member[k]] * t
        cube[j], shift[j] = a, b
