"""Chains of split Hamiltonian Monte Carlo: what they share, where they start, and how they advance.

The likelihood's gradient is a kernel chosen by the type of its view, and then the whole chain is compiled; or a Python
function, and then the compiled parts of a trajectory are called around it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mrfbayes.base.random_streams import generator, kernel_state
from mrfbayes.base.types import View, with_own_workspace
from mrfbayes.kernels.run import hmc
from mrfbayes.kernels.run.chain import LOG_SCALE, LOG_TARGET
from mrfbayes.kernels.run.hmc import HmcState, Metric
from mrfbayes.priors import HEAVY_REACH, Prior
from mrfbayes.run.workers import Chunk, Metropolis, State

Gradient = Callable[[np.ndarray], tuple[float, np.ndarray]]
FIRST_LEAPS = 2.0  # per trajectory, before warm-up has learned how many it takes
MOST_HEAVY_PARAMETERS = 1_000  # for which the axes are found: a second of work
NEARER, MOST_START_TRIALS = 0.7, 40  # a start that is none comes nearer to the mode by this factor, so often at most


def make_metric(mode: np.ndarray, information: np.ndarray, prior: Prior | None = None) -> Metric:
    """The Gaussian at the mode in the form that kernels take.

    Parameters
    ----------
    mode : (p,) log-odds
    information : (p, p) minus the second derivatives of the log posterior, or (p,) their diagonal
    prior : looked at for directions whose tails are those of a Cauchy prior
    """
    from scipy.linalg.lapack import dtrtri

    heavy = np.zeros((0, mode.size))
    if information.ndim == 1:
        largest = float(information.max(initial=1.0))
        factor = 1.0 / np.sqrt(np.maximum(information, 1e-12 * largest))[None]
    else:
        lower = _cholesky(information)
        factor = dtrtri(lower, lower=1)[0].T
        if prior is not None:
            heavy = heavy_directions(lower, prior)
    return Metric(np.array(mode, dtype=float), np.ascontiguousarray(factor, dtype=np.float32), heavy)


def heavy_directions(lower: np.ndarray, prior: Prior) -> np.ndarray:
    """(k, p) unit vectors in y = L'(w - m) along which a Cauchy prior, not the data, bounds the posterior.

    They are the principal axes of the Gaussian at the mode that reach as far as the prior's own scale.
    """
    scale = prior.heavy_scale
    if not np.isfinite(scale).any() or len(lower) > MOST_HEAVY_PARAMETERS:
        return np.zeros((0, len(lower)))
    values, vectors = np.linalg.eigh(lower @ lower.T)
    reach = np.abs(vectors) / scale[:, None] / np.sqrt(np.maximum(values, 1e-300))
    axes = (lower.T @ vectors)[:, reach.max(axis=0) > HEAVY_REACH]
    return np.ascontiguousarray((axes / np.linalg.norm(axes, axis=0)).T)


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
    p = metric.mode.size
    if log_odds is None:
        position = generator(seed, "start").standard_normal(p)
    else:
        factor = metric.factor.astype(float) if len(metric.factor) == p else np.diag(metric.factor[0].astype(float))
        position = np.linalg.solve(factor, log_odds - metric.mode)
    numbers = np.zeros(hmc.N_HMC_NUMBERS)
    numbers[LOG_TARGET] = np.nan  # not evaluated yet
    numbers[LOG_SCALE] = math.log(FIRST_LEAPS)
    state: State = {name: np.zeros(p) for name in hmc.HmcState._fields}
    counters = np.zeros(hmc.N_HMC_COUNTERS, dtype=np.int64)
    random = kernel_state(seed, "trajectories")
    return state | {"position": position, "numbers": numbers, "counters": counters, "random": random}


@dataclass(frozen=True)
class HmcTask(Metropolis):
    """Everything about the chains that does not change.

    Attributes
    ----------
    gradient : a view whose kernel fulfils ``log_likelihood_gradient``, or a function that gives value and gradient of
        the log-likelihood at log-odds w
    metric, prior, settings : as the kernels take them
    is_start_given : whether the chains start where they were told to; otherwise a start that is far less probable than
        the Gaussian has it (beyond a wall that the curvature at the mode does not show) is moved towards the mode
    """

    gradient: View | Gradient
    metric: Metric
    is_start_given: bool = False

    def advance(self, state: State, n_steps: int) -> Chunk:
        """``n_steps`` more trajectories from ``state``, which is left as it was; none at all evaluates the start."""
        state = {name: array.copy() for name, array in state.items()}
        chain, kept = hmc.HmcState(**state), self.kept_draws(state, n_steps)
        gradient = self.gradient if callable(self.gradient) else with_own_workspace(self.gradient)
        if math.isnan(chain.numbers[LOG_TARGET]):
            self._evaluate_start(chain, gradient)
        if not callable(gradient):
            hmc.run_hmc((gradient, self.metric), self.prior, self.settings, chain, kept, n_steps)
        else:
            for _ in range(n_steps):
                for _ in range(hmc.begin(self.metric, chain)):
                    hmc.leap(self.metric, chain)
                    hmc.pull(self.metric, self.prior, chain, _evaluate(gradient, chain, chain.log_odds_proposal))
                hmc.decide(self.metric, self.settings, self.prior, chain, kept)
        return self.chunk(state, kept)

    def _evaluate_start(self, chain: HmcState, gradient: View | Gradient) -> None:
        """Evaluate the start, after moving it where it is no start."""
        p, position = chain.position.size, chain.position.copy()
        least = -math.inf
        if not self.is_start_given:
            chain.position[:] = 0.0
            # Draws of a Gaussian are p/2 nats below its mode, with a standard deviation of sqrt(p/2).
            least = self._log_target(chain, gradient) - 0.5 * p - 6.0 * math.sqrt(0.5 * p) - 10.0
            chain.position[:] = position
        for _ in range(MOST_START_TRIALS):
            if self._log_target(chain, gradient) >= least:
                return
            chain.position[:] *= NEARER

    def _log_target(self, chain: HmcState, gradient: View | Gradient) -> float:
        if callable(gradient):
            hmc.to_log_odds(self.metric, chain.position, chain.log_odds)
            hmc.evaluate_start(self.metric, self.prior, chain, _evaluate(gradient, chain, chain.log_odds))
        else:
            hmc.start_hmc((gradient, self.metric), self.prior, chain)
        return float(chain.numbers[LOG_TARGET])


def _evaluate(gradient: Gradient, chain: HmcState, log_odds: np.ndarray) -> float:
    """The log-likelihood at ``log_odds``, not a number where it cannot be told; its gradient into the state."""
    try:
        value, chain.gradient[:] = gradient(log_odds)
    except ArithmeticError:
        chain.gradient[:] = 0.0
        return math.nan
    return float(value)
