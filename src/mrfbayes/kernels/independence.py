r"""Independent draws through a Gaussian copula of tabulated coins, their exact density, and the chain that corrects them.

A draw is z = L eps with LL' = R, then w_j = g_j(z_j), g_j being a piecewise cubic through the quantiles of coin j. Its
density is that of the map that was actually applied,

.. math:: \log q(w) = -\tfrac12|\epsilon|^2 - \tfrac p2 \log 2\pi - \log\det L - \sum_j \log g_j'(z_j),

so an error of the table costs efficiency, never correctness.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from mrfbayes.kernels.chain import FAILED, LOG_LIKELIHOOD, LOG_TARGET, NOT_A_NUMBER, OUTSIDE, finish_step
from mrfbayes.kernels.contracts import log_likelihood
from mrfbayes.kernels.jit import kernel
from mrfbayes.kernels.prior import is_inside, log_prior
from mrfbayes.kernels.random import fill_normal, uniform

Z_MAX = 8.0  # the table's ends: beyond 1e-15 of the mass quantiles go on in a straight line
N_CELLS = 64
# Places in IndependenceView.sums: the largest log weight so far, and sums relative to it
TOP, TOTAL, TOTAL_SQUARE, N_WEIGHTS = range(4)
N_SUMS = 4


class CopulaView(NamedTuple):
    """Coins joined by a Gaussian copula."""

    cells: np.ndarray  # (p, N_CELLS, 4) cubic of w in each cell's own coordinate
    factor: np.ndarray  # (p, p): row j is column j of the Cholesky factor of R
    offset: np.ndarray  # (B+1,) of the chart
    log_constant: float  # -p/2 log 2 pi - log det L


class IndependenceView(NamedTuple):
    """A method's likelihood and the proposal that is corrected to it."""

    target: Any
    copula: CopulaView
    log_odds: np.ndarray  # (p,) scratch
    log_weights: np.ndarray  # (k,) of the first k proposals
    sums: np.ndarray  # (N_SUMS,)
    weighted_mean: np.ndarray  # (p,) of theta over all proposals
    weighted_square: np.ndarray  # (p,) about it


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
def draw_log_odds(copula, normals, out):
    """w into ``out`` from standard normals; returns log q(w)."""
    correlate(copula.factor, normals, out)
    per_unit = N_CELLS / (2.0 * Z_MAX)
    total = copula.log_constant
    product = 1.0
    for j in range(out.size):
        total -= 0.5 * normals[j] * normals[j]
        out[j], slope = _quantile(copula.cells[j], out[j])
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
            product *= small * top * top
            if product < 1e-200:
                total += math.log(product)
                product = 1.0
                if total == -math.inf:
                    return total
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
def draw_theta(copula, random_state, theta):
    """Fill ``theta`` (rows, p) with independent draws."""
    p = theta.shape[1]
    normals, log_odds = np.empty(p), np.empty(p)
    for i in range(theta.shape[0]):
        fill_normal(random_state, normals)
        draw_log_odds(copula, normals, log_odds)
        theta_into(copula.offset, log_odds, theta[i])


@kernel
def weighted_draws(view, prior, random_state, theta, log_weights):
    """Independent draws and the logs of (likelihood times prior) / q, both as densities of theta."""
    normals, log_odds = np.empty(theta.shape[1]), np.empty(theta.shape[1])
    for i in range(theta.shape[0]):
        fill_normal(random_state, normals)
        log_q = draw_log_odds(view.copula, normals, log_odds)
        log_q -= theta_into(view.copula.offset, log_odds, theta[i])
        log_weights[i] = -math.inf
        if is_inside(prior.offset, theta[i]):
            log_weights[i] = log_likelihood(view.target, theta[i]) + log_prior(prior, theta[i]) - log_q


@kernel
def _add_weight(view, log_weight, theta):
    """Importance-weighted moments over all proposals, accepted or not."""
    sums = view.sums
    if sums[N_WEIGHTS] < view.log_weights.size:
        view.log_weights[np.int64(sums[N_WEIGHTS])] = log_weight
    sums[N_WEIGHTS] += 1.0
    if log_weight == -math.inf:
        return
    if log_weight > sums[TOP]:
        shrink = math.exp(sums[TOP] - log_weight)
        sums[TOTAL] *= shrink
        sums[TOTAL_SQUARE] *= shrink * shrink
        for j in range(theta.size):
            view.weighted_square[j] *= shrink
        sums[TOP] = log_weight
    weight = math.exp(log_weight - sums[TOP])
    sums[TOTAL] += weight
    sums[TOTAL_SQUARE] += weight * weight
    share = weight / sums[TOTAL]
    for j in range(theta.size):
        delta = theta[j] - view.weighted_mean[j]
        view.weighted_mean[j] += share * delta
        view.weighted_square[j] += weight * delta * (theta[j] - view.weighted_mean[j])


@kernel
def _propose(view, prior, state):
    """Draw into ``state.proposal``; returns its log weight and log-likelihood."""
    fill_normal(state.random, state.normals)
    log_q = draw_log_odds(view.copula, state.normals, view.log_odds)
    log_q -= theta_into(view.copula.offset, view.log_odds, state.proposal)
    if not is_inside(prior.offset, state.proposal):
        state.counters[OUTSIDE] += 1
        return -math.inf, 0.0
    value = log_likelihood(view.target, state.proposal)
    return value + log_prior(prior, state.proposal) - log_q, value


@kernel
def run_independent(view, prior, settings, state, kept_draws, n_steps):
    """``n_steps`` steps of independence Metropolis-Hastings; none at all draws the start."""
    counters, numbers = state.counters, state.numbers
    if math.isnan(numbers[LOG_TARGET]):
        numbers[LOG_TARGET], numbers[LOG_LIKELIHOOD] = _propose(view, prior, state)
        state.theta[:] = state.proposal
    for _ in range(n_steps):
        log_weight, log_value = _propose(view, prior, state)
        if math.isnan(log_weight):
            counters[FAILED] = NOT_A_NUMBER
            return
        _add_weight(view, log_weight, state.proposal)
        acceptance = math.exp(min(0.0, log_weight - numbers[LOG_TARGET]))
        accepted = uniform(state.random) < acceptance
        if accepted:
            numbers[LOG_TARGET] = log_weight
            numbers[LOG_LIKELIHOOD] = log_value
        finish_step(settings, state, accepted, acceptance, kept_draws)


@kernel
def restricted_draws(view, prior, order, fixed_normals, fixed_log_odds, random_state, log_weights):
    """Log weights of draws of all other log-odds given those of one block, both as densities of log-odds.

    ``order`` (p,) lists the block's parameters first; ``view.copula.factor`` is that of R in this order, and
    ``fixed_normals`` the eps that give the block its fixed normal scores.
    """
    p, k = order.size, fixed_normals.size
    normals, scores, theta = np.empty(p), np.empty(p), np.empty(p)
    per_unit = N_CELLS / (2.0 * Z_MAX)
    for i in range(log_weights.size):
        fill_normal(random_state, normals)
        normals[:k] = fixed_normals
        correlate(view.copula.factor, normals, scores)
        log_q = view.copula.log_constant
        view.log_odds[order[:k]] = fixed_log_odds
        for a in range(k, p):
            value, slope = _quantile(view.copula.cells[order[a]], scores[a])
            view.log_odds[order[a]] = value
            log_q -= 0.5 * normals[a] * normals[a] + math.log(slope * per_unit)
        jacobian = theta_into(view.copula.offset, view.log_odds, theta)
        log_weights[i] = -math.inf
        if is_inside(prior.offset, theta):
            log_weights[i] = log_likelihood(view.target, theta) + log_prior(prior, theta) + jacobian - log_q
