r"""Mean and variance of the posterior from replicas and their controls.

A control is exactly Gaussian with known moments and walks at the same random numbers, so its error is nearly that of
the replica: with :math:`\delta = w - c` and :math:`\delta^0 = L s y^0`,

.. math:: E[\delta] \approx \overline{\delta} - \overline{\delta^0}, \qquad
          E[\delta_j^2] \approx \overline{\delta_j^2} - \overline{(\delta_j^0)^2} + \sum_k L_{jk}^2 s_k^2, \qquad
          E[\delta_j^3] \approx \overline{\delta_j^3} - \overline{(\delta_j^0)^3} .

Each replica gives an estimate of its own, and their scatter is the Monte-Carlo error. Coins with these moments, joined
by the copula of the walk's metric, give independent draws without a further step.

How far the moments of a walk can be trusted: Monte-Carlo error, and the bias that its steps leave.

Both are measured in the run. Now and then the replicas stand still while their chains sweep on, and the gradient is
taken again at the same place (`mrfbayes.methods.langevin.walk`). In whitened coordinates, where the posterior is nearly
N(0, I), this shows

- the bias of means: the standing gradient is 0 on average over the posterior, so where it is not, the mean is off by as
  much. Two things beside it that are 0 on average whatever the bias, the walk's own gradient and the control, are
  subtracted with the weights that leave the least noise;
- the bias of variances: draws of the posterior have :math:`E[y_k g_k] = -1` (Stein), and a visited variance of 1 + b
  makes it -(1 + b), whatever made it so: steps that are too long, noise, or lag.

Neither is seen without noise, which the scatter of the replicas tells; the bounds include it.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from mrfbayes.calibration.copula import CopulaJoint, factored_view
from mrfbayes.calibration.matching import Coins, coin_moments
from mrfbayes.methods.langevin.walk import RECORDED_COUNTER, STEPS_AFTER_CHANGE, Walk

if TYPE_CHECKING:
    from mrfbayes.kernels.calibration.copula import CopulaView

DOUBTFUL_NOISE = 0.05  # Monte-Carlo error of means (in sds) and sds (relative), root mean square
DOUBTFUL_STEP = 0.1  # the same of what steps and lag leave
WIDE = 2.0  # a bound is twice the standard error


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
    """(p,) variance that the gradient's noise added beyond what the noise was lowered for, by the whole run."""
    state = walk.state
    watched = state["directions"].shape[1]
    if not watched or not state["noise_count"][0]:
        return 0.0
    found = state["noise_sum"][:watched] / state["noise_count"]
    return np.asarray(walk.metric.first.astype(float) ** 2 @ (found - (1 - state["noise_scale"][:watched] ** 2)))


def walk_moments(walk: Walk) -> WalkMoments:
    """The moments after at least one step was recorded."""
    state, centre = walk.state, walk.mode.w
    first, second, cube, control, control_square, control_cube = state["sums"] / state["counters"][RECORDED_COUNTER]
    known = walk.warp.normal_moments(walk.metric, state["noise_scale"] ** 2)
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
    from mrfbayes.kernels.calibration.copula import match_cumulants

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


@dataclass(frozen=True)
class WalkTrust:
    """Errors of means in posterior sds and of sds relative, root mean squares over parameters.

    Attributes
    ----------
    mean_error, sd_error : Monte Carlo, by the scatter of the replicas
    step_mean_error, step_sd_error : bounds of the bias of steps and of lagging chains; not a number where the walk was
        too short to measure it
    replicas : how many
    """

    mean_error: float
    sd_error: float
    step_mean_error: float
    step_sd_error: float
    replicas: int

    @property
    def bounds(self) -> tuple[float, float]:
        """Of means and sds, on average over parameters; without the bias where that was not measured."""
        bias = np.nan_to_num([self.step_mean_error, self.step_sd_error])
        mean, sd = np.hypot(WIDE * np.array([self.mean_error, self.sd_error]), bias)
        return float(mean), float(sd)

    @property
    def is_void(self) -> bool:
        """Whether errors are so large that their size says nothing any more."""
        return max(self.bounds) > 1

    def __str__(self) -> str:
        if self.is_void:
            return "neither means nor sds can be trusted (noise, steps and lag leave more than 100%)"
        step = f"steps and lag at most {self.step_mean_error:.1%} and {self.step_sd_error:.1%}"
        if np.isnan(self.step_mean_error):
            step = "the bias of steps not measured: too few of them"
        return (
            f"means within {self.bounds[0]:.1%} of an sd and sds within {self.bounds[1]:.1%} on average (Monte Carlo "
            f"{self.mean_error:.1%} and {self.sd_error:.1%} by the scatter of {self.replicas} replicas, {step})"
        )

    def details(self) -> dict[str, object]:
        """For the result: what was measured."""
        found = {name: value for name, value in asdict(self).items() if name != "replicas" and not np.isnan(value)}
        mean, sd = self.bounds
        return {**found, "trust_mean": mean, "trust_sd": sd, "trust": str(self)}


def walk_trust(walk: Walk, moments: WalkMoments) -> WalkTrust:
    """What can be said after at least one step was recorded."""
    mean_error, sd_error = (float(np.sqrt(np.mean(e**2))) for e in (moments.mean_error, moments.sd_error))
    state, k = walk.state, walk.settings.replicas
    if not state["stills"][0] or k < 2:
        return WalkTrust(mean_error, sd_error, np.nan, np.nan, k)
    surplus = state["surplus"] / state["stills"]
    off = _without_noise(state["still"] / state["stills"])
    noise = off.var(axis=0, ddof=1) / k
    # What the average square exceeds its noise by, and how well that is known.
    square = float(np.mean(off.mean(axis=0) ** 2 - noise))
    unsure = float(np.sqrt(2 * np.sum(noise**2)) / noise.size)
    step_mean = np.sqrt(max(square, 0.0) + WIDE * unsure)
    step_sd = 0.5 * np.hypot(surplus.mean(), WIDE * surplus.std(ddof=1) / np.sqrt(k))
    return WalkTrust(mean_error, sd_error, float(step_mean), float(step_sd), k)


def _without_noise(still: np.ndarray) -> np.ndarray:
    """The standing gradients (k, p) less the multiples of walking gradients and controls that they go along with."""
    standing, *others = still
    around = still - still.mean(axis=1, keepdims=True)
    weights = np.linalg.lstsq(around[1:].reshape(2, -1).T, around[0].ravel(), rcond=None)[0]
    return np.asarray(standing - weights[0] * others[0] - weights[1] * others[1])


def doubts(walk: Walk, trust: WalkTrust) -> list[str]:
    """What gives reason to doubt the result, and what to do."""
    found = []
    if max(trust.mean_error, trust.sd_error) > DOUBTFUL_NOISE:
        found.append(
            f"Monte-Carlo errors are {trust.mean_error:.1%} of an sd in means and {trust.sd_error:.1%} in sds: run "
            "longer (draws=)."
        )
    if max(trust.step_mean_error, trust.step_sd_error) > DOUBTFUL_STEP:
        off = f"means may be off by {trust.step_mean_error:.1%} of an sd and sds by {trust.step_sd_error:.1%}"
        if trust.is_void:
            off = "neither means nor sds can be trusted"
        found.append(f"steps are too long for chains that mix so slowly: {off}; use a smaller step= or more sweeps=.")
    if walk.settings.warmup < 2 * STEPS_AFTER_CHANGE + 4:
        found.append(
            f"a warm-up of {walk.settings.warmup} steps is too short to measure the noise of the gradients: sds "
            f"are too large by what it adds; use at least {4 * STEPS_AFTER_CHANGE}."
        )
    return found
