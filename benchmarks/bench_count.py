"""Counting: seconds and peak memory per source and size, each in a process of its own.

    python benchmarks/bench_count.py            # all cases; about 3 GB of memory, 1.5 GB of disk
    python benchmarks/bench_count.py --small    # a hundredth of the rows

Times are the best of three in one process; the first call, with imports and compilation, is reported apart.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from itertools import combinations
from pathlib import Path

import numpy as np

ROWS = {
    "8x8, array": 10_000_000,
    "8x8, Parquet": 10_000_000,
    "8x8, CSV": 1_000_000,
    "8x8, CSV of labels": 100_000,
    "1000x1000, array": 1_000,
    "18 nodes, complete, array": 1_000_000,
    "30 nodes, complete, array": 100_000,
    "20x20 Potts, 3 states, array": 100_000,
}


def model_of(case):
    from mrfbayes.model.build import graph, grid

    if "complete" in case:
        n_nodes = int(case.split()[0])
        return graph(list(combinations(range(n_nodes), 2)), coupling="both-one", fields=True)
    rows, columns = map(int, case.split(",")[0].split()[0].split("x"))
    return grid(rows, columns, states=3 if "Potts" in case else 2)


def data_of(case, n, model, folder):
    """Independent fair states: the hardest to compress and the most patterns."""
    random = np.random.default_rng(0)
    x = random.integers(0, int(model.states.max()), size=(n, model.n_nodes), dtype=np.uint8)
    if "array" in case:
        return x
    import polars as pl

    frame = pl.DataFrame(x, schema=[f"v{j}" for j in range(model.n_nodes)])
    if "labels" in case:
        frame = frame.with_columns(pl.all().replace_strict({0: "no", 1: "yes"}, return_dtype=pl.String))
    path = Path(folder) / ("data.parquet" if "Parquet" in case else "data.csv")
    frame.write_parquet(path) if "Parquet" in case else frame.write_csv(path)
    return path


def peak_megabytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(case, n, source):
    from mrfbayes.data.data import Data

    model = model_of(case)
    _ = model.lowering, model.adjacency
    x = data_of(case, n, model, None) if source == "array" else source
    before = peak_megabytes()
    start = time.perf_counter()
    Data(x).count(model)
    first = time.perf_counter() - start
    best = [np.inf, np.inf]
    for _ in range(3):
        times = [time.perf_counter()]
        stats = Data(x).count(model)
        times.append(time.perf_counter())
        patterns = stats.patterns
        times.append(time.perf_counter())
        best = np.minimum(best, np.diff(times)).tolist()
    return {
        "first": first,
        "count": best[0],
        "patterns": best[1],
        "n_patterns": int(patterns.weight.size),
        "peak_mb": peak_megabytes(),
        "before_mb": before,
    }


def run(command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--case", help=argparse.SUPPRESS)
    parser.add_argument("--source", help=argparse.SUPPRESS)
    parser.add_argument("--write", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.case:
        n = ROWS[options.case] // (100 if options.small else 1)
        if options.write:
            print(data_of(options.case, n, model_of(options.case), options.write))
        else:
            print(json.dumps(measure(options.case, n, options.source)))
        return
    print("| field and source | rows | first call, s | count, s | patterns, s | patterns | MB before | MB at peak |")
    print("|---|---|---|---|---|---|---|---|")
    for case, rows in ROWS.items():
        n = rows // (100 if options.small else 1)
        command = [sys.executable, __file__, "--case", case, *(["--small"] if options.small else [])]
        with tempfile.TemporaryDirectory() as folder:
            # Written by another process: the peak memory of a child starts at that of its parent.
            source = "array" if "array" in case else run([*command, "--write", folder])
            found = json.loads(run([*command, "--source", source]))
        seconds = " | ".join(f"{found[key]:.2f}" for key in ("first", "count", "patterns"))
        print(
            f"| {case} | {n:,} | {seconds} | {found['n_patterns']:,} | {found['before_mb']:.0f} "
            f"| {found['peak_mb']:.0f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
