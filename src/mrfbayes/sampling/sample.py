"""`mrfbayes.sample`: from data to a posterior by any method of the registry."""

from __future__ import annotations

import inspect
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from mrfbayes.base.blas import one_blas_thread
from mrfbayes.base.budget import Budget, OutOfTime, budget, watch_compilation
from mrfbayes.base.errors import CostError
from mrfbayes.base.interrupts import InterruptFlag
from mrfbayes.base.random_streams import Seed
from mrfbayes.base.types import DataLike, Option, PriorLike, ThetaLike
from mrfbayes.data.border import counted
from mrfbayes.data.tally import MISSING_AT_RANDOM
from mrfbayes.engines.registry import set_up
from mrfbayes.engines.settings import Settings, check_settings
from mrfbayes.estimation.result import Estimate
from mrfbayes.methods.problem import Prepared, Problem
from mrfbayes.model.field import Model
from mrfbayes.results.posterior import Posterior
from mrfbayes.run.pools import Workers, connected
from mrfbayes.sampling.assemble import make_posterior, run_engine
from mrfbayes.targets.facts import RunFacts
from mrfbayes.targets.self_check import assess


@one_blas_thread()
def sample(
    model: Model,
    data: DataLike,
    method: str = "auto",
    *,
    draws: int | None = None,
    warmup: int | None = None,
    chains: int = 4,
    thin: int | None = None,
    proposal: str = "adapted",
    start: ThetaLike | None = None,
    prior: PriorLike = "default",
    rng: Seed | None = None,
    workers: Workers = 1,
    progress: bool = True,
    checkpoint: str | os.PathLike[str] | None = None,
    seconds: float | None = None,
    engine: str | None = None,
    estimate: Estimate | ThetaLike | None = None,
    **method_options: Option,
) -> Posterior:
    """Draw from the posterior of every parameter.

    All arguments are checked before anything is computed. A setting that has no effect in this call is refused, or
    named in a warning that the result keeps.

    Parameters
    ----------
    model : Model
        The field.
    data : DataLike
        `Data`, anything that `Data` reads, or `Statistics`. Rows with missing cells have a likelihood in the methods
        "exact", "calibrated" and "langevin", which assumes that cells are missing at random.
    method : str, default "auto"
        Name of the method; "auto" chooses one by cost.
    draws : int, optional
        Kept draws per chain, after warm-up. By default the number is doubled up to four times until R-hat is below 1.01
        and the effective sample size is 400 (methods that estimate ratios are not lengthened).
    warmup : int, optional
        Steps in which the proposal adapts; they are not kept.
    chains : int, default 4
        Number of independent chains.
    thin : int, optional
        Steps per kept draw; 1 where ``draws`` is given. Moments use all steps.
    proposal : {"adapted", "printed"}, default "adapted"
        "adapted": scale and covariance are learned in warm-up and then fixed. "printed": as in the paper, an isotropic
        normal proposal with variance 0.001 and no warm-up.
    start : {"dispersed", "mle", "half"} or (p,) array_like, optional
        Start of the chains. "dispersed" (around the estimate) is the default of adapted proposals.
    prior : PriorLike, default "default"
        Prior of the parameters; see `mrfbayes.priors`.
    rng : int, SeedSequence or Generator, optional
        Seed. None draws a new one, which the result has as ``seed``. The same seed gives the same draws for any number
        of workers.
    workers : int, str or Client, default 1
        Number of processes, Dask client, or address of a Dask scheduler that runs the chains; for "langevin" the number
        of threads that run its replicas.
    progress : bool, default True
        Whether a progress bar is shown after two seconds.
    checkpoint : str or path, optional
        File from which an interrupted run continues. A finished run continues if more draws are asked for.
    seconds : float, optional
        Time budget of the whole call with its preparation. The result has the draws made in this time and is marked
        partial. Compilation in the first call cannot be interrupted; the result states how late the call was.
    engine : {"mh", "direct", "hmc", "independence", "langevin"}, optional
        Sampler. "direct" draws independently and is the default where the method allows it. "hmc" (Hamiltonian Monte
        Carlo around the mode) is the default of "pseudo" and is available for "exact". "independence" is the default of
        "exact": proposals come from the calibrated posterior and are corrected; "hmc" runs where they fit badly.
    estimate : Estimate or (p,) array_like, optional
        Estimate or theta to use instead of a new estimate.
    **method_options : float, str or array_like
        Options of the method.

    Returns
    -------
    Posterior
        Draws, moments, diagnostics and warnings.

    Raises
    ------
    InputError
        If an argument or the data are not valid; the message names the argument and the value.
    CostError
        If the method is not feasible for this model, or the time budget ends before the first draw; the message names
        other methods.

    See Also
    --------
    estimate : Point estimates.
    compare : Several methods for the same data.
    select : The posterior over graphs.

    References
    ----------
    Jie Liu and Hao Zheng, MLE-induced Likelihood for Markov Random Fields.

    Examples
    --------
    >>> import mrfbayes as mb
    >>> model = mb.grid(2, 2)
    >>> data = mb.simulate(model, 0.7, 200, rng=1)
    >>> posterior = mb.sample(model, data, "mle", rng=1, progress=False)
    >>> posterior.mean.shape
    (4,)
    """
    asked = {
        "method": method, "draws": draws, "warmup": warmup, "chains": chains, "thin": thin, "proposal": proposal,
        "start": start, "prior": prior, "rng": rng, "workers": workers, "progress": progress,
        "checkpoint": checkpoint, "seconds": seconds, "engine": engine, "estimate": estimate,
    }  # fmt: skip
    settings = check_settings(model, asked, method_options, data)
    watch_compilation()
    with Budget(settings.seconds).as_current(), in_time(settings), connected(settings.workers) as workers:
        settings = replace(settings, workers=workers)
        threads = workers if isinstance(workers, int) else 1  # a cluster has no part in preparing
        given = settings.prior, settings.seed, settings.estimate, settings.progress, threads
        problem = Problem(model, counted(model, data), *given)
        started = time.perf_counter()
        prepared = prepare(problem, settings)
        setup = set_up(problem, prepared, settings)
        preparation = time.perf_counter() - started
        with InterruptFlag():  # once there are draws, Ctrl-C waits until they are a result
            setup, run = run_engine(prepared, setup)
            return make_posterior(setup, run, preparation)


def prepare(problem: Problem, settings: Settings) -> Prepared:
    """The method's own preparation; where moments come from particles, with a statement of how far to trust them."""
    with budget().share(1.0 - settings.engine.draw_share):
        prepared: Prepared = settings.row.prepare(problem, **settings.options)
        facts, warnings = RunFacts(auto=settings.reason or None), list(prepared.warnings)
        if (incomplete := problem.statistics.incomplete) is not None:
            facts = replace(facts, missing=f"{incomplete.description}, {MISSING_AT_RANDOM}")
        if prepared.accuracy is not None:
            trust = assess(problem, prepared.accuracy)
            facts = replace(facts, trust=str(trust), trust_mean=trust.mean_error, trust_sd=trust.sd_error)
            if trust.is_doubtful:
                warnings.append(f"the calibrated posterior is doubtful here: {trust}.")
    return replace(prepared, details={**prepared.details, **facts.details}, warnings=tuple(warnings))


@contextmanager
def in_time(settings: Settings) -> Iterator[None]:
    """Say what to do where the time budget ends before there is anything to draw with."""
    try:
        yield
    except OutOfTime as out:
        instead = "use method='mle' or 'pseudo'"
        if str(out).startswith(("counting", "reading")):  # a part of the data would be another data set
            instead = "count the data once (mrfbayes.Data(...).count(model)) and pass the result as data"
        text = (
            f"the time budget of {settings.seconds:g} s ended in the preparation of method {settings.row.key!r} "
            f"({out}), before anything could be drawn: allow more seconds=, or {instead}. {budget().overrun()}"
        )
        raise CostError(text.rstrip()) from None


def check_call(model: Model, call: Mapping[str, Any]) -> Settings:
    """Everything about a call of `sample` that can be refused without the data, from some of its keywords."""
    known = inspect.signature(sample).parameters.values()
    defaults = {one.name: one.default for one in known if one.name == "method" or one.kind is one.KEYWORD_ONLY}
    options = {name: value for name, value in call.items() if name not in defaults and name != "name"}
    return check_settings(model, {name: call.get(name, value) for name, value in defaults.items()}, options, None)
