r"""Mean and spread of the posterior from replicas and their controls.

A control is exactly Gaussian with known moments and walks at the same random numbers, so its error is nearly that of
the replica: with :math:`\delta = w - c` and :math:`\delta^0 = L s y^0`,

.. math:: E[\delta] \approx \overline{\delta} - \overline{\delta^0}, \qquad
          E[\delta_j^2] \approx \overline{\delta_j^2} - \overline{(\delta_j^0)^2} + \sum_k L_{jk}^2 s_k^2, \qquad
          E[\delta_j^3] \approx \overline{\delta_j^3} - \overline{(\delta_j^0)^3} .

Each replica gives an estimate of its own, and their scatter is the Monte-Carlo error. Coins with these moments, joined
by the copula of the walk's metric, give independent draws without a further step.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from mrfbayes.calibration.copula import CopulaJoint, factored_view
from mrfbayes.calibration.matching import Coins, coin_moments
from mrfbayes.methods.langevin.walk import RECORDED_COUNTER, Walk

if TYPE_CHECKING:
    from mrfbayes.kernels.calibration.copula import CopulaView


@dataclass(frozen=True)
class WalkMoments:
    """Moments of the log-odds over the replicas of a walk.

    Attributes
    ----------
    mean, sd : (p,)
    third : (p,) third cumulants
    mean_error, sd_error : (p,) Monte-Carlo standard errors, in posterior sds and relative
    raw_mean, raw_sd : (p,) what the replicas show without their controls
    """

    mean: np.ndarray
    sd: np.ndarray
    third: np.ndarray
    mean_error: np.ndarray
    sd_error: np.ndarray
    raw_mean: np.ndarray
    raw_sd: np.ndarray


def _surplus(walk: Walk) -> np.ndarray | float:
    """(p,) variance that the gradient's noise added beyond what the spread was lowered for, by the whole run."""
    state = walk.state
    watched = state["directions"].shape[1]
    if not watched or not state["noise_count"][0]:
        return 0.0
    found = state["noise_sum"][:watched] / state["noise_count"]
    return np.asarray(walk.metric.first.astype(float) ** 2 @ (found - (1 - state["spread"][:watched] ** 2)))


def walk_moments(walk: Walk) -> WalkMoments:
    """The moments after at least one step was recorded."""
    state, centre = walk.state, walk.mode.w
    first, second, cube, control, control_square, control_cube = state["sums"] / state["counters"][RECORDED_COUNTER]
    known = walk.warp.normal_moments(walk.metric, state["spread"] ** 2)
    means = first - control + known[0]
    mean = means.mean(axis=0)
    squares = second - control_square + known[1] - _surplus(walk)
    variance = squares.mean(axis=0) - mean**2
    raw_mean = first.mean(axis=0)
    raw = second.mean(axis=0) - raw_mean**2
    # Few steps: a variance that the control takes below a quarter of what was seen is noise.
    variance = np.maximum(variance, 0.25 * raw)
    sd = np.sqrt(variance)
    third = (cube - control_cube).mean(axis=0) + known[2] - 3 * mean * squares.mean(axis=0) + 2 * mean**3
    k = len(means)
    mean_error = means.std(axis=0, ddof=1) / np.sqrt(k) / sd
    sd_error = (squares - 2 * mean * means).std(axis=0, ddof=1) / np.sqrt(k) / (2 * variance)
    return WalkMoments(centre + mean, sd, third, mean_error, sd_error, centre + raw_mean, np.sqrt(raw))


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
