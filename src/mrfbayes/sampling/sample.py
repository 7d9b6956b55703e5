"""`mrfbayes.sample`: from data to a posterior by any method of the registry."""

from __future__ import annotations

import inspect
import os
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from mrfbayes.base.blas import one_blas_thread
from mrfbayes.base.budget import Budget
from mrfbayes.base.compiling import watch_compilation
from mrfbayes.base.interrupts import InterruptFlag
from mrfbayes.base.random_streams import Seed
from mrfbayes.base.types import DataLike, Option, PriorLike, ThetaLike
from mrfbayes.engines.registry import set_up
from mrfbayes.engines.settings import Asked, Settings, check_settings
from mrfbayes.estimation.result import Estimate
from mrfbayes.model.field import Model
from mrfbayes.results.posterior import Posterior
from mrfbayes.run.clusters import Workers, connected
from mrfbayes.sampling.assemble import make_posterior, run_engine
from mrfbayes.sampling.prepare import in_time, make_problem, prepare


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

    Everything about the call is checked before anything is computed. A setting that plays no part where it is given is
    refused, or named in a warning that the result keeps.

    Parameters
    ----------
    model : the field
    data : `Data`, anything that `Data` reads, or `Statistics`. Rows with missing cells have a likelihood in the methods
        "exact", "calibrated" and "langevin", which assumes that cells are missing at random
    method : a key of the registry, or "auto"
    draws : draws per chain that are kept, after warm-up; by default so many, doubled up to four times, that R-hat is
        below 1.01 and 400 draws are effective (methods that estimate ratios are not lengthened)
    warmup : steps in which the proposal adapts; not kept
    chains : independent chains
    thin : steps that a chain takes for every draw that is kept; 1 where ``draws`` is given. Moments use all steps
    proposal : "adapted" (scale and covariance learned in warm-up, then frozen) or "printed" (as in the paper:
        isotropic normal with variance 0.001, no warm-up)
    start : "dispersed" (around the estimate, the default of adapted proposals), "mle", "half", or theta itself
    prior : see `mrfbayes.priors`
    rng : seed; None draws a fresh one, which ``seed`` of the result has; the same seed gives the same draws for any
        number of workers
    workers : what the chains are spread over: a number of processes, a Dask client, or the address of its scheduler;
        for "langevin" a number of threads over which its replicas are
    checkpoint : file from which a killed run goes on; a finished one is continued by asking for more draws
    seconds : time budget of the whole call, the preparation included; what there is by then is the result, marked
        partial, and an error where there is nothing. The first call compiles, which cannot be cut short: the clock
        runs, the rest is shortened, and the result says by how much the call was late
    engine : "mh"; "direct" where the method can draw independently (then the default); "hmc" (Hamiltonian Monte Carlo
        around the mode) for "pseudo", where it is the default, and for "exact"; "independence" for "exact": proposals
        from the calibrated posterior, corrected (the default; where they fit badly, "hmc" runs instead); "langevin" for
        the method of that name
    estimate : an estimate to use instead of making one, from `mrfbayes.estimate`, or theta (p,) itself
    method_options : options of the method
    """
    asked = Asked(
        method, draws, warmup, chains, thin, proposal, start, prior, rng, workers, progress, checkpoint, seconds,
        engine, estimate, method_options,
    )  # fmt: skip
    settings = check_settings(model, asked, data)
    watch_compilation()
    with Budget(settings.seconds).as_current(), in_time(settings), connected(settings.workers) as workers:
        settings = replace(settings, workers=workers)
        problem = make_problem(model, data, settings)
        started = time.perf_counter()
        prepared = prepare(problem, settings)
        setup = set_up(problem, prepared, settings)
        preparation = time.perf_counter() - started
        with InterruptFlag():  # once there are draws, Ctrl-C waits until they are a result
            setup, run = run_engine(problem, prepared, settings, setup)
            return make_posterior(problem, settings, setup, run, preparation)


def check_call(model: Model, call: Mapping[str, Any]) -> Settings:
    """Everything about a call of `sample` that can be refused without the data, from some of its keywords."""
    known = inspect.signature(sample).parameters.values()
    usual = {one.name: one.default for one in known if one.name == "method" or one.kind is one.KEYWORD_ONLY}
    own = {name: value for name, value in call.items() if name not in usual and name != "name"}
    asked = {name: call.get(name, value) for name, value in usual.items()}
    return check_settings(model, Asked(**asked, options=own))
