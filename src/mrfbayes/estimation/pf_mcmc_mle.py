"""Particle-filtered MCMC-MLE (Asuncion, Liu, Ihler & Smyth 2010): weights, resampling, and sweeps as rejuvenation.

Particles start at the data. In each round the weighted moment equation is solved, particles are resampled by their
weights and moved by a few sweeps at the new w. Rounds are averaged after a warm-up, over two independent half-runs.
"""

from __future__ import annotations

import time

import numpy as np

from mrfbayes.base.random_streams import generator, kernel_state
from mrfbayes.estimation.check import Room, check
from mrfbayes.estimation.result import Outcome, Recorder, Task
from mrfbayes.estimation.reweighting import refuse_many_parameters, solve, weights_at
from mrfbayes.estimation.stochastic_ascent import HALVES, Precondition, noise_of, own_error, start_point
from mrfbayes.model.field import Model
from mrfbayes.particles.ensembles import Chains, make_chains
from mrfbayes.particles.moments import row_statistics

FILTER_WARM_UP = 20
FIRST_LOOK = 40
FILTER_BATCHES = 8


def refuse(model: Model) -> None:
    """Refuse a field of too many parameters."""
    refuse_many_parameters(model, "pf-mcmc-mle")


def run(
    task: Task,
    *,
    particles: int = 2_048,
    sweeps: int = 2,
    steps: int = 1_000,
    tolerance: float = 0.03,
    start: np.ndarray | None = None,
) -> Outcome:
    """Particle-filtered Monte Carlo maximum likelihood from the pseudolikelihood start.

    Parameters
    ----------
    particles : per half-run
    sweeps : Gibbs sweeps of rejuvenation in each round
    steps : rounds at most
    tolerance : rms noise of the estimate, in posterior sds, at which to stop
    start : (p,) theta to start from; default the pseudolikelihood estimate
    """
    recorder = Recorder(task.model.n_parameters, time.perf_counter)
    w = start_point(task, start)
    halves = [_Half(task, k, particles, w) for k in range(HALVES)]
    for _ in range(FILTER_WARM_UP):
        for half in halves:
            half.advance(sweeps)
    precondition = Precondition(task, np.concatenate([half.chains.rows() for half in halves]), halves[0].w)
    course: list[np.ndarray] = []
    noise, tails, look = np.inf, [w, w], FIRST_LOOK
    for step in range(1, steps + 1):
        course.append(np.stack([half.advance(sweeps) for half in halves]))
        # Looked at seldom: a test at every step would end at the first lucky one.
        if step < look and step < steps:
            continue
        look *= 2
        tails = list(np.mean(course, axis=0))
        count = min(FILTER_BATCHES, step)
        batches = np.stack([np.mean(part, axis=0) for part in np.array_split(np.array(course), count)])
        noise = noise_of(batches, tails, precondition.sd) if count > 1 else np.inf
        recorder.add(step, noise, (tails[0] + tails[1]) / 2)
        task.report(step / steps, f"noise {noise:.2g} sd")
        if noise < tolerance:
            break
    w = (tails[0] + tails[1]) / 2
    own = own_error(task, precondition, tails, noise)
    checked = check(task, w, precondition.variance, own, Room([half.chains for half in halves]))
    outcome = Outcome(w, checked.passed, checked.residual, step, recorder)
    outcome.monte_carlo_error = checked.error
    outcome.standard_error = noise * precondition.sd
    outcome.details |= {"particles": HALVES * particles, "noise": noise, **checked.details}
    outcome.warnings += checked.warnings
    return outcome


class _Half:
    """One of the independent particle filters."""

    def __init__(self, task: Task, k: int, n_particles: int, w: np.ndarray) -> None:
        self.task, self.w = task, w.copy()
        self.chains: Chains = make_chains(task.model, n_particles, kernel_state(task.seed, "half", k))
        self.random = generator(task.seed, "resample", k)
        self.chains.start_at_data(task.stats, generator(task.seed, "start", k))
        self.chains.sweep(self.w, 10)

    def advance(self, sweeps: int) -> np.ndarray:
        """One round: solve, resample, rejuvenate; the w that was found."""
        rows = self.chains.rows()
        table = row_statistics(self.task.model, rows)
        found, _ = solve(self.task, table, self.w, max_iterations=6)
        weight = weights_at(table, found - self.w)
        self.w = found
        # Systematic resampling: one uniform number, evenly spaced ticks.
        ticks = (np.arange(weight.size) + self.random.random()) / weight.size
        self.chains.load(rows[np.searchsorted(np.cumsum(weight), ticks * weight.sum(), side="left")])
        self.chains.sweep(self.w, sweeps)
        return found
