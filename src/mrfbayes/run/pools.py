"""Pure tasks, done here, in processes of this machine, or by a Dask cluster; what they give does not depend on where.

A process or a Dask worker that dies costs time, not results: its tasks are done again elsewhere. A task that no process
survives is told from those that happened to run beside it, and costs only its own result.
"""

from __future__ import annotations

import secrets
import time
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from mrfbayes.base.errors import InputError, SamplingError
from mrfbayes.run.clusters import Workers, submit
from mrfbayes.run.workers import NO_WORKERS, begin_worker, process_pool

if TYPE_CHECKING:
    from distributed import Client
    from distributed import Future as ClusterFuture

LIVES = 3  # processes that a task may lose before it is tried alone
TRIES_ALONE = 2  # it may not have begun before, and one death may not be its fault
AHEAD = 2  # tasks that are handed out for each process, so that none waits for the next
LOOK_SECONDS = 5.0  # between two looks at how many workers a cluster has


class Job(NamedTuple):
    """A task under the name by which its result is known."""

    name: str
    arguments: tuple[object, ...]


Outcome = tuple[str, object]  # name, and what came out: a value, or the exception
Outcomes = Generator[Outcome, None, None]
Function = Callable[..., object]


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
    if isinstance(workers, int) and workers == 1:
        return _here(function, jobs, may_begin)
    if isinstance(workers, int):
        return _Processes(function, workers).outcomes(jobs, may_begin)
    return _on_dask(function, jobs, workers, may_begin)


def _here(function: Function, jobs: Iterable[Job], may_begin: Callable[[], bool]) -> Outcomes:
    for name, arguments in jobs:
        if not may_begin():
            return
        try:
            found = function(*arguments)
        except Exception as error:
            found = error
        yield name, found


def _is_alive() -> bool:
    """What a process is asked before it gets anything to do."""
    return True


class _Processes:
    """A pool that is made anew when one of its processes dies."""

    def __init__(self, function: Function, n_workers: int) -> None:
        self._function, self._n_workers = function, n_workers
        self._pool: ProcessPoolExecutor | None = None
        self._under_way: dict[Future[object], Job] = {}
        self._again: deque[Job] = deque()
        self._lost: Counter[str] = Counter()

    def outcomes(self, jobs: Iterable[Job], may_begin: Callable[[], bool]) -> Outcomes:
        """See `run_jobs`."""
        source = iter(jobs)
        try:
            while True:
                self._hand_out(source, may_begin)
                if not self._under_way and not self._again:
                    return
                yield from self._finished()
                yield from self._alone()
        finally:
            self._stop()

    def _hand_out(self, source: Iterator[Job], may_begin: Callable[[], bool]) -> None:
        while len(self._under_way) < AHEAD * self._n_workers:
            job = self._again.popleft() if self._again else next(source, None) if may_begin() else None
            if job is None:
                return
            try:
                self._under_way[self._open().submit(self._function, *job.arguments)] = job
            except BrokenProcessPool:
                self._again.appendleft(job)
                self._give_back()

    def _open(self) -> ProcessPoolExecutor:
        if self._pool is None:
            self._pool = process_pool(self._n_workers, begin_worker)
            try:
                self._pool.submit(_is_alive).result()
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
        self._stop()

    def _alone(self) -> Outcomes:
        """Those that lost several processes, each in one of its own: only the guilty one loses that, too."""
        suspects = [job for job in self._again if self._lost[job.name] >= LIVES]
        for job in suspects:
            self._again.remove(job)
            found: object = _lost_everywhere(self._lost[job.name] + TRIES_ALONE)
            for _ in range(TRIES_ALONE):
                with suppress(BrokenProcessPool), process_pool(1, begin_worker) as pool:
                    found = pool.submit(_caught, self._function, *job.arguments).result()
                    break
            yield job.name, found

    def _stop(self) -> None:
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


def _on_dask(function: Function, jobs: Iterable[Job], client: Client, may_begin: Callable[[], bool]) -> Outcomes:
    """No more jobs wait on the scheduler than keep its workers busy: there may be many, and a budget may end."""
    from distributed import KilledWorker, as_completed

    source, run = iter(jobs), secrets.token_hex(8)
    under_way: dict[ClusterFuture, str] = {}
    finished = as_completed(loop=client.loop)
    number, room, looked = 0, 0, -LOOK_SECONDS
    try:
        while True:
            if time.monotonic() - looked > LOOK_SECONDS:
                room, looked = AHEAD * max(sum(client.nthreads().values()), 1), time.monotonic()
            while len(under_way) < room and may_begin() and (job := next(source, None)) is not None:
                future = submit(client, f"mrfbayes-{run}-{number}", function, *job.arguments)
                under_way[future] = job.name
                finished.add(future)
                number += 1
            if not under_way:
                return
            future = next(finished)
            name, error = under_way.pop(future), future.exception()
            if isinstance(error, KilledWorker):
                error = _lost_everywhere(error.allowed_failures + 1)
            yield name, future.result() if error is None else error
            future.release()
    finally:
        client.cancel(list(under_way))
