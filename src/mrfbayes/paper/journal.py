"""What is finished stays finished: an append-only journal of checked records, merged into sorted files.

A record is one line of JSON with a checksum inside. Each finished cell is appended to the journal and brought to the
disk before the next one is looked at, so kill -9 loses only cells under way; a torn last line fails its checksum and is
dropped. Merging writes sorted files under another name and renames them, then empties the journal: whatever stops it,
every record is in one place or in both. A cell is in memory before it is in the journal, so that nothing is emptied
with the journal that no file has. Seconds are in a file of their own, so that all other files depend on nothing but the
cells in them: not on the order in which cells finished, nor on who ran them.

Cells run in this process, in others of this machine, or on a Dask cluster by its address.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from types import TracebackType
from typing import Any

import mrfbayes as mb
from mrfbayes.base.atomic_files import cannot_write, hold, write_text
from mrfbayes.base.interrupts import InterruptFlag
from mrfbayes.paper.tasks import Cell, CellOutcome, cost, run_cell
from mrfbayes.run.pools import Job, check_workers, connected, run_jobs

JOURNAL, TIMINGS = "journal.jsonl", "timings.csv"
_CELL = tuple(f.name for f in fields(Cell))
_COUNTS = ("n", "replication", "steps")
_SECONDS = ("prepare", "chain", "share")


def encode(content: Mapping[str, object]) -> str:
    """A record as a line with its checksum."""
    return json.dumps({**content, "check": _checksum(content)}, sort_keys=True, separators=(",", ":")) + "\n"


def decode(line: str) -> dict[str, Any] | None:
    """The record in a line, or None where the line is torn or was altered."""
    try:
        content = json.loads(line)
        found = content.pop("check")
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    return content if isinstance(content, dict) and found == _checksum(content) else None


def _checksum(content: Mapping[str, object]) -> str:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def file_name(cell: Cell) -> str:
    """The file that a cell's record ends in."""
    return f"{cell.grid}-n{cell.n:04d}-{cell.setting}.jsonl"


class Store:
    """Results in a folder. Open for writing as a context manager: it is locked until then, and merged at the end."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        self.outcomes: dict[Cell, CellOutcome] = {}
        self._journal: io.FileIO | None = None
        self._read()

    def _read(self) -> None:
        timings = self._timings()
        for path in sorted(self.folder.glob("*.jsonl")):
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                content = decode(line)
                if content is None:
                    if path.name == JOURNAL:
                        continue  # torn by a kill; its cell runs again
                    raise mb.InputError(
                        f"{path}:{number}: the record fails its checksum: restore the file, or delete the line to run "
                        "its cell again."
                    )
                cell = Cell(**content["cell"])
                seconds = content.get("seconds") or timings.get(cell, {})
                self.outcomes.setdefault(cell, CellOutcome(content["numbers"], content["vectors"], seconds))

    def _timings(self) -> dict[Cell, dict[str, float]]:
        path = self.folder / TIMINGS
        if not path.exists():
            return {}
        with path.open(encoding="utf-8", newline="") as file:
            return {
                Cell(**{name: int(row[name]) if name in _COUNTS else row[name] for name in _CELL}): {  # type: ignore[arg-type]
                    name: float(row[name]) for name in _SECONDS if row[name]
                }
                for row in csv.DictReader(file)
            }

    def __contains__(self, cell: Cell) -> bool:
        return cell in self.outcomes

    def __enter__(self) -> Store:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            # Unbuffered: what could not be written must not be tried again when the file is closed.
            self._journal = open(self.folder / JOURNAL, "ab", buffering=0)
        except OSError as error:
            raise mb.InputError(f"{self.folder}: results cannot be written there ({error.strerror}).") from None
        try:
            hold(self._journal)
        except OSError:
            self._journal.close()
            raise mb.InputError(f"{self.folder} is in use by another run: choose another folder.") from None
        try:
            self.outcomes.clear()
            self._read()  # another run may have ended since
            self.merge()
        except BaseException:
            self._journal.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._journal is not None
        try:
            self.merge()
        finally:
            self._journal.close()  # empty, and left there: the lock of the next run is on this very file
            self._journal = None

    def add(self, cell: Cell, outcome: CellOutcome) -> None:
        """Keep a finished cell; one that is already there stays as it is."""
        assert self._journal is not None, "open the store first"
        if cell in self.outcomes:
            return
        self.outcomes[cell] = outcome
        line = encode({"cell": asdict(cell), **asdict(outcome)}).encode()
        before = os.fstat(self._journal.fileno()).st_size
        try:
            written = self._journal.write(line)
            if written != len(line):
                self._journal.write(line[written:])  # raises what stopped the first write
            os.fsync(self._journal.fileno())
        except OSError as error:
            self._journal.truncate(before)  # the cell stays in memory: merging tries again
            raise cannot_write(self.folder / JOURNAL, error) from error

    def merge(self) -> None:
        """Write the sorted files and empty the journal."""
        assert self._journal is not None
        content: dict[str, list[str]] = {}
        for cell in sorted(self.outcomes):
            outcome = self.outcomes[cell]
            record = {"cell": asdict(cell), "numbers": outcome.numbers, "vectors": outcome.vectors}
            content.setdefault(file_name(cell), []).append(encode(record))
        for name, lines in content.items():
            _replace(self.folder / name, "".join(lines))
        _replace(self.folder / TIMINGS, self._timing_text(sorted(self.outcomes)))
        self._journal.truncate(0)  # only now: all that was in it is in memory, and in the files

    def _timing_text(self, cells: Iterable[Cell]) -> str:
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow([*_CELL, *_SECONDS])
        for cell in cells:
            seconds = self.outcomes[cell].seconds
            if seconds:
                writer.writerow([*(getattr(cell, name) for name in _CELL), *(seconds.get(s, "") for s in _SECONDS)])
        return text.getvalue()


def _replace(path: Path, text: str) -> None:
    if not (path.exists() and path.read_text(encoding="utf-8") == text):
        write_text(path, text, overwrite=True)


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
    report : called with the cost of what is done (`mrfbayes.paper.tasks.cost`) and a note
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
