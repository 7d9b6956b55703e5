"""Pure tasks, done here, in processes of this machine, or by a Dask cluster; what they give does not depend on where.

A process or a Dask worker that dies costs time, not results: its tasks are done again elsewhere. A task that no process
survives is told from those that happened to run beside it, and costs only its own result.

Who does the work: ``workers=`` as a number of processes of this machine, a Dask client, or a scheduler's address.
"""

from __future__ import annotations

import re
import secrets
import signal
import time
import warnings
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager, suppress
from multiprocessing import current_process, get_all_start_methods, get_context
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, cast

import numpy as np

from mrfbayes.base.errors import InputError, SamplingError

if TYPE_CHECKING:
    from distributed import Client
    from distributed import Future as ClusterFuture

LIVES = 3  # processes that a task may lose before it is tried alone
TRIES_ALONE = 2  # it may not have begun before, and one death may not be its fault
AHEAD = 2  # tasks that are handed out for each process, so that none waits for the next
LOOK_SECONDS = 5.0  # between two looks at how many workers a cluster has
ANSWER_SECONDS = 10  # that a scheduler has to answer in
_ADDRESS = re.compile(r"[a-z]+://\S+|[\w.\-]+:\d+")
Workers: TypeAlias = "int | str | Client"


class Job(NamedTuple):
    """A task under the name by which its result is known."""

    name: str
    arguments: tuple[object, ...]


Outcome = tuple[str, object]  # name, and what came out: a value, or the exception
Outcomes = Generator[Outcome, None, None]
Function = Callable[..., object]


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


def run_jobs(
    function: Function, jobs: Iterable[Job], workers: Workers, may_begin: Callable[[], bool] = lambda: True
) -> Outcomes:
    """``function(*arguments)`` of every job, as they finish; an exception is an outcome like any other.

    Parameters
    ----------
    function, jobs : at module level, and with arguments that can be sent to other processes
    workers : number of processes (1: this one), or a Dask client
    may_begin : asked before each job; once it says no, no other is begun, and those under way are finished
    """
    with closing(make_pool(function, workers)) as pool:
        yield from pool.outcomes(jobs, may_begin)


def make_pool(function: Function, workers: Workers, shared: tuple[object, ...] = ()) -> Pool:
    """Who calls ``function(*shared, *arguments)``; what is shared is sent to each worker once."""
    if isinstance(workers, int):
        return Pool(function, shared) if workers == 1 else _Processes(function, shared, workers)
    return _Cluster(function, shared, workers)


class Pool:
    """This process, which does one job after the other."""

    def __init__(self, function: Function, shared: tuple[object, ...]) -> None:
        self._function, self._shared = function, shared

    def outcomes(self, jobs: Iterable[Job], may_begin: Callable[[], bool] = lambda: True) -> Outcomes:
        """See `run_jobs`."""
        for name, arguments in jobs:
            if not may_begin():
                return
            yield name, _caught(self._function, *self._shared, *arguments)

    def close(self) -> None:
        """End all work."""


_SHARED: tuple[object, ...] = ()


def _receive(*shared: object) -> None:
    global _SHARED
    begin_worker()
    _SHARED = shared


def _call(function: Function, *arguments: object) -> object:
    return function(*_SHARED, *arguments)


class _Processes(Pool):
    """A pool that is made anew when one of its processes dies."""

    def __init__(self, function: Function, shared: tuple[object, ...], n_workers: int) -> None:
        super().__init__(function, shared)
        self._n_workers = n_workers
        self._pool: ProcessPoolExecutor | None = None
        self._under_way: dict[Future[object], Job] = {}
        self._again: deque[Job] = deque()
        self._lost: Counter[str] = Counter()

    def outcomes(self, jobs: Iterable[Job], may_begin: Callable[[], bool] = lambda: True) -> Outcomes:
        """See `run_jobs`."""
        source = iter(jobs)
        self._lost.clear()
        while True:
            self._hand_out(source, may_begin)
            if not self._under_way and not self._again:
                return
            yield from self._finished()
            yield from self._alone()

    def _hand_out(self, source: Iterator[Job], may_begin: Callable[[], bool]) -> None:
        while len(self._under_way) < AHEAD * self._n_workers:
            job = self._again.popleft() if self._again else next(source, None) if may_begin() else None
            if job is None:
                return
            try:
                self._under_way[self._open().submit(_call, self._function, *job.arguments)] = job
            except BrokenProcessPool:
                self._again.appendleft(job)
                self._give_back()

    def _open(self) -> ProcessPoolExecutor:
        if self._pool is None:
            self._pool = process_pool(self._n_workers, _receive, *self._shared)
            try:
                self._pool.submit(_itself, True).result()
            except BrokenProcessPool:
                raise InputError(NO_WORKERS.format(n=self._n_workers)) from None
        return self._pool

    def _finished(self) -> Outcomes:
        """Those that have ended, but for those whose process died."""
        ended, _ = wait(self._under_way, return_when=FIRST_COMPLETED)
        is_broken = False
        for future in ended:
            error = future.exception()
            if isinstance(error, BrokenProcessPool):
                is_broken = True
                continue
            name = self._under_way.pop(future).name
            yield name, error if isinstance(error, Exception) else future.result()
        if is_broken:
            self._give_back()

    def _give_back(self) -> None:
        """All that were under way when the pool broke have to be done again."""
        self._again.extend(self._under_way.values())
        self._lost.update(job.name for job in self._under_way.values())
        self._under_way.clear()
        self.close()

    def _alone(self) -> Outcomes:
        """Those that lost several processes, each in one of its own: only the guilty one loses that, too."""
        suspects = [job for job in self._again if self._lost[job.name] >= LIVES]
        for job in suspects:
            self._again.remove(job)
            found: object = _lost_everywhere(self._lost[job.name] + TRIES_ALONE)
            for _ in range(TRIES_ALONE):
                with suppress(BrokenProcessPool), process_pool(1, _receive, *self._shared) as pool:
                    found = pool.submit(_caught, _call, self._function, *job.arguments).result()
                    break
            yield job.name, found

    def close(self) -> None:
        """End the processes; what they are still doing is not wanted any more."""
        if self._pool is None:
            return
        pool, self._pool = self._pool, None
        processes = list((pool._processes or {}).values()) if self._under_way else []
        pool.shutdown(wait=not processes, cancel_futures=True)
        for process in processes:
            with suppress(OSError, ValueError):
                process.terminate()
                process.join()


def _caught(function: Function, *arguments: object) -> object:
    """What ``function`` gives, or the exception that it raises."""
    try:
        return function(*arguments)
    except Exception as error:
        return error


def _lost_everywhere(times: int) -> SamplingError:
    return SamplingError(
        f"the process that worked on it ended {times} times without a result: is there enough memory for it?"
    )


class _Cluster(Pool):
    """The workers of a Dask cluster; the job of one that died is done by another.

    No more jobs wait on the scheduler than keep its workers busy: there may be many, and a budget may end. What is
    shared is computed rather than scattered, so that it outlives its workers.
    """

    def __init__(self, function: Function, shared: tuple[object, ...], client: Client) -> None:
        self._client, self._run, self._number = client, f"mrfbayes-{secrets.token_hex(8)}", 0
        super().__init__(function, tuple(self._submit(_itself, value) for value in shared))
        self._under_way: dict[ClusterFuture, str] = {}
        self._room, self._looked = 0, -LOOK_SECONDS

    def _submit(self, function: Function, *arguments: object) -> ClusterFuture:
        """A task for any worker. Arguments stay with the scheduler, so that they outlive every worker."""
        self._number += 1
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Sending large graph")
            return self._client.submit(function, *arguments, key=f"{self._run}-{self._number}", pure=False)

    def outcomes(self, jobs: Iterable[Job], may_begin: Callable[[], bool] = lambda: True) -> Outcomes:
        """See `run_jobs`."""
        from distributed import KilledWorker, as_completed

        source, finished = iter(jobs), as_completed(loop=self._client.loop)
        while True:
            if time.monotonic() - self._looked > LOOK_SECONDS:
                self._room = AHEAD * max(sum(self._client.nthreads().values()), 1)
                self._looked = time.monotonic()
            while len(self._under_way) < self._room and may_begin() and (job := next(source, None)) is not None:
                future = self._submit(self._function, *self._shared, *job.arguments)
                self._under_way[future] = job.name
                finished.add(future)
            if not self._under_way:
                return
            future = next(finished)
            name, error = self._under_way.pop(future), future.exception()
            if isinstance(error, KilledWorker):
                error = _lost_everywhere(error.allowed_failures + 1)
            yield name, future.result() if error is None else error
            future.release()

    def close(self) -> None:
        """Take from the cluster what is under way, and what was shared."""
        self._client.cancel([*self._under_way, *self._shared])


def _itself(value: object) -> object:
    return value


def check_workers(workers: object) -> Workers:
    """``workers`` as a whole number, a client or an address, or an `InputError` that says what is wrong."""
    if isinstance(workers, (int, np.integer)) and not isinstance(workers, (bool, np.bool_)) and workers >= 1:
        return int(workers)
    if isinstance(workers, str) and _ADDRESS.fullmatch(workers):
        return workers
    if _is_client(workers) and not getattr(workers, "asynchronous", False):
        return cast("Client", workers)
    raise InputError(
        f"workers = {workers!r}: give a whole number, at least 1, of processes, a Dask client (not an asynchronous "
        "one), or the address of a Dask scheduler, as 'tcp://127.0.0.1:8786'."
    )


def _is_client(value: object) -> bool:
    """Without importing Dask, which takes half a second."""
    kinds = type(value).__mro__
    return any(kind.__name__ == "Client" and kind.__module__.split(".")[0] == "distributed" for kind in kinds)


@contextmanager
def connected(workers: Workers) -> Iterator[Workers]:
    """A number or a client as it is; at an address, a client that is closed at the end."""
    if not isinstance(workers, str):
        yield workers
        return
    try:
        from distributed import Client
    except ImportError:
        raise InputError(
            f"workers = {workers!r}: dask.distributed is not installed: pip install 'mrfbayes[dask]', or give a number "
            "of processes."
        ) from None
    try:
        client = Client(workers, timeout=ANSWER_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise InputError(f"workers = {workers!r}: no Dask scheduler answers there ({error}).") from None
    with client:
        yield client
