"""What it costs to hand tasks to processes and to a Dask cluster, in processor seconds.

    python benchmarks/bench_cluster.py --out benchmarks/results/cluster.md

A task works for so many processor seconds and returns a result of 0.8 MB, the size of one file of `sample_many` with
1,000 draws of 100 parameters. The last rows are `sample_many` itself: 40 data sets on a 4x4 field. Efficiency is the
processor time of the tasks over that of all processes together, without their start. From the processor seconds that
this process spends on a task follows how long tasks have to be to keep 1,000 cores busy.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path

import numpy as np
from record import recorded

import mrfbayes as mb
from mrfbayes.run.pools import Job, run_jobs
from mrfbayes.sampling.sample_many import Call, fit_one, stream_of

SIZES = {0.01: 100, 0.1: 30, 1.0: 6}  # processor seconds of a task: how many of them
RESULT_BYTES = 8 * 1_000 * 100


def work(seconds: float) -> tuple[float, int, float, bytes]:
    """Busy for so many processor seconds: those it took, the process, all that this process has used, and a result."""
    started = time.process_time()
    while time.process_time() - started < seconds:
        np.sort(np.random.default_rng(0).standard_normal(10_000))
    return time.process_time() - started, os.getpid(), time.process_time(), bytes(RESULT_BYTES)


def fit(model: mb.Model, x: np.ndarray, seed: np.random.SeedSequence) -> tuple[float, int, float, bytes]:
    """One data set as `sample_many` does it, to the contents of its file."""
    started = time.process_time()
    content = fit_one(model, x, Call("mle", None, "refuse", {"draws": 1_000, "chains": 4}), seed, "")
    assert isinstance(content, bytes)
    return time.process_time() - started, os.getpid(), time.process_time(), content


def measure(function, jobs, workers) -> dict[str, float]:
    """Processor seconds of the tasks, of the workers beside them, and of this process, after everything has started."""
    warm = [Job(f"warm {k}", jobs[k].arguments) for k in range(2)] if not isinstance(workers, int) else []
    used = {pid: total for _, (_, pid, total, _) in run_jobs(function, warm, workers)}
    started, clock = time.process_time(), time.perf_counter()
    own: dict[int, float] = {}
    total: dict[int, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, (seconds, pid, all_of_it, content) in run_jobs(function, jobs, workers):
            own[pid] = own.get(pid, 0.0) + seconds
            total[pid] = max(total.get(pid, 0.0), all_of_it)
            (Path(folder) / f"{name}.nc").write_bytes(content)
    here, clock = time.process_time() - started, time.perf_counter() - clock
    tasks = sum(own.values())
    if workers == 1:
        return {"tasks": tasks, "beside": 0.0, "here": here - tasks, "clock": clock}
    # Processes of a new pool have their start in them: imports and compiled code, which come once.
    start = sum(total[pid] - own[pid] for pid in total if pid not in used)
    beside = sum(total[pid] - used[pid] - own[pid] for pid in total if pid in used)
    return {"tasks": tasks, "beside": beside, "here": here, "clock": clock, "start": start / max(len(total), 1)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    from distributed import Client, LocalCluster

    model = mb.grid(4, 4)
    data = [mb.simulate(model, 0.6, 200, rng=k, progress=False) for k in range(40)]
    seed = np.random.SeedSequence(0)
    fits = [Job(str(k), (model, x, stream_of(seed, str(k)))) for k, x in enumerate(data)]
    kinds = [(f"{s:g} s", work, [Job(str(k), (s,)) for k in range(n)]) for s, n in SIZES.items()]
    kinds.append(("sample_many, 4x4", fit, fits))
    fit(*fits[0].arguments)  # compiles
    with recorded(arguments.out):
        print(f"load of the machine {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores\n")
        print("| tasks | by | task, s | here, ms a task | worker beside it, ms a task | efficiency | clock, s |")
        print("|---|---|---|---|---|---|---|")
        for name, workers in (("this process", 1), ("2 processes", 2)):
            for kind in kinds:
                show(*kind, name, workers)
        # Last, and in this process: its threads count as "here", as a scheduler's work has to be done somewhere.
        with (
            LocalCluster(n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None) as cluster,
            Client(cluster) as client,
        ):
            for kind in kinds:
                show(*kind, "2 Dask workers", client)


def show(label: str, function, jobs: list[Job], name: str, workers) -> None:
    """A row of the table."""
    found, n = measure(function, jobs, workers), len(jobs)
    share = found["tasks"] / (found["tasks"] + found["beside"] + found["here"])
    start = f" (start: {found['start']:.1f} s each, once)" if found.get("start") else ""
    print(
        f"| {n} of {label} | {name}{start} | {found['tasks'] / n:.3f} | {1e3 * found['here'] / n:.1f} | "
        f"{1e3 * found['beside'] / n:.1f} | {share:.1%} | {found['clock']:.1f} |",
        flush=True,
    )


if __name__ == "__main__":
    main()
