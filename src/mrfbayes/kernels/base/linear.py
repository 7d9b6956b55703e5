"""The sparse linear map between log-odds and lowered potentials, and other loops over vectors that kernels share."""

from __future__ import annotations

from mrfbayes.kernels.base.fastmath import exp
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
