"""Coins with the moments of a walk, joined by the copula of its metric: independent draws without a further step."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from mrfbayes.calibration.copula import CopulaJoint, factored_view
from mrfbayes.calibration.matching import Coins, coin_moments
from mrfbayes.methods.langevin.moments import WalkMoments

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
class WalkJoint(CopulaJoint):
    """Coins joined by a Gaussian copula with the correlations of ``factor`` factor^T (p, p), upper triangular."""

    factor: np.ndarray

    @cached_property
    def view(self) -> CopulaView:
        """As the kernels take it; made at the first draw, since a result may never be asked for one."""
        unit = self.factor / np.linalg.norm(self.factor, axis=1, keepdims=True)
        return factored_view(self.coins, unit, self.chart.offset)
