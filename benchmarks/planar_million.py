"""A million nodes, exactly: log Z, counts, maximum likelihood.

    python benchmarks/planar_million.py --keep DIR --out benchmarks/results/planar_million.md

The field is that of `bench_scale.py` at 1000x1000: theta uniform on (.5, .8), n = 1,000 observations by Gibbs sampling.
Counts and maximum are kept in DIR. ``--side 100`` tries it on a smaller field.
"""

from __future__ import annotations

import argparse
import os
import resource
import time
from pathlib import Path

import numpy as np
from record import recorded

import mrfbayes as mb
from mrfbayes.exact.choice import planar

N, SWEEPS = 1_000, 30


def truth(side):
    """The field's parameters."""
    return np.random.default_rng(side).uniform(0.5, 0.8, 2 * side * (side - 1))


def counts_of(side, keep):
    """The sufficient statistics of the data, made once."""
    path = keep / f"counts_{side}.npy"
    model = mb.grid(side, side)
    if not path.exists():
        x = mb.simulate(model, truth(side), N, sampler="gibbs", sweeps=SWEEPS, rng=1, progress=False)
        np.save(path, mb.Data(x).count(model).counts)
    return model, mb.Statistics.from_counts(model, np.load(path), N)


class Clock:
    """A row for each piece of work."""

    def __init__(self, side):
        print(f"| {side}x{side} | seconds of the processor | by the clock | largest memory so far, GB |")
        print("|---|---|---|---|")

    def __call__(self, name, call, *arguments, **options):
        start = time.process_time(), time.perf_counter()
        found = call(*arguments, **options)
        used, passed = time.process_time() - start[0], time.perf_counter() - start[1]
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
        print(f"| {name} | {used:.1f} | {passed:.0f} | {memory:.2f} |", flush=True)
        return found


def exact(side, keep):
    """Log Z, counts, the maximum and the mode."""
    warm = mb.grid(30, 30)
    mb.log_partition(warm, 0.6)
    mb.estimate(warm, mb.simulate(warm, 0.6, 50, sampler="gibbs", progress=False), algorithm="exact", progress=False)
    model, statistics = counts_of(side, keep)
    clock = Clock(side)
    clock("plan", planar, model)
    clock("log Z", mb.log_partition, model, truth(side))
    clock("expected counts", mb.expected_counts, model, truth(side))
    found = clock("maximum likelihood", mb.estimate, model, statistics, "exact", progress=False)
    np.savez(keep / f"mle_{side}.npz", theta=found.theta)
    print(f"\nconverged: {found.converged}, {found.iterations} iterations, largest gradient {found.residual:.1e} sds,")
    print(f"existence: {found.existence.verdict}; load {os.getloadavg()[0]:.1f}\n", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--side", type=int, default=1000)
    parser.add_argument("--keep", type=Path, required=True)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    with recorded(arguments.out):
        exact(arguments.side, arguments.keep)


if __name__ == "__main__":
    main()
