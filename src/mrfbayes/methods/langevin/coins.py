"""Coins with the moments of a walk, joined by the copula of its metric: independent draws without a further step."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mrfbayes.calibration.copula import CopulaJoint
from mrfbayes.calibration.matching import Coins, coin_moments
from mrfbayes.methods.langevin.moments import WalkMoments


def walk_coins(moments: WalkMoments) -> Coins:
    """A coin for every log-odds with the mean, variance and third cumulant that the replicas found."""
    from mrfbayes.kernels.calibration.matching import match_cumulants

    a, b = np.empty_like(moments.sd), np.empty_like(moments.sd)
    clipped = match_cumulants(moments.sd**2, np.ascontiguousarray(moments.third), a, b)
    coins = Coins(a, b, np.zeros_like(a), int(clipped))
    return Coins(a, b, coin_moments(coins)[0] - moments.mean, int(clipped))


@dataclass(frozen=True)
class WalkJoint(CopulaJoint):
    """Coins joined by a Gaussian copula with the correlations of ``factor`` factor^T (p, p)."""

    factor: np.ndarray

    def copula(self) -> np.ndarray:
        """(p, p) correlation of the metric."""
        unit = self.factor / np.linalg.norm(self.factor, axis=1, keepdims=True)
        correlation = (unit @ unit.T).astype(float)
        np.fill_diagonal(correlation, 1.0)
        return np.asarray(correlation)
