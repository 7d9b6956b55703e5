"""Estimates: accuracy, seconds and peak memory, each case in a process of its own, after one call to compile.

    python benchmarks/bench_estimate.py                 # all cases but the largest; ten minutes, one core
    python benchmarks/bench_estimate.py --huge          # the 1000x1000 grid as well: ten minutes more, two cores, 4 GB
    python benchmarks/bench_estimate.py --only "8x8"    # cases whose name contains the text
    python benchmarks/bench_estimate.py --write         # into benchmarks/results/estimate.md; other rows stay

Data are simulated at theta drawn uniformly from the range, with no field. Errors are in posterior sds: of the exact
posterior information where that is feasible (6x6 and 8x8), else conditional ones, 1/sqrt(n Var[s]), which are smaller.
The reference is the exact maximum, or (100x100) a run of another seed that is as long as its stated noise of 0.004 sds
takes. Where there are several data sets, errors and seconds are those of the worst. "CPU" is seconds of the processor,
all threads together: with one thread, what the clock shows on an idle machine. "Clock" is what it did show, beside
other work: "load" is the load average, on two cores. The peak is that of the whole process, data and simulation
included.
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


def case(name, rows, columns, low, high, n, algorithm="pcd", reference="exact", threads=1, sets=1, bar=None):
    return name, {
        "shape": (rows, columns),
        "range": (low, high),
        "n": n,
        "algorithm": algorithm,
        "reference": reference,
        "threads": threads,
        "sets": sets,
        "bar": bar or {},
    }


# A bar: what a figure of the row may be at most.
PAPER = {"largest": 0.05, "cpu": 1.0}
STRONG = {"largest": 0.05, "cpu": 3.0}
LARGE = {"rms": 0.015, "cpu": 30.0}
CASES = dict(
    [
        case("6x6 (.5,.8)", 6, 6, 0.5, 0.8, 500, sets=10, bar=PAPER),
        case("8x8 (.5,.8)", 8, 8, 0.5, 0.8, 500, sets=10, bar=PAPER),
        case("6x6 (.7,.9)", 6, 6, 0.7, 0.9, 500, sets=24, bar=STRONG),
        case("8x8 (.7,.9)", 8, 8, 0.7, 0.9, 500, sets=24, bar=STRONG),
        *[case(f"6x6 (.5,.8) by {a}", 6, 6, 0.5, 0.8, 500, a) for a in ALGORITHMS[1:]],
        case("500x8 strip (.5,.8)", 500, 8, 0.5, 0.8, 1000, bar=LARGE),
        case("500x8 strip (.6,.9)", 500, 8, 0.6, 0.9, 1000),
        case("500x8 strip (.5,.8), exact", 500, 8, 0.5, 0.8, 1000, "exact", None),
        case("100x100 (.5,.8)", 100, 100, 0.5, 0.8, 1000, "pcd", "long", bar=LARGE),
        case("100x100 (.5,.8), two threads", 100, 100, 0.5, 0.8, 1000, "pcd", None, 2),
    ]
)
HUGE = dict(
    [case("1000x1000 (.5,.8), two threads", 1000, 1000, 0.5, 0.8, 1000, "pcd", None, 2, 1, {"clock": 360, "peak": 4})]
)


def data_of(case, number):
    """The model and n observations at theta drawn uniformly, exact where the width allows."""
    import numpy as np

    import mrfbayes as mb

    model = mb.grid(*case["shape"])
    theta = np.random.default_rng([sum(case["shape"]), number]).uniform(*case["range"], model.n_parameters)
    sampler = {"sampler": "exact"} if min(case["shape"]) <= 10 else {"sampler": "gibbs", "sweeps": 300}
    return model, mb.simulate(model, theta, case["n"], rng=1 + number, progress=False, **sampler)


def reference_of(case, model, stats):
    """What to compare with, and the unit: (log-odds, sds)."""
    import numpy as np

    import mrfbayes as mb

    n, mean = stats.n, stats.mean
    if case["reference"] == "exact":
        best = mb.estimate(model, stats, algorithm="exact").log_odds
    else:
        best = mb.estimate(model, stats, algorithm="pcd", rng=99, tolerance=0.004, steps=8000, progress=False).log_odds
    if model.n_parameters <= 200:
        information = mb.fisher_information(model, model.chart.theta(best))
        return best, np.sqrt(np.diag(np.linalg.inv(n * information)))
    return best, 1 / np.sqrt(n * mean * (1 - mean))


def measure(name):
    import mrfbayes as mb

    warnings.simplefilter("ignore")
    case = {**CASES, **HUGE}[name]
    small = mb.grid(3, 3)
    mb.estimate(
        small, mb.simulate(small, 0.6, 100, sampler="exact"), algorithm=case["algorithm"], progress=False
    )  # compiles
    rows = [measure_one(case, number) for number in range(case["sets"])]
    worst = {key: max(row[key] for row in rows) for key in rows[0] if rows[0][key] is not None}
    print(json.dumps(worst | {"converged": sum(row["converged"] for row in rows), "sets": len(rows)}))


def measure_one(case, number):
    import numpy as np

    import mrfbayes as mb

    model, x = data_of(case, number)
    stats = mb.Data(x).count(model)
    del x
    started, started_cpu = time.perf_counter(), time.process_time()
    found = mb.estimate(model, stats, algorithm=case["algorithm"], rng=1, threads=case["threads"], progress=False)
    row = {
        "p": model.n_parameters,
        "n": case["n"],
        "cpu": time.process_time() - started_cpu,
        "clock": time.perf_counter() - started,
        "iterations": found.iterations,
        "converged": found.converged,
        "noise": found.details.get("noise"),
        "load": os.getloadavg()[0],
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9,
    }
    if case["reference"]:
        best, sd = reference_of(case, model, stats)
        error = (found.log_odds - best) / sd
        row |= {"largest": float(np.abs(error).max()), "rms": float(np.sqrt(np.mean(error**2)))}
    return row


UNITS = {"largest": "largest error {:g} sd", "rms": "rms error {:g} sd", "cpu": "{:g} s", "clock": "{:g} s"}
UNITS |= {"peak": "{:g} GB"}


def line(name, row):
    bar = {**CASES, **HUGE}[name]["bar"]
    kept = all(row[key] <= most for key, most in bar.items())
    text = ", ".join(UNITS[key].format(most) for key, most in bar.items())
    cells = [
        name,
        f"{row['p']:,}",
        f"{row['n']:,}",
        str(row["sets"]),
        f"{row['cpu']:.2f}",
        f"{row['clock']:.2f}",
        f"{row['load']:.1f}",
        str(row["iterations"]),
        f"{row['largest']:.3f}" if "largest" in row else "-",
        f"{row['rms']:.4f}" if "rms" in row else "-",
        f"{row['noise']:.4f}" if "noise" in row else "-",
        f"{row['converged']} of {row['sets']}",
        f"{row['peak']:.2f}",
        (f"{text}: " + ("kept" if kept else "**missed**")) if bar else "",
    ]
    return f"| {' | '.join(cells)} |"


HEADER = (
    "| case | p | n | data sets | CPU s | clock s | load | steps | largest error, sd | rms error, sd "
    "| noise stated, sd | converged | peak GB | bar |\n"
    "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---|---:|---|"
)


def written_rows():
    """Rows that stand in the results, by case."""
    text = RESULTS.read_text(encoding="utf-8") if RESULTS.exists() else ""
    return {row.split(" | ")[0].removeprefix("| "): row for row in text.splitlines() if row.startswith("| ")}


def machine():
    import platform

    import numba
    import numpy
    from record import processor

    return f"{processor()}, Python {platform.python_version()}, numpy {numpy.__version__}, numba {numba.__version__}."


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
    rows = written_rows()
    for name in chosen:
        threads = str({**CASES, **HUGE}[name]["threads"])
        environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "NUMBA_NUM_THREADS": threads}
        command = [sys.executable, __file__, "--measure", name]
        result = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
        rows[name] = line(name, json.loads(result.stdout.splitlines()[-1]))
        print(rows[name], flush=True)
        if arguments.write:
            table = "\n".join([HEADER, *(rows[name] for name in {**CASES, **HUGE} if name in rows)])
            about = __doc__.split("\n\n", 2)[2].strip()
            command = f"`python benchmarks/{Path(__file__).name} --huge --write`"
            RESULTS.write_text(f"# Estimates\n\n{command}\n\n{machine()}\n\n{about}\n\n{table}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
