"""All moments of up to four variables of a binary sample, by counting bits.

Every entry of the covariance of the statistics x_i x_j and x_i is the mean of a product of at most four variables. With
64 samples to a word, a product is an AND and a mean is a popcount, and each subset of variables is counted once for all
entries that it belongs to.
"""

from __future__ import annotations

import numpy as np

from mrfbayes.kernels.base.bits import popcount
from mrfbayes.kernels.base.jit import kernel, without_refcount

CHUNK = 1024  # words of a product that are kept at a time: those of 100 variables stay in the second-level cache


@kernel(forceinline=True)
def _both(x, y, out):
    for k in range(out.size):
        out[k] = x[k] & y[k]


@kernel
def _count(x):
    total = np.uint64(0)
    for k in range(x.size):
        total += popcount(x[k])
    return np.float64(total)


@kernel
def _count_both(x, y):
    total = np.uint64(0)
    for k in range(x.size):
        total += popcount(x[k] & y[k])
    return np.float64(total)


@kernel(forceinline=True)
def _add(out, a, b, value):
    if a >= 0 and b >= 0:
        if a <= b:
            out[a, b] += value
        else:
            out[b, a] += value


@kernel
def _add_three(out, pair, node, i, j, k, value):
    """A product of three variables: two pairs that share one, or a pair and a node."""
    ij, ik, jk = pair[i, j], pair[i, k], pair[j, k]
    _add(out, ij, ik, value)
    _add(out, ij, jk, value)
    _add(out, ik, jk, value)
    _add(out, ij, node[k], value)
    _add(out, ik, node[j], value)
    _add(out, jk, node[i], value)


@kernel
def add_products(words, pair, node, first_nodes, out):
    """``out`` (T, T) += sums over samples of the products of all two statistics, on and above the diagonal.

    ``words`` (d, n_words) holds the samples as bits; statistic pair[i, j] is x_i x_j (-1: there is none), statistic
    node[i] is x_i. Only subsets of variables whose first is one of ``first_nodes`` are counted: an entry belongs to
    one subset, so threads with other first nodes write elsewhere.
    """
    words, pair, node, first_nodes, out = without_refcount((words, pair, node, first_nodes, out))
    d, n_words = words.shape
    # Rows that follow one another in memory, which is what makes the compiler count several words at once.
    width = -(-n_words // -(-n_words // CHUNK))
    x, y, z = np.zeros((d, width), np.uint64), np.empty(width, np.uint64), np.empty(width, np.uint64)
    for first in range(0, n_words, width):
        size = min(width, n_words - first)
        x[:, :size] = words[:, first : first + size]
        x[:, size:] = 0
        for i in first_nodes:
            _add(out, node[i], node[i], _count(x[i]))
            for j in range(i + 1, d):
                _both(x[i], x[j], y)
                ij, value = pair[i, j], _count(y)
                _add(out, node[i], node[j], value)
                _add(out, ij, ij, value)
                _add(out, ij, node[i], value)
                _add(out, ij, node[j], value)
                for k in range(j + 1, d):
                    _both(y, x[k], z)
                    _add_three(out, pair, node, i, j, k, _count(z))
                    ik, jk = pair[i, k], pair[j, k]
                    for m in range(k + 1, d):
                        value = _count_both(z, x[m])
                        _add(out, ij, pair[k, m], value)
                        _add(out, ik, pair[j, m], value)
                        _add(out, jk, pair[i, m], value)
