"""Reading 10^6 rows x 30 columns of CSV: this tree against an earlier one, in one run.

    python benchmarks/bench_reading.py --before PATH_OF_AN_EARLIER_SRC

Times are the least of three processes each, with compiled code on disk; the earlier tree has ``mrfbayes.count``.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

ROWS, COLUMNS, RUNS = 10**6, 30, 3
RESULT = Path(__file__).parent / "results" / "reading.md"
NEW = """
data = mb.Data(path)
stats = data.count(model)
"""
DECIDED = """
data = mb.Data(path)
stats = data.count(mb.Model.from_data(data))
"""
OLD = """
stats = mb.count(model, path)
"""
CODE = """
import sys, time, resource, warnings
import mrfbayes as mb
warnings.simplefilter("ignore")
path = sys.argv[1]
names = open(path).readline().strip().split(",")
model = mb.graph(list(zip(names, names[1:])), fields=True, states={states})
started, busy = time.perf_counter(), time.process_time()
{work}
print(time.process_time() - busy, time.perf_counter() - started, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def write(path: Path, states: int, labels: tuple[str, ...]) -> None:
    """A CSV file of numbers, or of labels where there are some."""
    x = np.random.default_rng(1).integers(0, states, size=(ROWS, COLUMNS))
    text = np.array(labels or tuple(map(str, range(states))))[x]
    with path.open("w") as file:
        file.write(",".join(f"q{k}" for k in range(COLUMNS)) + "\n")
        file.writelines(",".join(row) + "\n" for row in text)


def measured(source: str, work: str, path: Path, states: int) -> list[float]:
    """Processor seconds, seconds and MiB of the quickest of some processes."""
    env = {**os.environ, "PYTHONPATH": source, "OPENBLAS_NUM_THREADS": "1"}
    code = CODE.format(work=work, states=states)
    found = []
    for _ in range(RUNS + 1):  # the first may compile
        done = subprocess.run(
            [sys.executable, "-c", code, str(path)], env=env, capture_output=True, text=True, check=True
        )
        found.append([float(value) for value in done.stdout.split()])
    busy, clock, memory = min(found[1:])
    return [busy, clock, memory / 1024]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--before", required=True)
    before = parser.parse_args().before
    here = str(Path(__file__).resolve().parents[1] / "src")
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name, states, labels in (("0/1", 2, ()), ("no/yes", 2, ("no", "yes"))):
            path = Path(folder) / "data.csv"
            write(path, states, labels)
            for what, source, work in (
                ("before: count(model, file)", before, OLD),
                ("now: Data(file).count(model)", here, NEW),
                ("now: schema, Model.from_data, count", here, DECIDED),
            ):
                busy, clock, memory = measured(source, work, path, states)
                rows.append(f"| {name} | {what} | {busy:.2f} | {clock:.2f} | {memory:.0f} |")
                print(rows[-1], flush=True)
    head = f"# Reading {ROWS:,} rows x {COLUMNS} columns of CSV\n\n"
    head += f"Written by `benchmarks/bench_reading.py`; the least of {RUNS}.\n\n"
    head += "| values | what | processor s | s | peak MiB |\n|---|---|---|---|---|\n"
    RESULT.write_text(head + "\n".join(rows) + "\n")


if __name__ == "__main__":
    main()
