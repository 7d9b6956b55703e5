"""Limited-memory quasi-Newton ascent of a smooth log posterior, in units of posterior sds.

Newton's method itself (`newton`) is for those whose second derivatives are known: estimates, and everything that is
calibrated to a mode. The stopping rule of both: with g the gradient and I the information, the Newton step has length
sqrt(g' I^-1 g) in posterior sds, and that is what has to be small.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from mrfbayes.base.budget import budget

if TYPE_CHECKING:
    from mrfbayes.data.statistics import Statistics
    from mrfbayes.model.field import Model
    from mrfbayes.priors import Prior


TYPICAL_ITERATIONS = 50  # for progress bars
MAX_LOG_ODDS = 40.0  # log-odds: weights of 4e-18 are zero for every purpose
_ARMIJO = 1e-4
_MEMORY = 10
RENEWED = (4, 64, 256)  # steps after which the curvature is taken anew: the last one was taken far away
Report = Callable[[int, float, np.ndarray], None]
TOLERANCE = 1e-7  # posterior sds


class Curved(Protocol):
    """A log posterior (or likelihood) in log-odds w whose second derivatives are known."""

    def value_gradient(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """Value and gradient (p,)."""

    def curvature(self, w: np.ndarray) -> np.ndarray:
        """Minus the Hessian, (p, p)."""


class Penalised:
    """A log-likelihood whose derivatives are known, plus the log prior where there is one.

    Subclasses have the parts of the likelihood: `_value_gradient`, `_information` and `_diagonal`.
    """

    min_curvature = 1e-3

    def __init__(self, model: Model, stats: Statistics, prior: Prior | None) -> None:
        self.model, self.stats, self.prior = model, stats, prior

    def _value_gradient(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        raise NotImplementedError

    def _information(self, w: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def _diagonal(self, w: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def value_gradient(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """Value and gradient (p,)."""
        value, gradient = self._value_gradient(w)
        if self.prior is None:
            return value, gradient
        return value + self.prior.log_density_w(w), gradient + self.prior.gradient_w(w)

    def curvature(self, w: np.ndarray) -> np.ndarray:
        """Minus the Hessian, (p, p)."""
        matrix = self._information(w)
        return matrix if self.prior is None else less_hessian(matrix, self.prior.hessian_w(w))

    def diagonal(self, w: np.ndarray) -> np.ndarray:
        """Positive (p,), near the diagonal of `curvature`."""
        diagonal = self._diagonal(w)
        if self.prior is not None:
            diagonal = diagonal + np.abs(prior_diagonal(self.prior, w))
        return np.asarray(np.maximum(diagonal, self.min_curvature))


def less_hessian(matrix: np.ndarray, hessian: np.ndarray) -> np.ndarray:
    """``matrix`` (p, p) less second derivatives (p, p), or (p,) along each coordinate."""
    return np.asarray(matrix - (np.diag(hessian) if hessian.ndim == 1 else hessian))


def prior_diagonal(prior: Prior, w: np.ndarray) -> np.ndarray:
    """Second derivatives (p,) of the log prior along each coordinate."""
    hessian = prior.hessian_w(w)
    return hessian if hessian.ndim == 1 else np.diag(hessian).copy()


@dataclass
class Ascent:
    """Where an ascent ended: ``step`` is the length of the last step proposed, in posterior sds (or nearly)."""

    w: np.ndarray
    converged: bool
    iterations: int
    step: float


def silent(iteration: int, step: float, w: np.ndarray) -> None:
    """No report."""


def lbfgs(
    objective: Penalised, w: np.ndarray, max_iterations: int = 1_000, tolerance: float = 1e-7, report: Report = silent
) -> Ascent:
    """Quasi-Newton ascent with ten remembered steps, preconditioned by the curvature's diagonal (renewed at times)."""
    value, gradient = objective.value_gradient(w)
    variance = 1.0 / objective.diagonal(w)
    memory: deque[tuple[np.ndarray, np.ndarray, float]] = deque(maxlen=_MEMORY)
    size = np.inf
    for iteration in range(max_iterations):
        # Largest coordinate of the gradient in posterior sds: the l2 norm would grow with p.
        size = float(np.abs(gradient * np.sqrt(variance)).max(initial=0.0))
        report(iteration, size, w)
        if size < tolerance:
            return Ascent(w, True, iteration + 1, size)
        if np.abs(w).max(initial=0.0) > MAX_LOG_ODDS or budget().is_out:
            break
        direction = _two_loop(memory, gradient, variance)
        slope = float(gradient @ direction)
        if slope <= 0:  # lost curvature (a prior that is not log-concave): steepest ascent again
            memory.clear()
            direction = variance * gradient
            slope = float(gradient @ direction)
        old_w, old_gradient = w, gradient
        w, value, gradient, moved = line_search(objective, w, value, gradient, direction, slope)
        if not moved:
            if not memory:
                return Ascent(w, size < 1e-3, iteration + 1, size)
            memory.clear()
            continue
        if iteration in RENEWED:
            variance = 1.0 / objective.diagonal(w)
            memory.clear()
            continue
        y = old_gradient - gradient
        s = w - old_w
        product = float(y @ s)
        if product > 1e-12 * float(np.sqrt((y @ y) * (s @ s))):
            memory.append((s, y, 1.0 / product))
    return Ascent(w, False, iteration + 1, size)


def _two_loop(
    memory: deque[tuple[np.ndarray, np.ndarray, float]], gradient: np.ndarray, variance: np.ndarray
) -> np.ndarray:
    """Nocedal's two-loop recursion: the quasi-Newton direction."""
    q = gradient.copy()
    weights = []
    for s, y, rho in reversed(memory):
        a = rho * float(s @ q)
        q -= a * y
        weights.append(a)
    q *= variance
    if memory:
        s, y, rho = memory[-1]
        q *= 1.0 / (rho * float(y @ (variance * y)))
    for (s, y, rho), a in zip(memory, reversed(weights), strict=True):
        q += (a - rho * float(y @ q)) * s
    return q


def line_search(
    objective: Curved, w: np.ndarray, value: float, gradient: np.ndarray, direction: np.ndarray, slope: float
) -> tuple[np.ndarray, float, np.ndarray, bool]:
    """Backtracking from the full step; also accepts a step whose value ties within rounding but whose slope fell."""
    longest = float(np.abs(direction).max(initial=0.0))
    step = min(1.0, 5.0 / longest) if longest > 0 else 1.0  # five units of log-odds at once is a leap, not a step
    noise = 1e-13 * max(1.0, abs(value))
    for _ in range(40):
        trial = w + step * direction
        try:
            new_value, new_gradient = objective.value_gradient(trial)
        except ArithmeticError:  # so far out that digits are lost
            new_value = -np.inf
        if np.isfinite(new_value):
            if new_value >= value + _ARMIJO * step * slope:
                return trial, new_value, new_gradient, True
            if new_value >= value - noise and abs(float(new_gradient @ direction)) < 0.9 * slope:
                return trial, new_value, new_gradient, True
        step *= 0.5
    return w, value, gradient, False


def newton(
    objective: Curved, w: np.ndarray, max_iterations: int = 100, report: Report = silent, tolerance: float = TOLERANCE
) -> Ascent:
    """Damped Newton ascent from ``w``; stops early where w runs away to infinity."""
    value, gradient = objective.value_gradient(w)
    size = np.inf
    for iteration in range(max_iterations):
        direction = _solve(objective.curvature(w), gradient)
        slope = float(gradient @ direction)
        size = float(np.sqrt(max(slope, 0.0)))
        report(iteration, size, w)
        if size < tolerance:
            return Ascent(w + direction, True, iteration + 1, size)
        if np.abs(w).max(initial=0.0) > MAX_LOG_ODDS or budget().is_out:
            break
        w, value, gradient, moved = line_search(objective, w, value, gradient, direction, slope)
        if not moved:  # rounding: no better value can be told from this one
            return Ascent(w, size < 1e-3, iteration + 1, size)
    return Ascent(w, False, iteration + 1, size)


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
