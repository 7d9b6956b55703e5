"""Monte Carlo maximum likelihood by weighted particles: Geyer's (1991), and its particle-filtered form.

A sample from the field at w0 gives expectations at a nearby w by weights exp((w - w0).s); the weighted moment equation
is solved by Newton's method, not further away than the weights stay even.

- "mcmc-mle": the sample is renewed at the new w until a step stays inside the trust region and moves by less than the
  noise. The last sample is the largest. Two independent halves of it are solved apart; their difference is the noise.
- "pf-mcmc-mle" (Asuncion, Liu, Ihler & Smyth 2010): particles start at the data. In each round the equation is solved,
  particles are resampled by their weights and moved by a few sweeps at the new w. Rounds are averaged after a warm-up,
  over two independent half-runs.
"""

from __future__ import annotations

import numpy as np

from mrfbayes.base.errors import CostError
from mrfbayes.base.random_streams import generator, kernel_state
from mrfbayes.estimation.optimise import MAX_LOG_ODDS, less_hessian
from mrfbayes.estimation.result import Outcome, Recorder, Task
from mrfbayes.estimation.stochastic_ascent import HALVES, Precondition, checked_outcome, noise_of, start_point
from mrfbayes.model.field import Model
from mrfbayes.particles.ensembles import Chains, make_chains
from mrfbayes.particles.moments import row_statistics

MAX_PARAMETERS = 2_000
MIN_EVENNESS = 0.25  # effective share of the particles below which weights are not trusted
TABLE_CELLS = 2e7  # statistics kept at once: 160 MB
MAX_ITERATIONS = 30
FILTER_WARM_UP = 20
FIRST_LOOK = 40
FILTER_BATCHES = 8


def refuse(model: Model) -> None:
    """Refuse a field of too many parameters: every particle's statistics are kept."""
    if model.n_parameters > MAX_PARAMETERS:
        raise CostError(
            f"algorithm = 'mcmc-mle' or 'pf-mcmc-mle' weights particles by all {model.n_parameters} statistics (limit "
            f"{MAX_PARAMETERS}): use 'pcd'."
        )


def weights_at(table: np.ndarray, shift: np.ndarray) -> np.ndarray:
    """Normalised weights (N,) exp(s.shift) of the particles with statistics ``table`` (N, p)."""
    log_weight = table @ shift
    log_weight -= log_weight.max()
    weight = np.exp(log_weight)
    return np.asarray(weight / weight.sum())


def evenness(weight: np.ndarray) -> float:
    """Effective share of the particles: 1 for equal weights."""
    return float(1.0 / (weight.size * np.sum(weight**2)))


def solve(task: Task, table: np.ndarray, w0: np.ndarray, max_iterations: int = 20) -> tuple[np.ndarray, bool]:
    """w at which the weighted particles have the observed mean (plus the prior's gradient), and whether it was reached.

    Stops on the way where the weights become too uneven: the caller samples afresh from there.
    """
    n, p = task.stats.n, w0.size
    w = w0.copy()
    for _ in range(max_iterations):
        weight = weights_at(table, w - w0)
        mean = weight @ table
        centred = table - mean
        information = (centred * weight[:, None]).T @ centred
        gradient = task.stats.mean + task.prior_gradient(w) - mean
        if task.prior is not None:
            information = less_hessian(information, task.prior.hessian_w(w) / n)
        information[np.diag_indices(p)] += 1e-9 + 1e-6 * np.diag(information)
        move = np.linalg.solve(information, gradient)
        size = float(np.sqrt(max(n * float(gradient @ move), 0.0)))
        step = min(1.0, 2.0 / max(float(np.abs(move).max(initial=0.0)), 1e-300))
        while evenness(weights_at(table, w + step * move - w0)) < MIN_EVENNESS:
            step /= 2
            if step < 1e-3:
                return w, False
        w = np.clip(w + step * move, -2 * MAX_LOG_ODDS, 2 * MAX_LOG_ODDS)
        if size < 1e-4:
            return w, True
        if step < 1.0 and evenness(weights_at(table, w - w0)) < 1.5 * MIN_EVENNESS:
            return w, False
    return w, size < 1e-3


def mcmc_mle(
    task: Task, *, particles: int = 2_048, sweeps: int = 10, tolerance: float = 0.03, start: np.ndarray | None = None
) -> Outcome:
    """Monte Carlo maximum likelihood from the pseudolikelihood start.

    Parameters
    ----------
    particles : per half
    sweeps : Gibbs sweeps between two samples of the same particles
    tolerance : rms noise of the estimate, in posterior sds: the last sample is made as large as that needs, if it fits
    start : (p,) theta to start from; default the pseudolikelihood estimate
    """
    recorder = Recorder(task)
    w = start_point(task, start)
    halves = [_chains_at_data(task, k, particles) for k in range(HALVES)]
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
    facts = {"particles": HALVES * particles, "samples": times, "noise": noise}
    return checked_outcome(
        task, precondition, solved, noise, halves, Outcome(w, False, 0.0, iteration + 1, recorder), facts
    )


def pf_mcmc_mle(
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
    recorder = Recorder(task)
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
    outcome = Outcome((tails[0] + tails[1]) / 2, False, 0.0, step, recorder)
    facts = {"particles": HALVES * particles, "noise": noise}
    return checked_outcome(task, precondition, tails, noise, [half.chains for half in halves], outcome, facts)


def _chains_at_data(task: Task, k: int, n_particles: int) -> Chains:
    """The particles of half-run k, at rows of the data."""
    chains = make_chains(task.model, n_particles, kernel_state(task.seed, "half", k))
    chains.start_at_data(task.stats, generator(task.seed, "start", k))
    return chains


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


class _Half:
    """One of the independent particle filters."""

    def __init__(self, task: Task, k: int, n_particles: int, w: np.ndarray) -> None:
        self.task, self.w = task, w.copy()
        self.chains = _chains_at_data(task, k, n_particles)
        self.random = generator(task.seed, "resample", k)
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
