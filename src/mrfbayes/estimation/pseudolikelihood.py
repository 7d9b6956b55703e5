r"""Maximum pseudolikelihood (Besag 1975): the product of full conditionals, from pattern counts.

.. math:: \log PL(w) = \sum_i \sum_{x} \log p(x_i \mid x_{-i}; w)

Its cost does not depend on n: each node's distinct neighbourhood patterns are counted once. It also is the start of the
algorithms that sample, then always with the uniform prior's pseudo-counts, so that it is finite.
"""

from __future__ import annotations

import time

import numpy as np

from mrfbayes.data.statistics import Statistics
from mrfbayes.estimation.full_conditionals import Conditionals
from mrfbayes.estimation.godambe import information
from mrfbayes.estimation.optimise import TYPICAL_ITERATIONS, Ascent, Curvature, Report, lbfgs, silent
from mrfbayes.estimation.result import Outcome, Recorder, Task
from mrfbayes.model.field import Model
from mrfbayes.priors import Prior


class PseudoObjective:
    """Log pseudolikelihood, plus the log prior where there is one."""

    def __init__(self, model: Model, stats: Statistics, prior: Prior | None) -> None:
        self.model, self.stats, self.prior = model, stats, prior
        self.conditionals = Conditionals.of(model, stats)

    def value_gradient(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """Value and gradient (p,)."""
        value, gradient = self.conditionals.value_gradient(w)
        if self.prior is not None:
            value += self.prior.log_density_w(w)
            gradient = gradient + self.prior.gradient_w(w)
        return value, gradient

    def diagonal(self, w: np.ndarray) -> np.ndarray:
        """Positive (p,): the sum of the conditional variances of each parameter's cells."""
        diagonal = self.conditionals.diagonal(w)
        if self.prior is not None:
            diagonal += np.abs(prior_diagonal(self.prior, w))
        return np.asarray(np.maximum(diagonal, 1e-3))

    def rough_curvature(self, w: np.ndarray) -> Curvature:
        """By `diagonal` alone."""
        return Curvature(self.diagonal(w))

    def curvature(self, w: np.ndarray) -> np.ndarray:
        """Minus the Hessian, (p, p)."""
        matrix = information(self.model, self.stats, w)
        if self.prior is None:
            return matrix
        hessian = self.prior.hessian_w(w)
        return np.asarray(matrix - (np.diag(hessian) if hessian.ndim == 1 else hessian))


def prior_diagonal(prior: Prior, w: np.ndarray) -> np.ndarray:
    """Second derivatives (p,) of the log prior along each coordinate."""
    hessian = prior.hessian_w(w)
    return hessian if hessian.ndim == 1 else np.diag(hessian).copy()


def pseudo_estimate(
    model: Model, stats: Statistics, prior: Prior | None, report: Report = silent, tolerance: float = 1e-6
) -> Ascent:
    """Maximise the (penalised) pseudolikelihood from no interaction."""
    objective = PseudoObjective(model, stats, prior)
    return lbfgs(objective, np.zeros(model.n_parameters), tolerance=tolerance, report=report)


def run(task: Task, *, tolerance: float = 1e-6) -> Outcome:
    """Maximise the pseudolikelihood, with the task's prior.

    Parameters
    ----------
    tolerance : largest gradient left over, in posterior sds
    """
    recorder = Recorder(task.model.n_parameters, time.perf_counter)

    def report(iteration: int, size: float, at: np.ndarray) -> None:
        recorder.add(iteration, size, at)
        task.report(iteration / TYPICAL_ITERATIONS, f"step {size:.2g} sd")

    ascent = pseudo_estimate(task.model, task.stats, task.prior, report, tolerance)
    outcome = Outcome(ascent.w, ascent.converged, ascent.step, ascent.iterations, recorder)
    if not ascent.converged:
        outcome.warnings.append(f"the ascent stopped after {ascent.iterations} iterations without converging")
    return outcome
