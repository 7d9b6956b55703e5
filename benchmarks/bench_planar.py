"""Planar fields without node factors, exactly: how fast, how accurate, and beside others.

    python benchmarks/bench_planar.py speed --out benchmarks/results/planar.md       # grids to 300x300
    python benchmarks/bench_planar.py triangulations --out benchmarks/results/planar_triangulations.md
    python benchmarks/bench_planar.py accuracy --out benchmarks/results/planar_accuracy.md
    python benchmarks/bench_planar.py estimate --out benchmarks/results/planar_estimate.md
    python benchmarks/bench_planar.py posterior --out benchmarks/results/planar_posterior.md
    python benchmarks/bench_planar.py fit     # the constants of mrfbayes.exact.planar, to be copied there

Times are the least of several runs on the second call or later, in milliseconds of the processor on one core.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
from record import recorded
from scipy.spatial import Delaunay

import mrfbayes as mb
from mrfbayes.base.random_streams import kernel_state
from mrfbayes.exact.planar import PlanarRecursion
from mrfbayes.exact.planar_drawing import draw
from mrfbayes.exact.recursions import GridRecursion


def least(call, *arguments, seconds=0.5):
    """Milliseconds of the processor, the least of what fits into ``seconds``."""
    call(*arguments)
    best, begin = float("inf"), time.process_time()
    while True:
        start = time.process_time()
        call(*arguments)
        best = min(best, time.process_time() - start)
        if time.process_time() - begin > seconds:
            return 1e3 * best


def triangulation(n, seed=0):
    """The Delaunay triangulation of random points as a model."""
    corners = np.sort(Delaunay(np.random.default_rng(seed).uniform(size=(n, 2))).simplices, axis=1)
    pairs = np.unique(np.concatenate([corners[:, [0, 1]], corners[:, [1, 2]], corners[:, [0, 2]]]), axis=0)
    return mb.graph(pairs.astype(np.int64), nodes=range(n))


def covariance(found, parts):
    """All columns at once."""
    return list(found.covariance_columns(*parts))


def covariance_by_tables(tables, parts):
    """One parameter after the other."""
    units = np.eye(parts[0].size + parts[1].size)[parts[0].size :]
    return list(tables.series(*parts, iter(units), 1))


def cumulants_along(found, parts, along, order):
    """Cov v, and the third cumulant along v where the order is 2."""
    return next(found.series(*parts, iter([along]), order))


def speed():
    """Log Z, counts in both ways, a draw, and the information where it is small enough."""
    fields = {f"{k}x{k}": mb.grid(k, k) for k in (4, 8, 12, 16, 24, 32, 64, 100, 300)}
    time_all(fields)
    print("\nBeside the grid recursion (ms): counts and information, tables / determinant\n")
    print("| grid | counts | information |")
    print("|---|---|---|")
    for k in (4, 6, 8, 10, 11, 12, 14):
        beside_tables(k)


def triangulations():
    """Graphs without given places."""
    time_all({f"triangulation, {n:,} nodes": triangulation(n) for n in (1_000, 10_000)})


def time_all(fields):
    """A row per field."""
    print("Cov v, and third: the covariance times a direction, alone and with the third cumulant along it.\n")
    print("| field | edges | plan | log Z | counts | counts by exteriors | Cov v | and third | a draw | information |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    PlanarRecursion(draw(mb.grid(5, 5)))  # the first one imports and loads what it needs
    for name, model in fields.items():
        theta = np.random.default_rng(1).uniform(0.05, 0.95, size=model.n_edges)
        start = time.process_time()
        found = PlanarRecursion(draw(model))
        plan = 1e3 * (time.process_time() - start)
        parts, t = (np.zeros(model.n_nodes), np.log(theta) - np.log1p(-theta)), 2 * theta - 1
        along = np.random.default_rng(2).normal(size=model.n_nodes + model.n_edges)
        state = kernel_state(np.random.SeedSequence(1))
        at = found.dissection
        row = [plan, least(at.log_z, t), least(at.gradient, t), least(at.gradient_at_ends, t)]
        row += [least(cumulants_along, found, parts, along, order) for order in (1, 2)]
        draws = 1 if model.n_nodes > 5_000 else 10
        row.append((least(at.sample, t, 2 * draws, state) - least(at.sample, t, draws, state)) / draws)
        cells = [f"{value:.3g}" for value in row]
        cells.append(f"{least(covariance, found, parts, seconds=0.0):.3g}" if model.n_edges < 2_500 else "")
        print(f"| {name} | {model.n_edges:,} | " + " | ".join(cells) + " |", flush=True)


def beside_tables(k):
    """A row for a square grid."""
    model = mb.grid(k, k)
    theta = np.random.default_rng(1).uniform(0.05, 0.95, size=model.n_edges)
    w = np.log(theta) - np.log1p(-theta)
    parts = np.zeros(model.n_nodes), w
    tables, found = GridRecursion(model), PlanarRecursion(draw(model))
    counts = f"{least(tables.moments, *parts):.3g} / {least(found.moments, *parts):.3g}"
    by_tables = f"{least(covariance_by_tables, tables, parts, seconds=0.0):.3g}" if k <= 10 else ""
    print(f"| {k}x{k} | {counts} | {by_tables} / {least(covariance, found, parts, seconds=1.0):.3g} |", flush=True)


def accuracy():
    """Errors against the grid recursion, and what the estimates of error say."""
    print("| 12x12 | log Z | its estimate | counts | their estimate | by exteriors | their estimate |")
    print("|---|---|---|---|---|---|---|")
    model = mb.grid(12, 12)
    tables, found = GridRecursion(model), PlanarRecursion(draw(model))
    at, m = found.dissection, model.n_edges
    rng = np.random.default_rng(3)
    cases = {"U(.05, .95)": rng.uniform(0.05, 0.95, size=m), "all .5": np.full(m, 0.5)}
    cases |= {f"all {v}": np.full(m, v) for v in (0.05, 0.95, 0.999)}
    cases |= {f"{v}, random signs": rng.choice([1 - v, v], size=m) for v in (0.9, 0.95, 0.99, 0.995, 0.999, 0.9999)}
    for name, theta in cases.items():
        w, t = np.log(theta) - np.log1p(-theta), 2 * theta - 1
        log_z, _, mean = tables.moments(np.zeros(model.n_nodes), w)
        row = [abs(found._log_z(w, at.log_z(t)[0]) - log_z), at.log_z(t)[1]]
        for way in (at.gradient, at.gradient_at_ends):
            _, slope, error = way(t)
            row += [np.abs(theta + 2 * theta * (1 - theta) * slope - mean).max(), error]
        print(f"| {name} | " + " | ".join(f"{value:.0e}" for value in row) + " |", flush=True)
    print(
        "\nDerivatives of expected counts along a direction, by power series: largest difference from the series of the"
    )
    print("tables, relative to the largest entry, and milliseconds of the processor\n")
    print("| 12x12 | Cov v alone | Cov v | third cumulant | ms alone | ms of both | ms of both by tables |")
    print("|---|---|---|---|---|---|---|")
    along = np.concatenate([np.zeros(model.n_nodes), np.random.default_rng(4).normal(size=m)])
    for name in ("U(.05, .95)", "all 0.05", "all 0.95", "0.9, random signs", "0.95, random signs"):
        parts = np.zeros(model.n_nodes), np.log(cases[name]) - np.log1p(-cases[name])
        truth, both = next(tables.series(*parts, iter([along]), 2)), next(found.series(*parts, iter([along]), 2))
        off = np.abs(both - truth).max(axis=1) / np.abs(truth).max(axis=1)
        first = np.abs(cumulants_along(found, parts, along, 1)[0] - truth[0]).max() / np.abs(truth[0]).max()
        ways = (found, 1), (found, 2), (tables, 2)
        spent = [least(cumulants_along, by, parts, along, order) for by, order in ways]
        cells = [f"{value:.0e}" for value in (first, *off)] + [f"{value:.3g}" for value in spent]
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


def estimate():
    """Exact maximum likelihood from counts."""
    print("| grid | n | seconds of the processor | converged | iterations | gradient, in sds |")
    print("|---|---|---|---|---|---|")
    warm = mb.grid(30, 30)
    mb.estimate(warm, mb.simulate(warm, 0.6, 50, sampler="gibbs", progress=False), algorithm="exact", progress=False)
    for k, n in ((32, 1000), (64, 1000), (100, 1000)):
        model = mb.grid(k, k)
        theta = np.random.default_rng(k).uniform(0.5, 0.8, size=model.n_edges)
        data = mb.Data(mb.simulate(model, theta, n, sampler="gibbs", rng=k, progress=False)).count(model)
        start = time.process_time()
        found = mb.estimate(model, data, algorithm="exact", progress=False)
        seconds = time.process_time() - start
        print(
            f"| {k}x{k} | {n} | {seconds:.2f} | {found.converged} | {found.iterations} | {found.residual:.0e} |",
            flush=True,
        )


def posterior():
    """The exact posterior of 32x32 by split Hamiltonian Monte Carlo, two chains of 500 draws after 100 of warm-up."""
    print("| theta | acceptance | ms a trajectory | ms an effective draw: median | of the slowest | fewest | R-hat |")
    print("|---|---|---|---|---|---|---|")
    model, settings = mb.grid(32, 32), {"engine": "hmc", "progress": False}
    for low, high in ((0.5, 0.8), (0.6, 0.9)):
        theta = np.random.default_rng(32).uniform(low, high, model.n_edges)
        data = mb.Data(mb.simulate(model, theta, 1_000, sampler="exact", rng=1, progress=False)).count(model)
        begin = []
        for steps, warmup, chains in ((4, 4, 1), (4, 4, 1), (500, 100, 2)):  # compiles; the mode; the run
            begin.append(time.process_time())
            found = mb.sample(model, data, "exact", draws=steps, warmup=warmup, chains=chains, rng=1, **settings)
        each = 1e3 * (time.process_time() - begin[2] - (begin[2] - begin[1])) / 1_200  # trajectories, warm-up as well
        summary = found.summary()
        effective = np.asarray(summary["ess_bulk"], dtype=float)
        per_draw = [1e3 * each / value for value in (np.median(effective), effective.min())]
        print(
            f"| ({low}, {high}) | {np.mean(found.acceptance):.2f} | {each:.1f} | "
            f"{per_draw[0]:.1f} | {per_draw[1]:.1f} | {effective.min():.0f} of 1,000 | {summary['r_hat'].max():.3f} |",
            flush=True,
        )


def fit():
    """Nanoseconds of a call, a vertex and a product, by least relative squares over square grids."""
    rows, times = [], {"log_z": [], "moments": [], "first": [], "second": [], "sample": []}
    for k in (4, 8, 12, 16, 24, 32, 48, 64, 100):
        model = mb.grid(k, k)
        found = PlanarRecursion(draw(model))
        parts = np.zeros(model.n_nodes), np.random.default_rng(k).normal(size=model.n_edges)
        rows.append([1.0, found.size.n_vertices, found.size.n_products])
        times["log_z"].append(least(found.log_z, *parts))
        times["moments"].append(least(found.moments, *parts))
        along = np.random.default_rng(2).normal(size=model.n_nodes + model.n_edges)
        for order, key in enumerate(("first", "second"), start=1):
            times[key].append(least(cumulants_along, found, parts, along, order))
        times["sample"].append(least(found.sample, *parts, 1, kernel_state(np.random.SeedSequence(1))))
    from scipy.optimize import nnls

    for key, value in times.items():
        target = 1e6 * np.array(value)
        print(key, nnls(np.array(rows) / target[:, None], np.ones(target.size))[0])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["speed", "triangulations", "accuracy", "estimate", "posterior", "fit"])
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    with recorded(arguments.out):
        globals()[arguments.what]()


if __name__ == "__main__":
    main()
