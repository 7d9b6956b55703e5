"""Where chains start, and with what proposal."""

from __future__ import annotations

import math

import numpy as np

from mrfbayes.base.random_streams import child, generator, kernel_state
from mrfbayes.methods.problem import Prepared, Problem
from mrfbayes.posterior.auto import DENSE_LIMIT
from mrfbayes.posterior.settings import Plan
from mrfbayes.run.workers import State

PRINTED_VARIANCE = 0.001  # sigma_Q^2, Sec. 3.3


def typical_spread(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """Centre and standard deviation of each log-odds, as if every factor stood alone: for starts and proposals.

    Outcome frequencies with one pseudo-count an outcome; at an estimate where one is at hand.
    """
    chart, statistics = problem.model.chart, problem.statistics
    frequency = statistics.shrunken_frequency
    counted = statistics.n * chart.tosses[chart.block_of] + chart.sides[chart.block_of]
    information = counted * frequency * (1 - frequency)
    centre = problem.estimate.log_odds if problem.has_estimate else chart.log_odds(frequency)
    return np.asarray(centre), 1.0 / np.sqrt(information)


def initial_states(problem: Problem, prepared: Prepared, plan: Plan, shape: np.ndarray | None = None) -> list[State]:
    """One state per chain; ``shape`` is the lower Cholesky factor that the random walk starts with, if one is known."""
    from mrfbayes.kernels.run import chain

    model, p = problem.model, problem.model.n_parameters
    if isinstance(plan.start, str) and plan.start == "mle":
        problem.estimate  # noqa: B018 (made here, so that the centre below is the estimate)
    centre, sd = typical_spread(problem)
    is_dense = plan.proposal == "adapted" and p <= DENSE_LIMIT
    rows = p if is_dense else 1
    states = []
    for number in range(plan.chains):
        seed = child(problem.seed, "chain", number)
        if not isinstance(plan.start, str):
            theta = plan.start.copy()
        elif plan.start == "half":
            theta = model.no_interaction.copy()
        elif plan.start == "mle":
            theta = model.chart.theta(centre)
        else:
            theta = model.chart.theta(centre + 1.5 * sd * generator(seed, "start").standard_normal(p))
        spread = np.zeros((rows, p))
        if plan.proposal == "printed":
            spread[0] = math.sqrt(PRINTED_VARIANCE)
        else:
            at = model.chart.theta(centre)
            scale = np.maximum(at * (1 - at) * sd, 1e-12)
            spread[np.arange(p) if is_dense else 0, np.arange(p)] = scale
            if shape is not None and is_dense:
                spread[:] = shape.T
        numbers = np.zeros(chain.N_NUMBERS)
        numbers[chain.LOG_TARGET] = np.nan
        numbers[chain.LOG_SCALE] = 0.0 if plan.proposal == "printed" else math.log(2.38 / math.sqrt(max(p, 1)))
        counters = np.zeros(chain.N_COUNTERS, dtype=np.int64)
        counters[chain.WINDOW_END] = chain.FIRST_WINDOW
        state: State = {
            "theta": theta,
            "proposal": np.zeros(p),
            "normals": np.zeros(p),
            "spread": spread,
            "window_mean": np.zeros(p),
            "window_square": np.zeros((rows, p)),
            "mean": np.zeros(p),
            "square": np.zeros(p),
            "numbers": numbers,
            "counters": counters,
            "random": kernel_state(seed, "moves"),
        }
        if prepared.carry is not None:
            carried = prepared.carry(child(seed, "carry"), theta)
            state |= {f"view.{name}": array for name, array in carried.items()}
        states.append(state)
    return states
