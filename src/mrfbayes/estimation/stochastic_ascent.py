"""Stochastic ascent with particles: what CD, PCD, fast PCD and the stochastic gradient have in common.

Each step moves the particles under the present w and then w along the moment residual (observed minus particles),
divided by the information: the full covariance of s over the particles for up to `FULL` parameters, its diagonal
beyond. Two independent half-runs start at the data; their tail averages are averaged, and their difference is an honest
measure of the noise: rounds of doubling length are added until it is below the tolerance. The tail-averaged residual
itself is no check: the update telescopes, so it is near zero by construction.

Rules by which particles and parameters move:

- "cd" (Hinton 2002): every step starts at the data again and moves on by k sweeps. Its fixed point is not the maximum
  likelihood estimate but tends to it as k grows; whether the difference can be seen the check on fresh particles says.
- "pcd" (Younes 1988; Tieleman 2008): particles are kept from step to step.
- "fpcd" (Tieleman & Hinton 2009): particles move under w plus fast weights, which learn from the same residual and
  decay by 5 % per step; their mean is zero where the residual's is, so the fixed point stays the estimate.
- "stochastic" (Younes 1988; the maximum likelihood algorithm of Zhu & Liu 2002): persistent particles, gains that fall
  as 1/t, and the last point as the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mrfbayes.base.budget import budget
from mrfbayes.base.errors import InputError
from mrfbayes.base.random_streams import generator, kernel_state
from mrfbayes.base.types import Stored
from mrfbayes.estimation.check import CHECK_SHARE, MIN_UPDATES, Candidate, Check, check
from mrfbayes.estimation.optimise import MAX_LOG_ODDS, prior_diagonal
from mrfbayes.estimation.pseudolikelihood import pseudo_estimate
from mrfbayes.estimation.result import Outcome, Recorder, Task
from mrfbayes.kernels.estimation.stochastic_ascent import AscentPlan, AscentState, AscentView
from mrfbayes.model.field import Model
from mrfbayes.particles.ensembles import UPDATES_PER_CALL, Chains, make_chains
from mrfbayes.particles.moments import row_statistics
from mrfbayes.priors import Prior

FULL = 400  # parameters, for a full preconditioner
GAIN = 0.2  # of a Newton step
FIRST_ROUND = 200  # steps, at least
ASCENT_WARM_UP = 0.6  # of the first round: steps before any average, to forget the start
FIRST_UPDATES = 6e8  # spin updates: on small fields a third of a second buys a longer first round
ASCENT_BATCHES = 4  # a round is cut into, for the noise
CHECKS = 4
ASCENT_PART = 25  # steps between two looks at the residual
RESIDUAL_SIZES = 8  # parts whose residuals tell the noise of one step
SPREAD_ROWS = 256  # rows for the variance of tied blocks among very many parameters
# Sweeps at the start: particles that are still the data know no more than n rows of the covariance.
SWEEPS_BEFORE_COVARIANCE = 30
MOST_ASCENT_STEPS = 20_000
MAX_UPDATES = 4e11  # spin updates in all by default: some minutes
ASCENT_TOLERANCE = 0.015  # rms noise of the estimate, posterior sds
SMALL_TOLERANCE = 0.0065  # for up to `FULL` parameters: strong fields have a few that mix five times worse than others
NUMERATOR = 2.0  # above 1 / (2 x the smallest eigenvalue of the preconditioned information), or 1/t forgets too slowly
HALVES = 2


class Precondition:
    """Divides a residual of s by the information in one observation (prior included)."""

    def __init__(self, task: Task, rows: np.ndarray, w: np.ndarray) -> None:
        model, n = task.model, task.stats.n
        prior = 0.0 if task.prior is None else np.maximum(-prior_diagonal(task.prior, w) / n, 0.0)
        self.inverse = np.zeros((0, 0))
        self._matrix: np.ndarray | None = None
        if 0 < model.n_parameters <= FULL:
            covariance = np.atleast_2d(np.cov(row_statistics(model, rows), rowvar=False))
            self.variance = np.maximum(np.diag(covariance), 0.5 / len(rows)) + prior
            # Shrunk towards the diagonal: N particles know p^2/2 covariances only so well.
            covariance *= len(rows) / (len(rows) + 2 * model.n_parameters)
            covariance[np.diag_indices_from(covariance)] = self.variance
            self.inverse, self._matrix = np.linalg.inv(covariance), covariance
            self.sd = np.sqrt(np.diag(self.inverse) / n)
        else:
            self.variance = coordinate_variance(model, task.stats.mean, rows) + prior
            self.sd = 1.0 / np.sqrt(n * self.variance)
        self.scale = 1.0 / self.variance

    def __call__(self, residual: np.ndarray) -> np.ndarray:
        return np.asarray(self.inverse @ residual if self.inverse.size else self.scale * residual)

    def moments(self, move: np.ndarray) -> np.ndarray:
        """The residual of s that a move of w makes."""
        return np.asarray(self.variance * move if self._matrix is None else self._matrix @ move)


def coordinate_variance(model: Model, mean: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Var[s_j] (p,): from the mean where a block is one die, else from ``rows``, a block of parameters at a time."""
    chart = model.chart
    variance = np.maximum(mean * (1 - mean), 0.0)
    many = np.flatnonzero(((chart.tosses > 1) | ~chart.is_counted)[chart.block_of])
    if many.size:
        seen_variance = row_statistics(model, rows)[:, many].var(axis=0)
        variance[many] = seen_variance
    return np.asarray(np.maximum(variance, 0.5 / max(len(rows), 1)))


@dataclass
class HalfRun:
    """One of the independent runs: its particles, where it is, and its mean residual over the last few steps."""

    chains: Chains
    state: AscentState
    residual: np.ndarray


@dataclass(frozen=True)
class Rule:
    """How an algorithm moves.

    Attributes
    ----------
    skip, sweeps : Gibbs sweeps per step: first so many that are not looked at, then so many that are
    restart : whether particles go back to the data before each step (contrastive divergence)
    fast_gain : gain of the fast weights of fast PCD relative to the slow ones; 0: none
    gain : (step) -> share of a Newton step
    averaged : whether the answer is the average of the tail, or the last point
    """

    skip: int = 0
    sweeps: int = 1
    restart: bool = False
    fast_gain: float = 0.0
    gain: Callable[[int], float] = lambda step: GAIN
    averaged: bool = True


def start_point(task: Task, start: np.ndarray | None) -> np.ndarray:
    """Log-odds to start from: given, else the penalised pseudolikelihood estimate, else no interaction."""
    model, stats = task.model, task.stats
    if start is not None:
        return model.chart.log_odds(model.theta(start, "start"))
    if stats.node_part is None:  # counts only
        return np.zeros(model.n_parameters)
    prior = task.prior if task.prior is not None else Prior(model, "uniform")
    try:
        return pseudo_estimate(model, stats, prior, tolerance=1e-2).w
    except InputError:  # more data than were kept: their patterns are not known
        return np.zeros(model.n_parameters)


def default_particles(model: Model) -> int:
    """Per half-run: enough for full blocks of words, fewer where a step is long anyway."""
    return 2048 if model.n_nodes <= 20_000 else 1024


def ascend(
    task: Task,
    rule: Rule,
    *,
    particles: int | None = None,
    steps: int | None = None,
    tolerance: float | None = None,
    start: np.ndarray | None = None,
) -> Outcome:
    """Run two half-runs of ``rule`` until they agree, and check the result on fresh particles.

    Parameters
    ----------
    particles : per half-run; default 2,048, on fields of more than 20,000 nodes 1,024
    steps : at most so many after the warm-up; default: until the tolerance is met or some minutes have passed
    tolerance : rms noise of the estimate, in posterior sds, at which to stop; default 0.0065, with more than 400
        parameters 0.015
    start : (p,) theta to start from; default the pseudolikelihood estimate
    """
    model = task.model
    n_particles = default_particles(model) if particles is None else particles
    if tolerance is None:
        tolerance = SMALL_TOLERANCE if model.n_parameters <= FULL else ASCENT_TOLERANCE
    recorder = Recorder(task)
    w = start_point(task, start)
    halves = [_start_half(task, k, n_particles, w, rule.restart) for k in range(HALVES)]
    per_step = model.n_nodes * n_particles * HALVES * (rule.skip + rule.sweeps) * halves[0].chains.update_cost
    limit = int(np.clip(MAX_UPDATES / per_step, FIRST_ROUND, MOST_ASCENT_STEPS)) if steps is None else steps
    precondition = _first_precondition(task, halves, w)
    workers = min(task.threads, HALVES)
    first = int(np.clip(FIRST_UPDATES / per_step, FIRST_ROUND, 10 * FIRST_ROUND))
    with ThreadPoolExecutor(HALVES) as pool:
        shared_pool = pool if workers > 1 else None
        runner = _Runner(task, rule, halves, precondition, recorder, shared_pool)
        warm_up = int(np.ceil(ASCENT_WARM_UP * min(first, limit)))
        runner.expected = warm_up + 3 * min(first, limit)  # two rounds, until their noise is known
        runner.advance(warm_up)
        limit += runner.step
        rounds = Rounds(rule, runner, first)
        bases = [half.chains for half in halves]
        found = None
        for attempt in range(CHECKS):
            noise = rounds.until(tolerance, limit)
            w = (rounds.tails[0] + rounds.tails[1]) / 2
            if budget().is_out:
                found = Check(False, np.inf, np.inf, warnings=["not checked whether it converged: the time was up"])
                break
            own = own_error(task, precondition, rounds.tails, noise)
            most_updates = max(MIN_UPDATES, per_step * runner.step)  # the check may take as long as what it checks
            found = check(task, Candidate(w, precondition.variance, own), bases, shared_pool, attempt, most_updates)
            if found.passed or not found.helped_by_steps or runner.step >= limit:
                break
            tolerance = noise / 2**0.5  # one more round, about: it doubles the steps
        assert found is not None
    outcome = Outcome(w, False, 0.0, runner.step, recorder)
    gain = runner.scale * rule.gain(runner.step)
    facts = {"particles": n_particles * HALVES, "noise": noise, "gain": gain}
    return _with_check(outcome, found, noise * precondition.sd, facts)


def _with_check(outcome: Outcome, checked: Check, standard_error: np.ndarray, facts: Mapping[str, Stored]) -> Outcome:
    """``outcome`` with what the check of it on fresh particles says."""
    outcome.converged, outcome.residual, outcome.monte_carlo_error = checked.passed, checked.residual, checked.error
    outcome.standard_error = standard_error
    outcome.details |= {**facts, **checked.details}
    outcome.warnings += checked.warnings
    return outcome


def checked_outcome(
    task: Task,
    precondition: Precondition,
    tails: list[np.ndarray],
    noise: float,
    chains: list[Chains],
    outcome: Outcome,
    facts: Mapping[str, Stored],
) -> Outcome:
    """``outcome`` after a check on fresh particles, moved in the work space of ``chains``; ``tails`` of the halves."""
    own = own_error(task, precondition, tails, noise)
    checked = check(task, Candidate(outcome.w, precondition.variance, own), chains)
    return _with_check(outcome, checked, noise * precondition.sd, facts)


class Rounds:
    """Rounds of doubling length, and the tail average of each half over all but the first of them."""

    def __init__(self, rule: Rule, runner: _Runner, first: int) -> None:
        self._rule, self._runner, self._length = rule, runner, first
        self._means: list[np.ndarray] = []
        self._lengths: list[int] = []
        self.tails: list[np.ndarray] = []

    def until(self, tolerance: float, limit: int) -> float:
        """Add rounds until the noise is below ``tolerance`` or ``limit`` is reached; the rms noise, posterior sds."""
        while True:
            n_steps = max(ASCENT_BATCHES, min(self._length, limit - self._runner.step))
            batches = np.stack([self._runner.advance(n_steps // ASCENT_BATCHES) for _ in range(ASCENT_BATCHES)])
            self._means.append(batches.mean(axis=0))
            self._lengths.append(n_steps)
            self._length *= 2
            # The first round may still remember the start: it is left out once the others are long enough without it.
            used = slice(1 if sum(self._lengths[1:]) >= 2 * self._lengths[0] else 0, None)
            lengths = np.array(self._lengths[used], dtype=float)
            sd = self._runner.precondition.sd
            if self._rule.averaged:
                self.tails = list(np.average(self._means[used], axis=0, weights=lengths))
                noise = noise_of(batches, self.tails, sd, lengths[-1] / lengths.sum())
            else:
                self.tails = [half.state.w.copy() for half in self._runner.halves]
                noise = max(noise_of(batches[:, :, :0], self.tails, sd), self._runner.last_point_noise())
            far = np.abs(self.tails[0]).max(initial=0.0) > MAX_LOG_ODDS
            if noise < tolerance or far or self._runner.step >= limit or budget().is_out:
                return noise
            self._runner.expected = self._expected(noise / tolerance, limit)

    def _expected(self, excess: float, limit: int) -> int:
        """Steps at the end of the round that will do, if the noise falls like one over their square root."""
        done = sum(self._lengths)
        added, length = self._length, self._length
        while excess > np.sqrt(1 + added / done) and self._runner.step + added < limit:
            length *= 2
            added += length
        return min(self._runner.step + added, limit)


def noise_of(batches: np.ndarray, tails: list[np.ndarray], sd: np.ndarray, share: float = 1.0) -> float:
    """Rms Monte-Carlo error, in posterior sds, of the average of two ``tails``: the larger of two estimates.

    The half difference has everything in it, but few parameters make it a matter of luck; ``batches`` (B, 2, p), means
    over consecutive parts of each half, have more degrees of freedom, but miss what lasts longer than a batch. They
    cover a ``share`` of what the tails average; none are given as an empty array.
    """
    if not sd.size:
        return 0.0
    apart = (tails[0] - tails[1]) / (2 * sd)
    within = 0.0
    if batches.size:
        within = (batches / sd).var(axis=0, ddof=1).mean() / (HALVES * len(batches)) * share
    return float(np.sqrt(max(np.mean(apart**2), within)))


def own_error(task: Task, precondition: Precondition, tails: list[np.ndarray], noise: float) -> float:
    """The estimate's noise as a moment residual, in units of the standard error of the observed moments."""
    moved = precondition.moments((tails[0] - tails[1]) / 2)
    by_halves = float(np.sqrt(np.mean(moved**2 / (precondition.variance / task.stats.n)))) if moved.size else 0.0
    return max(by_halves, noise)


def _first_precondition(task: Task, halves: list[HalfRun], w: np.ndarray) -> Precondition:
    """From particles that have moved on from the data; restarts go back to the data all the same."""
    if task.model.n_parameters > FULL:
        return Precondition(task, halves[0].chains.rows(SPREAD_ROWS), w)
    for half in halves:
        half.chains.sweep(w, SWEEPS_BEFORE_COVARIANCE)
    return Precondition(task, np.concatenate([half.chains.rows() for half in halves]), w)


def _start_half(task: Task, k: int, n_particles: int, w: np.ndarray, restart: bool) -> HalfRun:
    chains = make_chains(task.model, n_particles, kernel_state(task.seed, "half", k))
    chains.start_at_data(task.stats, generator(task.seed, "start", k))
    if restart:
        chains.remember()
    return HalfRun(chains, AscentState(w.copy(), *(np.zeros(w.size) for _ in range(3))), np.zeros(w.size))


@dataclass
class _Runner:
    """Moves the half-runs step by step, in threads where there are some, and records the course."""

    task: Task
    rule: Rule
    halves: list[HalfRun]
    precondition: Precondition
    recorder: Recorder
    pool: ThreadPoolExecutor | None
    step: int = 0
    expected: int = 1
    scale: float = 1.0
    _sizes: list[float] = field(default_factory=list)

    def advance(self, n_steps: int) -> list[np.ndarray]:
        """``n_steps`` more steps; the average of w over them, for each half."""
        for half in self.halves:
            half.state.total[:] = 0.0
        left = n_steps
        while left and not (self.step and budget().is_out):
            part = min(left, ASCENT_PART, max(1, self.step))  # the way from the start is short: 1, 1, 2, 4 ... steps
            if self.pool is None:
                for half in self.halves:
                    self._move(half, part)
            else:
                list(self.pool.map(self._move, self.halves, [part] * HALVES))
            self.step += part
            left -= part
            self._look()
        done = n_steps - left
        return [half.state.total / done if done else half.state.w.copy() for half in self.halves]

    def _move(self, half: HalfRun, n_steps: int) -> None:
        """``n_steps`` steps, in calls of less than a second, so that Ctrl-C is heard."""
        rule, task = self.rule, self.task
        row, column, value = task.model.lowering.forward
        origin = half.state.w.copy()
        target = task.stats.mean + task.prior_gradient(origin)
        slope = np.zeros(origin.size)
        if task.prior is not None:  # a strong prior held constant would throw w about
            slope = np.minimum(prior_diagonal(task.prior, origin) / task.stats.n, 0.0)
        inverse, scale = self.precondition.inverse, self.precondition.scale
        ascent = AscentView(row, column, value, task.model.lowering.constant, target, origin, slope, inverse, scale)
        gains = np.array([self.scale * rule.gain(self.step + k) for k in range(n_steps)])
        half.state.statistics[:] = 0.0
        updates = task.model.n_nodes * half.chains.n_particles * (rule.skip + rule.sweeps) * half.chains.update_cost
        per_call = int(np.clip(UPDATES_PER_CALL / updates, 1, n_steps))
        for first in range(0, n_steps, per_call):
            plan = AscentPlan(rule.skip, gains[first : first + per_call], rule.sweeps, rule.fast_gain, 2 * MAX_LOG_ODDS)
            half.chains.ascend(ascent, half.state, plan, rule.restart)
        half.residual = target + slope * (half.state.w - origin) / 2 - half.state.statistics / n_steps

    def _look(self) -> None:
        """Record, report, and halve the gain where the residual grows: a step that long overshoots."""
        moves = [self.precondition(half.residual) / self.precondition.sd for half in self.halves]
        size = float(np.sqrt(np.mean([np.mean(move**2) for move in moves])))
        if self._sizes and size > 2 * self._sizes[-1] and size > 1.0:
            self.scale /= 2
        self._sizes.append(size)
        self.recorder.add(self.step, size, (self.halves[0].state.w + self.halves[1].state.w) / 2)
        self.task.report((1 - CHECK_SHARE) * min(1.0, self.step / self.expected), f"residual {size:.2g} sd")

    def last_point_noise(self) -> float:
        """Rms noise of the last point, averaged over the halves, where gains fall as 1/t, in posterior sds.

        With gain c/t the last point has the variance c^2 / (2c - 1) / t of one step's residual, about two thirds of
        the gain for c = 2. Residuals are known as means over `ASCENT_PART` steps.
        """
        one_step = np.mean(np.square(self._sizes[-RESIDUAL_SIZES:])) * ASCENT_PART
        return float(np.sqrt(one_step * self.scale * self.rule.gain(self.step) * 2 / 3 / HALVES))


def cd(task: Task, *, sweeps: int = 10, **limits: Any) -> Outcome:
    """Contrastive divergence from the pseudolikelihood start.

    Parameters
    ----------
    sweeps : k, Gibbs sweeps from the data in each step
    limits : particles, steps, tolerance and start, as in `ascend`
    """
    return ascend(task, Rule(skip=sweeps - 1, restart=True), **limits)


def pcd(task: Task, **limits: Any) -> Outcome:
    """Persistent contrastive divergence from the pseudolikelihood start.

    Parameters
    ----------
    limits : particles, steps, tolerance and start, as in `ascend`
    """
    return ascend(task, Rule(), **limits)


def fpcd(task: Task, *, fast_gain: float = 1.0, **limits: Any) -> Outcome:
    """Fast persistent contrastive divergence from the pseudolikelihood start.

    Parameters
    ----------
    fast_gain : step of the fast weights relative to that of w
    limits : particles, steps, tolerance and start, as in `ascend`
    """
    return ascend(task, Rule(fast_gain=float(fast_gain)), **limits)


def stochastic(task: Task, **limits: Any) -> Outcome:
    """Robbins-Monro ascent from the pseudolikelihood start.

    Parameters
    ----------
    limits : particles, steps, tolerance and start, as in `ascend`
    """
    rule = Rule(gain=lambda step: min(GAIN, NUMERATOR / (step + 1)), averaged=False)
    return ascend(task, rule, **limits)
