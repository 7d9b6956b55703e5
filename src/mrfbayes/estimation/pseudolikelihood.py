r"""Maximum pseudolikelihood (Besag 1975): the product of full conditionals, from pattern counts.

.. math:: \log PL(w) = \sum_i \sum_{x} \log p(x_i \mid x_{-i}; w)

Its cost does not depend on n: each node's distinct neighbourhood patterns are counted once. It also is the start of the
algorithms that sample, then always with the uniform prior's pseudo-counts, so that it is finite.
"""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np

from mrfbayes.data.statistics import Statistics
from mrfbayes.estimation.optimise import TYPICAL_ITERATIONS, Ascent, Report, lbfgs, silent
from mrfbayes.estimation.result import Outcome, Recorder, Task
from mrfbayes.kernels.estimation.pseudolikelihood import pseudo_binary, pseudo_tables
from mrfbayes.model.field import Model
from mrfbayes.priors import Prior


class TableLayout(NamedTuple):
    """Where the cells of a categorical field are; see `mrfbayes.model.lowering`."""

    states: np.ndarray
    pairs: np.ndarray
    node_offset: np.ndarray
    edge_offset: np.ndarray


class PseudoObjective:
    """Log pseudolikelihood, plus the log prior where there is one."""

    def __init__(self, model: Model, stats: Statistics, prior: Prior | None) -> None:
        self.model, self.stats, self.prior = model, stats, prior
        self.patterns = stats.patterns
        assert stats.node_part is not None  # known wherever patterns are
        assert stats.edge_part is not None
        self.linear = model.lowering.statistics_direction(stats.node_part, 2.0 * stats.edge_part)
        lowering = model.lowering
        self.layout = TableLayout(lowering.states, lowering.pairs, lowering.node_offset, lowering.edge_offset)

    def _normalisers(self, w: np.ndarray) -> tuple[float, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        node, edge = self.model.lowering.potentials(w)
        parts = [np.zeros_like(node), np.zeros_like(edge), np.zeros_like(node), np.zeros_like(edge)]
        if self.model.lowering.binary:
            total = pseudo_binary(self.patterns, self.model.adjacency, node, edge, *parts)
        else:
            total = pseudo_tables(self.patterns, self.model.adjacency, self.layout, node, edge, *parts)
        return total, parts[0], parts[1], parts[2], parts[3]

    def value_gradient(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """Value and gradient (p,)."""
        total, node, edge, _, _ = self._normalisers(w)
        value = float(self.linear @ w - total)
        gradient = self.linear - self.model.lowering.statistics_direction(node, edge)
        if self.prior is not None:
            value += self.prior.log_density_w(w)
            gradient = gradient + self.prior.gradient_w(w)
        return value, gradient

    def diagonal(self, w: np.ndarray) -> np.ndarray:
        """Positive (p,): the sum of the conditional variances of each parameter's cells."""
        _, _, _, node, edge = self._normalisers(w)
        row, column, value = self.model.lowering.forward
        cells = np.concatenate([node, edge])
        diagonal = np.bincount(column, weights=value**2 * cells[row], minlength=self.model.n_parameters)
        if self.prior is not None:
            diagonal += np.abs(prior_diagonal(self.prior, w))
        return np.asarray(np.maximum(diagonal, 1e-3))


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
