"""The mode of a log posterior, or of a log-likelihood, by Newton's method: one ascent for all that need it.

Estimates use it (`mrfbayes.estimation.newton`), and so does everything that is calibrated to a mode
(`mrfbayes.calibration.expansion`).
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from mrfbayes.base.budget import budget
from mrfbayes.estimation.optimise import MAX_LOG_ODDS, Ascent, Report, line_search, silent

TOLERANCE = 1e-7  # posterior sds


class Curved(Protocol):
    """A log posterior (or likelihood) in log-odds w whose second derivatives are known."""

    def value_gradient(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """Value and gradient (p,)."""

    def curvature(self, w: np.ndarray) -> np.ndarray:
        """Minus the Hessian, (p, p)."""


def newton(
    objective: Curved,
    w: np.ndarray,
    max_iterations: int = 100,
    report: Report = silent,
    tolerance: float = TOLERANCE,
) -> Ascent:
    """Damped Newton ascent from ``w``; stops early where w runs away to infinity."""
    value, gradient = objective.value_gradient(w)
    trace: list[float] = []
    size = np.inf
    for iteration in range(max_iterations):
        direction = _solve(objective.curvature(w), gradient)
        slope = float(gradient @ direction)
        size = float(np.sqrt(max(slope, 0.0)))
        trace.append(size)
        report(iteration, size, w)
        if size < tolerance:
            return Ascent(w + direction, True, iteration + 1, size, trace)
        if np.abs(w).max(initial=0.0) > MAX_LOG_ODDS or budget().is_out:
            break
        w, value, gradient, moved = line_search(objective, w, value, gradient, direction, slope)
        if not moved:  # rounding: no better value can be told from this one
            return Ascent(w, size < 1e-3, iteration + 1, size, trace)
    return Ascent(w, False, len(trace), size, trace)


def _solve(curvature: np.ndarray, gradient: np.ndarray) -> np.ndarray:
    """Newton direction; directions without curvature (general tables have them) get next to no step."""
    scale = float(np.abs(np.diag(curvature)).max(initial=0.0)) or 1.0
    damping = 1e-13 * scale
    while True:
        damped = curvature.copy()
        damped[np.diag_indices_from(damped)] += damping
        try:
            np.linalg.cholesky(damped)  # only to see whether it is positive definite
            return np.asarray(np.linalg.solve(damped, gradient))
        except np.linalg.LinAlgError:
            damping *= 100.0
