"""Runs chains in rounds of short chunks; between rounds: progress, checkpoint, Ctrl-C and time budget.

All chains advance together, so whatever stops a run leaves them equally long.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mrfbayes.base.errors import InputError, OutputError, SamplingError
from mrfbayes.base.interrupts import InterruptFlag
from mrfbayes.base.progress import Progress
from mrfbayes.run.pools import Workers
from mrfbayes.run.store import Checkpoint
from mrfbayes.run.workers import ChainWorkers, Chunk, State, WorkerTask

ROUND_SECONDS = 0.4  # a round of chunks over all chains: Ctrl-C answers within one
CHECKPOINT_SECONDS = 2.0
FIRST_CHUNK = 4  # steps, which may take seconds each on very large fields; chunks then grow fourfold


@dataclass(frozen=True)
class ChainRun:
    """What came out of the chains."""

    draws: np.ndarray  # (chains, kept, p) theta or w, whichever the engine keeps
    log_likelihood: np.ndarray  # (chains, kept)
    states: list[State]
    stopped_by: str  # "", "Ctrl-C" or "time budget"
    n_warmup: int
    n_steps: int  # that were to be done in the end, warm-up included
    compile_seconds: float
    chain_seconds: float
    resumed_steps: int
    checkpoint_problem: str = ""  # why the checkpoint lacks the last steps, where it does
    is_enough: bool = True  # whether the draws were precise enough when that was last asked

    def gather(self, name: str) -> np.ndarray:
        """One array of all chains' states, stacked."""
        return np.stack([state[name] for state in self.states])


class _Collector:
    """Draws and states as they come in, on their way to memory and to the checkpoint."""

    def __init__(
        self, states: list[State], n_columns: int, checkpoint: Checkpoint | None, varying: frozenset[str] = frozenset()
    ) -> None:
        self.states, self._varying = states, varying
        self._n_columns = n_columns
        self._checkpoint = checkpoint
        self._chunks: list[list[Chunk]] = []
        self.is_enough = True
        self._unwritten = 0
        self._written_at = time.monotonic()
        self.problem = ""  # why the checkpoint lacks the last steps, where it does
        if checkpoint is not None:
            for _, arrays in checkpoint.segments:
                self._take(arrays)

    def _kinds(self, states: list[State]) -> list[dict[str, tuple[tuple[int, ...], str]]]:
        """Shapes (but of arrays whose shape changes) and types of the arrays of all chains."""
        return [{k: (() if k in self._varying else a.shape, a.dtype.str) for k, a in each.items()} for each in states]

    def _take(self, arrays: dict[str, np.ndarray]) -> None:
        n_chains = len(self.states)
        found = [
            {name.partition("/")[2]: a for name, a in arrays.items() if name.startswith(f"{c}/")}
            for c in range(n_chains)
        ]
        draws, log_likelihood = arrays.get("draws", np.empty(0)), arrays.get("log_likelihood", np.empty(0))
        kept = (n_chains, draws.shape[1] if draws.ndim == 3 else -1)
        fits = draws.shape == (*kept, self._n_columns) and log_likelihood.shape == kept
        if not fits or self._kinds(found) != self._kinds(self.states):
            assert self._checkpoint is not None
            raise InputError(
                f"checkpoint {self._checkpoint.path}: its draws or states are not those of such a run: choose another "
                "file."
            )
        self.states = found
        self._chunks.append([Chunk(self.states[c], draws[c], log_likelihood[c]) for c in range(n_chains)])
        self._unwritten = len(self._chunks)

    def add(self, chunks: list[Chunk]) -> None:
        """Take a round of chunks."""
        self.states = [chunk.state for chunk in chunks]
        self._chunks.append([Chunk({}, chunk.draws, chunk.log_likelihood) for chunk in chunks])
        if time.monotonic() - self._written_at > CHECKPOINT_SECONDS:
            self.write()

    def write(self) -> None:
        """Append what is new to the checkpoint."""
        if self._checkpoint is None or self._unwritten == len(self._chunks):
            return
        draws, log_likelihood = self._stack(self._chunks[self._unwritten :])
        arrays = {f"{c}/{name}": array for c, state in enumerate(self.states) for name, array in state.items()}
        self._written_at = time.monotonic()
        try:
            self._checkpoint.append({}, {**arrays, "draws": draws, "log_likelihood": log_likelihood})
        except OutputError as error:  # the draws are in memory: go on, and try again later
            self.problem = str(error)
            return
        self.problem = ""
        self._unwritten = len(self._chunks)

    def _stack(self, rounds: list[list[Chunk]]) -> tuple[np.ndarray, np.ndarray]:
        chains = list(zip(*rounds, strict=True))
        kept = len(chains), sum(len(chunk.draws) for chunk in chains[0])
        draws, log_likelihood = np.empty((*kept, self._n_columns)), np.empty(kept)
        for c, chain in enumerate(chains):
            np.concatenate([chunk.draws for chunk in chain], out=draws[c])
            np.concatenate([chunk.log_likelihood for chunk in chain], out=log_likelihood[c])
        return draws, log_likelihood

    def result(self) -> tuple[np.ndarray, np.ndarray]:
        """All draws so far."""
        if not self._chunks:
            return np.empty((len(self.states), 0, self._n_columns)), np.empty((len(self.states), 0))
        return self._stack(self._chunks)


@dataclass(frozen=True)
class RunSettings:
    """How far chains go, and on what terms.

    Attributes
    ----------
    n_steps : of each chain, warm-up included
    longest : steps to which the run may grow, doubling, as long as ``is_enough`` says no of the draws so far
    workers : processes, or a Dask client
    checkpoint : where draws and states are kept, or None
    seconds : time budget, or None
    may_cut_warmup : whether warm-up may end early so that half of a time budget is left for draws
    progress, label : what the progress bar shows
    explain_failure : words for a chain that cannot go on, from its number and its state
    """

    n_steps: int
    longest: int = 0
    is_enough: Callable[[np.ndarray, list[State]], bool] = lambda draws, states: True
    grown: Callable[[int], int] = lambda steps: 2 * steps
    workers: Workers = 1
    checkpoint: Checkpoint | None = None
    seconds: float | None = None
    may_cut_warmup: bool = False
    progress: bool = True
    label: str = "sampling"
    explain_failure: Callable[[int, State], str] | None = None


def run_chains(task: WorkerTask, states: list[State], settings: RunSettings) -> ChainRun:
    """Advance all chains to their number of steps (warm-up included), or as far as interrupt or budget allow."""
    varying: frozenset[str] = getattr(task, "varying", frozenset())
    collector = _Collector(states, task.n_columns, settings.checkpoint, varying)
    done = resumed = steps_done(collector.states[0])
    goal, seconds = settings.n_steps, math.inf if settings.seconds is None else settings.seconds
    workers = ChainWorkers(task, settings.workers, len(states))
    started = time.perf_counter()
    stopped_by = ""
    with InterruptFlag() as interrupt:  # until all that was drawn is in the checkpoint and stacked
        try:
            with Progress(settings.label, goal, settings.progress) as bar:
                # No step at all: compiles (or loads what was compiled before) and evaluates the start.
                collector.states = [chunk.state for chunk in workers.advance(collector.states, 0)]
                compiled = time.perf_counter()
                for number, state in enumerate(collector.states):
                    task.check_start(number, state)
                chunk = FIRST_CHUNK
                while (goal := _goal(goal, done, task, settings, collector)) > done:
                    bar.total = goal
                    round_started = time.perf_counter()
                    size = min(chunk, goal - done)
                    chunks = workers.advance(collector.states, size)
                    _check(task, chunks, settings.explain_failure)
                    collector.add(chunks)
                    done += size
                    warm = "warm-up, " if done < task.n_warmup else ""
                    bar.update(done, f"{warm}{task.note(collector.states)}")
                    now = time.perf_counter()
                    # Results do not depend on the chunk's size: the state says all.
                    chunk = max(1, int(chunk * min(4.0, 0.8 * ROUND_SECONDS / max(now - round_started, 1e-9))))
                    if interrupt.raised:
                        stopped_by = "Ctrl-C"
                        break
                    if now - started > seconds:
                        stopped_by = "time budget"
                        break
                    is_late = now - started > seconds / 2
                    may_cut = settings.may_cut_warmup and is_late and done < task.n_warmup
                    if may_cut and (with_warmup := getattr(task, "with_warmup", None)):
                        goal -= task.n_warmup - done
                        task = with_warmup(done)
                        workers.close()
                        workers = ChainWorkers(task, settings.workers, len(states))
        finally:
            collector.write()
            workers.close()
        draws, log_likelihood = collector.result()
    return ChainRun(
        draws=draws,
        log_likelihood=log_likelihood,
        states=collector.states,
        stopped_by=stopped_by if done < goal else "",
        n_warmup=task.n_warmup,
        n_steps=goal,
        compile_seconds=compiled - started,
        chain_seconds=time.perf_counter() - compiled,
        resumed_steps=resumed,
        checkpoint_problem=collector.problem,
        is_enough=collector.is_enough,
    )


def steps_done(state: State) -> int:
    """Steps behind ``state``, warm-up included."""
    return int(state["counters"][0])


def _goal(goal: int, done: int, task: WorkerTask, settings: RunSettings, collector: _Collector) -> int:
    """The steps to go to: more after warm-up where those up to ``goal`` are done and not enough.

    Only draws up to the goal decide, so that a run that is resumed beyond it goes the same way.
    """
    while done >= goal and goal < settings.longest:
        kept = (goal - task.n_warmup) // task.n_thin
        collector.is_enough = settings.is_enough(collector.result()[0][:, :kept], collector.states)
        if collector.is_enough:
            break
        goal = min(settings.longest, task.n_warmup + settings.grown(goal - task.n_warmup))
    return goal


def _check(task: WorkerTask, chunks: list[Chunk], explain: Callable[[int, State], str] | None) -> None:
    for number, chunk in enumerate(chunks):
        if failure := task.failure(chunk.state):
            reason = f" {explain(number, chunk.state)}" if explain else ""
            raise SamplingError(
                f"chain {number}, step {steps_done(chunk.state)}: {failure}.{reason} The draws before that "
                "step are in the checkpoint, if one was asked for."
            )
