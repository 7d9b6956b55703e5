"""Calibration of very many parameters: everything about a coin comes from the block of parameters around it.

Cost and memory are linear in the number of parameters. Variances, third cumulants and mean shifts are sums over the
block, exact on planar fields of agreement coins (`calibration.exact_blocks`), elsewhere and on the largest ones from
particles (`calibration.blocks`); coins are matched order to order; normal scores are joined by Vecchia's
construction (each given its near ones before it), which draws a joint vector in one pass. Quantiles are those of the
coin by Cornish and Fisher's expansion in its first four cumulants. How far a block reaches is measured: one step
more is taken where it changes the sds of some parameters by more than `WORTHWHILE` on average.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mrfbayes.base.budget import budget
from mrfbayes.base.errors import CostError
from mrfbayes.base.random_streams import child, kernel_state
from mrfbayes.calibration import exact_blocks
from mrfbayes.calibration.blocks import Blocks, LocalInformation, LocalMoments, local_blocks, local_moments, planes_of
from mrfbayes.calibration.exact_blocks import FAR, NEAR, WORTHWHILE, sees_windows
from mrfbayes.calibration.expansion import Accuracy
from mrfbayes.calibration.matching import Calibration, Coins, coin_moments, match, skewness_doubts
from mrfbayes.estimation.estimate import Problem, estimate
from mrfbayes.estimation.newton import predicted_seconds
from mrfbayes.estimation.result import Estimate
from mrfbayes.kernels.calibration.blocks import conditionals, count_earlier, draw_scores, prior_third
from mrfbayes.model.field import Model
from mrfbayes.particles.moments import particles_at
from mrfbayes.particles.sweeps import split_in_threads

LEAST_BLOCK_PARTICLES, MOST_BLOCK_PARTICLES, BLOCK_SWEEPS = 1_024, 16_384, 60
PROBES = 400  # parameters on which that is measured
MODE_SECONDS = 120.0  # that an exact mode may be expected to take
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
        mean, variance, third, fourth = coin_moments(coins)
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
class Regressions:
    """Each normal score given some before it: a sparse factor of their precision.

    Attributes
    ----------
    offset : (p + 1,) into the two that follow
    source, weight : the scores that each is regressed on, and with what weights
    residual : (p,) sd of what is left
    dropped : regressions that would have left no variance
    """

    offset: np.ndarray
    source: np.ndarray
    weight: np.ndarray
    residual: np.ndarray
    dropped: int

    @property
    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """As the kernel takes them."""
        return self.offset, self.source, self.weight, self.residual

    @classmethod
    def of(cls, blocks: Blocks, covariance_rows: np.ndarray, threads: int) -> Regressions:
        """From rows of S within blocks; correlations of two that share no block are small, and taken as zero."""
        p = blocks.offset.size - 1
        counts = np.empty(p, dtype=np.int64)
        count_earlier(blocks.offset, blocks.member, counts)
        offset = np.concatenate([[0], np.cumsum(counts)])
        source, weight = np.zeros(int(offset[-1]), dtype=np.int32), np.zeros(int(offset[-1]))
        residual = np.empty(p)

        def run(first: int, last: int) -> int:
            where = (blocks.offset, blocks.member, covariance_rows, first, last)
            return int(conditionals(*where, offset, source, weight, residual))

        return cls(offset, source, weight, residual, sum(split_in_threads(run, 0, p, threads)))


@dataclass(frozen=True)
class LocalJoint:
    """Coins joined by regressions of each on some before it; their quantiles by expansion."""

    expansion: Expansion
    regressions: Regressions

    def draw(self, n: int, seed: np.random.SeedSequence) -> np.ndarray:
        """(n, p) independent draws of theta."""
        drawn = self.draw_log_odds(n, seed)
        for row in drawn:  # in place: there may be millions of parameters
            with np.errstate(over="ignore"):
                row[:] = 1.0 / (1.0 + np.exp(-row))
        return drawn

    def draw_log_odds(self, n: int, seed: np.random.SeedSequence) -> np.ndarray:
        """The same draws as log-odds."""
        state = kernel_state(seed, "local")
        scores = np.empty(self.regressions.residual.size)
        log_odds = np.empty((n, scores.size))
        for row in log_odds:
            with np.errstate(over="ignore"):
                draw_scores(*self.regressions.arrays, state, scores)
            row[:] = self.expansion.quantiles(scores)
        return log_odds

    def moments(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean and sd (p,) of theta."""
        return self.expansion.theta_moments()

    def quantile(self, probability: float) -> np.ndarray:
        """Quantiles (p,) of the log-odds."""
        from scipy.special import ndtri

        return self.expansion.quantiles(float(ndtri(probability)))


def calibrate_locally(
    problem: Problem, moments: str, particles: int | None, threads: int = 2
) -> Calibration[LocalJoint]:
    """Calibrate a field of coins (no ties, no scores) of any size.

    Parameters
    ----------
    moments : "exact" on planar fields of agreement coins, through windows; "particles"; or "auto", exact where the mode
        can be so as well in reasonable time
    particles : how many, where moments come from them
    """
    model, statistics, prior = problem.model, problem.statistics, problem.prior
    seed = child(problem.seed, "calibrated")
    # Planar fields have an exact mode at any size; it is worth a while.
    is_quick = predicted_seconds(model) < MODE_SECONDS
    is_exact = moments == "exact" or (moments == "auto" and particles is None and is_quick and sees_windows(model))
    algorithm = "exact" if is_quick or is_exact else "pcd"
    with budget().share(0.5):
        found = estimate(
            model, statistics, algorithm=algorithm, rng=child(seed, "mode"), prior=prior, progress=problem.progress
        )
    w, n = np.asarray(found.log_odds, dtype=float), statistics.n
    moments_at = _exact_moments if is_exact else _particle_moments
    local, details = moments_at(problem, w, particles, threads)
    cube, shift = np.empty_like(w), np.empty_like(w)  # what the prior adds to third cumulants and (twice) to shifts
    blocks = local.blocks
    prior_third(
        blocks.offset, blocks.member, local.covariance_rows, local.variance.copy(), prior.third_w(w), cube, shift
    )
    third = -n * local.cube + cube
    coins = match(w, local.variance, third, 0.5 * (-n * local.mixed + shift))
    regressions = Regressions.of(local.blocks, local.covariance_rows, threads)
    sd_error = None if is_exact else local.variance_error / 2
    noise = 0.0 if sd_error is None else float(np.sqrt(np.mean(sd_error**2)))
    accuracy = Accuracy(w, _mode_error(found, local.variance), noise)
    details = {
        "calibration": "order",
        **details,
        "clipped": coins.clipped,
        "sd_noise": accuracy.sd_noise,
        "mode": algorithm,
        "mode_seconds": found.timings["run"],
        "mode_error": accuracy.mode,
        "indefinite_blocks": local.indefinite,
        "cut_regressions": regressions.dropped,
    }
    warnings = [*found.warnings, *skewness_doubts(local.variance, third)]
    joint = LocalJoint(Expansion.of(coins), regressions)
    return Calibration(coins, joint, sd_error, accuracy, details, tuple(warnings))


def _exact_moments(
    problem: Problem, w: np.ndarray, particles: int | None, threads: int
) -> tuple[LocalMoments, dict[str, object]]:
    """Moments through windows, and how far these reach."""
    n, curvature = problem.statistics.n, -problem.prior.hessian_w(w)
    budget().check("how far blocks reach")
    distance, gain = exact_blocks.choose_distance(problem.model, w, n, curvature)
    local, cut = exact_blocks.exact_moments(problem.model, w, n, curvature, distance, problem.progress)
    return local, {"moments": "windows", "distance": distance, "distance_gain": gain, "cut_blocks": cut}


def _particle_moments(
    problem: Problem, w: np.ndarray, particles: int | None, threads: int
) -> tuple[LocalMoments, dict[str, object]]:
    """Moments of Gibbs particles at the mode, and how many there are."""
    model, statistics, prior, n = problem.model, problem.statistics, problem.prior, problem.statistics.n
    seed = child(child(problem.seed, "calibrated"), "particles")
    count = particles or min(max(int(PLANE_BITS / w.size) // 64 * 64, LEAST_BLOCK_PARTICLES), MOST_BLOCK_PARTICLES)
    planes = planes_of(model, particles_at(model, w, count, BLOCK_SWEEPS, seed, statistics))
    expected = np.clip((statistics.counts + prior.gradient_w(w)) / n, 1e-9, 1 - 1e-9)  # at the mode
    known, curvature = expected * (1 - expected), -prior.hessian_w(w)
    budget().check("how far blocks reach")
    distance, gain = choose_distance(model, LocalInformation(planes, n, known, curvature))
    blocks = local_blocks(model, distance)
    budget().check("moments of the blocks")
    local = local_moments(planes, blocks, n, known, curvature, threads)
    facts = {
        "moments": "local",
        "particles": count,
        "sweeps": BLOCK_SWEEPS,
        "distance": distance,
        "distance_gain": gain,
    }
    return local, facts


def choose_distance(model: Model, information: LocalInformation) -> tuple[int, float]:
    """How far blocks reach, and by what share the sds of some parameters grow where blocks reach a step further.

    A block that is too small leaves out regressors, so that its sds are too small: their average growth tells how
    much is missing, and what still further steps would add is less.
    """
    p = model.n_parameters
    chosen = np.arange(0, p, -(-p // PROBES))
    near = local_blocks(model, NEAR, chosen)
    try:
        far = local_blocks(model, FAR, chosen)
    except CostError:
        return NEAR, float("nan")
    variances = [information.invert(blocks)[0][blocks.offset[:-1]] for blocks in (near, far)]
    gain = float(np.mean(np.sqrt(variances[1] / variances[0]))) - 1
    return (FAR if gain > WORTHWHILE else NEAR), gain


def _mode_error(found: Estimate, variance: np.ndarray) -> float:
    """Monte-Carlo error of the mode in posterior sds, root mean square."""
    if found.standard_error is None:
        return 0.0
    return float(np.sqrt(np.mean(np.square(found.standard_error) / variance)))
