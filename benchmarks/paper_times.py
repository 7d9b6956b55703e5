"""Measure the run times of the paper's tables again, on an idle core, and mark them with the machine.

    python benchmarks/paper_times.py [--replications 2] [--only 4x4] [--out paper/idle_timings.csv] [--wait]

Every row of Tables 1 and 2 is run anew at full length, one process at a time. A run counts only if a core was idle
before it began and it had its core to itself; others are thrown away and, with --wait, tried again when a core is idle.
Rows that the file already has are skipped. `make paper` uses these seconds in place of those of the cells.
"""

from __future__ import annotations

import argparse
import csv
import os
import time
from pathlib import Path

from record import processor

from mrfbayes.paper import constants as settings
from mrfbayes.paper.claims import IDLE_TIMINGS
from mrfbayes.paper.tasks import Cell, cells_of, run_cell

ROOT = Path(__file__).parents[1]
FIELDS = ("grid", "n", "setting", "method", "replication", "steps", "chain", "share", "busy", "machine")
BUSY_SECONDS = 1.0  # for which other work is watched
IDLE = 0.1  # of a core that other work may take on the core that must be idle
OWN_SHARE = 0.97  # of its core that a run must have had


def busy_cores(seconds: float = BUSY_SECONDS) -> float:
    """Cores that were busy in the last ``seconds``, by the system's own count."""

    def jiffies() -> tuple[int, int]:
        numbers = [int(word) for word in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
        return sum(numbers), numbers[3] + numbers[4]

    before = jiffies()
    time.sleep(seconds)
    after = jiffies()
    total, idle = after[0] - before[0], after[1] - before[1]
    return (os.cpu_count() or 1) * (1 - idle / max(total, 1))


def is_idle(busy: float) -> bool:
    """Whether one core is free."""
    return busy < (os.cpu_count() or 1) - 1 + IDLE


def cells(replications: int, only: str) -> list[Cell]:
    """The rows of both tables, and the short runs that are extrapolated."""
    found = cells_of("standard", ["table1", "table2", "gibbs"], replications=replications)
    return [c for c in found if c.method in settings.TEN and c.n in settings.TABLE_SIZES and only in str(c)]


def main() -> None:
    """Measure what is missing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replications", type=int, default=2)
    parser.add_argument("--only", default="", help="cells whose name contains this text")
    parser.add_argument("--out", type=Path, default=ROOT / "paper" / IDLE_TIMINGS)
    parser.add_argument("--wait", action="store_true", help="wait until a core is idle instead of ending")
    options = parser.parse_args()
    rows = list(csv.DictReader(options.out.open(newline=""))) if options.out.exists() else []
    done = {tuple(row[name] for name in FIELDS[:6]) for row in rows}
    for cell in cells(options.replications, options.only):
        key = tuple(str(getattr(cell, name)) for name in FIELDS[:6])
        while key not in done:
            busy = busy_cores()
            if not is_idle(busy):
                if not options.wait:
                    raise SystemExit(f"{busy:.1f} of {os.cpu_count()} cores are busy: stop other work, or use --wait.")
                continue
            seconds = run_cell(cell).seconds
            if seconds["share"] < OWN_SHARE:
                print(f"{cell}: had {seconds['share']:.2f} of its core, not kept", flush=True)
                if not options.wait:
                    break
                continue
            numbers = (f"{seconds['chain']:.5g}", f"{seconds['share']:.4g}", f"{busy:.2f}", processor())
            is_new = not options.out.exists()
            with options.out.open("a", newline="", encoding="utf-8") as file:
                writer = csv.writer(file, lineterminator="\n")
                if is_new:
                    writer.writerow(FIELDS)
                writer.writerow([*key, *numbers])
            done.add(key)
            print(f"{cell}: {seconds['chain']:.2f} s", flush=True)


if __name__ == "__main__":
    main()
