"""What an estimate is, and what an algorithm is given and gives back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from mrfbayes.base.progress import Progress
from mrfbayes.data.statistics import Statistics
from mrfbayes.estimation.existence import Existence
from mrfbayes.model.field import Model
from mrfbayes.model.point import PointEstimate
from mrfbayes.priors import Prior

TRACKED = 8  # parameters whose course is kept for plots


@dataclass(frozen=True)
class Trace:
    """The course of an algorithm, for plots.

    Attributes
    ----------
    iteration : (k,)
    seconds : (k,) since the start
    residual : (k,) how far the moments were from the observed ones, in posterior sds (as the algorithm saw it: not a
        check of convergence)
    tracked : indices of up to eight parameters, evenly spread
    log_odds : (k, tracked) their log-odds
    """

    iteration: np.ndarray
    seconds: np.ndarray
    residual: np.ndarray
    tracked: np.ndarray
    log_odds: np.ndarray


@dataclass(frozen=True)
class Estimate(PointEstimate):
    """A maximum likelihood estimate, or a posterior mode in log-odds where ``penalised``; how it was found.

    Attributes
    ----------
    converged : whether that was checked and found true
    residual : the largest residual, E[s] less the mean of s: in units of its Monte-Carlo error for algorithms that
        sample, in posterior sds for those that do not
    monte_carlo_error : Monte-Carlo error of that residual in posterior sds, at its largest; 0 without sampling
    standard_error : (p,) Monte-Carlo standard error of ``log_odds``; None without sampling
    algorithm, iterations, seconds : what was done
    existence : verdict on the maximum likelihood estimate, with its reason
    trace : for plots
    details : figures of the algorithm itself
    reason : why this algorithm
    """

    converged: bool
    residual: float
    monte_carlo_error: float
    standard_error: np.ndarray | None
    algorithm: str
    iterations: int
    seconds: float
    existence: Existence
    trace: Trace
    details: Mapping[str, object] = field(default_factory=dict)
    reason: str = "asked for"

    def _repr_html_(self) -> str:
        from mrfbayes.base.html import facts

        state = "converged" if self.converged else "not converged"
        rows = [
            ("algorithm", f"{self.algorithm} ({self.reason}), {self.iterations} iterations, {self.seconds:.2f} s"),
            ("state", state + (", penalised" if self.penalised else "")),
            ("residual", f"{self.residual:.2g}"),
            ("without a finite maximum", ", ".join(self.boundary[:8]) + (", ..." if len(self.boundary) > 8 else "")),
        ]
        return facts(f"Estimate of {self.theta.size:,} parameters", [row for row in rows if row[1]], self.warnings)

    def __repr__(self) -> str:
        state = "converged" if self.converged else "NOT converged"
        extra = ", penalised" if self.penalised else ""
        return (
            f"<Estimate: {self.theta.size} parameters by {self.algorithm!r}, {state}{extra}, "
            f"{self.iterations} iterations, {self.seconds:.2f} s>"
        )


@dataclass(frozen=True)
class Task:
    """What an algorithm is given: field, data, prior (None: maximum likelihood), seed, threads, and where to report."""

    model: Model
    stats: Statistics
    prior: Prior | None
    seed: np.random.SeedSequence
    threads: int
    progress: Progress

    def report(self, share: float, note: str) -> None:
        """Say that about this share of the work is done."""
        self.progress.update(round(100 * min(share, 1.0)), note)

    def prior_gradient(self, w: np.ndarray) -> np.ndarray | float:
        """Gradient of the log prior per observation; 0 without a prior."""
        return 0.0 if self.prior is None else self.prior.gradient_w(w) / self.stats.n


@dataclass
class Outcome:
    """What an algorithm gives back; see `Estimate`."""

    w: np.ndarray
    converged: bool
    residual: float
    iterations: int
    trace: Recorder
    monte_carlo_error: float = 0.0
    standard_error: np.ndarray | None = None
    warnings: list[str] = field(default_factory=list)
    details: dict[str, object] = field(default_factory=dict)


class Recorder:
    """Collects a `Trace`, thinning itself when it grows past a thousand points."""

    def __init__(self, n_parameters: int, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._start = clock()
        self.tracked = np.unique(np.linspace(0, max(n_parameters - 1, 0), min(TRACKED, n_parameters)).astype(np.int64))
        self._rows: list[tuple[int, float, float, np.ndarray]] = []
        self._every = 1

    def add(self, iteration: int, residual: float, w: np.ndarray) -> None:
        """Keep this point if it is its turn."""
        if iteration % self._every:
            return
        self._rows.append((iteration, self._clock() - self._start, residual, w[self.tracked].copy()))
        if len(self._rows) >= 1000:
            self._rows = self._rows[::2]
            self._every *= 2

    def finish(self) -> Trace:
        """The trace so far."""
        if not self._rows:
            empty = np.zeros(0)
            return Trace(empty.astype(int), empty, empty, self.tracked, np.zeros((0, self.tracked.size)))
        iteration, seconds, residual, w = zip(*self._rows, strict=True)
        return Trace(np.array(iteration), np.array(seconds), np.array(residual), self.tracked, np.stack(w))
