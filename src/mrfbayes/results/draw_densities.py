r"""The marginal density of log-odds at zero from draws alone, with an error that holds, and a bound where 0 is far out.

A coin q with the first three cumulants of the draws gives the shape, the draws near zero correct it:

.. math:: \log \hat p(0) = \log q(0) + \log \frac{1}{K} \sum_k \varphi_h(w_k) - \log \int q(t) \varphi_h(t) \, dt

What is left of the bias falls with h^2, so that two widths tell its size; where half the width gives another density
(a steep edge), that is used. The Monte-Carlo error is that of a jackknife over batches of each chain. Where too few
draws come near zero, the density there is bounded: a log-concave density lies below the line through two of its points
further in. Likelihoods of exponential families and normal or logistic priors are log-concave, and so are their
marginals (Prekopa 1973); with a Cauchy prior, where its scale exceeds half the sd.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from mrfbayes.calibration.matching import Coins, coin_log_density, coin_moments

BATCHES = 20  # at least, for the jackknife
KERNEL_WIDTHS = (0.0625, 0.125, 0.25, 0.5)  # h of the kernel in marginal sds, each twice the one before
USUAL_WIDTH = 2  # place of the width that is used unless the next smaller one differs from it
MAX_WIDTH_DIFFERENCE = 2.0  # standard errors of that difference
REMAINDER = 1 / 3  # bias at a width, which falls with h^2, over the difference to twice that width
INNER, OUTER = 0.16, 0.002  # tail probabilities of the two points whose line bounds the density
LEAST_BEYOND = 5  # draws beyond the outer point
CLIP = 5.0  # sds beyond which a draw tells nothing about the shape near zero
MAX_LOG_DENSITY_ERROR = 0.4  # past which jackknife errors of few draws near zero are too small themselves
BOUND_ERRORS = 2.5  # Monte-Carlo errors that a bound is moved by
EDGES_AT_ONCE = 64


class DrawDensity(NamedTuple):
    """Per parameter: log density at zero, its error; where ``is_bound``, an upper bound of it and no error (0)."""

    log_density: np.ndarray
    error: np.ndarray
    is_bound: np.ndarray


def log_density_at_zero(draws: np.ndarray) -> DrawDensity:
    """From draws (chains, n, m) of m log-odds; NaN where a parameter never moved."""
    out = np.full((3, draws.shape[2]), np.nan)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        for first in range(0, draws.shape[2], EDGES_AT_ONCE):
            part = slice(first, first + EDGES_AT_ONCE)
            out[:, part] = _at_zero(draws[:, :, part])
    return DrawDensity(out[0], out[1], out[2] > 0)


def _at_zero(draws: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    chains, n, m = draws.shape
    outer = max(OUTER, LEAST_BEYOND / (chains * n))
    marks = np.quantile(draws.reshape(-1, m), [outer, INNER, 0.5, 1 - INNER, 1 - outer], axis=0)
    sd, middle = (marks[3] - marks[1]) / 2, marks[2]
    batch = n // -(-BATCHES // chains)
    parts = draws[:, : n // batch * batch].reshape(-1, batch, m)
    zero, marks = -middle / sd, (marks - middle) / sd
    is_below = zero < 0
    points = np.stack([zero, np.where(is_below, marks[0], marks[4]), np.where(is_below, marks[1], marks[3])])
    sums = _Sums.of((parts - middle) / sd, points)
    values = sums.log_densities(points)
    without = np.stack([one.log_densities(points) for one in sums.without_each()])
    value, error = _at_the_best_width(values[:, 0], without[:, :, 0])
    slope = (zero - points[1]) / (points[1] - points[2])
    usual = values[USUAL_WIDTH], without[:, USUAL_WIDTH]
    line, lines = (a[..., 1, :] + slope * (a[..., 1, :] - a[..., 2, :]) for a in usual)
    is_bound = ~(error < MAX_LOG_DENSITY_ERROR) & (slope > 0)
    value = np.where(is_bound, line + BOUND_ERRORS * _jackknife(lines), value)
    return np.where(sd > 0, value - np.log(sd), np.nan), np.where(is_bound, 0.0, error), is_bound


def _at_the_best_width(values: np.ndarray, without: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Values (m,) and errors of the largest width that is not significantly off, from (widths, m), (b, widths, m)."""
    width = np.full(values.shape[1], USUAL_WIDTH)
    for smaller in range(USUAL_WIDTH - 1, -1, -1):
        difference = np.abs(values[smaller + 1] - values[smaller])
        noise = _jackknife(without[:, smaller + 1] - without[:, smaller])
        width[(width == smaller + 1) & (difference > MAX_WIDTH_DIFFERENCE * noise)] = smaller
    at = np.arange(len(width))
    bias = REMAINDER * np.abs(values[width, at] - values[width + 1, at])
    return values[width, at], np.hypot(_jackknife(without[:, width, at]), bias)


class _Sums(NamedTuple):
    """Means per batch: moments (b, 3, m) of the draws, and kernels (b, widths, points, m)."""

    moments: np.ndarray
    kernels: np.ndarray

    @classmethod
    def of(cls, u: np.ndarray, points: np.ndarray) -> _Sums:
        """Of standardised draws (b, k, m)."""
        near = np.clip(u, -CLIP, CLIP)
        kernels = [
            [np.exp(-0.5 * ((u - point) / h) ** 2).mean(axis=1) / (h * math.sqrt(2 * math.pi)) for point in points]
            for h in KERNEL_WIDTHS
        ]
        return cls(np.stack([(near**k).mean(axis=1) for k in (1, 2, 3)], axis=1), np.moveaxis(np.array(kernels), 2, 0))

    def without_each(self) -> Iterator[_Sums]:
        """The same with one batch left out, for each."""
        for left in range(len(self.moments)):
            kept = np.arange(len(self.moments)) != left
            yield _Sums(self.moments[kept], self.kernels[kept])

    def log_densities(self, points: np.ndarray) -> np.ndarray:
        """(widths, points, m) corrected log densities."""
        from mrfbayes.kernels.calibration.copula import match_cumulants

        mean, square, cube = self.moments.mean(axis=0)
        a, b = np.empty_like(mean), np.empty_like(mean)
        match_cumulants(square - mean**2, cube - 3 * mean * square + 2 * mean**3, a, b)
        centred = Coins(a, b, np.zeros_like(a), 0)
        coins = Coins(a, b, coin_moments(centred)[0] - mean, 0)
        node, weight = np.polynomial.hermite_e.hermegauss(15)
        smoothed = [
            sum(p * np.exp(coin_log_density(coins, points + h * x)) for x, p in zip(node, weight, strict=True))
            for h in KERNEL_WIDTHS
        ]
        shape = coin_log_density(coins, points) + math.log(weight.sum())
        return np.asarray(shape + np.log(self.kernels.mean(axis=0)) - np.log(np.array(smoothed)))


def _jackknife(left_out: np.ndarray) -> np.ndarray:
    """Standard error (m,) from estimates (b, m) that each leave one batch out; infinite where one has no draws near."""
    b = len(left_out)
    error = np.sqrt((b - 1) / b * ((left_out - left_out.mean(axis=0)) ** 2).sum(axis=0))
    return np.asarray(np.where(np.isfinite(error), error, np.inf))
