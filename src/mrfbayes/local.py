"""Calibration of very many parameters: everything about a coin comes from the block of parameters around it.

Cost and memory are linear in the number of parameters. Spreads, third cumulants and mean shifts are sums over the block
(`mrfbayes.moments.local_moments`); coins are matched order to order; normal scores are joined by Vecchia's construction
(each given its near ones before it), which draws a joint vector in one pass. Quantiles are those of the coin by
Cornish and Fisher's expansion in its first four cumulants.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mrfbayes.coins import Coins, match
from mrfbayes.data.counts import Statistics
from mrfbayes.estimate import estimate
from mrfbayes.model.field import Model
from mrfbayes.moments import local_blocks, local_moments, particles_at, planes_of
from mrfbayes.priors import Prior
from mrfbayes.streams import child, kernel_state

LEAST_PARTICLES, MOST_PARTICLES, SWEEPS, DISTANCE = 1_024, 16_384, 60, 2
PLANE_BITS = 2**31  # of the particles' statistics, 256 MiB
_POINTS = 16


@dataclass(frozen=True)
class Expansion:
    """Mean, sd, skewness and excess kurtosis (p,) of every log-odds: all that its quantiles need."""

    mean: np.ndarray
    sd: np.ndarray
    skewness: np.ndarray
    kurtosis: np.ndarray

    @classmethod
    def of(cls, coins: Coins) -> Expansion:
        """From the cumulants of the coins."""
        from mrfbayes.kernels.calibration import coin_four_cumulants

        out = np.empty((4, coins.a.size))
        coin_four_cumulants(coins.a, coins.b, out[0], out[1], out[2], out[3])
        mean, variance, third, fourth = out
        return cls(mean - coins.log_odds_eta, np.sqrt(variance), third / variance**1.5, fourth / variance**2)

    def quantiles(self, z: np.ndarray | float) -> np.ndarray:
        """w at normal scores z."""
        g, k = self.skewness, self.kurtosis
        bent = z + g * (z**2 - 1) / 6 + k * (z**3 - 3 * z) / 24 - g**2 * (2 * z**3 - 5 * z) / 36
        return np.asarray(self.mean + self.sd * bent)

    def theta_moments(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean and sd (p,) of theta."""
        nodes, weights = np.polynomial.hermite_e.hermegauss(_POINTS)
        weights = weights / weights.sum()
        first, second = np.zeros_like(self.mean), np.zeros_like(self.mean)
        centre = 1.0 / (1.0 + np.exp(-self.mean))
        for z, weight in zip(nodes.tolist(), weights.tolist(), strict=True):
            gap = 1.0 / (1.0 + np.exp(-self.quantiles(z))) - centre
            first += weight * gap
            second += weight * gap**2
        return centre + first, np.sqrt(second - first**2)


@dataclass(frozen=True)
class LocalCalibration:
    """Coins of all parameters and the regressions that join them."""

    coins: Coins
    expansion: Expansion
    weight_offset: np.ndarray
    source: np.ndarray
    weight: np.ndarray
    residual: np.ndarray
    details: dict[str, Any]
    warnings: tuple[str, ...]

    def draw(self, n: int, seed: np.random.SeedSequence) -> np.ndarray:
        """(n, p) joint draws of theta."""
        from mrfbayes.kernels.vecchia import draw_scores

        state = kernel_state(seed, "local")
        p = self.residual.size
        theta, scores = np.empty((n, p)), np.empty(p)
        with np.errstate(over="ignore"):
            for row in theta:
                draw_scores(self.weight_offset, self.source, self.weight, self.residual, state, scores)
                row[:] = 1.0 / (1.0 + np.exp(-self.expansion.quantiles(scores)))
        return theta


def calibrate_locally(
    model: Model,
    statistics: Statistics,
    prior: Prior,
    seed: np.random.SeedSequence,
    particles: int | None = None,
    progress: bool = True,
    threads: int = 2,
) -> LocalCalibration:
    """Calibrate a field of coins (no ties, no scores) of any size."""
    found = estimate(model, statistics, "pcd", rng=child(seed, "mode"), prior=prior, progress=progress)
    w, n = np.asarray(found.log_odds, dtype=float), statistics.n
    count = particles or min(max(int(PLANE_BITS / w.size) // 64 * 64, LEAST_PARTICLES), MOST_PARTICLES)
    chains = particles_at(model, w, count, SWEEPS, child(seed, "particles"), statistics)
    planes = planes_of(model, chains)
    blocks = local_blocks(model, DISTANCE)
    gradient = prior.gradient_w(w)
    expected = np.clip((statistics.counts + gradient) / n, 1e-9, 1 - 1e-9)  # at the mode
    moments = local_moments(planes, blocks, n, expected * (1 - expected), -prior.hessian_w(w), threads)
    cube, shift = _prior_part(prior, w, moments.spread, moments.variance, blocks.offset, blocks.member)
    third = -n * moments.third.cube + cube
    coins = match(w, moments.variance, third, 0.5 * (-n * moments.third.mixed + shift))
    weight_offset, source, weight, residual, cut = _regressions(model, blocks, moments.spread)
    details = {
        "calibration": "order",
        "moments": "local",
        "particles": count,
        "sweeps": SWEEPS,
        "distance": DISTANCE,
        "clipped": coins.clipped,
        "sd_noise": moments.variance_error / 2,
        "mode_error": _mode_error(found, moments.variance),
        "indefinite_blocks": moments.indefinite,
        "cut_regressions": cut,
    }
    warnings = list(found.warnings)
    if coins.clipped:
        warnings.append(f"{coins.clipped} of {w.size} coins are less skewed than the posterior to third order.")
    return LocalCalibration(
        coins, Expansion.of(coins), weight_offset, source, weight, residual, details, tuple(warnings)
    )


def _mode_error(found: Any, variance: np.ndarray) -> float:
    """Monte-Carlo error of the mode in posterior sds, root mean square."""
    if found.standard_error is None:
        return 0.0
    return float(np.sqrt(np.mean(np.square(found.standard_error) / variance)))


def _prior_part(
    prior: Prior, w: np.ndarray, spread: np.ndarray, variance: np.ndarray, offset: np.ndarray, member: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    from mrfbayes.kernels.vecchia import local_third

    cube, shift = np.empty_like(w), np.empty_like(w)
    local_third(offset, member, spread, np.ascontiguousarray(variance), prior.third_w(w), cube, shift)
    return cube, shift


def _regressions(
    model: Model, blocks: Any, spread: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, int]:
    from mrfbayes.kernels.vecchia import conditionals

    near = blocks  # correlations of two that are in no common block are small, and taken as zero
    owner = np.repeat(np.arange(model.n_parameters), np.diff(near.offset))
    counts = np.minimum(np.bincount(owner[near.member < owner], minlength=model.n_parameters), 32)
    weight_offset = np.concatenate([[0], np.cumsum(counts)])
    source = np.zeros(int(weight_offset[-1]), dtype=np.int64)
    weight = np.zeros(source.size)
    residual = np.empty(model.n_parameters)
    cut = conditionals(
        blocks.offset, blocks.member, spread, near.offset, near.member, weight_offset, source, weight, residual
    )
    return weight_offset, source, weight, residual, int(cut)
