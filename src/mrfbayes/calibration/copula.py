"""Coins joined by a Gaussian copula, as tables from which kernels draw."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from mrfbayes.base.errors import calibrating
from mrfbayes.base.random_streams import kernel_state
from mrfbayes.calibration.matching import Coins
from mrfbayes.kernels.calibration.copula import N_CELLS, Z_MAX, CopulaView, draw_rows
from mrfbayes.model.chart import Chart


@dataclass(frozen=True)
class CopulaJoint(ABC):
    """Coins joined by a Gaussian copula with a full correlation matrix.

    Attributes
    ----------
    coins : the three numbers of every log-odds
    """

    chart: Chart
    coins: Coins

    @property
    @abstractmethod
    def view(self) -> CopulaView:
        """As the kernels take it; made at the first draw, since a result may never be asked for one."""

    def draw(self, n: int, seed: np.random.SeedSequence) -> np.ndarray:
        """(n, p) independent draws of theta."""
        return self.chart.theta(self.draw_log_odds(n, seed))

    def draw_log_odds(self, n: int, seed: np.random.SeedSequence) -> np.ndarray:
        """The same draws as log-odds."""
        log_odds = np.empty((n, self.chart.n_parameters))
        draw_rows(self.view, kernel_state(seed, "calibrated"), log_odds)
        return log_odds

    def moments(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Mean and sd (p,) of theta; None where some block is a die."""
        return theta_moments(self.coins) if self.chart.all_coins else None

    def quantile(self, probability: float) -> np.ndarray:
        """Quantiles (p,) of the log-odds, where all blocks are coins."""
        from scipy.special import ndtri

        return np.asarray(coin_quantiles(self.coins, np.array([float(ndtri(probability))]))[0][:, 0])


def coin_quantiles(coins: Coins, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """w (p, k) with Phi^-1(F_j(w)) = z, and dw/dz there, for every coin."""
    from scipy.special import betaincinv, betaln, ndtr

    a, b = coins.a[:, None], coins.b[:, None]
    lower = z <= 0
    # The smaller of lambda and 1 - lambda, from the tail that it lies in: full relative precision on both sides.
    small = np.where(lower, betaincinv(a, b, ndtr(-np.abs(z))), betaincinv(b, a, ndtr(-np.abs(z))))
    small = np.clip(small, 1e-300, 1 - 1e-16)
    log_small, log_large = np.log(small), np.log1p(-small)
    logit = np.where(lower, log_small - log_large, log_large - log_small)
    log_density = np.where(lower, a * log_small + b * log_large, a * log_large + b * log_small) - betaln(a, b)
    slope = np.exp(-0.5 * z * z - 0.5 * math.log(2 * math.pi) - log_density)
    return logit - coins.log_odds_eta[:, None], slope


def coin_cells(coins: Coins) -> np.ndarray:
    """(p, N_CELLS, 4) piecewise cubics through the quantiles of every coin."""
    z = np.linspace(-Z_MAX, Z_MAX, N_CELLS + 1)
    w, slope = coin_quantiles(coins, z)
    slope = slope * (2 * Z_MAX / N_CELLS)
    rise = np.diff(w, axis=1)
    left, right = slope[:, :-1], slope[:, 1:]
    return np.ascontiguousarray(
        np.stack([w[:, :-1], left, 3 * rise - 2 * left - right, left + right - 2 * rise], axis=2)
    )


def factored_view(coins: Coins, upper: np.ndarray, offset: np.ndarray) -> CopulaView:
    """Coins joined by the correlations ``upper`` upper^T (p, p), upper triangular, as the kernels take them.

    Taken from the last parameter to the first, that is a lower triangular factor: nothing has to be decomposed.
    """
    p = len(upper)
    turned = np.ascontiguousarray(upper.T[::-1, ::-1], dtype=float)
    constant = -0.5 * p * math.log(2 * math.pi) - float(np.log(np.diag(turned)).sum())
    order = np.arange(p - 1, -1, -1)
    held = np.zeros(0)
    return CopulaView(coin_cells(coins), turned, order, held, held.copy(), np.array(offset, dtype=np.int64), constant)


def copula_view(coins: Coins, correlation: np.ndarray, offset: np.ndarray) -> CopulaView:
    """The tables that the kernels draw from."""
    nothing = np.zeros(0)
    view = CopulaView(coin_cells(coins), nothing, nothing, nothing, nothing, np.array(offset, dtype=np.int64), 0.0)
    return hold(view, correlation, np.zeros(0, dtype=np.int64), nothing, nothing)


def hold(
    view: CopulaView, correlation: np.ndarray, held: np.ndarray, scores: np.ndarray, log_odds: np.ndarray
) -> CopulaView:
    """The distribution of the others given that the parameters ``held`` have these normal scores and log-odds."""
    p, k = len(correlation), held.size
    order = np.concatenate([held, np.delete(np.arange(p), held)])
    with calibrating("the correlation of the log-odds is not positive definite"):
        factor = np.linalg.cholesky(correlation[np.ix_(order, order)])
    return view._replace(
        factor=np.ascontiguousarray(factor.T),
        order=order,
        held_normals=np.linalg.solve(factor[:k, :k], scores),
        held_log_odds=log_odds,
        log_constant=float(-0.5 * (p - k) * math.log(2 * math.pi) - np.log(np.diag(factor)[k:]).sum()),
    )


def theta_moments(coins: Coins, points: int = 96) -> tuple[np.ndarray, np.ndarray]:
    """Mean and sd (p,) of theta, by Gauss-Legendre over the normal scores."""
    nodes, weights = np.polynomial.legendre.leggauss(points)
    z = 9.0 * nodes
    weights = weights * np.exp(-0.5 * z * z)
    weights /= weights.sum()
    w, _ = coin_quantiles(coins, z)
    theta = 1.0 / (1.0 + np.exp(-w))
    mean = theta @ weights
    return mean, np.sqrt((theta - mean[:, None]) ** 2 @ weights)
