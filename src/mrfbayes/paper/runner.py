"""Runs cells: in this process, in others of this machine, or on a Dask cluster by its address."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field

from mrfbayes.base.interrupts import InterruptFlag
from mrfbayes.paper.journal import Store
from mrfbayes.paper.profiles import cost
from mrfbayes.paper.tasks import Cell, CellOutcome, run_cell
from mrfbayes.run.pools import Job, check_workers, connected, run_jobs

MERGE_SECONDS = 300.0  # between two merges of the journal: what is committed while a run goes on is never older

Report = Callable[[float, str], None]
Task = Callable[[Cell], CellOutcome]


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
    workers: int | str = 1,
    seconds: float | None = None,
    report: Report | None = None,
    task: Task = run_cell,
) -> Run:
    """Run those of ``cells`` that the (open) store has not, and keep each as it finishes.

    Parameters
    ----------
    workers : processes (1: this one), or the address of a Dask scheduler
    seconds : after so many no other cell is begun
    report : called with the cost of what is done (`mrfbayes.paper.profiles.cost`) and a note
    task : what is done with a cell
    """
    todo = {str(cell): cell for cell in cells if cell not in store}
    run, done, started = Run(), 0.0, time.monotonic()
    merged = started
    jobs = [Job(name, (cell,)) for name, cell in todo.items()]
    try:
        with (
            InterruptFlag() as interrupt,
            connected(check_workers(workers)) as place,
            closing(run_jobs(task, jobs, place)) as outcomes,
        ):
            while not run.stopped_by:
                # Ctrl-C stops cells that are computed or waited for, not the storing of a finished one.
                with interrupt.allowed():
                    name, outcome = next(outcomes, ("", None))
                if not name:
                    break
                cell = todo[name]
                if isinstance(outcome, CellOutcome):
                    store.add(cell, outcome)
                    run.finished += 1
                else:
                    run.failures[cell] = f"{type(outcome).__name__}: {outcome}"
                done += cost(cell)
                if report is not None:
                    report(done, f"{run.finished} of {len(todo)} cells")
                now = time.monotonic()
                if now - merged > MERGE_SECONDS:
                    store.merge()
                    merged = now
                if seconds is not None and now - started > seconds:
                    run.stopped_by = "time budget"
    except KeyboardInterrupt:
        run.stopped_by = "Ctrl-C"
    return run
