"""What Geyer's MCMC-MLE and its particle-filtered form share: particles with statistics and weights.

A sample from the field at w0 gives expectations at a nearby w by weights exp((w - w0).s); the weighted moment equation
is solved by Newton's method, not further away than the weights stay even.
"""

from __future__ import annotations

import numpy as np

from mrfbayes.base.errors import CostError
from mrfbayes.estimation.optimise import MAX_LOG_ODDS
from mrfbayes.estimation.result import Task
from mrfbayes.model.field import Model

MAX_PARAMETERS = 2_000
MIN_EVENNESS = 0.25  # effective share of the particles below which weights are not trusted


def refuse_many_parameters(model: Model, algorithm: str) -> None:
    """These algorithms keep every particle's statistics: not for many parameters."""
    if model.n_parameters > MAX_PARAMETERS:
        raise CostError(
            f"algorithm = {algorithm!r} weights particles by all {model.n_parameters} statistics (limit "
            f"{MAX_PARAMETERS}): use 'pcd'."
        )


def weights_at(table: np.ndarray, shift: np.ndarray) -> np.ndarray:
    """Normalised weights (N,) exp(s.shift) of the particles with statistics ``table`` (N, p)."""
    log_weight = table @ shift
    log_weight -= log_weight.max()
    weight = np.exp(log_weight)
    return np.asarray(weight / weight.sum())


def evenness(weight: np.ndarray) -> float:
    """Effective share of the particles: 1 for equal weights."""
    return float(1.0 / (weight.size * np.sum(weight**2)))


def solve(task: Task, table: np.ndarray, w0: np.ndarray, max_iterations: int = 20) -> tuple[np.ndarray, bool]:
    """w at which the weighted particles have the observed mean (plus the prior's gradient), and whether it was reached.

    Stops on the way where the weights become too uneven: the caller samples afresh from there.
    """
    n, p = task.stats.n, w0.size
    w = w0.copy()
    for _ in range(max_iterations):
        weight = weights_at(table, w - w0)
        mean = weight @ table
        centred = table - mean
        information = (centred * weight[:, None]).T @ centred
        gradient = task.stats.mean + task.prior_gradient(w) - mean
        if task.prior is not None:
            hessian = task.prior.hessian_w(w) / n
            information = information - (np.diag(hessian) if hessian.ndim == 1 else hessian)
        information[np.diag_indices(p)] += 1e-9 + 1e-6 * np.diag(information)
        move = np.linalg.solve(information, gradient)
        size = float(np.sqrt(max(n * float(gradient @ move), 0.0)))
        step = min(1.0, 2.0 / max(float(np.abs(move).max(initial=0.0)), 1e-300))
        while evenness(weights_at(table, w + step * move - w0)) < MIN_EVENNESS:
            step /= 2
            if step < 1e-3:
                return w, False
        w = np.clip(w + step * move, -2 * MAX_LOG_ODDS, 2 * MAX_LOG_ODDS)
        if size < 1e-4:
            return w, True
        if step < 1.0 and evenness(weights_at(table, w - w0)) < 1.5 * MIN_EVENNESS:
            return w, False
    return w, size < 1e-3
