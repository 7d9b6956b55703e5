"""Seconds for 10^6 Metropolis-Hastings steps of every method of the paper, beside the paper's Tables 1 and 2.

``python benchmarks/bench_methods.py [--grid 4] [--n 100] [--out FILE]``. One core; preparation and compilation are not
counted. Methods that sample run a tenth of the steps (a hundredth on larger grids), and say so. Seconds are those of
the processor, so that other work on the machine counts less; of methods that take seconds, the best of `REPEATS`.
"""

from __future__ import annotations

import argparse
import platform
import time
import warnings
from importlib.metadata import version
from pathlib import Path

import numpy as np

import mrfbayes as mb
from mrfbayes.sampling.compare import PAPER_METHODS

# Liu & Zheng, Tables 1 and 2, milliseconds at n = 100; None: not in the table
PAPER_MS = {
    4: [1.19e8, 4.63e5, 8.03e3, 1.24e4, 6.90e4, 6.90e4, 9.82e9, 9.91e9, 5.05e9, 2.83e6],
    6: [None, 4.81e5, 2.41e4, 2.70e4, 1.62e5, 1.62e5, None, None, None, 7.74e6],
    8: [None, 2.25e6, 9.90e4, 1.22e5, 1.05e6, 1.04e6, None, None, None, 1.45e7],
}
REPEATS = 5
SAMPLING = ("importance", "auxiliary", "exchange", "persistent")


def measure(model: mb.Model, statistics: mb.Statistics, estimate: object, request: dict[str, object]) -> list[str]:
    """A row: steps made, processor seconds per 10^6 steps, acceptance, effective draws per second."""
    steps = 1_000_000
    if request["method"] in SAMPLING:
        steps = 100_000 if model.n_nodes <= 16 else 10_000
    settings = {**request, "estimate": estimate, "engine": "mh", "chains": 1, "progress": False, "rng": 1}
    mb.sample(model, statistics, draws=10, warmup=10, **settings)
    warmup, thin = min(100_000, steps // 2), max(1, steps // 2000)
    posterior = mb.sample(model, statistics, draws=1, warmup=warmup, **settings)
    times = []
    for _ in range(REPEATS if request["method"] not in SAMPLING else 1):
        started = time.process_time()
        posterior = mb.sample(model, statistics, draws=steps // thin, warmup=warmup, thin=thin, **settings)
        times.append(time.process_time() - started)
    seconds = min(times) * 1e6 / (steps + warmup)
    rate = float(posterior.acceptance.mean())
    name = " ".join([str(request["method"]), *(f"{k}={v}" for k, v in request.items() if k != "method")])
    return [name, f"{steps + warmup:,}", f"{seconds:.2f}", f"{rate:.0%}"]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--grid", type=int, default=4)
    parser.add_argument("--n", type=int, default=100)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    model = mb.grid(arguments.grid, arguments.grid)
    theta = np.random.default_rng(20).uniform(0.5, 0.8, model.n_parameters)
    statistics = mb.Data(mb.simulate(model, theta, arguments.n, sampler="exact", rng=20)).count(model)
    estimate = mb.estimate(model, statistics, progress=False)
    lines = [
        f"# 10^6 steps on a {arguments.grid}x{arguments.grid} grid, n = {arguments.n}",
        "",
        f"`python benchmarks/bench_methods.py --grid {arguments.grid} --n {arguments.n}`; "
        f"{platform.processor() or platform.machine()}, Python {platform.python_version()}, numba {version('numba')}, "
        "one core, adapted proposals.",
        "",
        "| method | steps made | processor seconds per 10^6 steps | accepted | paper, seconds |",
        "|---|---:|---:|---:|---:|",
    ]
    paper = PAPER_MS.get(arguments.grid, [None] * len(PAPER_METHODS))
    for request, milliseconds in zip(PAPER_METHODS, paper, strict=True):
        row = measure(model, statistics, estimate, dict(request))
        lines.append("| " + " | ".join([*row, "" if milliseconds is None else f"{milliseconds / 1000:,.0f}"]) + " |")
        print(lines[-1], flush=True)
    if arguments.out:
        arguments.out.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
