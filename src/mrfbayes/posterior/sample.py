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
from mrfbayes.base.checks import whole
from mrfbayes.base.errors import InputError
from mrfbayes.base.random_streams import Seed, child, generator, kernel_state, seed_sequence
from mrfbayes.data.statistics import count
from mrfbayes.exact.quantities import is_feasible
from mrfbayes.exact.recursions import recursion
from mrfbayes.methods.problem import Prepared, Problem
from mrfbayes.methods.registry import Row, check_options, method_row
from mrfbayes.model.field import Model
from mrfbayes.posterior.assemble import chain_posterior, direct_posterior
from mrfbayes.posterior.corrected import TRUSTED_K, Proposal, corrected, make_proposal
from mrfbayes.posterior.posterior import Posterior
from mrfbayes.posterior.replicas import replica_posterior, walking_plan
from mrfbayes.posterior.self_check import assess
from mrfbayes.posterior.settings import KEPT_DRAWS, Plan, make_plan
from mrfbayes.priors import Prior
from mrfbayes.run.driver import ChainRun, run_chains
from mrfbayes.run.store import Checkpoint
from mrfbayes.run.workers import ChainTask, State

PRINTED_VARIANCE = 0.001  # sigma_Q^2, Sec. 3.3
DENSE_LIMIT = 600  # parameters up to which the proposal learns a full covariance
INDEPENDENT_STEPS = 5_000  # proposals a chain by default, where nearly all are accepted
CELL_SECONDS = 1e-9  # one cell of a table in one evaluation of log Z
AUTO_PROPOSALS, AUTO_SECONDS = 25_000, 60.0  # "auto" is exact where that many evaluations take no longer


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
    levels: Any = None,
    **method_options: Any,
) -> Posterior:
    """Draw from the posterior of every parameter.

    Parameters
    ----------
    model : the field
    x : (n, d) data, a table, a path, or `Statistics`
    method : a key of the registry, or "auto"
    steps : steps (or independent draws) a chain after warm-up
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
    seconds : time budget; what is drawn by then is the result, marked partial
    engine : "mh"; "direct" where the method can draw independently (then the default); "independence" for "exact":
        proposals from the calibrated posterior, corrected (the default, unless they fit badly)
    estimate : an estimate to use instead of making one
    levels : order of text labels; see `mrfbayes.count`
    method_options : options of the method
    """
    statistics = count(model, x, levels=levels)
    chosen, reason = choose_method(model) if method == "auto" else (method, "")
    row = method_row(chosen)
    check_options(row, method_options)
    seed = seed_sequence(rng)
    problem = Problem(model, statistics, Prior(model, prior), seed, estimate, progress)
    started = time.perf_counter()
    prepared: Prepared = row.prepare(problem, **method_options)
    if reason:
        prepared = replace(prepared, details={**prepared.details, "auto": reason})
    if prepared.details.get("moments") in ("particles", "local"):
        trust = assess(problem, prepared.details)
        doubts = (f"the calibrated posterior is doubtful here: {trust}.",) if trust.is_doubtful else ()
        details = {**prepared.details, "trust": str(trust), "trust_mean": trust.mean_error, "trust_sd": trust.sd_error}
        prepared = replace(prepared, details=details, warnings=(*prepared.warnings, *doubts))
    plan = make_plan(model, statistics, steps, warmup, chains, thin, proposal, start, seconds)
    engine = _engine(engine, row, prepared, problem, plan)
    shape = None
    if engine == "independence":
        candidate, doubt = _candidate(problem, prepared)
        if candidate is not None and not doubt:
            prepared = corrected(prepared, candidate)
            plan = replace(plan, steps=plan.steps if steps else INDEPENDENT_STEPS, warmup=0, proposal="independent")
            plan = replace(plan, thin=plan.thin if thin else max(1, plan.steps // KEPT_DRAWS))
        else:
            engine, shape = "mh", None if candidate is None else candidate.theta_factor()
            prepared = replace(prepared, warnings=(*prepared.warnings, f"{doubt}: adaptive MH ran instead."))
    if engine == "langevin":
        plan = walking_plan(plan, steps, warmup, thin, 64 * model.n_parameters * plan.chains)
    settings = {
        "method": row.key,
        "options": {**row.options, **method_options},
        "engine": engine,
        "prior": str(problem.prior),
        "levels": statistics.levels,
        "seed": [str(seed.entropy), list(seed.spawn_key)],
        "chains": plan.chains,
        "warmup": plan.warmup,
        "thin": plan.thin,
        "proposal": plan.proposal,
        "start": plan.start if isinstance(plan.start, str) else "given",
    }
    if engine == "direct":
        return direct_posterior(row, problem, prepared, plan, settings, time.perf_counter() - started)
    if engine == "langevin":
        preparation = time.perf_counter() - started
        store = None if checkpoint is None else Checkpoint(checkpoint, _identity(problem, settings))
        try:
            return replica_posterior(row, problem, prepared, plan, settings, preparation, (store, seconds))
        finally:
            if store is not None:
                store.close()
    states = _initial_states(problem, prepared, plan, shape)
    preparation = time.perf_counter() - started
    run = _chains(row, problem, prepared, plan, states, settings, workers, checkpoint, seconds, progress)
    return chain_posterior(row, problem, prepared, plan, settings, run, preparation)


def _candidate(problem: Problem, prepared: Prepared) -> tuple[Proposal | None, str]:
    """Calibrated proposals, and what speaks against using them."""
    try:
        candidate = make_proposal(problem, prepared)
    except (ArithmeticError, np.linalg.LinAlgError) as failure:
        return None, f"the posterior could not be calibrated ({failure})"
    if candidate.is_trusted:
        return candidate, ""
    return candidate, f"the calibrated proposals fit badly (Pareto k = {candidate.pareto_k:.2f} > {TRUSTED_K})"


def choose_method(model: Model) -> tuple[str, str]:
    """The method that "auto" stands for, and why."""
    if not is_feasible(model):
        return "calibrated", "calibrated: the partition function is out of reach (its tables would not fit)"
    width = recursion(model).width
    seconds = recursion(model).n_bytes("moments") / 8 * CELL_SECONDS * AUTO_PROPOSALS
    if seconds > AUTO_SECONDS:
        return "calibrated", f"calibrated: exact would take about {seconds:.0f} s (treewidth {width})"
    return "exact", f"exact: the partition function is cheap here (treewidth {width})"


def _engine(engine: str | None, row: Row, prepared: Prepared, problem: Problem, plan: Plan) -> str:
    allowed = ["mh"] if prepared.view is not None else ["langevin"] if prepared.walk is not None else []
    if prepared.draw is not None:
        allowed.append("direct")
    if row.key == "exact" and problem.prior.custom is None and 0 < problem.model.n_parameters <= DENSE_LIMIT:
        allowed.append("independence")
    chosen = allowed[-1] if engine is None else engine
    if engine is None and chosen == "independence" and (plan.proposal == "printed" or not plan.is_default_start):
        chosen = "mh"  # a proposal or a start was asked for: only a random walk has those
    if chosen not in allowed:
        raise InputError(
            f"engine = {engine!r} is not available for method {row.key!r} with prior {problem.prior}: choose one of "
            f"{', '.join(map(repr, allowed))}."
        )
    return chosen


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


def _initial_states(problem: Problem, prepared: Prepared, plan: Plan, shape: np.ndarray | None = None) -> list[State]:
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


def _chains(
    row: Row,
    problem: Problem,
    prepared: Prepared,
    plan: Plan,
    states: list[State],
    settings: Mapping[str, Any],
    workers: int,
    checkpoint: str | os.PathLike[str] | None,
    seconds: float | None,
    progress: bool,
) -> ChainRun:
    from mrfbayes.kernels.run.chain import ALL, NOTHING, SHAPE, ChainSettings

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

    store = None if checkpoint is None else Checkpoint(checkpoint, _identity(problem, settings))
    try:
        return run_chains(
            task,
            states,
            plan.warmup + plan.steps,
            n_workers=whole("workers", workers, 1),
            checkpoint=store,
            seconds=seconds,
            progress=progress,
            label=row.label,
            explain_failure=explain,
        )
    finally:
        if store is not None:
            store.close()
