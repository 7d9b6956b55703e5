"""Has an estimate converged? Theta frozen, fresh particles, two kinds of starts.

Groups of particles, half of them started at the data and half at random, each with its own stream, are moved under the
frozen estimate. Group means are independent: their variance gives the Monte-Carlo error, autocorrelation included.
Three things have to hold. Particles from the data and from random starts tell the same, else the field mixes too slowly
for anything to be said (large ordered fields do). The largest moment residual is within 4 Monte-Carlo errors: those of
the check and of the estimate together, and 4 as the tail probability that it stands for, shared out over p residuals,
by Student's t. And that error is below 0.1 posterior sds.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from mrfbayes.base.budget import budget
from mrfbayes.base.random_streams import generator, kernel_state
from mrfbayes.base.types import Stored
from mrfbayes.estimation.result import Task
from mrfbayes.particles.ensembles import Chains

ERRORS = 4.0
MAX_ERROR = 0.1  # posterior sds
ENOUGH = 0.08  # the check itself is not made more exact than this
BORROWED = 10.0
MIN_UPDATES = 2e10  # spin updates, bit-sliced: some seconds


@dataclass(frozen=True)
class Size:
    """``groups`` of 1,024 particles each; ``burn`` sweeps unseen, then ``sweeps`` that are counted, at first."""

    groups: int
    burn: int
    sweeps: int


USUAL = Size(16, 24, 16)
LARGE_CHECK = Size(8, 16, 48)  # on fields of more than 100,000 nodes, whose sweeps are long and variances many
GROUP = 1024
CHECK_SHARE = 0.25  # of the progress bar


@dataclass
class Check:
    """``residual`` in Monte-Carlo errors (largest), ``error`` the largest such error in posterior sds."""

    passed: bool
    residual: float
    error: float
    helped_by_steps: bool = False
    warnings: list[str] = field(default_factory=list)
    details: dict[str, Stored] = field(default_factory=dict)


def threshold(n_parameters: int, groups: int) -> float:
    """What the largest of ``n_parameters`` errors may be: the tail probability of 4 normal errors, shared out."""
    from scipy.special import ndtr, stdtrit

    tail = float(ndtr(-ERRORS)) / max(n_parameters, 1)
    return float(-stdtrit(groups - 2 + _borrowed(n_parameters), tail))


def _borrowed(n_parameters: int) -> float:
    """Degrees of freedom that each variance takes over from all of them (moderated t; Smyth 2004), if they are many."""
    return BORROWED if n_parameters > 4 * BORROWED else 0.0


class Candidate(NamedTuple):
    """An estimate to be checked.

    Attributes
    ----------
    w : (p,)
    variance : (p,) information of one observation along each coordinate: the mean of s_j over n observations has
        standard error sqrt(variance / n), and a residual as large as that moves w_j by one (conditional) posterior sd
    noise : the estimate's own Monte-Carlo error in that unit
    """

    w: np.ndarray
    variance: np.ndarray
    noise: float


def check(
    task: Task,
    candidate: Candidate,
    bases: Sequence[Chains],
    pool: ThreadPoolExecutor | None = None,
    round_: int = 0,
    most_updates: float = MIN_UPDATES,
) -> Check:
    """Check an estimate with fresh particles.

    Parameters
    ----------
    bases : chains whose work space may be used, one or two; their particles stay as they are
    pool : runs the groups of two bases side by side
    round_ : number of earlier checks: fresh streams each time
    most_updates : spin updates that the check may take, in units of the bit-sliced ones
    """
    model, n = task.model, task.stats.n
    w, variance, noise = candidate
    if model.n_parameters == 0:
        return Check(True, 0.0, 0.0)
    size = USUAL if model.n_nodes <= 100_000 else LARGE_CHECK
    half = size.groups // 2
    target = task.stats.mean + task.prior_gradient(w)
    limit = threshold(model.n_parameters, size.groups)
    unit = np.sqrt(variance / n)
    per_sweep = model.n_nodes * GROUP * size.groups * bases[0].update_cost
    burn, sweeps, spent = size.burn, size.sweeps, 0.0
    while True:
        table = _group_means(task, w, Size(size.groups, burn, sweeps), bases, pool, round_)
        spent += (burn + sweeps) * per_sweep
        apart = table[:half].mean(axis=0) - table[half:].mean(axis=0)
        within = _group_sd(table, unit)
        apart /= within * np.sqrt(4.0 / size.groups)
        starts, common = float(np.abs(apart).max()), _common_limit(table, within)
        agree = starts <= limit and _rms(apart) <= common
        own = within / (np.sqrt(size.groups) * unit)
        errors = np.hypot(own, noise)
        residual = (target - table.mean(axis=0)) / unit / errors
        error = float(errors.max())
        done = agree and float(own.max()) <= ENOUGH
        last, burn, sweeps = burn + sweeps, 2 * burn, 2 * sweeps
        if done or spent + (burn + sweeps) * per_sweep > most_updates or budget().is_out:
            break
    largest = float(np.abs(residual).max())
    # Many residuals that are all a little too large show in their rms long before they do in the largest.
    small = largest <= limit and _rms(residual) <= common
    result = Check(agree and small and error <= MAX_ERROR, largest, error, helped_by_steps=agree)
    result.details = {
        "check_sweeps": last,
        "check_particles": GROUP * size.groups,
        "residual_limit": limit,
        "starts_apart": starts,
    }
    if not agree:
        result.warnings.append(
            f"not converged: after {last} sweeps particles started at the data and at random still differ "
            f"(by {starts:.1f} Monte-Carlo errors at most, {_rms(apart):.1f} on average; limits {limit:.1f} and "
            f"{common:.1f}); the field mixes too slowly for sampling"
        )
    elif not small:
        result.warnings.append(
            f"not converged: the largest moment residual is {largest:.1f} Monte-Carlo errors (limit {limit:.1f}), "
            f"their rms {_rms(residual):.1f} (limit {common:.1f}); allow more steps"
        )
    if error > MAX_ERROR:
        result.warnings.append(
            f"not decided whether it converged: the check's Monte-Carlo error is {error:.2g} posterior sds (limit "
            f"{MAX_ERROR}); more particles or sweeps are needed for so many observations"
        )
    return result


def _group_sd(table: np.ndarray, unit: np.ndarray) -> np.ndarray:
    """Sd (p,) between groups of the same start, each variance moderated by the mean of all, in units of ``unit``."""
    half = len(table) // 2
    variance = (table[:half].var(axis=0, ddof=1) + table[half:].var(axis=0, ddof=1)) / (2 * unit**2)
    freedom, borrowed = len(table) - 2, _borrowed(unit.size)
    moderated = (freedom * variance + borrowed * variance.mean()) / (freedom + borrowed)
    return np.asarray(np.sqrt(np.maximum(moderated, 1e-20)) * unit)


def _rms(errors: np.ndarray) -> float:
    return float(np.sqrt(np.mean(errors**2)))


def _common_limit(table: np.ndarray, within: np.ndarray) -> float:
    """What the rms of all errors may be.

    They move together in ordered fields, so how far one rms strays from 1 is read off the groups themselves: half as
    much again as the largest of theirs.
    """
    half = len(table) // 2
    parts = [(part - part.mean(axis=0)) / (within * np.sqrt(1 - 1 / half)) for part in (table[:half], table[half:])]
    return 1.5 * max(1.0, *(_rms(group) for part in parts for group in part))


def _group_means(
    task: Task, w: np.ndarray, size: Size, bases: Sequence[Chains], pool: ThreadPoolExecutor | None, round_: int
) -> np.ndarray:
    """Mean statistics of every group after ``size.burn`` unseen sweeps, (groups, p): data starts first, then random.

    Groups are made, measured and dropped one by one: a field of a million nodes cannot hold all at once.
    """
    table = np.empty((size.groups, w.size))
    measured: list[int] = []

    def work(worker: int) -> None:
        for g in range(worker, size.groups, len(bases)):  # these share the work space of one base
            chains = bases[worker].fork(GROUP, kernel_state(task.seed, "check", round_, size.burn, g))
            source = generator(task.seed, "check start", round_, size.burn, g)
            if g < size.groups // 2 and len(task.stats.rows):
                chains.start_at_data(task.stats, source)
            else:
                chains.start_at_random(source)
            chains.sweep(w, size.burn)
            table[g] = chains.advance(w, size.sweeps)
            measured.append(g)
            task.report(1 - CHECK_SHARE * (1 - len(measured) / size.groups), "check")

    workers = range(len(bases))
    list(map(work, workers) if pool is None else pool.map(work, workers))
    return table
