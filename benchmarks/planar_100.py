"""Exact modes and exact spreads at 100x100, and how far from them other ways are that stood in for them.

    python benchmarks/planar_100.py [--strong] [--side 100] --out benchmarks/results/planar_100.md

The mode is that of the exact posterior (uniform prior); spreads are the diagonal of the inverse of its information,
through windows, and for a few edges by conjugate gradients on products Cov v of the whole field, which know no windows.
Beside them: the mode of `pcd` and spreads from particles, as `calibrated` took them before (at 1000x1000 with 1,024
particles), MLE-L (location of the maximum, spread of its coin), Pseudo-L's mode, and the spread that belief propagation
gives Laplace-L where messages are uniform. Errors of modes are in posterior sds, root mean square; of sds relative.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
from record import recorded

import mrfbayes as mb
from mrfbayes.base.random_streams import seed_sequence
from mrfbayes.calibration.blocks import local_blocks, local_moments, planes_of
from mrfbayes.calibration.exact_blocks import choose_distance, exact_moments
from mrfbayes.exact.quantities import cumulants_along, expected_counts
from mrfbayes.particles.moments import particles_at
from mrfbayes.priors import Prior

N = 1_000
PROBES = 3


def solved(model, w, curvature, j):
    """S_jj by conjugate gradients."""
    x, unit = np.zeros(w.size), np.bincount([j], minlength=w.size).astype(float)
    mean = expected_counts(model, model.chart.theta(w))
    inverse = 1 / (N * mean * (1 - mean) + curvature)
    rest = unit.copy()
    direction = inverse * rest
    size = rest @ direction
    for _ in range(60):
        (product,) = next(cumulants_along(model, w, iter([direction]), order=1))
        product = N * product + curvature * direction
        step = size / (direction @ product)
        x += step * direction
        rest -= step * product
        scaled = inverse * rest
        new = rest @ scaled
        if new < 1e-12 * inverse[j]:
            break
        direction, size = scaled + new / size * direction, new
    return x[j]


def rms(values):
    return float(np.sqrt(np.mean(np.square(values))))


def compare(side, low, high):
    """The table of one field."""
    model = mb.grid(side, side)
    theta = np.random.default_rng(side).uniform(low, high, model.n_parameters)
    x = mb.simulate(model, theta, N, sampler="auto", rng=1, progress=False)
    statistics, prior = mb.Data(x).count(model), Prior(model, "uniform")
    print(f"\n{side}x{side}, theta in ({low:g}, {high:g}), n = {N:,}\n")
    print("| | mode, sds | sd | sd, average ratio | processor seconds |")
    print("|---|---:|---:|---:|---:|")
    clock = time.process_time()
    mode = np.asarray(mb.estimate(model, statistics, algorithm="exact", prior="uniform", progress=False).log_odds)
    curvature = -prior.hessian_w(mode)
    distance, _ = choose_distance(model, mode, N, curvature)
    exact, cut = exact_moments(model, mode, N, curvature, distance)
    sd = np.sqrt(exact.variance)
    print(
        f"| exact (blocks reach {distance} steps, {cut} cut) | 0 | 0 | 1 | {time.process_time() - clock:.1f} |",
        flush=True,
    )

    def row(name, other=None, spread=None, clock=0.0, of=slice(None)):
        cells = ["" if other is None else f"{rms(((other - mode) / sd)[of]):.4f}"]
        ratio = None if spread is None else (spread / sd)[of]
        cells += ["", ""] if ratio is None else [f"{rms(ratio - 1):.2%}", f"{np.mean(ratio):.4f}"]
        print(f"| {name} | " + " | ".join(cells) + f" | {time.process_time() - clock:.1f} |", flush=True)

    clock = time.process_time()
    probes = np.random.default_rng(3).choice(model.n_parameters, PROBES, replace=False)
    worst = max(abs(np.sqrt(solved(model, mode, curvature, int(j)) / exact.variance[j]) - 1) for j in probes)
    print(f"| Cov v, {PROBES} edges | | {worst:.1e} at most | | {time.process_time() - clock:.1f} |", flush=True)
    clock = time.process_time()
    mle = mb.estimate(model, statistics, algorithm="exact", progress=False)
    # An edge whose nodes agree in all observations has no maximum of its own, and its coin no spread.
    share = statistics.counts / N
    has = (share > 0) & (share < 1)
    left_out = "" if has.all() else f", {int((~has).sum())} of {has.size:,} edges left out that agree always"
    if mle.prior is not None:
        left_out += f" ({mle.prior} prior, as there is no maximum)"
    with np.errstate(divide="ignore"):
        row(f"MLE-L{left_out}", mle.log_odds, 1 / np.sqrt(N * share * (1 - share)), clock, has)
    at = 1 / (1 + np.exp(-mle.log_odds))
    row(
        f"Laplace-L, uniform messages{left_out}", mle.log_odds, 1 / np.sqrt(N * at * (1 - at)), time.process_time(), has
    )
    clock = time.process_time()
    row(
        "Pseudo-L",
        np.asarray(mb.estimate(model, statistics, algorithm="pseudo", prior="uniform", progress=False).log_odds),
        clock=clock,
    )
    clock = time.process_time()
    by_particles = mb.estimate(model, statistics, algorithm="pcd", rng=2, prior="uniform", progress=False)
    row("particles: mode by pcd", np.asarray(by_particles.log_odds), clock=clock)
    for count in (1_024, 16_384):
        clock = time.process_time()
        planes = planes_of(model, particles_at(model, mode, count, 60, seed_sequence(4), statistics))
        mean = np.clip((statistics.counts + prior.gradient_w(mode)) / N, 1e-9, 1 - 1e-9)
        found = local_moments(planes, local_blocks(model, 2), N, mean * (1 - mean), curvature)
        row(f"particles: spreads from {count:,}", spread=np.sqrt(found.variance), clock=clock)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--strong", action="store_true", help="theta in (.6, .9) as well")
    parser.add_argument("--side", type=int, default=100)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    with recorded(arguments.out):
        compare(arguments.side, 0.5, methods=0.8)
        if arguments.strong:
            compare(arguments.side, 0.6, methods=0.9)


if __name__ == "__main__":
    main()
