"""Calibration with a full, exact covariance of planar fields that no tables hold; third-order sums through windows."""

from __future__ import annotations

import numpy as np

from mrfbayes.base.failures import calibrating
from mrfbayes.base.random_streams import child
from mrfbayes.calibration.cumulants import ExactCumulants
from mrfbayes.calibration.exact_blocks import FAR, exact_moments
from mrfbayes.calibration.expansion import Mode, ThirdOrder, coin_tensors, prior_information
from mrfbayes.calibration.observed import ObservedCumulants
from mrfbayes.estimation.estimate import estimate
from mrfbayes.estimation.problem import Problem
from mrfbayes.exact.clamped import observed


def window_mode(problem: Problem) -> tuple[Mode, ThirdOrder, dict[str, object]]:
    """The exact mode, curvature and third-order sums of a planar field of agreement coins.

    The mode is found by quasi-Newton ascent: a Newton step would take a whole covariance, which is taken once.
    """
    model, statistics, prior = problem.model, problem.statistics, problem.prior
    seed = child(problem.seed, "mode")
    found = estimate(model, statistics, algorithm="exact", rng=seed, prior=prior, progress=problem.progress)
    w, n, data = np.asarray(found.log_odds, dtype=float), statistics.n_all, observed(statistics)
    cumulants = ExactCumulants(model, w) if data.clamped is None else ObservedCumulants(model, w, data)
    with calibrating("the curvature at the posterior mode is not positive definite"):
        inverse = np.linalg.inv(n * cumulants.covariance + prior_information(prior, w))
        inverse = (inverse + inverse.T) / 2
        mode = Mode(w, inverse, np.linalg.cholesky(inverse), cumulants, found.iterations)
    local, cut = exact_moments(model, w, n, -prior.hessian_w(w), FAR, problem.progress)
    tensors = coin_tensors(prior.third_w(w), prior.fourth_w(w), inverse)
    third = -n * local.third.cube + inverse**3 @ tensors.value
    shift = 0.5 * (-n * local.third.mixed + inverse @ (np.diag(inverse) * tensors.value))
    nothing = np.zeros((0, w.size))  # what only loops would need
    return (
        mode,
        ThirdOrder(third, shift, nothing, nothing, tensors),
        {"mode_steps": found.iterations, "cut_blocks": cut},
    )
