"""Coins with the moments of a walk, joined by the copula of its metric: independent draws without a further step."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from mrfbayes.base.random_streams import kernel_state
from mrfbayes.calibration.copula import copula_view
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


def coin_draws(coins: Coins, factor: np.ndarray, chart: Chart) -> Callable[[int, np.random.SeedSequence], np.ndarray]:
    """Independent joint draws ``(n, seed) -> (n, p)`` of theta, with the correlations of ``factor`` factor^T.

    The tables are made at the first draw: a result that is never asked for more draws does not pay for them.
    """
    made: list[CopulaView] = []

    def draw(n: int, seed: np.random.SeedSequence) -> np.ndarray:
        from mrfbayes.kernels.calibration.copula import draw_theta

        if not made:
            unit = factor / np.linalg.norm(factor, axis=1, keepdims=True)
            correlation = (unit @ unit.T).astype(float)
            np.fill_diagonal(correlation, 1.0)
            made.append(copula_view(coins, correlation, chart.offset))
        theta = np.empty((n, chart.n_parameters))
        draw_theta(made[0], kernel_state(seed, "calibrated"), theta)
        return theta

    return draw
