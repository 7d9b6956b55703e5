"""A search over graphs from its options to the part of its result that all searches share."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from mrfbayes import __version__
from mrfbayes.base.budget import Budget, OutOfTime
from mrfbayes.base.checks import time_budget, whole
from mrfbayes.base.digests import digest_of
from mrfbayes.base.errors import CostError, InputError, warn_user
from mrfbayes.base.interrupts import InterruptFlag
from mrfbayes.base.random_streams import Seed, seed_number, seed_sequence
from mrfbayes.data.coding import stored_schema
from mrfbayes.data.statistics import Statistics
from mrfbayes.data.tally import MISSING_AT_RANDOM
from mrfbayes.engines.base import KEPT_DRAWS
from mrfbayes.engines.settings import DEFAULT_DRAW_BYTES, MAX_DRAW_BYTES
from mrfbayes.kernels.structure.moves import MoveView
from mrfbayes.model.field import Model
from mrfbayes.model.result import StoredFields, stored_seed
from mrfbayes.run.driver import ChainRun, RunSettings, run_chains
from mrfbayes.run.store import Checkpoint, recorded
from mrfbayes.run.workers import State
from mrfbayes.structure.anchors import ANCHOR_PARTICLES, SearchProblem, WeightedEngine, weighted_parts
from mrfbayes.structure.problem import GROUP_CELLS, SAMPLE_GROUP_CELLS, EdgeBlocks, edge_factors, pair_blocks
from mrfbayes.structure.recursion import ENGINES, EXACT_ENGINES, best_order, choose_engine, exact_engine
from mrfbayes.structure.reruns import GRAPHS, PRIOR_LOG_ODDS, RERUN_LENGTH, SLABS, Rerun
from mrfbayes.structure.search import (
    SearchEngine,
    SearchSummary,
    SearchTask,
    augmented,
    monte_carlo_error,
    n_configurations,
    summarise,
)

# Sweeps per chain where they are made until the precision is reached. They are multiples of the last batches' length,
# so that a run which is resumed later judges the same batches as before.
LEAST_SEARCH_SWEEPS, MOST_SEARCH_SWEEPS, SWEEP_UNIT = 1_024, 8_192, 256
THINNED_SWEEPS = 4_000  # of which thinning leaves the usual number of draws
INCLUSION_PRECISION = 0.01  # Monte-Carlo error of every inclusion probability that ends such a run
UNEVEN = 0.02  # effective share of the samples' weights, that a reader should know of
SHORTEST_RUN = 0.05  # seconds that are left to the chains where the preparation took all
DOUBTFUL_ERROR = 0.02  # of an inclusion probability, that a reader should know of

# Measured in processor time on searches of 6 to 40 variables with 2 to 5 levels.
SAMPLE_SECONDS, STATE_SECONDS = 0.65e-9, 0.3e-9  # per sample, or configuration of the field, block and pass
POINT_SECONDS = 6.5e-9  # per cell and point of an edge's conditional
CELL_SECONDS = 0.5e-9  # per cell of a block's table and pass
MOVE_SECONDS = 0.8e-6  # per parameter
WEIGHT_PASSES, LINE_POINTS = 3, 20
TYPICAL_SWEEPS = 5 * LEAST_SEARCH_SWEEPS // 2  # per chain, until the precision is reached
GIBBS_SECONDS = 1.5e-9  # per sample, node, neighbour state and Gibbs sweep of the samples
PREPARED_SWEEPS = 900  # Gibbs sweeps of samples before a search, all sets together


@dataclass(frozen=True)
class SearchArguments:
    """The arguments that all searches have in common, as they were given."""

    engine: str | None
    particles: int
    draws: int | None
    warmup: int | None
    chains: int
    thin: int | None
    rng: Seed | None
    progress: bool
    seconds: float | None
    workers: int = 1
    checkpoint: str | os.PathLike[str] | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot be, before any data are read."""
        for name, least in {"particles": 100, "draws": 1, "warmup": 0, "chains": 1, "thin": 1, "workers": 1}.items():
            if (value := getattr(self, name)) is not None:
                whole(name, value, least)
        if self.engine is not None and self.engine not in ENGINES:
            raise InputError(f"engine = {self.engine!r}: choose one of {', '.join(map(repr, ENGINES))}.")
        time_budget(self.seconds)


def more_sweeps(steps: int) -> int:
    """To how many sweeps a chain of ``steps`` sweeps grows that is not precise enough: about a quarter more."""
    return -(-5 * steps // (4 * SWEEP_UNIT)) * SWEEP_UNIT


class SweepPlan(NamedTuple):
    """Sweeps of each chain: those after warm-up, to how many these may grow, those before, and those per kept draw."""

    steps: int
    longest: int
    warmup: int
    thin: int


def make_plan(options: SearchArguments, n_columns: int) -> SweepPlan:
    """The numbers of a run whose draws have ``n_columns`` numbers each; refused where they need too much memory."""
    draws, chains, warmup = options.draws, options.chains, options.warmup
    fitting = max(1, DEFAULT_DRAW_BYTES // (8 * n_columns * chains))
    default_thin = 1 if draws is not None else math.ceil(THINNED_SWEEPS / min(KEPT_DRAWS, fitting))
    thin = default_thin if options.thin is None else options.thin
    steps = max(LEAST_SEARCH_SWEEPS, thin) if draws is None else draws * thin
    longest = max(MOST_SEARCH_SWEEPS, thin) if draws is None else steps
    warmup = max(steps // 10, 100) if warmup is None else warmup
    kept = chains * (longest // thin) * n_columns * 8
    if kept > MAX_DRAW_BYTES:
        raise CostError(
            f"{chains} chains of {longest // thin} draws of {n_columns} parameters need {kept / 2**30:.1f} GiB: raise "
            f"thin= to at least {math.ceil(thin * kept / MAX_DRAW_BYTES)}; probabilities use all sweeps anyway."
        )
    return SweepPlan(steps, longest, warmup, thin)


class PreparedSearch(NamedTuple):
    """The task, where its chains start, and what is to be said of how they were made."""

    task: SearchTask
    states: list[State]
    blocks: EdgeBlocks
    details: dict[str, object]


def prepare_search(
    problem: SearchProblem, engine: str, options: SearchArguments, plan: SweepPlan, seed: np.random.SeedSequence
) -> PreparedSearch:
    """The moves and the engine, once or for each of two sets of samples, and the chains' starts."""
    factors = problem.factors
    parts: tuple[tuple[MoveView, SearchEngine], ...]
    details: dict[str, object] = {}
    if engine in EXACT_ENGINES:
        made, blocks = exact_engine(problem.model, engine)
        parts = ((problem.moves(blocks), made),)
        states = problem.states(options.chains, 1, seed)
    else:
        blocks = pair_blocks(problem.model, SAMPLE_GROUP_CELLS)[0]
        weighted = weighted_parts(problem, blocks, options.particles, seed, options.progress)
        parts = tuple((weighted.moves, own) for own in weighted.engines)
        states = weighted.begin(problem.states(options.chains, len(parts), seed), seed)
        details = {"particles": int(weighted.sets[0].rows.shape[1]), "anchor": weighted.engines[0].anchor.tolist()}
    task = SearchTask(parts, blocks.view(factors.first, factors.size), plan.warmup, plan.thin)
    return PreparedSearch(augmented(task, states, problem.data, seed), states, blocks, details)


def sample_quality(
    task: SearchTask, states: Sequence[State], summary: SearchSummary
) -> tuple[dict[str, object], list[str]]:
    """How far weighted samples can be trusted: figures for the result, and warnings; nothing for exact engines.

    The figures are the smallest effective share of the weights where the chains are, and by how much the inclusion
    probabilities of the chains on either set of samples differ.
    """
    part = np.array([int(state["part"][0]) for state in states])
    shares = [
        engine.effective_share(moves.rate, state)
        for state in states
        for moves, engine in [task.parts[int(state["part"][0])]]
        if isinstance(engine, WeightedEngine)
    ]
    if not shares:
        return {}, []
    details: dict[str, object] = {"effective_share": min(shares)}
    doubts = []
    if np.unique(part).size == 2:
        first, second = (summary.chain_inclusion[part == k].mean(axis=0) for k in (0, 1))
        gap = np.abs(first - second)
        details |= {"set_difference_mean": float(gap.mean()), "set_difference_max": float(gap.max())}
        # The difference of two halves of the chains has twice the error of their mean, and its mean size is 0.8 of it.
        expected = 1.6 * float(np.nan_to_num(summary.inclusion_error).mean())
        if gap.mean() > max(DOUBTFUL_ERROR, 2 * expected):
            doubts.append(
                f"the two sets of samples differ by {gap.mean():.3f} in inclusion probability on average: raise "
                "particles=."
            )
    if min(shares) < UNEVEN:
        doubts.append(
            f"the samples' weights are uneven (effective number {min(shares):.1%} of "
            f"{states[0]['samples'].shape[1]}): raise particles=."
        )
    return details, doubts


def run_remarks(names: Sequence[str], summary: SearchSummary, run: ChainRun) -> tuple[list[str], list[str]]:
    """Warnings and notes about the length of the chains and what it is enough for."""
    doubts = []
    if run.stopped_by:
        planned = run.n_steps - run.n_warmup
        doubts.append(
            f"stopped by {run.stopped_by} after {summary.sweeps} of {planned} sweeps per chain: the result is partial."
        )
    if run.checkpoint_problem:
        doubts.append(f"the checkpoint lacks the last sweeps, which are in this result: {run.checkpoint_problem}")
    if summary.sweeps == 0:
        return [*doubts, "no sweep after warm-up was made: the probabilities are not defined."], []
    errors = np.nan_to_num(summary.inclusion_error)
    worst = int(errors.argmax())
    if errors[worst] > DOUBTFUL_ERROR:
        doubts.append(
            f"the inclusion probability of {names[worst]} has a Monte-Carlo error of {errors[worst]:.2f}: raise draws= "
            f"or thin= (now {summary.sweeps} sweeps)."
        )
    note = (
        f"the largest Monte-Carlo error of an inclusion probability is {errors[worst]:.4f} ({names[worst]}), after "
        f"{summary.sweeps:,} sweeps of each of {len(run.states)} chains."
    )
    return doubts, [note]


def search(
    problem: SearchProblem,
    method: str,
    options: SearchArguments,
    data: Mapping[str, Statistics],
    settings: Mapping[str, object],
) -> tuple[StoredFields, ChainRun, SearchSummary]:
    """Prepare, run and sum up: the fields that all results of searches share, and what the others are made of.

    ``data`` are the counted data whose warnings and notes the result has: those of each group by its name, which are
    yet to be said aloud, or all data under the empty name.
    """
    started = time.perf_counter()
    model, name = problem.model, choose_engine(problem.model, options.engine)
    plan = make_plan(options, problem.coordinates.rate.shape[1] * model.n_parameters)
    seed = seed_sequence(recorded(options.checkpoint).get("seed") if options.rng is None else options.rng)
    limit = Budget(options.seconds)
    try:
        with limit.as_current():
            made = prepare_search(problem, name, options, plan, seed)
    except OutOfTime as out:
        raise CostError(
            f"the time budget of {options.seconds:g} s ended in the preparation of the search ({out}), before anything "
            "could be drawn: allow more seconds=, or fewer particles=."
        ) from None
    first = next(iter(data.values()))
    settings = {
        **settings,
        **({"missing": MISSING_AT_RANDOM} if any(one.incomplete is not None for one in data.values()) else {}),
        "schema": stored_schema(first.coding),
        "engine": name,
        "particles": options.particles if name == "particles" else None,
        "seed": stored_seed(seed),
        "chains": options.chains,
        "warmup": plan.warmup,
        "thin": plan.thin,
    }
    digest = " ".join(statistics.digest for statistics in problem.data)
    preparation = time.perf_counter() - started
    with InterruptFlag():  # once there are sweeps, Ctrl-C waits until they are summed up
        seconds = None if options.seconds is None else max(limit.left, SHORTEST_RUN)
        identity = {
            "model": model.fingerprint,
            "data": digest,
            "settings": digest_of(settings),
            "version": __version__,
        }
        run = _run(made, replace(options, seconds=seconds), plan, identity, seed)
        summary = summarise(run.states)
        quality, doubts = sample_quality(made.task, run.states, summary)
    more, notes = run_remarks(model.blocks, summary, run)
    said = first.warnings if "" in data else ()
    doubts = [*(f"group {key!r}: {text}" for key, one in data.items() if key for text in one.warnings), *more, *doubts]
    for text in doubts:
        warn_user(text)
    of_data = [f"group {key!r}: {text}" if key else text for key, one in data.items() for text in one.notes]
    fields: StoredFields = {
        "model": model,
        "log_likelihood": run.log_likelihood,
        "inclusion": summary.inclusion,
        "absence": summary.absence,
        "inclusion_error": summary.inclusion_error,
        "prior_inclusion": problem.graphs.probability,
        "target": "approximate" if name == "particles" else "exact",
        "method": method,
        "n": sum(statistics.n_all for statistics in problem.data),
        "engine": name,
        "steps": summary.sweeps,
        "warmup": plan.warmup,
        "thin": plan.thin,
        "timings": {"prepare": preparation, "compile": run.compile_seconds, "run": run.chain_seconds},
        "settings": settings,
        "data_digest": digest,
        "warnings": (*said, *doubts),
        "notes": (*of_data, *notes),
        "partial": bool(run.stopped_by),
        "details": {**made.details, **quality},
        "_rerun": Rerun(problem, made.blocks, made.task, run.states) if summary.sweeps else None,
    }
    return fields, run, summary


def _run(
    made: PreparedSearch,
    options: SearchArguments,
    plan: SweepPlan,
    identity: Mapping[str, str],
    seed: np.random.SeedSequence,
) -> ChainRun:
    """All chains, with checkpoint, progress, budget and Ctrl-C as in `sample`; open ones until they are precise."""

    def is_precise(draws: np.ndarray, states: Sequence[State]) -> bool:
        error = monte_carlo_error(states, draws.shape[1] * plan.thin)
        return float(np.nanmax(error, initial=0.0)) <= INCLUSION_PRECISION

    path = options.checkpoint
    with nullcontext() if path is None else Checkpoint(path, identity, seed_number(seed)) as store:
        terms = RunSettings(
            plan.warmup + plan.steps,
            longest=plan.warmup + plan.longest,
            is_enough=is_precise,
            grown=more_sweeps,
            workers=options.workers,
            checkpoint=store,
            seconds=options.seconds,
            progress=options.progress,
            label="graphs",
        )
        return run_chains(made.task, made.states, terms)


def _table_seconds(model: Model, group_cells: int, seconds: float, n_weights: float) -> float:
    """Seconds of a sweep on the tables of pairs of groups of nodes, with so many weights that are summed to them."""
    blocks = pair_blocks(model, group_cells)[0]
    on_cells = CELL_SECONDS * 2 * edge_factors(model).n_edge_parameters * max(blocks.n_cells)
    return on_cells + seconds * WEIGHT_PASSES * len(blocks.nodes) * n_weights


# Seconds of a sweep beside those of the conditionals, and before the first one.
ENGINE_SECONDS: Mapping[str, Callable[[Model], tuple[float, float]]] = {
    "states": lambda model: (_table_seconds(model, GROUP_CELLS, STATE_SECONDS, n_configurations(model)), 0.0),
    "recursion": lambda model: (CELL_SECONDS * best_order(model).cells, 0.0),
    "particles": lambda model: (
        _table_seconds(model, SAMPLE_GROUP_CELLS, SAMPLE_SECONDS, ANCHOR_PARTICLES),
        PREPARED_SWEEPS * GIBBS_SECONDS * ANCHOR_PARTICLES * model.n_nodes**2,
    ),
}


def search_seconds(model: Model, n_groups: int = 1, chains: int = 4) -> float:
    """Seconds of `select` with its panel of priors, or of `compare_groups` with its evidence of no difference."""
    edge_factors(model)  # refuses what cannot be searched
    cells = float(sum(np.prod(model.states[edge]) for edge in model.edges) + model.states.sum())
    sweep, before = ENGINE_SECONDS[choose_engine(model, None)](model)
    sweep += POINT_SECONDS * LINE_POINTS * cells + MOVE_SECONDS * model.n_parameters
    sweeps = chains * (TYPICAL_SWEEPS + 100)
    sweeps += 2 * RERUN_LENGTH * (len(SLABS) + len(GRAPHS) - 2 if n_groups == 1 else len(PRIOR_LOG_ODDS))
    return float(n_groups * (sweeps * sweep + before))


def describe_searches(model: Model) -> dict[str, float]:
    """Predicted seconds by option; empty where such a model cannot be searched."""
    try:
        return {"--select": search_seconds(model), "--group (two groups)": search_seconds(model, 2)}
    except InputError:
        return {}
