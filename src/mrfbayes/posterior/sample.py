"""`mrfbayes.sample`: from data to a posterior by any method of the registry."""

from __future__ import annotations

import hashlib
import json
import math
import os
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from mrfbayes import __version__
from mrfbayes.base.budget import Budget, OutOfTime, budget
from mrfbayes.base.errors import CostError, InputError
from mrfbayes.base.random_streams import Seed, child, generator, kernel_state
from mrfbayes.data.statistics import count
from mrfbayes.methods.problem import Prepared, Problem
from mrfbayes.model.field import Model
from mrfbayes.posterior import diagnostics
from mrfbayes.posterior.assemble import Engine, chain_posterior, direct_posterior, record
from mrfbayes.posterior.corrected import TRUSTED_K, Proposal, corrected, make_proposal
from mrfbayes.posterior.posterior import Posterior
from mrfbayes.posterior.self_check import assess
from mrfbayes.posterior.settings import DENSE_LIMIT, Asked, Plan, Settings, check_settings, make_plan
from mrfbayes.run.driver import ChainRun, RunSettings, run_chains
from mrfbayes.run.store import Checkpoint
from mrfbayes.run.workers import ChainTask, State

PRINTED_VARIANCE = 0.001  # sigma_Q^2, Sec. 3.3


def sample(
    model: Model,
    x: Any,
    method: str = "auto",
    *,
    steps: int | None = None,
    warmup: int | None = None,
    chains: int = 4,
    thin: int | None = None,
    proposal: str = "adapted",
    start: Any = None,
    prior: Any = "uniform",
    rng: Seed | None = 0,
    workers: int = 1,
    progress: bool = True,
    checkpoint: str | os.PathLike[str] | None = None,
    seconds: float | None = None,
    engine: str | None = None,
    estimate: Any = None,
    **method_options: Any,
) -> Posterior:
    """Draw from the posterior of every parameter.

    Everything about the call is checked before anything is computed. A setting that plays no part where it is given is
    refused, or named in a warning that the result keeps.

    Parameters
    ----------
    model : the field
    x : (n, d) data, a table, a path, or `Statistics`
    method : a key of the registry, or "auto"
    steps : steps (or independent draws) per chain after warm-up; by default so many, doubled up to four times, that
        R-hat is below 1.01 and 400 draws are effective (methods that estimate ratios are not lengthened)
    warmup : steps in which the proposal adapts; not kept
    chains : independent chains
    thin : keep every ``thin``-th step; moments use all of them
    proposal : "adapted" (scale and covariance learned in warm-up, then frozen) or "printed" (as in the paper:
        isotropic normal with variance 0.001, no warm-up)
    start : "dispersed" (around the estimate, the default of adapted proposals), "mle", "half", or theta itself
    prior : see `mrfbayes.priors`
    rng : seed; the same seed gives the same draws for any number of workers
    workers : processes over which the chains are spread
    checkpoint : file from which a killed run goes on; a finished one is continued by asking for more steps
    seconds : time budget of the whole call, the preparation included; what there is by then is the result, marked
        partial, and an error where there is nothing. The first call compiles, which a budget cannot cut short
    engine : "mh"; "direct" where the method can draw independently (then the default); "independence" for "exact":
        proposals from the calibrated posterior, corrected (the default, unless they fit badly)
    estimate : an estimate to use instead of making one, from `mrfbayes.estimate`, or theta (p,) itself
    method_options : options of the method
    """
    asked = Asked(
        method=method,
        steps=steps,
        warmup=warmup,
        chains=chains,
        thin=thin,
        proposal=proposal,
        start=start,
        prior=prior,
        rng=rng,
        workers=workers,
        progress=progress,
        checkpoint=checkpoint,
        seconds=seconds,
        engine=engine,
        estimate=estimate,
        options=method_options,
    )
    settings = check_settings(model, asked)
    with Budget(settings.seconds).as_current() as time_left:
        problem = make_problem(model, x, settings)
        started = time.perf_counter()
        try:
            prepared = prepare(problem, settings)
            how = make_engine(problem, prepared, settings)
        except OutOfTime as out:
            raise CostError(
                f"the time budget of {settings.seconds:g} s ended in the preparation of method {settings.row.key!r} "
                f"({out}), before anything could be drawn: allow more seconds=, or use method='mle' or 'pseudo'."
            ) from None
        preparation = time.perf_counter() - started
        if how.name == "direct":
            return direct_posterior(problem, settings, how, preparation, time_left)
        return chain_posterior(problem, settings, how, run(problem, settings, how, time_left), preparation, time_left)


def make_problem(model: Model, x: Any, settings: Settings) -> Problem:
    """Model, data, prior and seed."""
    return Problem(model, count(model, x), settings.prior, settings.seed, settings.estimate, settings.progress)


def prepare(problem: Problem, settings: Settings) -> Prepared:
    """The method's own preparation; where moments come from particles, with a statement of how far to trust them."""
    with budget().share(0.85 if settings.engine == "direct" else 0.5):  # the rest is for the draws
        prepared: Prepared = settings.row.prepare(problem, **settings.options)
        details, doubts = dict(prepared.details), list(prepared.warnings)
        if settings.reason:
            details["auto"] = settings.reason
        if prepared.accuracy is not None:
            trust = assess(problem, prepared.accuracy)
            details |= {"trust": str(trust), "trust_mean": trust.mean_error, "trust_sd": trust.sd_error}
            if trust.is_doubtful:
                doubts.append(f"the calibrated posterior is doubtful here: {trust}.")
    return replace(prepared, details=details, warnings=tuple(doubts))


def make_engine(problem: Problem, prepared: Prepared, settings: Settings) -> Engine:
    """How draws are made, with everything that needs: proposals, starts, numbers of steps."""
    name, shape = settings.engine, None
    if name == "direct" and prepared.draw is None:
        if settings.is_engine_asked:
            raise InputError(
                f"engine = 'direct' is not available for method {settings.row.key!r} with prior {problem.prior}: "
                "choose 'mh'."
            )
        name = "mh"
    if name == "independence":
        candidate, doubt = _candidate(problem, prepared)
        if candidate is not None and not doubt:
            prepared = corrected(prepared, candidate)
        else:
            name, shape = "mh", None if candidate is None else candidate.theta_factor()
            prepared = replace(prepared, warnings=(*prepared.warnings, f"{doubt}: adaptive MH ran instead."))
    plan = make_plan(problem.model, settings, name)
    states = [] if name == "direct" else initial_states(problem, prepared, plan, shape)
    return Engine(name, prepared, plan, states)


def _candidate(problem: Problem, prepared: Prepared) -> tuple[Proposal | None, str]:
    """Calibrated proposals, and what speaks against using them."""
    try:
        with budget().share(0.5):  # the rest is for the chains, of whatever kind
            candidate = make_proposal(problem, prepared)
    except (ArithmeticError, np.linalg.LinAlgError) as failure:
        return None, f"the posterior could not be calibrated ({failure})"
    except OutOfTime as out:
        budget().cut(f"proposals were not calibrated: there was no time for it ({out})")
        return None, "there was no time to calibrate proposals"
    if candidate.is_trusted:
        return candidate, ""
    return candidate, f"the calibrated proposals fit badly (Pareto k = {candidate.pareto_k:.2f} > {TRUSTED_K})"


def typical_spread(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """Centre and standard deviation of each log-odds, as if every factor stood alone: for starts and proposals.

    Outcome frequencies with one pseudo-count an outcome; at an estimate where one is at hand.
    """
    chart, statistics = problem.model.chart, problem.statistics
    sides = chart.sides[chart.block_of]
    tosses = statistics.n * chart.tosses[chart.block_of]
    frequency = (statistics.counts + 1.0) / (tosses + sides)
    information = (tosses + sides) * frequency * (1 - frequency)
    centre = problem.estimate.log_odds if problem.has_estimate else chart.log_odds(frequency)
    return np.asarray(centre), 1.0 / np.sqrt(information)


def initial_states(problem: Problem, prepared: Prepared, plan: Plan, shape: np.ndarray | None = None) -> list[State]:
    """A state a chain; ``shape`` is a lower Cholesky factor that the random walk starts with, where one is known."""
    from mrfbayes.kernels.run import chain

    model, p = problem.model, problem.model.n_parameters
    if isinstance(plan.start, str) and plan.start == "mle":
        problem.estimate  # noqa: B018 (made here, so that the centre below is the estimate)
    centre, sd = typical_spread(problem)
    is_dense = plan.proposal == "adapted" and p <= DENSE_LIMIT
    rows = p if is_dense else 1
    states = []
    for number in range(plan.chains):
        seed = child(problem.seed, "chain", number)
        if not isinstance(plan.start, str):
            theta = plan.start.copy()
        elif plan.start == "half":
            theta = model.no_interaction.copy()
        elif plan.start == "mle":
            theta = model.chart.theta(centre)
        else:
            theta = model.chart.theta(centre + 1.5 * sd * generator(seed, "start").standard_normal(p))
        spread = np.zeros((rows, p))
        if plan.proposal == "printed":
            spread[0] = math.sqrt(PRINTED_VARIANCE)
        else:
            at = model.chart.theta(centre)
            scale = np.maximum(at * (1 - at) * sd, 1e-12)
            spread[np.arange(p) if is_dense else 0, np.arange(p)] = scale
            if shape is not None and is_dense:
                spread[:] = shape.T
        numbers = np.zeros(chain.N_NUMBERS)
        numbers[chain.LOG_TARGET] = np.nan
        numbers[chain.LOG_SCALE] = 0.0 if plan.proposal == "printed" else math.log(2.38 / math.sqrt(max(p, 1)))
        counters = np.zeros(chain.N_COUNTERS, dtype=np.int64)
        counters[chain.WINDOW_END] = chain.FIRST_WINDOW
        state: State = {
            "theta": theta,
            "proposal": np.zeros(p),
            "normals": np.zeros(p),
            "spread": spread,
            "window_mean": np.zeros(p),
            "window_square": np.zeros((rows, p)),
            "mean": np.zeros(p),
            "square": np.zeros(p),
            "numbers": numbers,
            "counters": counters,
            "random": kernel_state(seed, "moves"),
        }
        if prepared.carry is not None:
            carried = prepared.carry(child(seed, "carry"), theta)
            state |= {f"view.{name}": array for name, array in carried.items()}
        states.append(state)
    return states


def _identity(problem: Problem, settings: Mapping[str, Any]) -> dict[str, str]:
    """What a checkpoint must agree on; the number of steps is not in it, so that a run can be continued."""
    text = json.dumps(settings, sort_keys=True, default=str)
    return {
        "model": problem.model.fingerprint,
        "data": problem.statistics.digest,
        "settings": hashlib.sha256(text.encode()).hexdigest(),
        "version": __version__,
    }


def run(problem: Problem, settings: Settings, how: Engine, time_left: Budget) -> ChainRun:
    """All chains, to their end or as far as Ctrl-C and the time budget let them."""
    from mrfbayes.kernels.run.chain import ALL, NOTHING, SHAPE, ChainSettings

    prepared, plan, states = how.prepared, how.plan, how.states
    is_dense = states[0]["spread"].shape[0] > 1
    adapts = NOTHING if plan.proposal != "adapted" else SHAPE if prepared.keeps_noise else ALL
    chain_settings = ChainSettings(plan.warmup, plan.thin, adapts, int(is_dense))
    carried = tuple(name.removeprefix("view.") for name in states[0] if name.startswith("view."))
    is_independent = plan.proposal == "independent"
    task = ChainTask(prepared.view, problem.prior.view, chain_settings, prepared.is_ratio, carried, is_independent)

    def explain(number: int, state: State) -> str:
        j = int(np.argmin(np.minimum(state["proposal"], 1 - state["proposal"])))
        name = problem.model.parameters[j]
        return f"Proposal nearest to the boundary: {name} = {state['proposal'][j]:.6g}."

    identity = _identity(problem, record(settings, how))
    store = None if settings.checkpoint is None else Checkpoint(settings.checkpoint, identity)
    try:
        terms = RunSettings(
            n_steps=plan.warmup + plan.steps,
            longest=0 if prepared.is_ratio or plan.proposal == "printed" else plan.warmup + plan.longest,
            is_enough=diagnostics.is_enough,
            n_workers=settings.workers,
            checkpoint=store,
            seconds=None if settings.seconds is None else time_left.left,
            may_cut_warmup=store is None and settings.warmup is None,
            progress=settings.progress,
            label=settings.row.label,
            explain_failure=explain,
        )
        return run_chains(task, states, terms)
    finally:
        if store is not None:
            store.close()
