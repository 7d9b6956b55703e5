"""A complete graph of 150 (or other) binary variables, from rows to trust statement: clock, processor, memory.

    python benchmarks/bench_reach.py [--nodes 150] [--workers 2] [--draws 300]

Data are those of `bench_dense.py`, n = 1,000, prior normal(0, 1). After the posterior come Bayes factors of all edges,
a predictive check and further draws through `stream`; each line says what the clock and the processor (all threads)
showed, and the largest memory of the process so far.
"""

from __future__ import annotations

import argparse
import resource
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from bench_dense import complete, data

import mrfbayes as mb


def timed(name: str, work: Callable[[], Any]) -> Any:
    """The result of ``work``, with a row of the table printed."""
    clock, processor = time.perf_counter(), time.process_time()
    result = work()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    clock, processor = time.perf_counter() - clock, time.process_time() - processor
    print(f"| {name} | {clock:.0f} | {processor:.0f} | {peak:.1f} |", flush=True)
    return result


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=150)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--draws", type=int, default=300)
    given = parser.parse_args()
    warnings.simplefilter("ignore", mb.MRFWarning)
    model = complete(given.nodes, 2, "both-one")
    x = data(model, 1_000)
    print(f"{given.nodes} variables, {model.n_parameters:,} parameters, workers = {given.workers}\n")
    print("| | clock, s | processor, s | peak memory, GB |")
    print("|---|---:|---:|---:|")
    settings: dict[str, Any] = {"prior": "normal(0, 1)", "workers": given.workers, "progress": False}
    found = timed("langevin", lambda: mb.sample(model, x, "langevin", draws=given.draws, **settings))
    timed("summary", lambda: found.summary())
    edges = timed("Bayes factors of all edges", lambda: found.edges())
    timed("100 further draws by stream", lambda: list(found.stream(100)))
    check = timed("predictive check", lambda: mb.predictive_check(found, x, progress=False))
    print(f"\n{found.details['trust']}\n")
    print(
        "Warnings: "
        + ("; ".join(found.warnings) or "none")
        + f". The mode is {found.details['mode_error']:.3f} sds off."
    )
    p_values = check.table.p_value
    shares = [
        f"{np.mean(p_values[kind] < 0.05):.1%} of {kind.sum():,}" for kind in (check.table.fitted, ~check.table.fitted)
    ]
    print(
        f"{np.isfinite(edges.log_bf10).sum():,} Bayes factors. Predictive p-values below .05: {shares[0]} statistics "
        f"that the model was fitted to, which it reproduces, {shares[1]} others; the smallest is {p_values.min():.3f}."
    )


if __name__ == "__main__":
    main()
