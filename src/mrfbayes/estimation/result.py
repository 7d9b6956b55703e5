"""What an estimate is, and what an algorithm is given and gives back."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from mrfbayes.base.progress import Progress
from mrfbayes.base.types import Scale, Stored
from mrfbayes.data.statistics import Statistics
from mrfbayes.estimation.existence import Existence
from mrfbayes.estimation.optimise import TYPICAL_ITERATIONS, Ascent
from mrfbayes.model.field import Model
from mrfbayes.model.result import PointEstimate, StoredFields, StoredResult
from mrfbayes.model.scales import scaled
from mrfbayes.priors import Prior, read_prior

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from mrfbayes.results.stored import Group

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


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Estimate(StoredResult, PointEstimate):
    """A maximum likelihood estimate, or a posterior mode in log-odds if ``penalised``, from `mrfbayes.estimate`.

    It also has the attributes of every `Result`; ``method`` is the algorithm.

    Attributes
    ----------
    theta : (p,) ndarray
        Parameters.
    log_odds : (p,) ndarray
        The same as log-odds.
    prior : Prior or None
        The prior under which it is the mode; None for a maximum likelihood estimate.
    boundary : tuple of str
        Names of the factors that have no finite, unique maximum likelihood estimate.
    converged : bool
        Whether convergence was checked and found.
    residual : float
        The largest residual, E[s] minus the mean of s: in units of its Monte-Carlo error for algorithms that sample, in
        posterior sds for others.
    monte_carlo_error : float
        Largest Monte-Carlo error of the residual in posterior sds; 0 without sampling.
    standard_error : (p,) ndarray or None
        Monte-Carlo standard error of ``log_odds``; None without sampling.
    iterations : int
        Iterations of the algorithm.
    existence : Existence
        Whether the maximum likelihood estimate exists, with the reason.
    trace : Trace
        Course of the algorithm, for plots.
    reason : str
        Why this algorithm was chosen.

    See Also
    --------
    estimate : Returns it.
    plots.estimate_trace : The course of the algorithm.

    Examples
    --------
    >>> import mrfbayes as mb
    >>> model = mb.grid(2, 2)
    >>> est = mb.estimate(model, mb.simulate(model, 0.7, 200, rng=1), progress=False)
    >>> est.theta.shape, est.converged
    ((4,), True)
    """

    _arrays: ClassVar = {
        "theta": ("estimate", "theta", ("parameter",)),
        "log_odds": ("estimate", "log_odds", ("parameter",)),
        "standard_error": ("estimate", "standard_error", ("parameter",)),
    }

    converged: bool
    residual: float
    monte_carlo_error: float
    standard_error: np.ndarray | None
    iterations: int
    existence: Existence
    trace: Trace
    reason: str = "asked for"

    def summary(self, *, scale: Scale | None = None, ci_prob: float = 0.9) -> pd.DataFrame:
        """Return one row per parameter: ``estimate``, and in log-odds ``mcse``, its Monte-Carlo error.

        An estimate has no interval; `mrfbayes.sample` gives intervals.

        Parameters
        ----------
        scale : {"theta", "log-odds", "ising"}, optional
            By default the usual scale of the model.
        ci_prob : float, default 0.9
            Not used.

        Returns
        -------
        DataFrame
            One row per parameter; ``mcse`` is 0 without sampling.
        """
        import pandas as pd

        rows = scaled(self.model, scale)
        index = pd.Index(rows.names, name="parameter")
        table = pd.DataFrame({"estimate": rows.of_log_odds(self.log_odds)}, index=index)
        if rows.scale == "log-odds":
            table["mcse"] = 0.0 if self.standard_error is None else self.standard_error
        table.attrs["scale"] = rows.scale
        return table

    def edges(self, *, scale: Scale | None = None, ci_prob: float = 0.9) -> pd.DataFrame:
        """Return the rows of `summary` that belong to edges.

        Parameters
        ----------
        scale : {"theta", "log-odds", "ising"}, optional
            By default the usual scale of the model.
        ci_prob : float, default 0.9
            Not used.

        Returns
        -------
        DataFrame
            One row per edge.
        """
        table = self.summary(scale=scale, ci_prob=ci_prob)
        return table.iloc[: scaled(self.model, scale).n_edge_rows].rename_axis("edge")

    def to_arviz(self) -> xr.DataTree:
        """An estimate has no draws: an `InputError` says what has."""
        self._refuse("to_arviz", "it has no draws; mrfbayes.sample makes some")

    @classmethod
    def _restore(cls, values: StoredFields, groups: Mapping[str, Group]) -> dict[str, object]:
        verdict, factors, reason, complete = values["existence"]
        values["existence"] = Existence(verdict, tuple(factors), reason, complete)
        iteration, seconds, residual, tracked, log_odds = map(np.array, values["trace"])
        values["trace"] = Trace(iteration, seconds, residual, tracked, log_odds.reshape(len(iteration), len(tracked)))
        if values["prior"] is not None:
            values["prior"] = read_prior(values["model"], values["prior"])
        return {}

    def _about(self) -> list[tuple[str, str]]:
        state = "converged" if self.converged else "not converged"
        rows = [
            ("method", f"{self.method} ({self.reason}), {self.iterations} iterations, {self.timings['run']:.2f} s"),
            ("state", state + (", penalised" if self.penalised else "")),
            ("residual", f"{self.residual:.2g}"),
            ("without a finite maximum", ", ".join(self.boundary[:8]) + (", ..." if len(self.boundary) > 8 else "")),
        ]
        return [row for row in rows if row[1]]

    def __repr__(self) -> str:
        state = "converged" if self.converged else "NOT converged"
        extra = ", penalised" if self.penalised else ""
        return (
            f"<Estimate: {self.theta.size} parameters by {self.method!r}, {state}{extra}, "
            f"{self.iterations} iterations, {self.timings['run']:.2f} s>"
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
    details: dict[str, Stored] = field(default_factory=dict)


class Recorder:
    """Collects a `Trace`, thinning itself when it grows past a thousand points."""

    def __init__(self, task: Task) -> None:
        self._task, self._start, self._every = task, time.perf_counter(), 1
        p = task.model.n_parameters
        self.tracked = np.unique(np.linspace(0, max(p - 1, 0), min(TRACKED, p)).astype(np.int64))
        self._rows: list[tuple[int, float, float, np.ndarray]] = []

    def add(self, iteration: int, residual: float, w: np.ndarray) -> None:
        """Keep this point if it is its turn."""
        if iteration % self._every:
            return
        self._rows.append((iteration, time.perf_counter() - self._start, residual, w[self.tracked].copy()))
        if len(self._rows) >= 1000:
            self._rows, self._every = self._rows[::2], 2 * self._every

    def ascent(self, iteration: int, size: float, w: np.ndarray) -> None:
        """Keep and report a step of an ascent, ``size`` posterior sds long."""
        self.add(iteration, size, w)
        self._task.report(iteration / TYPICAL_ITERATIONS, f"step {size:.2g} sd")

    def outcome(self, ascent: Ascent) -> Outcome:
        """What an ascent without sampling gives back."""
        found = Outcome(ascent.w, ascent.converged, ascent.step, ascent.iterations, self)
        if not ascent.converged:
            found.warnings.append(f"the ascent stopped after {ascent.iterations} iterations without converging")
        return found

    def finish(self) -> Trace:
        """The trace so far."""
        columns = list(zip(*self._rows, strict=True)) or [()] * 4
        iteration, seconds, residual = (np.array(column) for column in columns[:3])
        log_odds = np.reshape(columns[3], (len(self._rows), self.tracked.size))
        return Trace(iteration, seconds, residual, self.tracked, log_odds)
