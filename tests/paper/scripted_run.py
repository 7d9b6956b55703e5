"""Runs a few small cells in a process of its own, which a test may kill: FOLDER WORKERS [KILL_AT].

With KILL_AT the process that runs the cell with that number kills itself inside it, the first time it gets there.
"""

import os
import signal
import sys
from functools import partial
from pathlib import Path

ONE_THREAD = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
CELLS = [(n, method, replication) for replication in (0, 1) for n in (100, 200) for method in ("exact", "mle-0")]


def files(folder):
    """What a run leaves that does not depend on how it went: names and bytes."""
    from mrfbayes.paper.journal import JOURNAL, TIMINGS

    results = folder / "results"
    return {p.name: p.read_bytes() for p in results.iterdir() if p.name not in (TIMINGS, JOURNAL)}


def task(folder, kill_at, cell):
    """Run a cell; the first process that gets to the one to kill at kills itself."""
    from mrfbayes.paper.tasks import run_cell

    marker = Path(folder) / "killed"
    if kill_at == (cell.n, cell.method, cell.replication) and not marker.exists():
        marker.write_text(str(os.getpid()))
        os.kill(os.getpid(), signal.SIGKILL)
    return run_cell(cell)


def main(folder, workers, kill_at=None):
    from mrfbayes.paper.journal import Store, run_cells
    from mrfbayes.paper.tasks import Cell

    cells = [Cell("4x4", n, "adapted", method, r, steps=5_000) for n, method, r in CELLS]
    target = None if kill_at is None else CELLS[int(kill_at)]
    with Store(Path(folder) / "results") as store:
        before = len(store.outcomes)
        run = run_cells(cells, store, workers=int(workers), task=partial(task, folder, target))
    assert not run.failures, run.failures
    print(before, run.finished)


if __name__ == "__main__":
    main(*sys.argv[1:])
