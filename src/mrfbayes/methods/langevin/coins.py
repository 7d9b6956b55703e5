"""Coins with the moments of a walk, joined by the copula of its metric: independent draws without a further step."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from mrfbayes.base.random_streams import kernel_state
from mrfbayes.calibration.copula import coin_quantiles, factored_view, theta_moments
from mrfbayes.calibration.matching import Coins, coin_moments
from mrfbayes.methods.langevin.moments import WalkMoments
from mrfbayes.model.chart import Chart

if TYPE_CHECKING:
    from mrfbayes.kernels.calibration.copula import CopulaView


def walk_coins(moments: WalkMoments) -> Coins:
    """A coin for every log-odds with the mean, variance and third cumulant that the replicas found."""
    from mrfbayes.kernels.calibration.matching import match_cumulants

    a, b = np.empty_like(moments.sd), np.empty_like(moments.sd)
    clipped = match_cumulants(moments.sd**2, np.ascontiguousarray(moments.third), a, b)
    coins = Coins(a, b, np.zeros_like(a), int(clipped))
    return Coins(a, b, coin_moments(coins)[0] - moments.mean, int(clipped))


@dataclass(frozen=True)
class WalkJoint:
    """Coins joined by a Gaussian copula with the correlations of ``factor`` factor^T (p, p), upper triangular."""

    chart: Chart
    coins: Coins
    factor: np.ndarray

    @cached_property
    def view(self) -> CopulaView:
        """As the kernels take it; made at the first draw, since a result may never be asked for one."""
        unit = self.factor / np.linalg.norm(self.factor, axis=1, keepdims=True)
        return factored_view(self.coins, unit, self.chart.offset)

    def draw(self, n: int, seed: np.random.SeedSequence) -> np.ndarray:
        """(n, p) independent draws of theta."""
        from mrfbayes.kernels.calibration.copula import draw_theta

        theta = np.empty((n, self.chart.n_parameters))
        draw_theta(self.view, kernel_state(seed, "calibrated"), theta)
        return theta

    def moments(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Mean and sd (p,) of theta; None where some block is a die."""
        return theta_moments(self.coins) if self.chart.all_coins else None

    def quantile(self, probability: float) -> np.ndarray:
        """Quantiles (p,) of theta, where all blocks are coins."""
        from scipy.special import ndtri

        w, _ = coin_quantiles(self.coins, np.array([float(ndtri(probability))]))
        return np.asarray(self.chart.theta(w[:, 0]))
