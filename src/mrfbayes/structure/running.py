"""The run options that `select` and `compare_groups` share with `sample`, checked, and the run itself."""

from __future__ import annotations

import hashlib
import json
import math
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np

from mrfbayes import __version__
from mrfbayes.base.checks import whole
from mrfbayes.base.errors import CostError, InputError
from mrfbayes.run.driver import ChainRun, RunSettings, run_chains
from mrfbayes.run.store import Checkpoint
from mrfbayes.run.workers import State
from mrfbayes.structure.anchors import SearchProblem, weighted_parts
from mrfbayes.structure.edge_blocks import EdgeBlocks, pair_blocks
from mrfbayes.structure.engines import SearchEngine, exact_engine
from mrfbayes.structure.search import SearchSummary, SearchTask

if TYPE_CHECKING:
    from mrfbayes.kernels.structure.moves import MoveView

SWEEPS = 4_000  # per chain by default
KEPT_DRAWS = 2_000  # per chain, that thinning leaves by default
MAX_DRAW_BYTES = 8 * 2**30
DEFAULT_DRAW_BYTES = 2**28
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


def run_options(n_columns: int, steps: int | None, warmup: int | None, thin: int | None, **rest: Any) -> RunOptions:
    """``rest``: chains, workers, progress, checkpoint, seconds; ``n_columns`` numbers make a draw."""
    steps = SWEEPS if steps is None else whole("steps", steps, 1)
    warmup = max(steps // 10, 100) if warmup is None else whole("warmup", warmup, 0)
    chains, seconds = whole("chains", rest["chains"], 1), rest["seconds"]
    fitting = max(1, DEFAULT_DRAW_BYTES // (8 * n_columns * chains))
    thin = max(1, -(-steps // min(KEPT_DRAWS, fitting))) if thin is None else whole("thin", thin, 1)
    if seconds is not None and not (isinstance(seconds, (int, float)) and seconds > 0):
        raise InputError(f"seconds = {seconds!r}: a time budget is a positive number.")
    kept = chains * (steps // thin) * n_columns * 8
    if kept > MAX_DRAW_BYTES:
        raise CostError(
            f"{chains} chains of {steps // thin} draws of {n_columns} parameters need {kept / 2**30:.1f} GiB: raise "
            f"thin= to at least {math.ceil(thin * kept / MAX_DRAW_BYTES)}; probabilities use all sweeps anyway."
        )
    workers = whole("workers", rest["workers"], 1)
    return RunOptions(steps, warmup, chains, thin, workers, rest["progress"], rest["checkpoint"], seconds)


def search_parts(
    problem: SearchProblem, engine: str, particles: int, seed: np.random.SeedSequence, progress: bool
) -> tuple[tuple[tuple[MoveView, SearchEngine], ...], EdgeBlocks, dict[str, Any]]:
    """The moves and the engine, once or for each of two sets of samples; the blocks; and what to say of it."""
    if engine != "particles":
        made, blocks = exact_engine(problem.model, engine)
        return ((problem.moves(blocks), made),), blocks, {}
    blocks = pair_blocks(problem.model)[0]
    n_particles = whole("particles", particles, 100)
    parts, anchor = weighted_parts(problem, blocks, n_particles, seed, progress)
    return parts, blocks, {"particles": n_particles, "anchor": anchor.tolist()}


def between_sets(states: Sequence[State], summary: SearchSummary) -> dict[str, float]:
    """By how much the inclusion probabilities of the chains on either set of samples differ, on average and at most."""
    part = np.array([int(state["part"][0]) for state in states])
    if np.unique(part).size < 2:
        return {}
    first, second = (summary.chain_inclusion[part == k].mean(axis=0) for k in (0, 1))
    gap = np.abs(first - second)
    return {"set_difference_mean": float(gap.mean()), "set_difference_max": float(gap.max())}


def run_doubts(
    names: Sequence[str], summary: SearchSummary, run: ChainRun, options: RunOptions, details: Mapping[str, Any]
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
            f"the inclusion probability of {names[worst]} has a Monte-Carlo error of {errors[worst]:.2f}: raise steps= "
            f"(now {options.steps})."
        )
    if details.get("set_difference_mean", 0.0) > DOUBTFUL_ERROR:
        found.append(
            f"the two sets of samples differ by {details['set_difference_mean']:.3f} in inclusion probability on "
            "average: raise particles=."
        )
    return tuple(found)


def run_search(
    task: SearchTask, states: list[State], options: RunOptions, identity: Mapping[str, str], settings: Mapping[str, Any]
) -> ChainRun:
    """All chains, with checkpoint, progress, budget and Ctrl-C as in `sample`."""
    text = json.dumps(settings, sort_keys=True, default=str)
    complete = {**identity, "settings": hashlib.sha256(text.encode()).hexdigest(), "version": __version__}
    store = None if options.checkpoint is None else Checkpoint(options.checkpoint, complete)
    try:
        terms = RunSettings(
            options.warmup + options.steps,
            workers=options.workers,
            checkpoint=store,
            seconds=options.seconds,
            progress=options.progress,
            label="graphs",
        )
        return run_chains(task, states, terms)
    finally:
        if store is not None:
            store.close()


def versions() -> dict[str, str]:
    """What the result was made with."""
    found = {name: version(name) for name in ("numpy", "numba", "scipy")}
    return {"mrfbayes": __version__, "python": platform.python_version(), **found}
