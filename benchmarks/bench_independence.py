"""Effective draws of the exact posterior per second, one core: calibrated proposals, corrected.

    python benchmarks/bench_independence.py [repeats]

Preparation (mode, curvature, third order, loops) and drawing are timed apart; the best of the repeats counts, since
other work on the machine only ever makes it slower.
"""

from __future__ import annotations

import sys
import time

import numpy as np

import mrfbayes as mb
from mrfbayes.base.random_streams import kernel_state, seed_sequence
from mrfbayes.exact.quantities import sample_exact
from mrfbayes.methods.problem import Problem
from mrfbayes.methods.registry import method_row
from mrfbayes.priors import Prior
from mrfbayes.targets.corrected import make_proposal, pareto_k, weigh

CELLS = (
    (4, 0.5, 0.8, 100, 100_000),
    (4, 0.5, 0.8, 1_000, 100_000),
    (8, 0.5, 0.8, 100, 20_000),
    (8, 0.5, 0.8, 1_000, 20_000),
    (8, 0.6, 0.9, 500, 20_000),
    (6, 0.7, 0.9, 500, 50_000),
)


def main() -> None:
    """Print a table."""
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    print("| field | n | preparation, s | efficiency | Pareto k | effective draws a second |")
    print("|---|---:|---:|---:|---:|---:|")
    for size, low, high, n, draws in CELLS:
        model = mb.grid(size, size)
        theta = np.random.default_rng(1).uniform(low, high, model.n_parameters)
        x = sample_exact(model, model.chart.log_odds(theta), n, seed_sequence(3))
        problem = Problem(model, mb.Data(x).count(model), Prior(model, "uniform"), seed_sequence(1))
        prepared = method_row("exact").prepare(problem)
        make_proposal(problem, prepared, 100)  # compiles
        prepare, chain = [], []
        for repeat in range(repeats):
            started = time.perf_counter()
            proposal = make_proposal(problem, prepared, 100)
            prepare.append(time.perf_counter() - started)
            started = time.perf_counter()
            _, log_weights = weigh(proposal.view, problem, draws, kernel_state(seed_sequence(repeat), "draws"))
            chain.append(time.perf_counter() - started)
        weights = np.exp(log_weights - log_weights.max())
        effective = weights.sum() ** 2 / (weights**2).sum()
        print(
            f"| {size}x{size} ({low:g},{high:g}) | {n} | {min(prepare):.2f} | {effective / draws:.1%} | "
            f"{pareto_k(log_weights):.2f} | {effective / min(chain):,.0f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
