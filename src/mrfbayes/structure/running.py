"""A search over graphs from its options to the part of its result that `select` and `compare_groups` share."""

from __future__ import annotations

import hashlib
import json
import math
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from mrfbayes import __version__
from mrfbayes.base.budget import Budget, OutOfTime
from mrfbayes.base.checks import whole
from mrfbayes.base.errors import CostError, InputError, warn_user
from mrfbayes.base.interrupts import InterruptFlag
from mrfbayes.base.random_streams import Seed, seed_number, seed_sequence
from mrfbayes.engines.settings import DEFAULT_DRAW_BYTES, KEPT_DRAWS, MAX_DRAW_BYTES
from mrfbayes.model.result import stored_seed
from mrfbayes.run.driver import ChainRun, RunSettings, run_chains
from mrfbayes.run.store import Checkpoint, recorded
from mrfbayes.run.workers import State
from mrfbayes.structure.anchors import SearchProblem, weighted_parts
from mrfbayes.structure.augmented import augmented
from mrfbayes.structure.edge_blocks import SAMPLE_GROUP_CELLS, EdgeBlocks, pair_blocks
from mrfbayes.structure.engines import SearchEngine, choose_engine, exact_engine
from mrfbayes.structure.reruns import Rerun
from mrfbayes.structure.result import SearchResult
from mrfbayes.structure.search import SearchSummary, SearchTask, summarise
from mrfbayes.structure.weighted import WeightedEngine

if TYPE_CHECKING:
    from mrfbayes.kernels.structure.moves import MoveView

DEFAULT_SWEEPS = 4_000  # per chain by default where a checkpoint is kept
LEAST_SEARCH_SWEEPS, MOST_SEARCH_SWEEPS = 1_000, 8_000  # per chain where they are made until the precision is reached
INCLUSION_PRECISION = 0.01  # Monte-Carlo error of every inclusion probability that ends such a run
UNEVEN = 0.02  # effective share of the samples' weights, that a reader should know of
SHORTEST_RUN = 0.05  # seconds that are left to the chains where the preparation took all
DOUBTFUL_ERROR = 0.02  # of an inclusion probability, that a reader should know of


@dataclass(frozen=True)
class RunOptions:
    """How long, how many chains, where: checked by `run_options`."""

    steps: int
    warmup: int
    chains: int
    thin: int
    workers: int
    progress: bool
    checkpoint: str | os.PathLike[str] | None
    seconds: float | None
    is_open: bool = False  # whether sweeps are made until the precision is reached


def run_options(n_columns: int, draws: int | None, warmup: int | None, thin: int | None, **rest: Any) -> RunOptions:
    """``rest``: chains, workers, progress, checkpoint, seconds; ``n_columns`` numbers make a draw."""
    is_open = draws is None and rest["checkpoint"] is None
    chains, seconds = whole("chains", rest["chains"], 1), rest["seconds"]
    fitting = max(1, DEFAULT_DRAW_BYTES // (8 * n_columns * chains))
    if thin is None:
        thin = 1 if draws is not None else max(1, -(-DEFAULT_SWEEPS // min(KEPT_DRAWS, fitting)))
    thin = whole("thin", thin, 1)
    default = MOST_SEARCH_SWEEPS if is_open else DEFAULT_SWEEPS
    steps = max(default, thin) if draws is None else whole("draws", draws, 1) * thin
    warmup = (
        max((LEAST_SEARCH_SWEEPS if is_open else steps) // 10, 100) if warmup is None else whole("warmup", warmup, 0)
    )
    if seconds is not None and not (isinstance(seconds, (int, float)) and seconds > 0):
        raise InputError(f"seconds = {seconds!r}: a time budget is a positive number.")
    kept = chains * (steps // thin) * n_columns * 8
    if kept > MAX_DRAW_BYTES:
        raise CostError(
            f"{chains} chains of {steps // thin} draws of {n_columns} parameters need {kept / 2**30:.1f} GiB: raise "
            f"thin= to at least {math.ceil(thin * kept / MAX_DRAW_BYTES)}; probabilities use all sweeps anyway."
        )
    workers = whole("workers", rest["workers"], 1)
    return RunOptions(steps, warmup, chains, thin, workers, rest["progress"], rest["checkpoint"], seconds, is_open)


def search_seed(rng: Seed | None, checkpoint: str | os.PathLike[str] | None) -> np.random.SeedSequence:
    """The seed of a search: as given, else that of its checkpoint, else a fresh one."""
    return seed_sequence(recorded(checkpoint).get("seed") if rng is None else rng)


@dataclass(frozen=True, eq=False)
class PreparedSearch:
    """The task, where its chains start, and what is to be said of how they were made."""

    task: SearchTask
    states: list[State]
    blocks: EdgeBlocks
    details: dict[str, object]


def prepare_search(
    problem: SearchProblem, engine: str, particles: int, options: RunOptions, seed: np.random.SeedSequence
) -> PreparedSearch:
    """The moves and the engine, once or for each of two sets of samples, and the chains' starts."""
    factors = problem.factors
    parts: tuple[tuple[MoveView, SearchEngine], ...]
    details: dict[str, object] = {}
    if engine != "particles":
        made, blocks = exact_engine(problem.model, engine)
        parts = ((problem.moves(blocks), made),)
        states = problem.states(options.chains, 1, seed)
    else:
        blocks = pair_blocks(problem.model, SAMPLE_GROUP_CELLS)[0]
        n_particles = whole("particles", particles, 100)
        weighted = weighted_parts(problem, blocks, n_particles, seed, options.progress)
        parts = tuple((weighted.moves, own) for own in weighted.engines)
        states = weighted.begin(problem.states(options.chains, len(parts), seed), seed)
        details = {"particles": int(weighted.sets[0].rows.shape[1]), "anchor": weighted.engines[0].anchor.tolist()}
    task = SearchTask(parts, blocks.view(factors.first, factors.size), options.warmup, options.thin)
    task = augmented(task, states, problem.data, seed)
    return PreparedSearch(task, states, blocks, details)


@dataclass(frozen=True)
class SampleQuality:
    """How far weighted samples can be trusted.

    Attributes
    ----------
    particles : how many samples each set has
    effective_share : effective number of their weights where the chains are, relative to ``particles``; the smallest
    mean, largest : by how much the inclusion probabilities of the chains on either set differ; None with one chain
    expected : the mean that Monte-Carlo errors alone would give
    """

    particles: int
    effective_share: float
    mean: float | None = None
    largest: float | None = None
    expected: float = 0.0

    @property
    def details(self) -> dict[str, float]:
        """The figures as a result keeps them."""
        found = {"effective_share": self.effective_share}
        if self.mean is not None and self.largest is not None:
            found |= {"set_difference_mean": self.mean, "set_difference_max": self.largest}
        return found

    @property
    def doubts(self) -> list[str]:
        """What the reader of the result has to know."""
        found = []
        if self.mean is not None and self.mean > max(DOUBTFUL_ERROR, 2 * self.expected):
            found.append(
                f"the two sets of samples differ by {self.mean:.3f} in inclusion probability on average: raise "
                "particles=."
            )
        if self.effective_share < UNEVEN:
            found.append(
                f"the samples' weights are uneven (effective number {self.effective_share:.1%} of {self.particles}): "
                "raise particles=."
            )
        return found


def sample_quality(task: SearchTask, states: Sequence[State], summary: SearchSummary) -> SampleQuality | None:
    """What the chains say of their samples; None for exact engines."""
    part = np.array([int(state["part"][0]) for state in states])
    shares = [
        engine.effective_share(moves.rate, state)
        for state in states
        for moves, engine in [task.parts[int(state["part"][0])]]
        if isinstance(engine, WeightedEngine)
    ]
    if not shares:
        return None
    n_particles = states[0]["samples"].shape[1]
    if np.unique(part).size < 2:
        return SampleQuality(n_particles, min(shares))
    first, second = (summary.chain_inclusion[part == k].mean(axis=0) for k in (0, 1))
    gap = np.abs(first - second)
    # The difference of two halves of the chains has twice the error of their mean, and its mean size is 0.8 of that.
    expected = 1.6 * float(np.nan_to_num(summary.inclusion_error).mean())
    return SampleQuality(n_particles, min(shares), float(gap.mean()), float(gap.max()), expected)


def run_doubts(
    names: Sequence[str], summary: SearchSummary, run: ChainRun, options: RunOptions, quality: SampleQuality | None
) -> tuple[str, ...]:
    """What the reader of the result has to know."""
    found = []
    if run.stopped_by:
        found.append(
            f"stopped by {run.stopped_by} after {summary.sweeps} of {options.steps} sweeps per chain: the result is "
            "partial."
        )
    if summary.sweeps == 0:
        return (*found, "no sweep after warm-up was made: the probabilities are not defined.")
    errors = np.nan_to_num(summary.inclusion_error)
    worst = int(errors.argmax())
    if errors[worst] > DOUBTFUL_ERROR:
        found.append(
            f"the inclusion probability of {names[worst]} has a Monte-Carlo error of {errors[worst]:.2f}: raise draws= "
            f"or thin= (now {summary.sweeps} sweeps)."
        )
    return (*found, *(quality.doubts if quality is not None else ()))


@dataclass(frozen=True)
class SearchRequest:
    """What is asked of a search.

    Attributes
    ----------
    engine, particles : which engine (None chooses), and how many samples it draws where it is "particles"
    options : how long, how many chains, where
    seed : of all random streams
    settings : priors as they were given, for the result
    said, doubts : what the reader has to know already: said aloud before, or yet to be said
    """

    engine: str | None
    particles: int
    options: RunOptions
    seed: np.random.SeedSequence
    settings: Mapping[str, object]
    said: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()


def search(problem: SearchProblem, request: SearchRequest) -> tuple[SearchResult, ChainRun, SearchSummary]:
    """Prepare, run and sum up: the shared part of the result, and what the rest of it is made of."""
    started = time.perf_counter()
    model, options, seed = problem.model, request.options, request.seed
    name = choose_engine(model, request.engine)
    limit = Budget(options.seconds)
    try:
        with limit.as_current():
            made = prepare_search(problem, name, request.particles, options, seed)
    except OutOfTime as out:
        raise CostError(
            f"the time budget of {options.seconds:g} s ended in the preparation of the search ({out}), before anything "
            "could be drawn: allow more seconds=, or fewer particles=."
        ) from None
    settings = {
        **request.settings,
        "engine": name,
        "particles": request.particles if name == "particles" else None,
        "seed": stored_seed(seed),
        "chains": options.chains,
        "warmup": options.warmup,
        "thin": options.thin,
    }
    digest = " ".join(statistics.digest for statistics in problem.data)
    preparation = time.perf_counter() - started
    in_time = options if options.seconds is None else replace(options, seconds=max(limit.left, SHORTEST_RUN))
    with InterruptFlag():  # once there are sweeps, Ctrl-C waits until they are summed up
        run = _run(made.task, made.states, in_time, {"model": model.fingerprint, "data": digest}, settings, seed)
        summary = summarise(run.states)
        quality = sample_quality(made.task, run.states, summary)
    doubts = (*request.doubts, *run_doubts(model.blocks, summary, run, options, quality))
    for text in doubts:
        warn_user(text)
    result = SearchResult(
        model=model,
        log_likelihood=run.log_likelihood,
        inclusion=summary.inclusion,
        absence=summary.absence,
        inclusion_error=summary.inclusion_error,
        prior_inclusion=problem.graphs.probability,
        target="approximate" if name == "particles" else "exact",
        method="select" if len(problem.data) == 1 else "compare_groups",
        n=sum(statistics.n_all for statistics in problem.data),
        engine=name,
        steps=summary.sweeps,
        warmup=options.warmup,
        thin=options.thin,
        timings={"prepare": preparation, "compile": run.compile_seconds, "run": run.chain_seconds},
        settings=settings,
        data_digest=digest,
        warnings=(*request.said, *doubts),
        partial=bool(run.stopped_by),
        details={**made.details, **({} if quality is None else quality.details)},
        _rerun=Rerun(problem, made.blocks, made.task, run.states) if summary.sweeps else None,
    )
    return result, run, summary


def _run(
    task: SearchTask,
    states: list[State],
    options: RunOptions,
    identity: Mapping[str, str],
    settings: Mapping[str, object],
    seed: np.random.SeedSequence,
) -> ChainRun:
    """All chains, with checkpoint, progress, budget and Ctrl-C as in `sample`; open ones until they are precise."""
    if options.is_open:
        return _run_until_precise(task, states, options)
    text = json.dumps(settings, sort_keys=True, default=str)
    complete = {**identity, "settings": hashlib.sha256(text.encode()).hexdigest(), "version": __version__}
    store = None if options.checkpoint is None else Checkpoint(options.checkpoint, complete, seed_number(seed))
    terms = RunSettings(
        options.warmup + options.steps,
        workers=options.workers,
        checkpoint=store,
        seconds=options.seconds,
        progress=options.progress,
        label="graphs",
    )
    try:
        return run_chains(task, states, terms)
    finally:
        if store is not None:
            store.close()


def _run_until_precise(task: SearchTask, states: list[State], options: RunOptions) -> ChainRun:
    """Half as many sweeps more, again and again, until every inclusion probability has the stated precision."""
    limit, goal, runs = Budget(options.seconds), min(LEAST_SEARCH_SWEEPS, options.steps), list[ChainRun]()
    while True:
        terms = RunSettings(
            options.warmup + goal,
            workers=options.workers,
            seconds=None if options.seconds is None else max(limit.left, SHORTEST_RUN),
            progress=options.progress,
            label="graphs",
        )
        runs.append(run_chains(task, states, terms))
        states = runs[-1].states
        error = summarise(states).inclusion_error
        if runs[-1].stopped_by or goal >= options.steps or np.nanmax(error, initial=0.0) <= INCLUSION_PRECISION:
            break
        goal = min(3 * goal // 2, options.steps)
    return replace(
        runs[-1],
        draws=np.concatenate([run.draws for run in runs], axis=1),
        log_likelihood=np.concatenate([run.log_likelihood for run in runs], axis=1),
        compile_seconds=sum(run.compile_seconds for run in runs),
        chain_seconds=sum(run.chain_seconds for run in runs),
    )
