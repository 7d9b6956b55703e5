"""A record of finished units: long checks run piece by piece, over days and commits, and go on where they stopped.

Each line of the record is one unit as JSON, with the commit that it ran on. A line that a kill cut off is dropped.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable, Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benchmarks" / "results" / "trust"
Unit = tuple[str, Callable[[], dict[str, object] | None]]


def commit() -> str:
    """The commit of the tree, with a plus sign where files of the package differ from it."""
    name = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout
    changed = subprocess.run(
        ["git", "status", "--porcelain", "--", "src", "tests"], cwd=ROOT, capture_output=True, text=True
    )
    return name.strip() + ("+" if changed.stdout.strip() else "")


class Record:
    """The finished units in a file of JSON lines.

    Parameters
    ----------
    path : Path
        The file; made where it does not exist.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows: dict[str, dict[str, object]] = {}
        if path.is_file():
            for line in path.read_text(encoding="utf-8").splitlines():
                try:
                    row = json.loads(line)
                except ValueError:
                    continue
                self.rows[row["unit"]] = row

    def run(self, units: Iterable[Unit], seconds: float, again: bool = False, quiet: bool = False) -> None:
        """Run what is not in the record yet, for about ``seconds``; ``again`` repeats units of other commits too.

        ``quiet`` prints the names of finished units without their figures.
        """
        self.path.parent.mkdir(parents=True, exist_ok=True)
        at, begin = commit(), time.monotonic()
        for name, work in units:
            known = self.rows.get(name)
            if known is not None and (not again or known["commit"] == at):
                continue
            if time.monotonic() - begin > seconds:
                print(f"stopped after {seconds:.0f} s; the next call goes on at {name}")
                return
            started = time.monotonic()
            outcome = work()
            if outcome is None:  # undecided: left for a later call
                continue
            day = time.strftime("%Y-%m-%d", time.gmtime())
            row = {"unit": name, "commit": at, "date": day, "seconds": round(time.monotonic() - started, 1), **outcome}
            self.rows[name] = row
            self._append(row)
            print(f"{name}: {row['seconds']} s" if quiet else json.dumps(row), flush=True)

    def _append(self, row: dict[str, object]) -> None:
        with self.path.open("ab+") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(size - 1, 0))
            is_torn = size > 0 and file.read(1) != b"\n"
            file.write(b"\n" * is_torn + json.dumps(row, separators=(",", ":")).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())
