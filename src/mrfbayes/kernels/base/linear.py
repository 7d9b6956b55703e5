"""Loops over vectors that kernels share: theta and log-odds, lowered potentials, small positive definite systems."""

from __future__ import annotations

import math

from mrfbayes.kernels.base.fastmath import exp, log, sigmoid
from mrfbayes.kernels.base.jit import kernel


@kernel
def apply_map(forward, log_odds, out):
    """``out`` = M w for the triplets ``forward`` (a `mrfbayes.model.lowering.LinearMap`)."""
    out[:] = 0.0
    for k in range(forward.row.size):
        out[forward.row[k]] += forward.value[k] * log_odds[forward.column[k]]


@kernel
def apply_transpose(forward, statistics, out):
    """``out`` += M^T T."""
    for k in range(forward.row.size):
        out[forward.column[k]] += forward.value[k] * statistics[forward.row[k]]


@kernel
def copy_into(target, values):
    """``target[:] = values`` for one axis and equal sizes: a loop, for the assignment takes seconds to compile."""
    for k in range(values.size):
        target[k] = values[k]


@kernel
def largest_size(values):
    """The largest |value|, zero where there are none."""
    top = 0.0
    for value in values:
        top = max(top, abs(value))
    return top


@kernel(fastmath={"reassoc", "contract"})
def dot(values, others):
    """Sum of the products of two vectors, in any order."""
    total = 0.0
    for k in range(values.size):
        total += values[k] * others[k]
    return total


@kernel
def exp_from_top(values, n):
    """Replace the first ``n`` log weights by weights relative to the largest; the largest, and the sum of those."""
    top = values[0]
    for k in range(1, n):
        top = max(top, values[k])
    total = 0.0
    for k in range(n):
        values[k] = exp(float(values[k] - top))
        total += values[k]
    return top, total


@kernel
def choose(log_weights, n, u):
    """An index below ``n`` with probability proportional to exp(log_weights), by ``u``; and the sum of the weights.

    The log weights are replaced by weights relative to the largest.
    """
    _, total = exp_from_top(log_weights, n)
    u *= total
    index, reached = 0, float(log_weights[0])
    while index < n - 1 and u >= reached:
        index += 1
        reached += log_weights[index]
    return index, total


@kernel
def log_odds_into(offset, theta, out):
    """``out`` (p,) = w of theta, for blocks that start at ``offset``."""
    if theta.size == offset.size - 1:
        for j in range(theta.size):
            out[j] = log(theta[j] / (1.0 - theta[j]))
        return
    for block in range(offset.size - 1):
        rest = 1.0
        for j in range(offset[block], offset[block + 1]):
            rest -= theta[j]
        for j in range(offset[block], offset[block + 1]):
            out[j] = log(theta[j] / rest)


@kernel
def theta_into(offset, log_odds, out):
    """``out`` (p,) = theta of w, for blocks that start at ``offset``."""
    if log_odds.size == offset.size - 1:
        for j in range(log_odds.size):
            out[j] = sigmoid(log_odds[j])
        return
    for block in range(offset.size - 1):
        top = 0.0
        for j in range(offset[block], offset[block + 1]):
            top = max(top, log_odds[j])
        total = exp(-top)
        for j in range(offset[block], offset[block + 1]):
            out[j] = exp(log_odds[j] - top)
            total += out[j]
        for j in range(offset[block], offset[block + 1]):
            out[j] /= total


@kernel
def cholesky(matrix, n, least, out):
    """Lower Cholesky factor of the leading (n, n) block, into ``out``, which may be ``matrix`` itself.

    Reads the lower triangle only. Returns False, with ``out`` half done, where a pivot is not above ``least``.
    """
    for i in range(n):
        for j in range(i + 1):
            total = matrix[i, j]
            for k in range(j):
                total -= out[i, k] * out[j, k]
            if i == j:
                if not total > least:
                    return False
                out[i, i] = math.sqrt(total)
            else:
                out[i, j] = total / out[j, j]
    return True


@kernel
def solve_lower(factor, x, n):
    """Solve L y = x in place."""
    for i in range(n):
        for k in range(i):
            x[i] -= factor[i, k] * x[k]
        x[i] /= factor[i, i]


@kernel
def solve_upper(factor, x, n):
    """Solve L' y = x in place."""
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            x[i] -= factor[k, i] * x[k]
        x[i] /= factor[i, i]
