"""Particle-filtered MCMC-MLE (Asuncion, Liu, Ihler & Smyth 2010): weights, resampling, and sweeps as rejuvenation.

Particles start at the data. In each round the weighted moment equation is solved, particles are resampled by their
weights and moved by a few sweeps at the new w. Rounds are averaged after a warm-up, over two independent half-runs.
"""

from __future__ import annotations

import time

import numpy as np

from mrfbayes.estimate.chains import Chains, make_chains
from mrfbayes.estimate.check import check
from mrfbayes.estimate.descent import HALVES, Precondition, start_point, whole
from mrfbayes.estimate.importance import refuse_many_parameters, solve, weights_at
from mrfbayes.estimate.result import Outcome, Recorder, Task
from mrfbayes.moments import row_statistics
from mrfbayes.streams import generator, kernel_state

WARM_UP = 20


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
    refuse_many_parameters(task, "pf-mcmc-mle")
    particles, sweeps, steps = whole(particles, "particles"), whole(sweeps, "sweeps"), whole(steps, "steps")
    recorder = Recorder(task.model.n_parameters, time.perf_counter)
    w = start_point(task, start)
    halves = [_Half(task, k, particles, w) for k in range(HALVES)]
    noise = np.inf
    for step in range(1, WARM_UP + steps + 1):
        for half in halves:
            half.advance(sweeps, averaged=step > WARM_UP)
        if step == WARM_UP:
            rows = np.concatenate([half.chains.rows() for half in halves])
            precondition = Precondition(task, rows, halves[0].w)
        if step <= WARM_UP:
            continue
        means = [half.total / (step - WARM_UP) for half in halves]
        noise = float(np.sqrt(np.mean(((means[0] - means[1]) / precondition.sd) ** 2))) / 2
        recorder.add(step, noise, (halves[0].w + halves[1].w) / 2)
        task.progress.update(step / (WARM_UP + steps), f"noise {noise:.2g} sd")
        if noise < tolerance and step >= 4 * WARM_UP:
            break
    w = (means[0] + means[1]) / 2
    own = precondition.moments((means[0] - means[1]) / 2)
    unit = precondition.variance / task.stats.n
    checked = check(task, w, precondition.variance, float(np.sqrt(np.mean(own**2 / unit))), None)
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
        self.total = np.zeros(w.size)
        self.chains.sweep(self.w, 10)

    def advance(self, sweeps: int, averaged: bool) -> None:
        """One round: solve, resample, rejuvenate."""
        rows = self.chains.rows()
        table = row_statistics(self.task.model, rows)
        found, _ = solve(self.task, table, self.w, max_iterations=6)
        weight = weights_at(table, found - self.w)
        self.w = found
        if averaged:
            self.total += found
        # Systematic resampling: one uniform number, evenly spaced ticks.
        ticks = (np.arange(weight.size) + self.random.random()) / weight.size
        self.chains.load(rows[np.searchsorted(np.cumsum(weight), ticks * weight.sum(), side="left")])
        self.chains.sweep(self.w, sweeps)
