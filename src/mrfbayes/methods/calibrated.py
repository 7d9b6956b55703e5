r"""`calibrated`: the paper's coin with its three numbers calibrated to the posterior's location, spread and skewness.

.. math:: \lambda_j \sim \mathrm{Beta}(a_j, b_j), \qquad \mathrm{logit}\,\theta_j = \mathrm{logit}\,\lambda_j -
          \mathrm{logit}\,\eta_j, \qquad \Phi^{-1}(F_j(\theta_j)) \sim N(0, R)

The numbers come from the mode of the posterior in log-odds and the derivatives there (`mrfbayes.calibration`); R is the
correlation of the log-odds. A die with K outcomes has a coin for each of its K - 1 log-odds against the last outcome:
for a die alone with a Dirichlet posterior these marginals are exact, and only their copula is approximate.

Differs from the paper: that is the point. Eq. (5) takes eta from the maximum likelihood estimate, which may not exist,
and keeps the conditional spread; here all three numbers follow from the posterior. It is not a likelihood: the prior is
inside.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mrfbayes import calibration, exact
from mrfbayes.coins import Coins, match, match_loop
from mrfbayes.copula import copula_view, theta_moments
from mrfbayes.cumulants import ExactCumulants
from mrfbayes.errors import CostError, InputError
from mrfbayes.loops import one_loop
from mrfbayes.methods.problem import Prepared, Problem
from mrfbayes.streams import child, kernel_state

VARIANCES = ("relative", "loop", "order")
DENSE_LIMIT = 2_000  # parameters up to which S is a full matrix


@dataclass(frozen=True)
class Calibration:
    """The calibrated posterior.

    Attributes
    ----------
    mode, order : what it was calibrated to (`mrfbayes.calibration`)
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


def calibrate(problem: Problem, variance: str = "relative") -> Calibration:
    """Calibrate all coins to the posterior of a field whose partition function is feasible.

    Parameters
    ----------
    variance : how spreads are matched. "order": leading order to leading order; "loop": the coin's variance is the
        posterior's to one loop; "relative": what the loops add beyond those of the coin alone, which is the most
        accurate and keeps single coins and trees exact
    """
    if variance not in VARIANCES:
        raise InputError(f"variance = {variance!r}: choose one of {', '.join(map(repr, VARIANCES))}.")
    model, statistics, prior = problem.model, problem.statistics, problem.prior
    if model.n_parameters > DENSE_LIMIT:
        raise CostError(
            f"'calibrated' keeps a full covariance of the {model.n_parameters} parameters (limit {DENSE_LIMIT}): use "
            "method='mle', or tie parameters."
        )
    mode = calibration.find_mode(
        lambda w: exact.moments_w(model, w),
        lambda w: ExactCumulants(model, w),
        statistics.counts,
        statistics.n,
        prior,
        start_log_odds(problem),
    )
    order = calibration.third_order(mode, statistics.n, prior)
    spread = np.diag(mode.covariance)
    numbers = (mode.w, spread, order.third, order.shift)
    covariance = mode.covariance
    if variance == "order":
        found = match(*numbers)
    else:
        loops = one_loop(mode, statistics.n, order, child(problem.seed, "loops"))
        loops, raised = usable(loops, mode.covariance)
        found = match_loop(*numbers, np.diag(loops), variance == "relative")
        covariance = loops
    details: dict[str, Any] = {
        "calibration": variance,
        "moments": "exact",
        "newton_steps": mode.steps,
        "clipped": found.clipped,
        "largest_skewness": float(np.abs(order.third / spread**1.5).max(initial=0.0)),
    }
    warnings = []
    if found.clipped:
        warnings.append(
            f"{found.clipped} of {spread.size} coins are less skewed than the posterior to third order (no coin of "
            "that spread is skewed enough): their tails are approximate; method='exact' corrects them."
        )
    if variance != "order" and raised:
        details["loops_kept"] = 1.0 - raised
        warnings.append(
            "the one-loop covariance is not positive definite here (few data for so many parameters): "
            f"{raised:.0%} of the loop correction was left out."
        )
    sd = np.sqrt(np.diag(covariance))
    return Calibration(mode, order, found, covariance / np.outer(sd, sd), details, tuple(warnings))


def usable(loops: np.ndarray, spread: np.ndarray) -> tuple[np.ndarray, float]:
    """The one-loop covariance, drawn towards S as far as it takes to be safely positive definite; and how far."""
    raised = 0.0
    while True:
        mixed = (1 - raised) * loops + raised * spread
        scale = np.sqrt(np.abs(np.diag(spread)))
        smallest = float(np.linalg.eigvalsh(mixed / np.outer(scale, scale))[0])
        floor = float(np.linalg.eigvalsh(spread / np.outer(scale, scale))[0])
        if smallest > 0.2 * floor or raised >= 1.0:
            return mixed, raised
        raised = min(1.0, raised + 0.125)


def start_log_odds(problem: Problem) -> np.ndarray:
    """Where Newton's method starts: at the estimate where there is one, else at shrunken frequencies."""
    chart, statistics = problem.model.chart, problem.statistics
    if problem.has_estimate:
        return np.clip(np.asarray(problem.estimate.log_odds, dtype=float), -8.0, 8.0)
    tosses = statistics.n * chart.tosses[chart.block_of]
    frequency = (statistics.counts + 1.0) / (tosses + chart.sides[chart.block_of])
    return 0.5 * chart.log_odds(frequency)


def prepare(problem: Problem, *, variance: str = "relative") -> Prepared:
    """Independent draws of the calibrated posterior; there is no chain to run."""
    found = calibrate(problem, variance)
    chart = problem.model.chart
    view = copula_view(found.coins, found.correlation, chart.offset)

    def draw(n: int, seed: np.random.SeedSequence) -> np.ndarray:
        from mrfbayes.kernels.independence import draw_theta

        theta = np.empty((n, chart.n_parameters))
        draw_theta(view, kernel_state(seed, "calibrated"), theta)
        return theta

    moments = theta_moments(found.coins) if chart.all_coins else None
    return Prepared(None, draw=draw, moments=moments, details=found.details, warnings=found.warnings)
