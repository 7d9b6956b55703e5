r"""Maximum pseudolikelihood (Besag 1975): the product of full conditionals, from pattern counts.

.. math:: \log PL(w) = \sum_i \sum_{x} \log p(x_i \mid x_{-i}; w)

Its cost does not depend on n: each node's distinct neighbourhood patterns are counted once. It also is the start of the
algorithms that sample, then always with the uniform prior's pseudo-counts, so that it is finite.
"""

from __future__ import annotations

import numpy as np

from mrfbayes.data.statistics import Statistics
from mrfbayes.estimation.full_conditionals import Conditionals
from mrfbayes.estimation.godambe import information
from mrfbayes.estimation.optimise import Ascent, Penalised, Report, lbfgs, silent
from mrfbayes.estimation.result import Outcome, Recorder, Task
from mrfbayes.model.field import Model
from mrfbayes.priors import Prior


class PseudoObjective(Penalised):
    """Log pseudolikelihood, plus the log prior where there is one."""

    def __init__(self, model: Model, stats: Statistics, prior: Prior | None) -> None:
        super().__init__(model, stats, prior)
        self.conditionals = Conditionals.of(model, stats)

    def _value_gradient(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        return self.conditionals.value_gradient(w)

    def _diagonal(self, w: np.ndarray) -> np.ndarray:
        return self.conditionals.diagonal(w)

    def _information(self, w: np.ndarray) -> np.ndarray:
        return information(self.model, self.stats, w)


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
    recorder = Recorder(task)
    ascent = pseudo_estimate(task.model, task.stats, task.prior, recorder.ascent, tolerance)
    return recorder.outcome(ascent)
