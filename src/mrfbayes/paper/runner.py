"""Runs cells: in this process, in processes of a local Dask cluster, or on any Dask cluster by its address."""

from __future__ import annotations

import logging
import signal
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import mrfbayes as mb
from mrfbayes.base.interrupts import InterruptFlag
from mrfbayes.paper.journal import Store
from mrfbayes.paper.profiles import cost
from mrfbayes.paper.tasks import Cell, CellOutcome, run_cell

if TYPE_CHECKING:
    import distributed

MERGE_SECONDS = 300.0  # between two merges of the journal: what is committed while a run goes on is never older
CLUSTER_SECONDS = 10  # that a scheduler has to answer in
LOST_WORKERS = 10  # that a cell may outlive before it is called a failure

Report = Callable[[float, str], None]
Task = Callable[[Cell], CellOutcome | str]


@dataclass
class Run:
    """What came of a run."""

    finished: int = 0
    failures: dict[Cell, str] = field(default_factory=dict)
    stopped_by: str = ""


def run_cells(
    cells: Sequence[Cell],
    store: Store,
    *,
    workers: int = 1,
    cluster: str | None = None,
    seconds: float | None = None,
    report: Report | None = None,
    task: Task | None = None,
) -> Run:
    """Run those of ``cells`` that the (open) store has not, and keep each as it finishes.

    Parameters
    ----------
    workers : processes; 1 runs in this one, without Dask
    cluster : address of a Dask scheduler, in place of local processes
    seconds : after so many no other cell is begun
    report : called with the cost of what is done (`mrfbayes.paper.profiles.cost`) and a note
    task : what is done with a cell; `attempt`, unless a test asks for something else
    """
    task = task or attempt
    todo = [cell for cell in cells if cell not in store]
    done = 0.0
    run = Run()
    started = merged = time.monotonic()
    interrupt = InterruptFlag()
    here = workers == 1 and cluster is None
    source = _here(todo, task, interrupt) if here else _on_dask(todo, task, workers, cluster, interrupt)
    try:
        # Ctrl-C is let through while cells are computed and waited for, and held back while a finished one is kept.
        with interrupt, source as outcomes:
            for cell, outcome in outcomes:
                if isinstance(outcome, CellOutcome):
                    store.add(cell, outcome)
                    run.finished += 1
                else:
                    run.failures[cell] = outcome
                done += cost(cell)
                if report is not None:
                    report(done, f"{run.finished} of {len(todo)} cells")
                now = time.monotonic()
                if now - merged > MERGE_SECONDS:
                    store.merge()
                    merged = now
                if seconds is not None and now - started > seconds:
                    run.stopped_by = "time budget"
                    break
    except KeyboardInterrupt:
        run.stopped_by = "Ctrl-C"
    return run


Outcomes = Iterator[tuple[Cell, CellOutcome | str]]


@contextmanager
def _here(cells: Sequence[Cell], task: Task, interrupt: InterruptFlag) -> Iterator[Outcomes]:
    def outcomes() -> Outcomes:
        for cell in cells:
            outcome: CellOutcome | str | None = None
            try:
                with interrupt.allowed():
                    outcome = task(cell)
            except KeyboardInterrupt:
                if outcome is None:
                    raise
            yield cell, outcome

    yield outcomes()


def attempt(cell: Cell) -> CellOutcome | str:
    """The outcome of a cell, or what went wrong in it."""
    try:
        return run_cell(cell)
    except (ValueError, ArithmeticError, RuntimeError, mb.CostError, mb.SamplingError) as error:
        return f"{type(error).__name__}: {error}"


def _outcome(future: distributed.Future[CellOutcome | str]) -> CellOutcome | str:
    error = future.exception()
    outcome: CellOutcome | str = future.result() if error is None else f"{type(error).__name__}: {error}"
    return outcome


@contextmanager
def _on_dask(
    cells: Sequence[Cell], task: Task, workers: int, address: str | None, interrupt: InterruptFlag
) -> Iterator[Outcomes]:
    try:
        import dask
        from distributed import Client, LocalCluster, WorkerPlugin, as_completed
    except ImportError:
        raise mb.InputError(
            "several workers need dask.distributed, which is not installed: pip install 'mrfbayes[paper]', or use "
            "--workers 1."
        ) from None

    class Deaf(WorkerPlugin):
        """Ctrl-C is for the run, not for its workers: they would print their last words."""

        def setup(self, worker: distributed.Worker) -> None:
            signal.signal(signal.SIGINT, signal.SIG_IGN)

    def outcomes(client: distributed.Client) -> Outcomes:
        # A cell whose worker dies is given to another one: it is pure, so nothing is lost but time.
        futures = {client.submit(task, cell, key=str(cell), pure=False): cell for cell in cells}
        finished = as_completed(list(futures))
        try:
            while True:
                with interrupt.allowed():
                    future = next(finished, None)
                if future is None:
                    return
                yield futures.pop(future), _outcome(future)
                future.release()
        except KeyboardInterrupt:
            for future, cell in futures.items():
                if future.status == "finished":  # it was, but had not been looked at
                    yield cell, _outcome(future)
            raise

    with dask.config.set({"distributed.scheduler.allowed-failures": LOST_WORKERS}):
        if address is not None:
            try:
                client = Client(address, timeout=CLUSTER_SECONDS)
            except (OSError, ValueError) as error:
                raise mb.InputError(f"--cluster {address}: no Dask scheduler answers there ({error}).") from None
            with client:
                yield outcomes(client)
            return
        with (
            tempfile.TemporaryDirectory(prefix="mrfbayes-") as scratch,
            LocalCluster(
                n_workers=min(workers, max(len(cells), 1)),
                threads_per_worker=1,
                processes=True,
                host="127.0.0.1",
                dashboard_address=None,
                worker_dashboard_address=None,
                local_directory=scratch,
                silence_logs=logging.CRITICAL,
            ) as local,
            Client(local) as client,
        ):
            client.register_plugin(Deaf())
            yield outcomes(client)
