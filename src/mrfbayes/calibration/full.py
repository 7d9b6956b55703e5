"""Calibration with a full covariance: exact moments by recursion, or moments of particles at the estimated mode."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mrfbayes.base.budget import OutOfTime, budget
from mrfbayes.base.checks import whole
from mrfbayes.base.errors import CostError, InputError
from mrfbayes.base.progress import Progress
from mrfbayes.base.random_streams import child
from mrfbayes.calibration import expansion as calibration
from mrfbayes.calibration.copula import CopulaJoint, copula_view
from mrfbayes.calibration.cumulants import (
    ObservedCumulants,
    ParticleCumulants,
    cumulants_at,
    direction_cells,
)
from mrfbayes.calibration.exact_blocks import FAR, exact_moments, sees_windows
from mrfbayes.calibration.matching import Calibration, match, match_loop, skewness_doubts
from mrfbayes.calibration.one_loop import Effort, loops_are_affordable, one_loop, usable
from mrfbayes.estimation.estimate import Problem
from mrfbayes.estimation.estimate import estimate as make_estimate
from mrfbayes.exact.choice import is_feasible, recursion
from mrfbayes.exact.clamped import observed
from mrfbayes.kernels.calibration.copula import CopulaView
from mrfbayes.model.field import Model

VARIANCES = ("relative", "loop", "order")
LEAST_EXTRA = 4  # particles past p: half in each start; the inverse of their covariance has a mean from p + 3 on
MOMENTS = ("auto", "exact", "particles")
MOMENT_CELLS = 1.2e10  # table cells of exact calibration, about two minutes
WINDOW_CELLS = 3e9  # the same where windows do nearly as well in a few seconds, half a minute
SAMPLE_PASSES = 16  # through all tables, that filling and sampling them is worth
PROPOSAL_CELLS = 2e8  # the same for proposals of planar fields, two seconds
LEAST_PARTICLES, MOST_PARTICLES, SWEEPS = 32_768, 131_072, 200
DOUBTFUL_LOCATION = 0.1  # posterior sds
DENSE_PARAMETERS = 2_000  # parameters up to which S is a full matrix


@dataclass(frozen=True)
class DenseJoint(CopulaJoint):
    """Coins joined by a Gaussian copula with a full correlation matrix.

    Attributes
    ----------
    correlation : (p, p) R of the copula
    mode, order : what it was calibrated to (`mrfbayes.calibration.expansion`)
    """

    correlation: np.ndarray
    mode: calibration.Mode
    order: calibration.ThirdOrder

    @cached_property
    def view(self) -> CopulaView:
        """As the kernels take it; made at the first draw, since a result may never be asked for one."""
        return copula_view(self.coins, self.correlation, self.chart.offset)


def calibrate(
    problem: Problem, variance: str = "relative", moments: str = "auto", particles: int | None = None
) -> Calibration[DenseJoint]:
    """Calibrate all coins to the posterior.

    Parameters
    ----------
    variance : how variances are matched. "order": leading order to leading order; "loop": the coin's variance is the
        posterior's to one loop; "relative": what the loops add beyond those of the coin alone, which is the most
        accurate and keeps single coins and trees exact
    moments : "exact" (by recursion, on large planar fields of agreement coins with third-order sums through windows),
        "particles" (by Gibbs sampling at the estimated mode), or "auto": exact where that takes a minute or two at
        most, else by the replicas of `langevin` on dense fields and by particles on others
    particles : how many, for moments="particles"
    """
    check_options(variance, moments, particles, least=problem.model.n_parameters + LEAST_EXTRA)
    with Progress("calibrate", 3, problem.progress) as bar:
        return _calibrate(problem, variance, moments, particles, bar)


def calibrate_proposals(problem: Problem) -> Calibration[DenseJoint]:
    """`calibrate` for draws that are weighed afterwards: on planar fields quick, without loops.

    Where cells are missing its mode and covariance are those of what is seen, its third-order sums those of whole rows.
    """
    is_quick = sees_windows(problem.model) and moments_cost(problem.model) > PROPOSAL_CELLS
    with Progress("calibrate", 3, problem.progress) as bar:
        return _calibrate(problem, "relative", "windows" if is_quick else "auto", None, bar)


def _calibrate(
    problem: Problem, variance: str, moments: str, particles: int | None, bar: Progress
) -> Calibration[DenseJoint]:
    if problem.model.n_parameters > DENSE_PARAMETERS:
        raise CostError(
            f"'calibrated' keeps a full covariance of the {problem.model.n_parameters} parameters (limit "
            f"{DENSE_PARAMETERS}): use method='mle', or tie parameters."
        )
    cells, has_windows = (
        moments_cost(problem.model),
        sees_windows(problem.model) and problem.statistics.incomplete is None,
    )
    is_expensive = cells >= MOMENT_CELLS
    if has_windows and ((moments == "exact" and is_expensive) or (moments == "auto" and cells >= WINDOW_CELLS)):
        moments = "windows"
    if moments == "auto":
        moments = "particles" if is_expensive else "exact"
    if moments not in ("exact", "windows") and problem.statistics.incomplete is not None:
        raise CostError(
            "'calibrated' with missing cells needs exact moments, which are out of reach on this field: use "
            "method='langevin' where it is dense, or missing='drop'."
        )
    bar.update(0, "mode")
    accuracy, n = None, problem.statistics.n_all
    warnings: list[str] = []
    if moments == "windows":
        mode, order, details = window_mode(problem)
        variance = "order"  # loops would take samples, which are expensive here
    elif moments == "exact":
        mode, details, warnings = exact_mode(problem)
    else:
        mode, accuracy, details, warnings = particle_mode(problem, particles)
    bar.update(1, "third cumulants")
    if moments != "windows":
        order = calibration.third_order(mode, n, calibration.prior_tensors(problem.prior, mode.w, mode.covariance))
    variances = np.diag(mode.covariance)
    numbers = (mode.w, variances, order.third, order.shift)
    covariance = mode.covariance
    loops = None
    if variance != "order" and not loops_are_affordable(mode):
        variance = "order"
        warnings.append("too many missing cells for the loop correction: it was left out, and sds are of leading order")
    if variance != "order":
        bar.update(2, "loops")
        effort = Effort(mode.cumulants.n) if isinstance(mode.cumulants, ParticleCumulants) else Effort()
        try:
            loops = one_loop(mode, n, order, child(problem.seed, "loops"), effort)
        except OutOfTime:
            variance = "order"
            budget().cut("sds are of leading order: there was no time for the loop correction")
    if loops is None:
        coins = match(*numbers)
    else:
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
        "largest_skewness": float(np.abs(order.third / variances**1.5).max(initial=0.0)),
    }
    if isinstance(mode.cumulants, ObservedCumulants):
        complete = n * mode.cumulants.free.covariance + calibration.prior_information(problem.prior, mode.w)
        details["missing_information"] = (1 - np.diag(np.linalg.inv(complete)) / variances).tolist()
    warnings += skewness_doubts(variances, order.third)
    sd = np.sqrt(np.diag(covariance))
    joint = DenseJoint(problem.model.chart, coins, covariance / np.outer(sd, sd), mode, order)
    sd_error = None
    if isinstance(mode.cumulants, ParticleCumulants):
        sd_error = mode.cumulants.sd_noise(mode.covariance, n)
    return Calibration(coins, joint, sd_error, accuracy, details, tuple(warnings))


def check_options(variance: str, moments: str, particles: int | None, least: int) -> None:
    for name, value, allowed in (("variance", variance, VARIANCES), ("moments", moments, MOMENTS)):
        if value not in allowed:
            raise InputError(f"{name} = {value!r}: choose one of {', '.join(map(repr, allowed))}.")
    if particles is not None and whole("particles", particles) < least:
        raise InputError(
            f"particles = {particles}: at least {least} are needed here for a covariance that can be inverted; leave "
            "particles= out for as many as keep errors small."
        )


def moments_cost(model: Model) -> float:
    """Table cells that exact calibration goes through: some eight directional derivatives per parameter.

    Loops are summed over samples, and those come from tables: where all edges of a large field share one parameter,
    these take longer than its derivatives.
    """
    if not is_feasible(model):
        return np.inf
    derivatives = 8.0 * model.n_parameters * direction_cells(model)
    is_tied = model.n_parameters < model.n_edges
    return max(derivatives, SAMPLE_PASSES * recursion(model).n_bytes("moments") / 8) if is_tied else derivatives


def exact_mode(problem: Problem) -> tuple[calibration.Mode, dict[str, object], list[str]]:
    """The mode by Newton's method on the exact posterior."""
    data, start = observed(problem.statistics), start_log_odds(problem)
    mode = calibration.find_mode(problem.model, data, problem.prior, start)
    return mode, {"newton_steps": mode.steps}, []


def window_mode(problem: Problem) -> tuple[calibration.Mode, calibration.ThirdOrder, dict[str, object]]:
    """The exact mode, curvature and third-order sums of a planar field of agreement coins.

    The mode is found by quasi-Newton ascent: a Newton step would take a whole covariance, which is taken once.
    """
    model, statistics, prior = problem.model, problem.statistics, problem.prior
    seed = child(problem.seed, "mode")
    found = make_estimate(model, statistics, algorithm="exact", rng=seed, prior=prior, progress=problem.progress)
    w, n, data = np.asarray(found.log_odds, dtype=float), statistics.n_all, observed(statistics)
    cumulants = cumulants_at(model, w, data)
    information = n * cumulants.covariance + calibration.prior_information(prior, w)
    mode = calibration.Mode.at(w, information, cumulants, found.iterations)
    inverse = mode.covariance
    local, cut = exact_moments(model, w, n, -prior.hessian_w(w), FAR, problem.progress)
    tensors = calibration.coin_tensors(prior.third_w(w), prior.fourth_w(w), inverse)
    third = -n * local.cube + inverse**3 @ tensors.value
    shift = 0.5 * (-n * local.mixed + inverse @ (np.diag(inverse) * tensors.value))
    nothing = np.zeros((0, w.size))  # what only loops would need
    return (
        mode,
        calibration.ThirdOrder(third, shift, nothing, nothing, tensors),
        {"mode_steps": found.iterations, "cut_blocks": cut},
    )


def particle_mode(
    problem: Problem, particles: int | None = None
) -> tuple[calibration.Mode, calibration.Accuracy, dict[str, object], list[str]]:
    """The estimated mode, curvature from particles there, and how far both can be trusted."""
    model, statistics, prior = problem.model, problem.statistics, problem.prior
    p, n = model.n_parameters, statistics.n
    count = particles if particles is not None else min(max(LEAST_PARTICLES, 64 * p), MOST_PARTICLES)
    seed = child(problem.seed, "calibrated")
    with budget().share(0.4):
        mode_seed, progress = child(seed, "mode"), problem.progress
        estimate = make_estimate(model, statistics, algorithm="pcd", rng=mode_seed, prior=prior, progress=progress)
    w = np.asarray(estimate.log_odds, dtype=float)
    cumulants = ParticleCumulants(model, w, count, SWEEPS, statistics, seed)
    information = n * cumulants.covariance + calibration.prior_information(prior, w)
    # The mean of an inverse is not the inverse of the mean: undo it.
    mode = calibration.Mode.at(w, information, cumulants, estimate.iterations, (cumulants.n - p - 2) / cumulants.n)
    inverse, sd = mode.covariance, np.sqrt(np.diag(mode.covariance))
    # How far the mode is off, in sds: the Newton step that the particles ask for, less what their noise explains.
    step = inverse @ (statistics.counts - n * cumulants.mean + prior.gradient_w(w)) / sd
    noise = n * np.sqrt(np.einsum("ij,jk,ik->i", inverse, cumulants.covariance, inverse) / cumulants.n) / sd
    location = float(np.sqrt(max(np.mean(step**2) - np.mean(noise**2), 0.0)))
    sd_noise = float(np.mean(cumulants.sd_noise(inverse, n)))
    accuracy = calibration.Accuracy(w, location, sd_noise, cumulants.disagreement)
    details: dict[str, object] = {
        "particles": cumulants.n,
        "sweeps": SWEEPS,
        "mode_error": accuracy.mode,
        "sd_noise": accuracy.sd_noise,
        "start_disagreement": accuracy.disagreement,
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
            f"by {cumulants.disagreement:.1f} standard errors): sds cannot be trusted in so ordered a field."
        )
    return mode, accuracy, details, warnings


def start_log_odds(problem: Problem) -> np.ndarray:
    """Where Newton's method starts: at the estimate where there is one, else at shrunken frequencies."""
    chart, statistics = problem.model.chart, problem.statistics
    if problem.has_estimate:
        return np.asarray(np.clip(np.asarray(problem.estimate.log_odds, dtype=float), -8.0, 8.0))
    return np.asarray(0.5 * chart.log_odds(statistics.shrunken_frequency))
