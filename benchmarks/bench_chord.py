"""Estimates where nodes have many neighbours: `chord` beside `pcd`, in processor seconds of one thread.

    OPENBLAS_NUM_THREADS=1 python benchmarks/bench_chord.py [--without-pcd]

n = 1,000, prior normal(0, 1), couplings of sd 1.2 / sqrt(degree); graphs that no exact recursion reaches: all pairs of
40 nodes, and a random graph of 100 nodes with 15 neighbours each on average.
The difference of two seeds is a root mean square over parameters, beside the one that they state.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
import warnings
from pathlib import Path

import numpy as np

import mrfbayes as mb

sys.path.insert(0, str(Path(__file__).parent / "evidence"))
from dense import complete, rows_of


def random_graph(d: int, degree: float) -> mb.Model:
    """Every pair with the same probability."""
    rng = np.random.default_rng(0)
    edges = [pair for pair in itertools.combinations(range(d), 2) if rng.random() < degree / (d - 1)]
    return mb.graph(edges, fields=True, coupling="both-one")


def timed(model: mb.Model, statistics: mb.Statistics, algorithm: str, seed: int) -> tuple[float, mb.Estimate]:
    """Processor seconds, and the estimate."""
    started = time.process_time()
    settings = {"prior": "normal(0, 1)", "threads": 1, "progress": False}
    found = mb.estimate(model, statistics, algorithm=algorithm, rng=seed, **settings)
    return time.process_time() - started, found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--without-pcd", action="store_true", help="minutes less")
    given = parser.parse_args()
    warnings.simplefilter("ignore", mb.MRFWarning)
    print("| field | p | chord, s | off by, sds | two seeds | stated | pcd, s | converged |")
    print("|---|---:|---:|---:|---:|---:|---:|---|")
    for name, model in (
        ("complete, 40 nodes", complete(40)),
        ("random, 100 nodes, degree 15", random_graph(100, 15)),
    ):
        rng = np.random.default_rng(1)
        w = 0.5 * rng.normal(size=model.n_parameters)
        w[: model.n_edges] = rng.normal(size=model.n_edges) * 1.2 / np.sqrt(2 * model.n_edges / model.n_nodes)
        statistics = mb.Data(rows_of(model, w, 1_000, 1)).count(model)
        (seconds, first), (_, second) = (timed(model, statistics, "chord", seed) for seed in (0, 7))
        apart = np.sqrt(np.mean((first.log_odds - second.log_odds) ** 2))
        stated = np.sqrt(np.mean(first.standard_error**2 + second.standard_error**2))
        other = "| not run | |"
        if not given.without_pcd:
            pcd_seconds, pcd = timed(model, statistics, "pcd", 0)
            other = f"| {pcd_seconds:.0f} | {'yes' if pcd.converged else 'no'} |"
        off = first.details["error"]
        print(
            f"| {name} | {model.n_parameters} | {seconds:.1f} | {off:.3f} | {apart:.4f} | {stated:.4f} {other}",
            flush=True,
        )


if __name__ == "__main__":
    main()
