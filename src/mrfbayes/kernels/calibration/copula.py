r"""Independent draws through a Gaussian copula of tabulated coins, and their density.

A draw is z = L eps with LL' = R, then w_j = g_j(z_j), g_j being a piecewise cubic through the quantiles of coin j. Its
density is that of the map that was actually applied,

.. math:: \log q(w) = -\tfrac12|\epsilon|^2 - \tfrac p2 \log 2\pi - \log\det L - \sum_j \log g_j'(z_j),

so an error of the table costs efficiency, never correctness.

From the cumulants of a log-odds to the three numbers of its coin: lambda ~ Beta(a, b), w = logit lambda - h.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from mrfbayes.kernels.base.jit import kernel, without_refcount
from mrfbayes.kernels.base.polygamma import inverse_trigamma, polygammas
from mrfbayes.kernels.base.random import fill_normal

Z_MAX = 8.0  # the table's ends: beyond 1e-15 of the mass quantiles go on in a straight line
N_CELLS = 64
REACH = 0.99  # share of the largest skewness that any coin of the given variance has; beyond it the coin is clipped
_STEPS = 100


class CopulaView(NamedTuple):
    """Coins joined by a Gaussian copula; the first k of ``order`` may be held at given values."""

    cells: np.ndarray  # (p, N_CELLS, 4) cubic of w in each cell's own coordinate
    factor: np.ndarray  # (p, p): row j is column j of the Cholesky factor of R in the order below
    order: np.ndarray  # (p,) parameters
    held_normals: np.ndarray  # (k,) the eps behind the scores of those that are held
    held_log_odds: np.ndarray  # (k,) their w
    offset: np.ndarray  # (B+1,) of the chart
    log_constant: float  # -(p-k)/2 log 2 pi - log det of the factor of the others


@kernel(fastmath={"contract"})
def correlate(factor, normals, out):
    """``out`` = L eps, column by column: every loop has unit stride."""
    p = normals.size
    out[:] = 0.0
    whole = p - p % 4
    for j in range(0, whole, 4):  # four at a time, on slices that start at zero: so that it vectorises
        a, b, c, d = normals[j], normals[j + 1], normals[j + 2], normals[j + 3]
        row_a, row_b, row_c, row_d = factor[j, j:], factor[j + 1, j:], factor[j + 2, j:], factor[j + 3, j:]
        rest = out[j:]
        for i in range(rest.size):
            rest[i] += (a * row_a[i] + b * row_b[i]) + (c * row_c[i] + d * row_d[i])
    for j in range(whole, p):
        for i in range(j, p):
            out[i] += normals[j] * factor[j, i]


@kernel(inline="always")
def _quantile(cells, z):
    """Value of a coin's table at z, and its slope per cell; straight on beyond the ends."""
    x = (z + Z_MAX) * (N_CELLS / (2.0 * Z_MAX))
    k = min(max(np.int64(x), 0), N_CELLS - 1)
    x -= k
    c0, c1, c2, c3 = cells[k, 0], cells[k, 1], cells[k, 2], cells[k, 3]
    inside = min(max(x, 0.0), 1.0)
    slope = c1 + inside * (2.0 * c2 + inside * 3.0 * c3)
    return c0 + inside * (c1 + inside * (c2 + inside * c3)) + (x - inside) * slope, slope


@kernel
def draw_log_odds(copula, normals, scores, out):
    """w into ``out`` from standard normals; returns log q(w)."""
    k = copula.held_normals.size
    normals[:k] = copula.held_normals
    correlate(copula.factor, normals, scores)
    per_unit = N_CELLS / (2.0 * Z_MAX)
    total = copula.log_constant
    product = 1.0
    for a in range(k):
        out[copula.order[a]] = copula.held_log_odds[a]
    for a in range(k, out.size):
        total -= 0.5 * normals[a] * normals[a]
        j = copula.order[a]
        out[j], slope = _quantile(copula.cells[j], scores[a])
        product *= slope * per_unit
        if product < 1e-200 or product > 1e200:
            total -= math.log(product)
            product = 1.0
    return total - math.log(product)


@kernel
def theta_into(offset, log_odds, out):
    """theta (p,) of w; returns log |d theta / d w|, the sum of the logs of all outcomes' weights."""
    total, product = 0.0, 1.0
    if log_odds.size == offset.size - 1:
        for j in range(log_odds.size):
            small = math.exp(-abs(log_odds[j]))
            top = 1.0 / (1.0 + small)
            out[j] = top if log_odds[j] >= 0.0 else small * top
            if small < 1e-100:
                total -= abs(log_odds[j])
                continue
            product *= small * top * top
            if product < 1e-200:
                total += math.log(product)
                product = 1.0
        return total + math.log(product)
    for block in range(offset.size - 1):
        top = 0.0
        for j in range(offset[block], offset[block + 1]):
            top = max(top, log_odds[j])
        weight = math.exp(-top)
        for j in range(offset[block], offset[block + 1]):
            weight += math.exp(log_odds[j] - top)
        total -= top + math.log(weight)  # the last outcome
        for j in range(offset[block], offset[block + 1]):
            out[j] = math.exp(log_odds[j] - top) / weight
            total += log_odds[j] - top - math.log(weight)
    return total


@kernel
def draw_rows(copula, random_state, log_odds):
    """Fill ``log_odds`` (rows, p) with independent draws of w."""
    copula, random_state, log_odds = without_refcount((copula, random_state, log_odds))
    p = log_odds.shape[1]
    normals, scores = np.empty(p), np.empty(p)
    for i in range(log_odds.shape[0]):
        fill_normal(random_state, normals)
        draw_log_odds(copula, normals, scores, log_odds[i])


@kernel
def match_cumulants(variance, third, a, b):
    """psi'(a) + psi'(b) = V and psi''(a) - psi''(b) = kappa. Returns how many coins had to be clipped.

    With psi'(a) = t V the third cumulant falls from its largest value at t = 0 to its smallest at t = 1, so that
    Newton steps inside a bracket find t. At the ends one of a and b is infinite: |kappa| < -psi''(a*), psi'(a*) = V.
    """
    clipped = 0
    for j in range(variance.size):
        limit = -REACH * polygammas(inverse_trigamma(variance[j]))[2]
        wanted = third[j]
        if not abs(wanted) <= limit:
            wanted = math.copysign(limit, wanted)
            clipped += 1
        low, high, t = 0.0, 1.0, 0.5
        for _ in range(_STEPS):
            a[j] = inverse_trigamma(t * variance[j])
            b[j] = inverse_trigamma((1.0 - t) * variance[j])
            _, _, a2, a3 = polygammas(a[j])
            _, _, b2, b3 = polygammas(b[j])
            gap = a2 - b2 - wanted
            if gap > 0.0:  # too skewed: t must grow
                low = t
            else:
                high = t
            step = -gap / (variance[j] * (a3 / a2 + b3 / b2))
            following = t + step
            if not low < following < high:
                following = 0.5 * (low + high)
            if abs(following - t) <= 1e-15:
                break
            t = following
    return clipped
