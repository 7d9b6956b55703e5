"""Small positive definite systems inside kernels: the factor L of L L' and the two triangular solutions."""

from __future__ import annotations

import math

from mrfbayes.kernels.base.jit import kernel


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
