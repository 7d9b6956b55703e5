"""The maximum likelihood estimate, or the posterior mode in log-odds, by one of several algorithms."""

from __future__ import annotations

import importlib
import inspect
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from types import ModuleType
from typing import cast

import numpy as np

from mrfbayes.base.blas import one_blas_thread
from mrfbayes.base.budget import budget
from mrfbayes.base.checks import one_of, whole
from mrfbayes.base.errors import CostError, InputError, warn_user
from mrfbayes.base.progress import Progress
from mrfbayes.base.random_streams import Seed, child, seed_sequence
from mrfbayes.base.types import DataLike, Option, PriorLike, Stored, ThetaLike
from mrfbayes.data.border import counted
from mrfbayes.data.coding import stored_schema
from mrfbayes.data.statistics import Statistics
from mrfbayes.estimation.existence import Existence, existence, existence_at
from mrfbayes.estimation.result import Estimate, Outcome, Task, Trace
from mrfbayes.model.field import Model
from mrfbayes.model.result import PointEstimate, as_estimate, stored_seed
from mrfbayes.priors import Prior

__all__ = ["ALGORITHMS", "Estimate", "Existence", "Trace", "estimate", "existence"]

FOR_MISSING_CELLS = ("exact", "chord")  # algorithms that have a likelihood for rows with missing cells
ON_BOUNDARY = ("penalise", "refuse")
NAMED = 5
# Key -> module of this package and its function ``(task, **options) -> Outcome``; the module may have
# ``refuse(model)`` where it cannot do every field.
ALGORITHMS: dict[str, tuple[str, str]] = {
    "exact": ("newton", "run"),
    "cd": ("stochastic_ascent", "cd"),
    "pcd": ("stochastic_ascent", "pcd"),
    "chord": ("dense_mode", "run"),
    "fpcd": ("stochastic_ascent", "fpcd"),
    "mcmc-mle": ("reweighting", "mcmc_mle"),
    "pf-mcmc-mle": ("reweighting", "pf_mcmc_mle"),
    "stochastic": ("stochastic_ascent", "stochastic"),
    "pseudo": ("pseudolikelihood", "run"),
}
# Positive numbers: the largest, and what they are.
OPTION_LIMITS = {
    "tolerance": (np.inf, "a positive number of posterior sds, such as 0.015"),
    "fast_gain": (10.0, "a number above 0, at most 10"),
}


@one_blas_thread()
def estimate(
    model: Model,
    data: DataLike,
    *,
    algorithm: str = "auto",
    rng: Seed | None = None,
    prior: PriorLike | Prior | None = None,
    on_boundary: str = "penalise",
    progress: bool = True,
    threads: int | None = None,
    **options: Option,
) -> Estimate:
    """Estimate the parameters of a field by maximum likelihood or as a posterior mode.

    Parameters
    ----------
    model : Model
        The field.
    data : DataLike
        `Data`, anything that `Data` reads, or `Statistics`. Of rows with missing cells "exact" and "chord" maximise the
        likelihood of the observed cells, which assumes that cells are missing at random.
    algorithm : str, default "auto"
        "exact", "cd", "pcd", "chord", "fpcd", "mcmc-mle", "pf-mcmc-mle", "stochastic", "pseudo", or "auto": "exact" if
        log Z is feasible, else "chord" on fields whose nodes have many neighbours, else "pcd".
    rng : int, SeedSequence or Generator, optional
        Seed of the algorithms that sample.
    prior : PriorLike, optional
        None for maximum likelihood; else the mode of the posterior in log-odds under this prior.
    on_boundary : {"penalise", "refuse"}, default "penalise"
        What to do if the maximum likelihood estimate is not finite: return the posterior mode under the uniform prior,
        which the result states, or raise an error.
    progress : bool, default True
        Whether a progress bar is shown after two seconds.
    threads : int, optional
        Threads of the algorithms that sample. Results do not depend on it.
    **options : float, str or array_like
        Options of the algorithm.

    Returns
    -------
    Estimate
        The estimate, its covariance where it is known, and how the algorithm converged.

    Raises
    ------
    InputError
        If an argument or the data are not valid.
    CostError
        If the algorithm is not feasible for this model.

    See Also
    --------
    sample : The posterior.
    pair_tables : Tables of all pairs of many nominal variables.

    Examples
    --------
    >>> import mrfbayes as mb
    >>> model = mb.grid(2, 2, tied=True)
    >>> data = mb.simulate(model, 0.7, 500, rng=1)
    >>> mb.estimate(model, data).theta.round(1)
    array([0.7])
    """
    started = time.perf_counter()
    if on_boundary not in ON_BOUNDARY:
        raise InputError(f"on_boundary = {on_boundary!r}: choose 'penalise' or 'refuse'.")
    seed = seed_sequence(rng)
    given = prior if prior is None or isinstance(prior, Prior) else Prior(model, prior)
    n_threads = min(2, os.cpu_count() or 1) if threads is None else whole("threads", threads)
    if algorithm == "auto":
        check_values(model, {name: value for name, value in options.items() if value is not None})
    else:
        check_algorithm(model, algorithm, options)
    stats = counted(model, data)
    key, reason = _choose(model, stats, algorithm)
    check_algorithm(model, key, options)
    notes: list[str] = []
    with Progress(f"estimate ({key}), per cent", 100, progress) as bar:
        task = Task(model, stats, given, child(seed, "estimate", key), n_threads, bar)
        verdict, outcome = existence(model, stats), None
        if verdict.verdict == "not decided" and given is None:
            outcome = algorithm_function(key)(task, **options)
            is_maximum = key == "exact" and outcome.converged
            verdict = existence_at(model, stats, outcome.w, is_maximum) or verdict
        if verdict.verdict == "boundary" and given is None and not (outcome is not None and budget().is_out):
            text = _boundary_text(verdict)
            if on_boundary == "refuse":
                raise InputError(f"{text}: use on_boundary='penalise', a prior, or more data.")
            notes.append(f"{text}; estimated with the uniform prior instead (penalised)")
            task, outcome = replace(task, prior=Prior(model, "uniform")), None
        if outcome is None:
            outcome = algorithm_function(key)(task, **options)
        if budget().is_out and not outcome.converged:
            budget().cut(f"the estimate stopped after {outcome.iterations} iterations, before it had converged")
    notes += outcome.warnings
    for text in notes:
        warn_user(text)
    for array in (outcome.w, outcome.standard_error):
        if array is not None:
            array.setflags(write=False)
    theta = model.chart.theta(outcome.w)
    theta.setflags(write=False)
    return Estimate(
        theta=theta,
        log_odds=outcome.w,
        prior=task.prior,
        converged=outcome.converged,
        residual=outcome.residual,
        monte_carlo_error=outcome.monte_carlo_error,
        standard_error=outcome.standard_error,
        boundary=verdict.factors,
        model=model,
        n=stats.n_all,
        method=key,
        target="exact" if key == "exact" else "approximate",
        settings={"seed": stored_seed(seed), "options": cast("Stored", options), "schema": stored_schema(stats.coding)},
        data_digest=stats.digest,
        iterations=outcome.iterations,
        timings={"prepare": 0.0, "compile": 0.0, "run": time.perf_counter() - started},
        existence=verdict,
        trace=outcome.trace.finish(),
        warnings=tuple(notes),
        details=outcome.details,
        reason=reason,
    )


def _choose(model: Model, stats: Statistics, algorithm: str) -> tuple[str, str]:
    """The algorithm, and why this one."""
    from mrfbayes.estimation.dense_mode import is_dense
    from mrfbayes.estimation.newton import AUTO_MLE_SECONDS, predicted_seconds

    if stats.incomplete is not None:
        return _choose_with_missing(model, algorithm)
    if algorithm == "auto":
        seconds = predicted_seconds(model)
        if seconds <= AUTO_MLE_SECONDS:
            return "exact", f"log Z is feasible on this graph, and the estimate should take about {seconds:.2g} s"
        other = "chord" if is_dense(model) and len(stats.rows) else "pcd"  # which starts from observations
        if seconds == float("inf"):
            return other, "log Z is not feasible on this graph"
        return other, f"with exact log Z it would take about {seconds:.0f} s (limit {AUTO_MLE_SECONDS:.0f})"
    if algorithm == "pseudo":
        _ = stats.patterns  # refused with the right words where only counts are known
    return algorithm, "asked for"


def _choose_with_missing(model: Model, algorithm: str) -> tuple[str, str]:
    """The algorithm where cells are missing: two of them have a likelihood for that."""
    from mrfbayes.estimation.dense_mode import can_be_dense
    from mrfbayes.estimation.newton import AUTO_MLE_SECONDS, predicted_seconds

    if algorithm not in ("auto", *FOR_MISSING_CELLS):
        able = ", ".join(map(repr, FOR_MISSING_CELLS))
        raise InputError(
            f"algorithm = {algorithm!r} has no likelihood for rows with missing cells: use one of {able}, 'auto', or "
            "missing='drop'."
        )
    seconds = predicted_seconds(model)
    if algorithm == "chord" or (algorithm == "auto" and seconds > AUTO_MLE_SECONDS and can_be_dense(model)):
        return "chord", "asked for" if algorithm == "chord" else "log Z is out of reach or slow on this graph"
    if seconds == float("inf"):
        raise CostError(
            f"the estimate with missing cells needs log Z, which is not feasible on {model!r}, or dense chains "
            "(algorithm='chord'), which it is not for: use missing='drop'."
        )
    return "exact", "missing cells are summed over"


def _boundary_text(verdict: Existence) -> str:
    shown = ", ".join(verdict.factors[:NAMED])
    more = f" and {len(verdict.factors) - NAMED} more" if len(verdict.factors) > NAMED else ""
    return f"no finite maximum likelihood estimate: {shown}{more} on the boundary ({verdict.reason})"


def algorithm_module(key: str) -> ModuleType:
    """The module of an algorithm."""
    return importlib.import_module(f"mrfbayes.estimation.{ALGORITHMS[key][0]}")


def algorithm_function(key: str) -> Callable[..., Outcome]:
    """The function of an algorithm."""
    function: Callable[..., Outcome] = getattr(algorithm_module(key), ALGORITHMS[key][1])
    return function


def algorithm_options(key: str) -> Mapping[str, object]:
    """Names and defaults of an algorithm's options."""
    run = inspect.signature(algorithm_function(key)).parameters.values()
    parameters = [p for p in run if p.kind is p.KEYWORD_ONLY]
    if any(p.kind is p.VAR_KEYWORD for p in run):  # it hands them on
        from mrfbayes.estimation.stochastic_ascent import ascend

        parameters += [p for p in inspect.signature(ascend).parameters.values() if p.kind is p.KEYWORD_ONLY]
    return {p.name: p.default for p in parameters}


def check_algorithm(model: Model, key: str, options: Mapping[str, object]) -> None:
    """Refuse a name that is none, options that the algorithm does not have, bad values, and fields it cannot do."""
    one_of("algorithm", key, ("auto", *ALGORITHMS))
    known = algorithm_options(key)
    for name in options:
        if name not in known:
            raise InputError(f"algorithm {key!r} has no option {name!r}; its options: {', '.join(known) or 'none'}.")
    given = {name: value for name, value in options.items() if not (value is None and known[name] is None)}
    check_values(model, given)
    refuse = getattr(algorithm_module(key), "refuse", None)
    if refuse is not None:
        refuse(model)


def check_values(model: Model, options: Mapping[str, object]) -> None:
    """Refuse values that no algorithm takes; names that none has are passed over."""
    for name, value in options.items():
        if name in ("particles", "sweeps", "steps"):
            whole(name, value)
        elif name == "start":
            model.theta(cast("ThetaLike", value), name)
        elif name in OPTION_LIMITS and not (_is_number(value) and 0 < cast("float", value) <= OPTION_LIMITS[name][0]):
            raise InputError(f"{name} = {value!r}: give {OPTION_LIMITS[name][1]}.")
        elif name == "optimiser" and value not in ("lbfgs", "newton"):
            raise InputError(f"optimiser = {value!r}: choose 'lbfgs' or 'newton'.")


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float, np.number)) and not isinstance(value, (bool, np.bool_))


@dataclass(frozen=True)
class Problem:
    """Model, data, prior and seed of a run; the estimate is made when a method first asks for it.

    ``threads`` are those that a method may use before and beside its chains; results do not depend on them.
    """

    model: Model
    statistics: Statistics
    prior: Prior
    seed: np.random.SeedSequence
    given_estimate: object = None
    progress: bool = True
    threads: int = 1

    def __post_init__(self) -> None:
        if not self.model.n_parameters:
            raise InputError(
                f"the field has no parameters ({self.model.n_nodes} nodes, no edges, no node factors), so there is "
                "nothing to learn: add edges, or fields=True (on the command line --fields)."
            )

    @cached_property
    def estimate(self) -> PointEstimate:
        """The maximum likelihood estimate (`mrfbayes.estimation.result.Estimate`), given or made here."""
        if self.given_estimate is not None:
            return as_estimate(self.model, self.given_estimate)
        with budget().share(0.5):  # the rest is for what the estimate is made for
            return estimate(self.model, self.statistics, rng=child(self.seed, "estimate"), progress=self.progress)

    @property
    def has_estimate(self) -> bool:
        """Whether an estimate is at hand without further work."""
        return self.given_estimate is not None or "estimate" in self.__dict__
