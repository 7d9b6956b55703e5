"""The run options that `select` and `compare_groups` share with `sample`, checked, and the run itself."""

from __future__ import annotations

import hashlib
import json
import math
import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from mrfbayes import __version__
from mrfbayes.base.checks import whole
from mrfbayes.base.errors import CostError, InputError
from mrfbayes.run.driver import ChainRun, run_chains
from mrfbayes.run.store import Checkpoint
from mrfbayes.run.workers import State
from mrfbayes.structure.search import SearchTask

SWEEPS = 4_000  # per chain by default
KEPT_DRAWS = 2_000  # per chain, that thinning leaves by default
MAX_DRAW_BYTES = 8 * 2**30
DEFAULT_DRAW_BYTES = 2**28


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


def run_search(
    task: SearchTask, states: list[State], options: RunOptions, identity: Mapping[str, str], settings: Mapping[str, Any]
) -> ChainRun:
    """All chains, with checkpoint, progress, budget and Ctrl-C as in `sample`."""
    text = json.dumps(settings, sort_keys=True, default=str)
    complete = {**identity, "settings": hashlib.sha256(text.encode()).hexdigest(), "version": __version__}
    store = None if options.checkpoint is None else Checkpoint(options.checkpoint, complete)
    try:
        return run_chains(
            task,
            states,
            options.warmup + options.steps,
            n_workers=options.workers,
            checkpoint=store,
            seconds=options.seconds,
            progress=options.progress,
            label="graphs",
        )
    finally:
        if store is not None:
            store.close()


def versions() -> dict[str, str]:
    """What the result was made with."""
    found = {name: version(name) for name in ("numpy", "numba", "scipy")}
    return {"mrfbayes": __version__, "python": platform.python_version(), **found}
