"""Estimates: accuracy, seconds and peak memory, each case in a process of its own, after one call to compile.

    python benchmarks/bench_estimate.py                 # all cases but the largest; some minutes, one core
    python benchmarks/bench_estimate.py --huge          # the 1000x1000 grid as well: ten minutes, two cores, 4 GB
    python benchmarks/bench_estimate.py --only "8x8"    # cases whose name contains the text
    python benchmarks/bench_estimate.py --write         # into benchmarks/results/estimate.md

Errors are in posterior sds: of the exact posterior information where that is feasible (4x4 to 8x8), else conditional
ones, 1/sqrt(n Var[s]), which are smaller. Times are the best of three for cases under ten seconds.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
import warnings
from pathlib import Path

RESULTS = Path(__file__).parent / "results" / "estimate.md"
ALGORITHMS = ("pcd", "fpcd", "stochastic", "cd", "mcmc-mle", "pf-mcmc-mle", "pseudo")


def case(name, rows, columns, low, high, n, algorithm="pcd", reference="exact", threads=1, **options):
    return name, {
        "shape": (rows, columns),
        "range": (low, high),
        "n": n,
        "algorithm": algorithm,
        "reference": reference,
        "threads": threads,
        "options": options,
    }


CASES = dict(
    [
        case("6x6 (.5,.8)", 6, 6, 0.5, 0.8, 500),
        case("8x8 (.5,.8)", 8, 8, 0.5, 0.8, 500),
        case("6x6 (.7,.9)", 6, 6, 0.7, 0.9, 500),
        case("8x8 (.7,.9)", 8, 8, 0.7, 0.9, 500),
        *[case(f"6x6 (.5,.8) by {a}", 6, 6, 0.5, 0.8, 500, a) for a in ALGORITHMS[1:]],
        case("500x8 strip (.5,.8)", 500, 8, 0.5, 0.8, 1000),
        case("500x8 strip (.6,.9)", 500, 8, 0.6, 0.9, 1000),
        case("500x8 strip (.5,.8), exact", 500, 8, 0.5, 0.8, 1000, "exact", None),
        case("100x100 (.5,.8)", 100, 100, 0.5, 0.8, 1000, "pcd", "long"),
    ]
)
HUGE = dict([case("1000x1000 (.5,.8)", 1000, 1000, 0.5, 0.8, 1000, "pcd", None, 2)])


def data_of(case):
    """The model and n observations at theta drawn uniformly, exact where the width allows."""
    import numpy as np

    import mrfbayes as mb

    model = mb.grid(*case["shape"])
    theta = np.random.default_rng(sum(case["shape"])).uniform(*case["range"], model.n_parameters)
    sampler = {"sampler": "exact"} if min(case["shape"]) <= 10 else {"sampler": "gibbs", "sweeps": 300}
    return model, mb.simulate(model, theta, case["n"], rng=1, progress=False, **sampler)


def reference_of(case, model, stats):
    """What to compare with, and the unit: (log-odds, sds)."""
    import numpy as np

    import mrfbayes as mb

    n, mean = stats.n, stats.mean
    if case["reference"] == "exact":
        best = mb.estimate(model, stats, "exact").log_odds
    else:
        best = mb.estimate(model, stats, "pcd", rng=99, tolerance=0.004, steps=8000, progress=False).log_odds
    if model.n_parameters <= 200:
        information = mb.fisher_information(model, model.chart.theta(best))
        return best, np.sqrt(np.diag(np.linalg.inv(n * information)))
    return best, 1 / np.sqrt(n * mean * (1 - mean))


def measure(name):
    import numpy as np

    import mrfbayes as mb

    warnings.simplefilter("ignore")
    case = {**CASES, **HUGE}[name]
    small = mb.grid(3, 3)
    mb.estimate(small, mb.simulate(small, 0.6, 100, "exact"), case["algorithm"], progress=False)  # compiles
    model, x = data_of(case)
    started = time.perf_counter()
    stats = mb.count(model, x)
    counting = time.perf_counter() - started
    del x
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    seconds = []
    while not seconds or (len(seconds) < 3 and seconds[0] < 10):
        started = time.perf_counter()
        found = mb.estimate(
            model, stats, case["algorithm"], rng=1, threads=case["threads"], progress=False, **case["options"]
        )
        seconds.append(time.perf_counter() - started)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    row = {
        "p": model.n_parameters,
        "n": case["n"],
        "seconds": min(seconds),
        "counting": counting,
        "iterations": found.iterations,
        "converged": found.converged,
        "noise": found.details.get("noise"),
        "peak": peak / 2**20,
        "data": before / 2**20,
    }
    if case["reference"]:
        best, sd = reference_of(case, model, stats)
        error = (found.log_odds - best) / sd
        row |= {"largest": float(np.abs(error).max()), "rms": float(np.sqrt(np.mean(error**2)))}
    print(json.dumps(row))


def line(name, row):
    largest = f"{row['largest']:.3f}" if "largest" in row else "-"
    rms = f"{row['rms']:.4f}" if "rms" in row else "-"
    noise = f"{row['noise']:.4f}" if row["noise"] is not None else "-"
    converged = "yes" if row["converged"] else "**no**"
    return (
        f"| {name} | {row['p']:,} | {row['n']:,} | {row['seconds']:.2f} | {row['iterations']} | {largest} | {rms} "
        f"| {noise} | {converged} | {row['peak']:.2f} |"
    )


HEADER = (
    "| case | p | n | seconds | steps | largest error, sd | rms error, sd | noise stated, sd | converged | peak GiB |\n"
    "|---|---:|---:|---:|---:|---:|---:|---:|---|---:|"
)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--huge", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        measure(arguments.measure)
        return
    chosen = [name for name in {**CASES, **(HUGE if arguments.huge else {})} if arguments.only in name]
    print(HEADER, flush=True)
    lines = []
    for name in chosen:
        threads = str({**CASES, **HUGE}[name]["threads"])
        environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "NUMBA_NUM_THREADS": threads}
        command = [sys.executable, __file__, "--measure", name]
        result = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
        lines.append(line(name, json.loads(result.stdout.splitlines()[-1])))
        print(lines[-1], flush=True)
    if arguments.write:
        RESULTS.parent.mkdir(exist_ok=True)
        intro = (
            f"# Estimates\n\n`python benchmarks/{Path(__file__).name}{' --huge' if arguments.huge else ''} --write`\n\n"
        )
        RESULTS.write_text(intro + HEADER + "\n" + "\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
