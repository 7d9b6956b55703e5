r"""`calibrated`: the paper's coin with its three numbers calibrated to the posterior's location, spread and skewness.

.. math:: \lambda_j \sim \mathrm{Beta}(a_j, b_j), \qquad \mathrm{logit}\,\theta_j = \mathrm{logit}\,\lambda_j -
          \mathrm{logit}\,\eta_j, \qquad \Phi^{-1}(F_j(\theta_j)) \sim N(0, R)

The numbers come from the mode of the posterior in log-odds and the derivatives there (`calibration.expansion`); R is
the correlation of the log-odds. A die with K outcomes has a coin for each of its K - 1 log-odds against the last
outcome: for a die alone with a Dirichlet posterior these marginals are exact, and only their copula is approximate.

Differs from the paper: that is the point. Eq. (5) takes eta from the maximum likelihood estimate, which may not exist,
and keeps the conditional spread; here all three numbers follow from the posterior. It is not a likelihood: the prior is
inside.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mrfbayes.base.errors import CostError, InputError
from mrfbayes.base.memory import describe_bytes
from mrfbayes.base.random_streams import child, kernel_state
from mrfbayes.calibration import expansion as calibration
from mrfbayes.calibration.copula import coin_quantiles, copula_view, theta_moments
from mrfbayes.calibration.cumulants import ExactCumulants, ParticleCumulants
from mrfbayes.calibration.matching import Coins, match, match_loop
from mrfbayes.calibration.one_loop import Effort, one_loop, usable
from mrfbayes.estimation.estimate import estimate as make_estimate
from mrfbayes.exact import quantities as exact
from mrfbayes.exact.recursions import recursion
from mrfbayes.methods.problem import Prepared, Problem
from mrfbayes.model.field import Model

VARIANCES = ("relative", "loop", "order")
MOMENTS = ("auto", "exact", "particles")
MOMENT_CELLS = 1.2e10  # table cells of exact calibration, about two minutes
LEAST_PARTICLES, MOST_PARTICLES, SWEEPS = 32_768, 131_072, 200
DOUBTFUL_LOCATION = 0.1  # posterior sds
DENSE_PARAMETERS = 2_000  # parameters up to which S is a full matrix
MOST_NEIGHBOURS = 8  # of a node: blocks of denser graphs are too large
DENSE_NEIGHBOURS = 24  # on average: one step away from an edge lie more nodes than a block's tables can hold
PARTICLE_LIMIT = 600  # the same where it comes from particles, of which so many parameters need too many


@dataclass(frozen=True)
class Calibration:
    """The calibrated posterior.

    Attributes
    ----------
    mode, order : what it was calibrated to (`mrfbayes.calibration.expansion`)
    coins : the three numbers of every log-odds
    correlation : (p, p) R of the copula
    warnings, details : for the result
    """

    mode: calibration.Mode
    order: calibration.ThirdOrder
    coins: Coins
    correlation: np.ndarray
    details: dict[str, Any]
    warnings: tuple[str, ...]


def calibrate(
    problem: Problem, variance: str = "relative", moments: str = "auto", particles: int | None = None
) -> Calibration:
    """Calibrate all coins to the posterior.

    Parameters
    ----------
    variance : how spreads are matched. "order": leading order to leading order; "loop": the coin's variance is the
        posterior's to one loop; "relative": what the loops add beyond those of the coin alone, which is the most
        accurate and keeps single coins and trees exact
    moments : "exact" (by recursion), "particles" (by Gibbs sampling at the estimated mode), or "auto": exact where that
        takes a minute or two at most
    particles : how many, for moments="particles"
    """
    _check_options(variance, moments)
    if problem.model.n_parameters > DENSE_PARAMETERS:
        raise CostError(
            f"'calibrated' keeps a full covariance of the {problem.model.n_parameters} parameters (limit "
            f"{DENSE_PARAMETERS}): use method='mle', or tie parameters."
        )
    if moments == "auto":
        moments = "exact" if moments_cost(problem.model) < MOMENT_CELLS else "particles"
    mode, details, warnings = exact_mode(problem) if moments == "exact" else particle_mode(problem, particles)
    n = problem.statistics.n
    order = calibration.third_order(mode, n, calibration.prior_tensors(problem.prior, mode.w, mode.covariance))
    spread = np.diag(mode.covariance)
    numbers = (mode.w, spread, order.third, order.shift)
    covariance = mode.covariance
    if variance == "order":
        coins = match(*numbers)
    else:
        effort = Effort() if moments == "exact" else Effort(samples=details["particles"])
        loops = one_loop(mode, n, order, child(problem.seed, "loops"), effort)
        covariance, left_out = usable(loops, mode.covariance)
        coins = match_loop(*numbers, np.diag(covariance), variance == "relative")
        if left_out:
            details["loops_kept"] = 1.0 - left_out
            warnings.append(
                "the one-loop covariance is not positive definite here (few data for so many parameters): "
                f"{left_out:.0%} of the loop correction was left out."
            )
    details |= {
        "calibration": variance,
        "moments": moments,
        "clipped": coins.clipped,
        "largest_skewness": float(np.abs(order.third / spread**1.5).max(initial=0.0)),
    }
    if coins.clipped:
        warnings.append(
            f"{coins.clipped} of {spread.size} coins are less skewed than the posterior to third order (no coin of "
            "that spread is skewed enough): their tails are approximate; method='exact' corrects them."
        )
    sd = np.sqrt(np.diag(covariance))
    return Calibration(mode, order, coins, covariance / np.outer(sd, sd), details, tuple(warnings))


def _check_options(variance: str, moments: str) -> None:
    for name, value, allowed in (("variance", variance, VARIANCES), ("moments", moments, MOMENTS)):
        if value not in allowed:
            raise InputError(f"{name} = {value!r}: choose one of {', '.join(map(repr, allowed))}.")


def moments_cost(model: Model) -> float:
    """Table cells that exact calibration goes through: some eight directional derivatives a parameter."""
    if not exact.is_feasible(model):
        return np.inf
    return 8.0 * model.n_parameters * recursion(model).n_bytes("series") / 8


def exact_mode(problem: Problem) -> tuple[calibration.Mode, dict[str, Any], list[str]]:
    """The mode by Newton's method on the exact posterior."""
    model, statistics = problem.model, problem.statistics
    mode = calibration.find_mode(
        lambda w: exact.moments_w(model, w),
        lambda w: ExactCumulants(model, w),
        statistics.counts,
        statistics.n,
        problem.prior,
        start_log_odds(problem),
    )
    return mode, {"newton_steps": mode.steps}, []


def particle_mode(problem: Problem, particles: int | None = None) -> tuple[calibration.Mode, dict[str, Any], list[str]]:
    """The estimated mode, curvature from particles there, and how far both can be trusted."""
    model, statistics, prior = problem.model, problem.statistics, problem.prior
    p, n = model.n_parameters, statistics.n
    count = particles if particles is not None else min(max(LEAST_PARTICLES, 64 * p), MOST_PARTICLES)
    seed = child(problem.seed, "calibrated")
    estimate = make_estimate(model, statistics, "pcd", rng=child(seed, "mode"), prior=prior, progress=problem.progress)
    w = np.asarray(estimate.log_odds, dtype=float)
    cumulants = ParticleCumulants(model, w, count, SWEEPS, statistics, seed)
    information = n * cumulants.covariance + calibration.prior_information(prior, w)
    # The mean of an inverse is not the inverse of the mean: undo it.
    inverse = np.linalg.inv(information) * (cumulants.n - p - 2) / cumulants.n
    inverse = (inverse + inverse.T) / 2
    mode = calibration.Mode(w, inverse, np.linalg.cholesky(inverse), cumulants, estimate.iterations)
    sd = np.sqrt(np.diag(inverse))
    # How far the mode is off, in sds: the Newton step that the particles ask for, less what their noise explains.
    step = inverse @ (statistics.counts - n * cumulants.mean + prior.gradient_w(w)) / sd
    noise = n * np.sqrt(np.einsum("ij,jk,ik->i", inverse, cumulants.covariance, inverse) / cumulants.n) / sd
    location = float(np.sqrt(max(np.mean(step**2) - np.mean(noise**2), 0.0)))
    details = {
        "particles": cumulants.n,
        "sweeps": SWEEPS,
        "mode_error": location,
        "sd_noise": float(np.mean(cumulants.spread_noise(inverse, n))),
        "start_disagreement": cumulants.disagreement,
    }
    warnings = list(estimate.warnings)
    if location > DOUBTFUL_LOCATION:
        warnings.append(
            f"the mode is off by about {location:.2f} posterior sds (root mean square): do not trust means."
        )
    limit = 1 + 6 / np.sqrt(p)
    if cumulants.disagreement > limit:
        warnings.append(
            f"particles from the data and from random starts still disagree after {SWEEPS} sweeps (their means differ "
            f"by {cumulants.disagreement:.1f} standard errors): spreads cannot be trusted in so ordered a field."
        )
    return mode, details, warnings


def start_log_odds(problem: Problem) -> np.ndarray:
    """Where Newton's method starts: at the estimate where there is one, else at shrunken frequencies."""
    chart, statistics = problem.model.chart, problem.statistics
    if problem.has_estimate:
        return np.asarray(np.clip(np.asarray(problem.estimate.log_odds, dtype=float), -8.0, 8.0))
    tosses = statistics.n * chart.tosses[chart.block_of]
    frequency = (statistics.counts + 1.0) / (tosses + chart.sides[chart.block_of])
    return 0.5 * chart.log_odds(frequency)


def prepare(
    problem: Problem, *, variance: str = "relative", moments: str = "auto", particles: int | None = None
) -> Prepared:
    """Independent draws of the calibrated posterior; there is no chain to run. Options: see `calibrate`."""
    chart = problem.model.chart
    if is_local(problem.model, moments):
        return _prepare_locally(problem, variance, moments, particles)
    found = calibrate(problem, variance, moments, particles)
    view = copula_view(found.coins, found.correlation, chart.offset)

    def draw(n: int, seed: np.random.SeedSequence) -> np.ndarray:
        from mrfbayes.kernels.calibration.copula import draw_theta

        theta = np.empty((n, chart.n_parameters))
        draw_theta(view, kernel_state(seed, "calibrated"), theta)
        return theta

    def quantile(probability: float) -> np.ndarray:
        from scipy.special import ndtri

        w, _ = coin_quantiles(found.coins, np.array([float(ndtri(probability))]))
        return np.asarray(chart.theta(w[:, 0]))

    known: dict[str, Any] = {}
    if chart.all_coins:
        known = {"moments": theta_moments(found.coins), "quantile": quantile}
    if isinstance(found.mode.cumulants, ParticleCumulants):
        known["sd_error"] = found.mode.cumulants.spread_noise(found.mode.covariance, problem.statistics.n)
    return Prepared(None, draw=draw, details=found.details, warnings=found.warnings, **known)


def is_local(model: Model, moments: str) -> bool:
    """Whether parameters are calibrated block by block: past the limits, if the field allows it."""
    if not PARTICLE_LIMIT < model.n_parameters <= DENSE_PARAMETERS:
        return model.n_parameters > DENSE_PARAMETERS
    untied = model.chart.all_coins and not (model.chart.tosses > 1).any()
    exactly = moments == "exact" or (moments == "auto" and moments_cost(model) < MOMENT_CELLS)
    return bool(untied and not exactly and np.diff(model.adjacency.offset).max(initial=0) <= MOST_NEIGHBOURS)


def _prepare_locally(problem: Problem, variance: str, moments: str, particles: int | None) -> Prepared:
    """Very many coins: everything from the block around each (`mrfbayes.calibration.local`), exactly on strips."""
    from mrfbayes.calibration.local import calibrate_locally
    from mrfbayes.calibration.strips import calibrate_strip, is_strip

    _check_options(variance, moments)
    model = problem.model
    has = "dice" if not model.chart.all_coins else "tied factors or scores" if (model.chart.tosses > 1).any() else ""
    if has:
        raise CostError(
            f"{model.n_parameters} parameters (limit {DENSE_PARAMETERS} for a full covariance): only fields of untied "
            f"coins can be calibrated block by block, and this one has {has}: use method='mle' or 'pseudo', or fewer "
            "parameters."
        )
    degree = 2 * model.n_edges / model.n_nodes
    if degree > DENSE_NEIGHBOURS:
        raise CostError(
            f"{model.n_parameters:,} parameters on a graph whose nodes have {degree:,.0f} neighbours on average: a "
            f"full covariance would take {describe_bytes(8 * model.n_parameters**2)} (limit {DENSE_PARAMETERS:,} "
            f"parameters), and blocks of neighbours are too large past {DENSE_NEIGHBOURS}: choose fewer columns, a "
            "sparser graph, or tied=True."
        )
    seed = child(problem.seed, "calibrated")
    if moments == "exact" or (moments == "auto" and is_strip(model)):
        found = calibrate_strip(problem, variance)
    else:
        found = calibrate_locally(model, problem.statistics, problem.prior, seed, particles, problem.progress)
    return Prepared(
        None,
        draw=found.draw,
        moments=found.expansion.theta_moments(),
        quantile=found.quantile,
        sd_error=found.sd_error,
        details=found.details,
        warnings=found.warnings,
    )
