"""Who advances the chains: this process, a pool of processes, or a Dask cluster.

A chunk is a pure function of the task and the state of a chain: it can run anywhere, in any order, and again.
"""

from __future__ import annotations

import math
import secrets
import signal
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from multiprocessing import current_process, get_all_start_methods, get_context
from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

import numpy as np

from mrfbayes.base.blas import one_blas_thread
from mrfbayes.base.errors import InputError, SamplingError
from mrfbayes.base.views import View, with_own_workspace
from mrfbayes.run.clusters import Workers, submit

if TYPE_CHECKING:
    from distributed import Client

    from mrfbayes.kernels.priors import PriorView
    from mrfbayes.kernels.run.chain import ChainSettings
    from mrfbayes.kernels.run.hmc import HmcSettings

State = dict[str, np.ndarray]


class Chunk(NamedTuple):
    """What a chunk gives back."""

    state: State
    draws: np.ndarray
    log_likelihood: np.ndarray


class WorkerTask(Protocol):
    """What advances a chain: everything about it that does not change, sent to each worker once."""

    @property
    def n_columns(self) -> int:
        """Numbers in a draw."""

    @property
    def n_warmup(self) -> int:
        """Steps of warm-up."""

    @property
    def n_thin(self) -> int:
        """Steps between two draws that are kept."""

    def advance(self, state: State, n_steps: int) -> Chunk:
        """``n_steps`` more steps from ``state``, which is left as it was."""

    def steps_done(self, state: State) -> int:
        """Steps behind ``state``, warm-up included."""

    def check_start(self, number: int, state: State) -> None:
        """An `InputError` where chain ``number`` cannot start."""

    def failure(self, state: State) -> str:
        """Why the chain cannot go on; empty where it can."""

    def note(self, states: Sequence[State]) -> str:
        """A few words on how the chains are doing."""


@runtime_checkable
class Shortened(WorkerTask, Protocol):
    """A task whose warm-up can be ended for want of time."""

    def with_warmup(self, n_warmup: int) -> WorkerTask:
        """The same task with a warm-up of another length."""


class Metropolis:
    """How a chain that accepts or rejects is doing, from its state; for the tasks of such chains."""

    prior: PriorView
    settings: ChainSettings | HmcSettings

    @property
    def n_columns(self) -> int:
        """Numbers in a draw."""
        return int(self.prior.offset[-1])

    @property
    def n_warmup(self) -> int:
        """Steps of warm-up."""
        return int(self.settings.n_warmup)

    @property
    def n_thin(self) -> int:
        """Steps between two draws that are kept."""
        return int(self.settings.n_thin)

    def steps_done(self, state: State) -> int:
        """Steps behind ``state``, warm-up included."""
        from mrfbayes.kernels.run import chain

        return int(state["counters"][chain.STEP])

    def check_start(self, number: int, state: State) -> None:
        """An `InputError` where chain ``number`` cannot start."""
        from mrfbayes.kernels.run import chain

        value = float(state["numbers"][chain.LOG_TARGET])
        if not math.isfinite(value):
            raise InputError(
                f"chain {number}: the log of prior times likelihood is {value} at the start: choose another start=, "
                "or a prior that is positive there."
            )

    def failure(self, state: State) -> str:
        """Why the chain cannot go on; empty where it can."""
        from mrfbayes.kernels.run import chain

        return "" if state["counters"][chain.FAILED] == chain.FINE else "the acceptance ratio is not a finite number"

    def note(self, states: Sequence[State]) -> str:
        """How many proposals were accepted."""
        from mrfbayes.kernels.run import chain

        counters = np.stack([state["counters"] for state in states]).sum(axis=0)
        steps = int(counters[chain.STEP])
        accepted = int(counters[chain.ACCEPTED] + counters[chain.WARM_ACCEPTED])
        warm = "warm-up, " if self.steps_done(states[0]) < self.settings.n_warmup else ""
        return f"{warm}accepting {accepted / max(steps, 1):.0%}"


@dataclass(frozen=True)
class ChainTask(Metropolis):
    """A chain of Metropolis-Hastings steps by any method.

    ``loop(view, prior, settings, state, kept_draws, n_steps)`` is the compiled chain, one of `mrfbayes.kernels.run`;
    ``carried`` names the arrays of ``view`` that change from step to step (particles); they travel with the state.
    """

    view: View
    prior: PriorView
    settings: ChainSettings
    loop: Callable[..., None]
    carried: tuple[str, ...]

    def with_warmup(self, n_warmup: int) -> ChainTask:
        """These chains with a warm-up of another length."""
        return replace(self, settings=self.settings._replace(n_warmup=n_warmup))

    def advance(self, state: State, n_steps: int) -> Chunk:
        """``n_steps`` more steps from ``state``, which is left as it was."""
        from mrfbayes.kernels.run import chain

        state = {name: array.copy() for name, array in state.items()}
        view = with_own_workspace(self.view)._replace(**{name: state[f"view.{name}"] for name in self.carried})
        chain_state = chain.ChainState(**{name: state[name] for name in chain.ChainState._fields})
        first = int(chain_state.counters[chain.KEPT])
        rows = n_steps // self.settings.n_thin + 1
        kept = chain.KeptDraws(np.empty((rows, chain_state.theta.size)), np.empty(rows), first)
        with np.errstate(over="ignore"):  # unsigned arithmetic wraps; NumPy says so only when the JIT is off
            self.loop(view, self.prior, self.settings, chain_state, kept, n_steps)
        count = int(chain_state.counters[chain.KEPT]) - first
        return Chunk(state, kept.draws[:count], kept.log_likelihood[:count])


class SerialWorkers:
    """All chains in this process, one after the other."""

    def __init__(self, task: WorkerTask) -> None:
        self._task = task

    def advance(self, states: Sequence[State], n_steps: int) -> list[Chunk]:
        """One chunk of every chain."""
        return [self._task.advance(state, n_steps) for state in states]

    def close(self) -> None:
        """Nothing to release."""


NO_WORKERS = (
    "workers = {n}: the worker processes ended before they had done anything. Each of them imports the script that is "
    'running: a script that asks for workers= has to do its work under `if __name__ == "__main__":`, or ask for '
    "workers=1. (They also end like this where there is not enough memory for {n} processes.)"
)


# Imported once, by the server that forks all workers: each of them would need a second for it.
PRELOADED = ["__main__", "numba.np.arraymath", "mrfbayes.sampling.sample", "mrfbayes.sampling.assemble"]


def process_pool(n_workers: int, initializer: Callable[..., None], *arguments: object) -> ProcessPoolExecutor:
    """Processes that share nothing with this one; each calls ``initializer(*arguments)`` first."""
    if getattr(current_process(), "_inheriting", False):
        # A worker that imports a script without a main guard: it ends here in silence, and its parent says why.
        raise SystemExit(1)
    is_forked = "forkserver" in get_all_start_methods()  # Windows can only spawn
    context = get_context("forkserver" if is_forked else "spawn")
    if is_forked:
        context.set_forkserver_preload(PRELOADED)
    return ProcessPoolExecutor(n_workers, mp_context=context, initializer=initializer, initargs=arguments)


def begin_worker() -> None:
    """The parent decides what Ctrl-C means."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


_TASK: WorkerTask | None = None


def _receive(task: WorkerTask) -> None:
    global _TASK
    begin_worker()
    _TASK = task


@one_blas_thread()
def _advance_here(state: State, n_steps: int) -> Chunk:
    assert _TASK is not None
    return _TASK.advance(state, n_steps)


class ProcessWorkers:
    """Chains spread over a pool of processes; a chunk goes to whoever is free."""

    def __init__(self, task: WorkerTask, n_workers: int) -> None:
        self._task, self._n_workers, self._has_worked = task, n_workers, False
        self._pool = process_pool(n_workers, _receive, task)

    def advance(self, states: Sequence[State], n_steps: int) -> list[Chunk]:
        """One chunk of every chain; a process that died costs time, not results: the chunk is computed again."""
        try:
            chunks = self._advance(states, n_steps)
        except BrokenProcessPool:
            if not self._has_worked:
                raise InputError(NO_WORKERS.format(n=self._n_workers)) from None
            self._pool = process_pool(self._n_workers, _receive, self._task)
            chunks = self._advance(states, n_steps)
        self._has_worked = True
        return chunks

    def _advance(self, states: Sequence[State], n_steps: int) -> list[Chunk]:
        return [f.result() for f in [self._pool.submit(_advance_here, state, n_steps) for state in states]]

    def close(self) -> None:
        """Stop the processes."""
        self._pool.shutdown(wait=True, cancel_futures=True)


def _itself(task: WorkerTask) -> WorkerTask:
    """A task that was sent to a cluster; it is computed rather than scattered, so that it outlives its workers."""
    return task


@one_blas_thread()
def _advance_there(task: WorkerTask, state: State, n_steps: int) -> Chunk:
    return task.advance(state, n_steps)


class DaskWorkers:
    """Chains spread over the workers of a Dask cluster; the chunk of a worker that died is computed by another one."""

    def __init__(self, task: WorkerTask, client: Client) -> None:
        self._client, self._run, self._number = client, f"mrfbayes-{secrets.token_hex(8)}", 0
        self._task = submit(client, f"{self._run}-task", _itself, task)

    def advance(self, states: Sequence[State], n_steps: int) -> list[Chunk]:
        """One chunk of every chain."""
        from distributed import KilledWorker

        futures = []
        for state in states:
            self._number += 1
            key = f"{self._run}-{self._number}"
            futures.append(submit(self._client, key, _advance_there, self._task, state, n_steps))
        try:
            return list(self._client.gather(futures))
        except KilledWorker as error:
            raise SamplingError(
                f"the workers that advanced a chain died {error.allowed_failures + 1} times: is there enough memory on "
                "them? The draws before that are in the checkpoint, if one was asked for."
            ) from None

    def close(self) -> None:
        """Take the task from the cluster."""
        self._task.release()


def make_workers(task: WorkerTask, workers: Workers, n_chains: int) -> SerialWorkers | ProcessWorkers | DaskWorkers:
    """Other processes only where there is more than one chain to spread."""
    if n_chains == 1 or workers == 1:
        return SerialWorkers(task)
    return ProcessWorkers(task, min(workers, n_chains)) if isinstance(workers, int) else DaskWorkers(task, workers)
