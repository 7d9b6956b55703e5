"""Chains of split Hamiltonian Monte Carlo: what they share, where they start, and how they advance.

The likelihood's gradient is a kernel chosen by the type of its view, and then the whole chain is compiled; or a Python
function, and then the compiled parts of a trajectory are called around it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mrfbayes.run.workers import Chunk, State
from mrfbayes.streams import generator, kernel_state

if TYPE_CHECKING:
    from mrfbayes.kernels.run.hmc import HmcSettings, HmcState, Metric

Gradient = Callable[[np.ndarray], tuple[float, np.ndarray]]
FIRST_LEAPS = 2.0  # a trajectory, before warm-up has learned how many it takes


def make_metric(mode: np.ndarray, information: np.ndarray) -> Metric:
    """The Gaussian at the mode in the form that kernels take.

    Parameters
    ----------
    mode : (p,) log-odds
    information : (p, p) minus the second derivatives of the log posterior, or (p,) their diagonal
    """
    from mrfbayes.kernels.run.hmc import Metric

    if information.ndim == 1:
        largest = float(information.max(initial=1.0))
        factor = np.sqrt(np.maximum(information, 1e-12 * largest))
    else:
        lower = _cholesky(information)
        factor = np.concatenate([np.zeros(0), *(row[: i + 1] for i, row in enumerate(lower))])
    return Metric(np.array(mode, dtype=float), np.ascontiguousarray(factor, dtype=np.float32))


def _cholesky(information: np.ndarray) -> np.ndarray:
    """Lower factor; a prior that is not log-concave may need the diagonal raised."""
    raised = 0.0
    while True:
        try:
            return np.linalg.cholesky(information + raised * np.eye(len(information)) if raised else information)
        except np.linalg.LinAlgError:
            raised = 4.0 * raised or 1e-10 * float(np.abs(np.diag(information)).max())


def initial_state(metric: Metric, seed: np.random.SeedSequence, log_odds: np.ndarray | None = None) -> State:
    """The state of one chain before its first step, at ``log_odds`` or at a draw of the Gaussian."""
    from mrfbayes.kernels.run import hmc

    p = metric.mode.size
    if log_odds is None:
        position = generator(seed, "start").standard_normal(p)
    else:
        position = _to_position(metric, log_odds)
    numbers = np.zeros(hmc.N_HMC_NUMBERS)
    numbers[hmc.LOG_TARGET] = np.nan  # not evaluated yet
    numbers[hmc.LOG_SCALE] = math.log(FIRST_LEAPS)
    state: State = {name: np.zeros(p) for name in hmc.HmcState._fields}
    counters = np.zeros(hmc.N_HMC_COUNTERS, dtype=np.int64)
    random = kernel_state(seed, "trajectories")
    return state | {"position": position, "numbers": numbers, "counters": counters, "random": random}


def _to_position(metric: Metric, log_odds: np.ndarray) -> np.ndarray:
    """y = L'(w - m)."""
    away = log_odds - metric.mode
    if metric.factor.size == away.size:
        return np.asarray(metric.factor * away)
    position, start = np.zeros(away.size), 0
    for i, step in enumerate(away):
        position[: i + 1] += step * metric.factor[start : start + i + 1]
        start += i + 1
    return position


@dataclass(frozen=True)
class HmcTask:
    """Everything about the chains that does not change.

    Attributes
    ----------
    gradient : a view whose kernel fulfils ``log_likelihood_gradient``, or a function that gives value and gradient of
        the log-likelihood at log-odds w
    metric, prior, settings : as the kernels take them
    """

    gradient: Any
    metric: Metric
    prior: Any
    settings: HmcSettings

    def advance(self, state: State, n_steps: int) -> Chunk:
        """``n_steps`` more trajectories from ``state``, which is left as it was; none at all evaluates the start."""
        from mrfbayes.kernels.chain import KEPT, KeptDraws
        from mrfbayes.kernels.run import hmc

        state = {name: array.copy() for name, array in state.items()}
        chain = hmc.HmcState(**state)
        first = int(chain.counters[KEPT])
        rows = n_steps // self.settings.n_thin + 1
        kept = KeptDraws(np.empty((rows, chain.theta.size)), np.empty(rows), first)
        if callable(self.gradient):
            self._advance_around(self.gradient, chain, kept, n_steps)
        else:
            hmc.run_hmc((self.gradient, self.metric), self.prior, self.settings, chain, kept, n_steps)
        count = int(chain.counters[KEPT]) - first
        return Chunk(state, kept.theta[:count], kept.log_likelihood[:count])

    def _advance_around(self, gradient: Gradient, chain: HmcState, kept: Any, n_steps: int) -> None:
        """The same trajectories as those of `mrfbayes.kernels.run.hmc.run_hmc`, around a Python function."""
        from mrfbayes.kernels.run import hmc

        if math.isnan(chain.numbers[hmc.LOG_TARGET]):
            hmc.to_log_odds(self.metric, chain.position, chain.log_odds)
            hmc.settle_start(self.metric, self.prior, chain, _evaluate(gradient, chain))
        for _ in range(n_steps):
            for _ in range(hmc.begin(chain)):
                hmc.leap(self.metric, chain)
                hmc.pull(self.metric, self.prior, chain, _evaluate(gradient, chain))
            hmc.decide(self.settings, self.prior, chain, kept)


def _evaluate(gradient: Gradient, chain: HmcState) -> float:
    """The log-likelihood where the trajectory is, not a number where it cannot be told; its gradient into the state."""
    try:
        value, chain.gradient[:] = gradient(chain.log_odds)
    except ArithmeticError:
        chain.gradient[:] = 0.0
        return math.nan
    return float(value)
