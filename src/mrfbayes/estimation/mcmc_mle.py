"""Geyer's Monte Carlo maximum likelihood (1991): one sample at w0, the likelihood ratio to w0 by importance weights.

The sample is renewed at the new w until a step stays inside the trust region and moves by less than the noise. The last
sample is the largest. Two independent halves of it are solved apart; their difference is the noise.
"""

from __future__ import annotations

import time

import numpy as np

from mrfbayes.base.random_streams import generator, kernel_state
from mrfbayes.estimation.check import Room, check
from mrfbayes.estimation.result import Outcome, Recorder, Task
from mrfbayes.estimation.reweighting import refuse_many_parameters, solve, weights_at
from mrfbayes.estimation.stochastic_ascent import HALVES, Precondition, own_error, start_point
from mrfbayes.model.field import Model
from mrfbayes.particles.ensembles import Chains, make_chains
from mrfbayes.particles.moments import row_statistics

TABLE_CELLS = 2e7  # statistics kept at once: 160 MB
MAX_ITERATIONS = 30


def refuse(model: Model) -> None:
    """Refuse a field of too many parameters."""
    refuse_many_parameters(model, "mcmc-mle")


def run(
    task: Task,
    *,
    particles: int = 2_048,
    sweeps: int = 10,
    tolerance: float = 0.03,
    start: np.ndarray | None = None,
) -> Outcome:
    """Monte Carlo maximum likelihood from the pseudolikelihood start.

    Parameters
    ----------
    particles : per half
    sweeps : Gibbs sweeps between two samples of the same particles
    tolerance : rms noise of the estimate, in posterior sds: the last sample is made as large as that needs, if it fits
    start : (p,) theta to start from; default the pseudolikelihood estimate
    """
    recorder = Recorder(task.model.n_parameters, time.perf_counter)
    w = start_point(task, start)
    halves = [make_chains(task.model, particles, kernel_state(task.seed, "half", k)) for k in range(HALVES)]
    for k, chains in enumerate(halves):
        chains.start_at_data(task.stats, generator(task.seed, "start", k))
    times = 1
    most = max(1, int(TABLE_CELLS / (HALVES * particles * max(task.model.n_parameters, 1))))
    noise, solved = np.inf, [w, w]
    for iteration in range(MAX_ITERATIONS):
        tables = [_sample(task, chains, w, times, sweeps) for chains in halves]
        precondition = Precondition(task, np.concatenate([chains.rows() for chains in halves]), w)
        found = [solve(task, table, w) for table in tables]
        solved = [w_half for w_half, _ in found]
        inside = all(reached for _, reached in found)
        step = (solved[0] + solved[1]) / 2 - w
        w = w + step
        size = float(np.sqrt(np.mean((step / precondition.sd) ** 2)))
        noise = _noise(tables, particles, solved, w - step, precondition)
        recorder.add(iteration, size, w)
        task.report(iteration / MAX_ITERATIONS, f"step {size:.2g} sd, noise {noise:.2g} sd")
        if not inside:
            continue
        if size < 4 * noise and (noise < tolerance or times == most):
            break
        # Inside the trust region the only thing left is noise: as many more samples as it asks for.
        times = int(min(most, max(2 * times, np.ceil(times * min((noise / tolerance) ** 2, 64)))))
    own = own_error(task, precondition, solved, noise)
    checked = check(task, w, precondition.variance, own, Room(halves))
    outcome = Outcome(w, checked.passed, checked.residual, iteration + 1, recorder)
    outcome.monte_carlo_error = checked.error
    outcome.standard_error = noise * precondition.sd
    outcome.details |= {"particles": HALVES * particles, "samples": times, "noise": noise, **checked.details}
    outcome.warnings += checked.warnings
    return outcome


def _noise(
    tables: list[np.ndarray], particles: int, solved: list[np.ndarray], w0: np.ndarray, precondition: Precondition
) -> float:
    """Rms Monte-Carlo error in posterior sds: from the two halves, and from the particles, which are independent."""
    apart = (solved[0] - solved[1]) / (2 * precondition.sd)
    total = np.zeros(w0.size)
    for table, w in zip(tables, solved, strict=True):
        weight = weights_at(table, w - w0)
        moved = precondition(((table - weight @ table) * weight[:, None]).T).T
        per_particle = moved.reshape(-1, particles, w0.size).sum(axis=0)
        total += np.sum(per_particle**2, axis=0) / HALVES**2
    return float(np.sqrt(max(np.mean(apart**2), np.mean(total / precondition.sd**2))))


def _sample(task: Task, chains: Chains, w: np.ndarray, times: int, sweeps: int) -> np.ndarray:
    """Statistics (times * particles, p) of the particles, ``sweeps`` sweeps apart."""
    chains.sweep(w, 5 * sweeps)
    tables = []
    for _ in range(times):
        chains.sweep(w, sweeps)
        tables.append(row_statistics(task.model, chains.rows()))
    return np.concatenate(tables)
