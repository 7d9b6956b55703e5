"""Exact maximum likelihood, or posterior mode, where log Z is feasible: quasi-Newton or Newton."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mrfbayes.base.errors import CostError
from mrfbayes.data.statistics import Statistics
from mrfbayes.estimation.optimise import Ascent, Penalised, lbfgs, newton
from mrfbayes.estimation.result import Outcome, Recorder, Task
from mrfbayes.exact import quantities as exact
from mrfbayes.exact.choice import is_feasible, planar_size, recursion, takes_planar
from mrfbayes.exact.clamped import observed
from mrfbayes.model.field import Model
from mrfbayes.priors import Prior

NEWTON_CELL_SECONDS = 6e-9  # of one pass for expected counts, per table cell
AUTO_MLE_SECONDS = 20.0  # what `auto` is ready to wait for
EVALUATIONS = 40
CONFIRMED_STEP = 1e-3  # posterior sds
ALONE = 0.7  # saves a tenth of the steps on weak fields, a third on strong ones


def predicted_seconds(model: Model) -> float:
    """About how long an exact estimate takes; infinite where its tables would not fit into memory."""
    if takes_planar(model, "moments"):
        size = planar_size(model)
        assert size is not None
        return EVALUATIONS * size.seconds("moments")
    if not is_feasible(model):
        return float("inf")
    known = recursion(model)
    on_grid = model.grid_shape is not None and model.is_binary
    cells = model.n_nodes * 2.0**known.width if on_grid else known.n_bytes("moments") / 8
    return EVALUATIONS * NEWTON_CELL_SECONDS * cells


class ExactObjective(Penalised):
    """Log-likelihood w.s - n A(w), and the sums over missing cells; plus the log prior where there is one."""

    def __init__(self, model: Model, stats: Statistics, prior: Prior | None) -> None:
        super().__init__(model, stats, prior)
        self.min_curvature = 1e-6 * stats.n_all
        self.observed = observed(stats)
        self._known: tuple[np.ndarray, tuple[float, np.ndarray]] | None = None

    def start(self) -> np.ndarray:
        """Log-odds to ascend from: no interaction; on planar fields a share of what each coin alone shows."""
        stats, model = self.stats, self.model
        if not (takes_planar(model, "moments") and model.chart.all_coins):
            return np.zeros(model.n_parameters)
        tosses = stats.n * model.chart.tosses[model.chart.block_of]
        mean = (stats.counts + 0.5) / (tosses + 1)
        return np.asarray(ALONE * (np.log(mean) - np.log1p(-mean)))

    def _moments(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """A(w) and E[s], of which the last are remembered: value and curvature are asked for at the same places."""
        if self._known is None or not np.array_equal(self._known[0], w):
            self._known = w.copy(), exact.moments_w(self.model, w)
        return self._known[1]

    def _value_gradient(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        return self.observed.value_gradient(w, *self._moments(w))

    def mean(self, w: np.ndarray) -> np.ndarray:
        """E[s] (p,)."""
        return self._moments(w)[1]

    def _information(self, w: np.ndarray) -> np.ndarray:
        """n Cov[s], less the Cov[s | seen] of rows with missing cells."""
        return self.observed.information(w, exact.covariance_w(self.model, w))

    def _diagonal(self, w: np.ndarray) -> np.ndarray:
        """That of `_information` for coins that are tossed once, of its order otherwise."""
        chart = self.model.chart
        tosses = chart.tosses[chart.block_of]
        share = np.clip(self.mean(w) / tosses, 1e-9, 1 - 1e-9)
        centred = 0.25 / chart.sides[chart.block_of]  # about: 1/20 for two variables of three states
        return np.asarray(
            self.stats.n_all * np.where(chart.is_counted[chart.block_of], tosses * share * (1 - share), centred)
        )


OPTIMISERS: dict[str, Callable[..., Ascent]] = {"lbfgs": lbfgs, "newton": newton}


def refuse(model: Model) -> None:
    """Refuse a field of which log Z is out of reach."""
    if predicted_seconds(model) == float("inf"):
        raise CostError(f"algorithm = 'exact' needs log Z, which is not feasible on {model!r}: use 'pcd' or 'auto'.")


def run(task: Task, *, start: np.ndarray | None = None, optimiser: str = "lbfgs") -> Outcome:
    """Climb the exact log-likelihood (or log posterior).

    Parameters
    ----------
    start : (p,) theta to start from; default no interaction, or what coins of a wide planar field show alone
    optimiser : "lbfgs", or "newton", which needs the covariance of s at every step: p passes instead of one
    """
    model = task.model
    objective = ExactObjective(model, task.stats, task.prior)
    w = objective.start() if start is None else model.chart.log_odds(model.theta(start, "start"))
    recorder = Recorder(task)
    ascent = OPTIMISERS[optimiser](objective, w, report=recorder.ascent)
    outcome = recorder.outcome(ascent)
    outcome.details["optimiser"] = optimiser
    stable = exact.stable_mean_w(model, ascent.w) if ascent.converged else None
    if stable is not None:
        # The ascent went by the quick gradient; the maximum is confirmed by the stable one.
        _, gradient = objective.value_gradient(ascent.w)
        gradient = gradient + task.stats.n_all * (objective.mean(ascent.w) - stable)
        confirmed = float(np.abs(gradient / np.sqrt(objective.diagonal(ascent.w))).max(initial=0.0))
        outcome.details["confirmed_step"] = confirmed
        if confirmed > CONFIRMED_STEP:
            outcome.warnings.append(
                f"the stable gradient is still {confirmed:.1g} posterior sds where the ascent ended"
            )
    return outcome
