r"""The Gaussian copula (Eq. 8) of coins whose normal scores are tabulated.

For the exchangeable matrix R = (1 - rho) I + rho 1 1' neither a factor nor a matrix is needed:

.. math:: \log\det R = (p-1)\log(1-\rho) + \log(1+(p-1)\rho), \qquad
          u^T(R^{-1}-I)u = \frac{\rho}{1-\rho}\Bigl[\sum u^2 - \frac{(\sum u)^2}{1+(p-1)\rho}\Bigr].
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mrfbayes.kernels.base import fastmath
from mrfbayes.kernels.base.jit import kernel
from mrfbayes.kernels.coins.coin import normal_score

AGREEMENTS, DISAGREEMENTS, ETA, ONE_MINUS_ETA = range(4)  # rows of CopulaCoins.numbers
PLACE_LOW, PLACE_PER_UNIT, PLACE_FIRST, PLACE_COUNT = range(4)  # rows of ScoreTables.places


class CopulaCoins(NamedTuple):
    """Independent coins, Eq. (3): what the product of marginals needs.

    Arrays that belong together are the rows of one: each array of a view costs two atomic updates per step.
    """

    numbers: np.ndarray  # (4, p) alpha_j, n_j - alpha_j, eta_j, 1 - eta_j
    constant: float  # what does not depend on theta
    extra_power: float  # 0: printed, power n; 2: the generalised beta form, power n + 2


class ScoreTables(NamedTuple):
    """Phi^-1(F_j) as a function of the log-odds, from `mrfbayes.kernels.coins.scores`."""

    places: np.ndarray  # (4, p) where the table begins, cells per unit of log-odds, first cell, number of cells
    cells: np.ndarray  # (cells, 4)
    coins: np.ndarray  # (p, COIN_FIELDS), for what lies outside the tables


@kernel(fastmath={"reassoc"})
def coin_terms(numbers, theta):
    """Sum over coins of alpha log(theta / g) + (n - alpha) log((1 - theta) / g), g = eta theta + (1-eta)(1-theta)."""
    total = 0.0
    for j in range(theta.size):
        other = 1.0 - theta[j]
        # a division is cheaper than a third logarithm
        share = 1.0 / (numbers[ETA, j] * theta[j] + numbers[ONE_MINUS_ETA, j] * other)
        total += numbers[AGREEMENTS, j] * fastmath.log(share * theta[j])  # Eq. (3): lambda of Eq. (1) in Eq. (2)
        total += numbers[DISAGREEMENTS, j] * fastmath.log(share * other)
    return total


@kernel(fastmath={"reassoc"})
def coin_terms_and_log_odds(numbers, theta, log_odds):
    """What `coin_terms` sums; fills ``log_odds`` with logit theta from the same logarithms."""
    total = 0.0
    for j in range(theta.size):
        other = 1.0 - theta[j]
        share = 1.0 / (numbers[ETA, j] * theta[j] + numbers[ONE_MINUS_ETA, j] * other)
        log_theta, log_other = fastmath.log(share * theta[j]), fastmath.log(share * other)
        total += numbers[AGREEMENTS, j] * log_theta + numbers[DISAGREEMENTS, j] * log_other
        log_odds[j] = log_theta - log_other
    return total


@kernel(fastmath={"reassoc"})
def extra_terms(numbers, theta):
    """Sum of -log g, for the denominator's extra power in the generalised beta form."""
    total = 0.0
    for j in range(theta.size):
        total -= fastmath.log(numbers[ETA, j] * theta[j] + numbers[ONE_MINUS_ETA, j] * (1.0 - theta[j]))
    return total


@kernel
def fill_scores(places, cells, values):
    """Replace log-odds (p,) by normal scores u_j = Phi^-1(F_j); returns the number left out, outside their tables."""
    outside = 0
    for j in range(values.size):
        x = (values[j] - places[PLACE_LOW, j]) * places[PLACE_PER_UNIT, j]
        if x >= 0.0 and x < places[PLACE_COUNT, j]:
            whole = np.int64(x)
            x -= np.float64(whole)
            k = whole + np.int64(places[PLACE_FIRST, j])
            values[j] = cells[k, 0] + x * (cells[k, 1] + x * (cells[k, 2] + x * cells[k, 3]))
        else:
            outside += 1
    return outside


@kernel
def integrate_scores(coins, places, log_odds, scores):
    """The scores that `fill_scores` left out, by integration."""
    for j in range(log_odds.size):
        w = log_odds[j]
        x = (w - places[PLACE_LOW, j]) * places[PLACE_PER_UNIT, j]
        # A hair's breadth around the ends as well: the logit here may round differently.
        if not (x >= 1e-6 and x < places[PLACE_COUNT, j] - 1e-6):
            scores[j] = normal_score(coins[j], w)


@kernel(fastmath={"reassoc"})
def exchangeable_log_density(rho, log_det, scores):
    """Log density of the exchangeable copula at the normal scores (p,)."""
    total, square = 0.0, 0.0
    for j in range(scores.size):
        total += scores[j]
        square += scores[j] * scores[j]
    top = 1.0 + (scores.size - 1.0) * rho
    return -0.5 * log_det - 0.5 * rho / (1.0 - rho) * (square - total * total / top)  # Eq. (8)


@kernel(fastmath={"reassoc"})
def matrix_log_density(precision, log_det, scores):
    """Log density of the copula of any R; ``precision`` is R^-1 - I, of which the lower half is read."""
    quadratic = 0.0
    for i in range(scores.size):
        row = 0.0
        for j in range(i):
            row += precision[i, j] * scores[j]
        quadratic += scores[i] * (2.0 * row + precision[i, i] * scores[i])
    return -0.5 * log_det - 0.5 * quadratic


@kernel
def copula_log_density(rho, log_det, precision, scores):
    """Log density of the copula: of any R by its ``precision``, exchangeable where that is empty."""
    if precision.size > 0:
        return matrix_log_density(precision, log_det, scores)
    return exchangeable_log_density(rho, log_det, scores)
