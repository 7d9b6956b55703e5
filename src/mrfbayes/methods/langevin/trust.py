r"""How far the moments of a walk can be trusted: Monte-Carlo error, and the bias that its steps leave.

Both are measured in the run. Now and then the replicas stand still while their chains sweep on, and the gradient is
taken again at the same place (`mrfbayes.methods.langevin.walk`). In whitened coordinates, where the posterior is nearly
N(0, I), this shows

- the bias of means: the standing gradient is 0 on average over the posterior, so where it is not, the mean is off by as
  much. Two things beside it that are 0 on average whatever the bias, the walk's own gradient and the control, are
  subtracted with the weights that leave the least noise;
- the bias of spreads: draws of the posterior have :math:`E[y_k g_k] = -1` (Stein), and a visited variance of 1 + b
  makes it -(1 + b), whatever made it so: steps that are too long, noise, or lag.

Neither is seen without noise, which the scatter of the replicas tells; the bounds include it.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np

from mrfbayes.methods.langevin.moments import WalkMoments
from mrfbayes.methods.langevin.walk import SETTLING, Walk

DOUBTFUL_NOISE = 0.05  # Monte-Carlo error of means (in sds) and sds (relative), root mean square
DOUBTFUL_STEP = 0.1  # the same of what steps and lag leave
WIDE = 2.0  # a bound is twice the standard error


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
    if walk.settings.warmup < 2 * SETTLING + 4:
        found.append(
            f"a warm-up of {walk.settings.warmup} steps is too short to measure the noise of the gradients: spreads "
            f"are too wide by what it adds; use at least {4 * SETTLING}."
        )
    return found
