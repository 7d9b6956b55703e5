"""Exact inference: how fast it is, beside others, and whether `mb.cost` tells the truth.

    python benchmarks/bench_exact.py speed --out benchmarks/results/exact_speed.txt   # beside dwave and pyAgrum
    python benchmarks/bench_exact.py cost --out benchmarks/results/exact_cost.txt     # predicted, measured; 20 graphs
    python benchmarks/bench_exact.py fit    # the constants of exact/recursions.py, to be copied there

Every time is the least of many short runs, on the second call or later: compilation is not counted. Seconds are of the
processor, not of the clock, so that others' work on the machine counts little.
"""

from __future__ import annotations

import argparse
import time
import tracemalloc
import warnings
from pathlib import Path

import networkx as nx
import numba
import numpy as np
from record import recorded

import mrfbayes as mb
from mrfbayes.exact.choice import recursion
from mrfbayes.exact.quantities import covariance_w, cumulants_along, moments_w, sample_exact, third_order_w
from mrfbayes.exact.recursions import GridRecursion
from mrfbayes.kernels.exact.graph import elimination_log_z
from mrfbayes.kernels.exact.graph_binary import elimination_log_z_binary
from mrfbayes.kernels.exact.graph_plan import log_z_scratch


def as_graph(graph, **options):
    """Any networkx graph as a model; its nodes are renumbered."""
    graph = nx.convert_node_labels_to_integers(graph)
    return mb.graph(list(graph.edges), nodes=range(len(graph)), **options)


LISTED = {  # the graphs of the "20 listed graphs, feasible and refused"
    "4x4": lambda: mb.grid(4, 4),
    "8x8": lambda: mb.grid(8, 8),
    "12x12 with fields": lambda: mb.grid(12, 12, fields=True),
    "16x16": lambda: mb.grid(16, 16),
    "500x8": lambda: mb.grid(500, 8),
    "10x500": lambda: mb.grid(10, 500),
    "8x8 as a graph": lambda: as_graph(nx.grid_2d_graph(8, 8)),
    "14x14 as a graph": lambda: as_graph(nx.grid_2d_graph(14, 14)),
    "tree of 1,000": lambda: as_graph(nx.random_labeled_tree(1000, seed=4), fields=True),
    "cycle of 300": lambda: as_graph(nx.cycle_graph(300)),
    "complete, 10, both-one": lambda: as_graph(nx.complete_graph(10), fields=True, coupling="both-one"),
    "complete, 17": lambda: as_graph(nx.complete_graph(17)),
    "3-regular, 80": lambda: as_graph(nx.random_regular_graph(3, 80, seed=5)),
    "small world, 50": lambda: as_graph(nx.watts_strogatz_graph(50, 6, 0.1, seed=3), fields=True),
    "triangular lattice": lambda: as_graph(nx.triangular_lattice_graph(9, 20)),
    "6x6 Potts, 3 states": lambda: mb.grid(6, 6, states=3, fields=True),
    "ordinal, 2-4 states": lambda: as_graph(
        nx.grid_2d_graph(5, 6), states=[2 + i % 3 for i in range(30)], coupling="score", fields=True
    ),
    "complete, 60": lambda: as_graph(nx.complete_graph(60)),
    "4-regular, 400": lambda: as_graph(nx.random_regular_graph(4, 400, seed=1)),
    "1000x1000": lambda: mb.grid(1000, 1000),
}


def fitted_on():
    """Other graphs, to fit the constants on."""
    for rows, columns in [(3, 3), (5, 5), (6, 6), (7, 7), (10, 10), (13, 13), (15, 15), (17, 17), (100, 8), (60, 11)]:
        yield mb.grid(rows, columns)
        yield as_graph(nx.grid_2d_graph(rows, columns), fields=rows % 2 == 1)
    for n in (5, 8, 9, 12, 15, 18, 20):
        yield as_graph(nx.complete_graph(n))
    for n in (20, 40, 60, 90, 100):
        yield as_graph(nx.random_regular_graph(3, n, seed=n))
    for n in (30, 45):
        yield as_graph(nx.random_regular_graph(4, n, seed=n))
    for n in (20, 200, 2000):
        yield as_graph(nx.random_labeled_tree(n, seed=n))
        yield as_graph(nx.cycle_graph(n), fields=True)
    yield as_graph(nx.watts_strogatz_graph(60, 4, 0.2, seed=1))
    yield as_graph(nx.triangular_lattice_graph(7, 14))
    for side in (3, 4, 5, 7):
        yield mb.grid(side, side, states=3)
    yield as_graph(nx.complete_graph(6), states=4)
    yield as_graph(nx.random_regular_graph(3, 30, seed=2), states=3)
    yield as_graph(nx.grid_2d_graph(40, 4), states=[2 + i % 4 for i in range(160)])
    yield as_graph(nx.random_labeled_tree(300, seed=1), states=5)


def least(function, budget=0.15):
    """Seconds of one call: the least over repetitions, each long enough for the clock."""
    function()
    start = time.thread_time()
    function()
    once = time.thread_time() - start
    number = max(1, int(2e-3 / max(once, 1e-7)))
    best, spent = float("inf"), 0.0
    while spent < budget:
        start = time.thread_time()
        for _ in range(number):
            function()
        passed = time.thread_time() - start
        best, spent = min(best, passed / number), spent + passed
    return best


@numba.njit
def _repeat_binary(plan, field, coupling, scratch, n):
    for _ in range(n):
        elimination_log_z_binary(plan, field, coupling, scratch)


@numba.njit
def _repeat_tables(plan, node_table, edge_table, scratch, n):
    for _ in range(n):
        elimination_log_z(plan, node_table, edge_table, scratch)


def log_z_seconds(model, w, tries=20):
    """Seconds of one evaluation of log Z inside compiled code."""
    found = recursion(model)
    node_part, edge_part = model.lowering.potentials(w)
    found = found.as_graph if isinstance(found, GridRecursion) else found
    run, plan = (_repeat_binary if found.is_binary else _repeat_tables), found.plan
    scratch = np.empty(log_z_scratch(plan))
    run(plan, node_part, edge_part, scratch, 1)
    start = time.thread_time()
    run(plan, node_part, edge_part, scratch, tries)
    n = max(1, int(tries * 2e-3 / max(time.thread_time() - start, 1e-6)))
    return least(lambda: run(plan, node_part, edge_part, scratch, n)) / n


def some_log_odds(model):
    return np.random.default_rng(1).normal(0.5, 0.5, size=model.n_parameters)


def speed():
    """Log Z of the same fields by us and by others."""
    from dimod import BinaryQuadraticModel
    from dwave.samplers import TreeDecompositionSampler

    warnings.simplefilter("ignore")
    import pyagrum

    def by_dwave(model, w):
        pairs = {(int(u), int(v)): -c / 2 for (u, v), c in zip(model.edges, w, strict=True)}
        problem = BinaryQuadraticModel.from_ising(dict.fromkeys(range(model.n_nodes), 0.0), pairs)
        sampler = TreeDecompositionSampler()
        return lambda: sampler.sample(problem, beta=1.0, num_reads=1).info["log_partition_function"] + w.sum() / 2

    def by_agrum(model, w):
        network = pyagrum.MarkovRandomField()
        for i in range(model.n_nodes):
            network.add(pyagrum.LabelizedVariable(str(i), "", 2))
        for (u, v), c in zip(model.edges, w, strict=True):
            factor = pyagrum.Tensor().add(network.variable(str(u))).add(network.variable(str(v)))
            network.addFactor(factor.fillWith([float(np.exp(c)), 1.0, 1.0, float(np.exp(c))]))

        def run():
            engine = pyagrum.ShaferShenoyMRFInference(network)
            engine.setNumberOfThreads(1)
            engine.makeInference()

        return run

    print(f"{'log Z, microseconds':22}{'grid':>10}{'general':>10}{'dwave':>12}{'pyAgrum':>12}")
    for side in (4, 6, 8, 10, 12, 16):
        grid, graph = mb.grid(side, side), as_graph(nx.grid_2d_graph(side, side))
        w = some_log_odds(grid)
        index = {tuple(sorted(e)): k for k, e in enumerate(grid.edges.tolist())}
        w_graph = w[[index[tuple(sorted(e))] for e in graph.edges.tolist()]]
        ours = [log_z_seconds(grid, w), log_z_seconds(graph, w_graph)]
        dwave = by_dwave(grid, w)
        assert abs(dwave() - recursion(grid).log_z(*grid.lowering.potentials(w))) < 1e-6 if side < 13 else True
        others = [least(dwave) if side < 13 else np.nan, least(by_agrum(grid, w)) if side < 13 else np.nan]
        cells = "".join(f"{1e6 * t:{n}.1f}" for t, n in zip(ours + others, (10, 10, 12, 12), strict=True))
        print(f"{f'{side}x{side}':22}{cells}", flush=True)
    print("dwave: TreeDecompositionSampler, one read; pyAgrum: Shafer-Shenoy, all marginals; nan: not run")


WORK = {
    "log_partition": None,
    "expected_counts": lambda model, w: moments_w(model, w),
    "fisher_information": lambda model, w: covariance_w(model, w),
    "third_order": lambda model, w: third_order_w(model, w, np.eye(model.n_parameters)),
    "sample": lambda model, w: sample_exact(model, w, 1000, np.random.SeedSequence(1)),
}
LONGEST = 20.0  # predicted seconds past which a call is not measured


def peak_bytes(make, name):
    """Bytes allocated at the peak of one call, with the plan that stays."""
    model = make()
    w = some_log_odds(model)
    model.lowering.potentials(w)  # the model's own arrays are not the recursion's
    run = WORK[name] or (lambda model, w: recursion(model).log_z(*model.lowering.potentials(w)))
    run(make(), w)  # compiled
    tracemalloc.start()
    recursion(model).n_bytes("log_z")  # makes all that stays
    tracemalloc.reset_peak()
    run(model, w)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def check_cost():
    """Predicted against measured on the listed graphs; the ratio is predicted over measured."""
    worst = []
    for name, make in LISTED.items():
        model = make()
        start = time.perf_counter()
        cost = mb.cost(model)
        passed = time.perf_counter() - start
        if not cost.feasible:
            print(f"{name:24} width {cost.treewidth}: refused in {passed:.2f} s", flush=True)
            continue
        print(f"{name:24} width {cost.treewidth}, {model.n_parameters} parameters, cost in {passed:.2f} s", flush=True)
        w = some_log_odds(model)
        for key, run in WORK.items():
            work = cost.work[key]
            if not work.feasible or work.seconds > LONGEST:
                print(f"    {key:20} predicted {work.seconds:10.3g} s {work.n_bytes:14,} bytes, not run")
                continue
            seconds = least(lambda: run(model, w)) if run else log_z_seconds(model, w)  # noqa: B023
            n_bytes = peak_bytes(make, key)
            ratios = work.seconds / seconds, work.n_bytes / n_bytes
            worst.append((name, key, *ratios))
            print(
                f"    {key:20} predicted {work.seconds:10.3g} s {work.n_bytes:14,} bytes   "
                f"measured {seconds:10.3g} s {n_bytes:14,} bytes   ratio {ratios[0]:.2f} {ratios[1]:.2f}",
                flush=True,
            )
    for k, what in ((2, "seconds"), (3, "bytes")):
        outside = [row for row in worst if not 0.5 <= row[k] <= 2.0]
        print(f"{what}: {len(worst) - len(outside)} of {len(worst)} within a factor of 2; others: {outside}")


def fit():
    """Constants by non-negative least squares on relative errors."""
    from scipy.optimize import nnls

    from mrfbayes.exact.choice import QUOTED_DRAWS, _probe
    from mrfbayes.exact.recursions import graph_counts, grid_counts

    rows = {}
    for model in (mb.grid(20, 20), mb.grid(22, 22), as_graph(nx.complete_graph(22)), as_graph(nx.complete_graph(24))):
        found = recursion(model)  # past the caches; the rest of the work would take long there
        is_grid = isinstance(found, GridRecursion)
        counts = grid_counts(found, "log_z", 1) if is_grid else graph_counts(found.plan, "log_z", 1)
        seconds = log_z_seconds(model, some_log_odds(model), 1)
        rows.setdefault("grid log_z" if is_grid else "binary log_z", []).append((counts, seconds))
        print(model, f"{seconds:.2g}", flush=True)
    for model in fitted_on():
        w = some_log_odds(model)
        found = recursion(model)
        p = model.n_parameters
        is_grid = isinstance(found, GridRecursion)
        cells = found.rows * found.columns * 2.0**found.width if is_grid else float(found.plan.n_joint)
        few = max(1, min(p, int(3e8 / (100 * cells + 1e5))))
        some = np.eye(p)[:few]
        measured = {"log_z": (1, log_z_seconds(model, w)), "moments": (1, least(lambda: moments_w(model, w)))}  # noqa: B023
        for order, key in ((1, "first"), (2, "second")):
            run = lambda: list(cumulants_along(model, w, some, order))  # noqa: B023, E731
            measured[key] = (few, least(run))
        draw = lambda: sample_exact(model, w, QUOTED_DRAWS, np.random.SeedSequence(1))  # noqa: B023, E731
        measured["sample"] = (QUOTED_DRAWS, least(draw))
        for key, (count, seconds) in measured.items():
            if is_grid and key in ("log_z", "first", "second"):
                name = "binary log_z" if key == "log_z" else f"graph {key}"
                rows.setdefault(name, []).append((graph_counts(found.as_graph.plan, key, count), seconds))
            elif is_grid:
                rows.setdefault(f"grid {key}", []).append((grid_counts(found, key, count), seconds))
            else:
                kind = "binary" if key == "log_z" and found.is_binary else "graph"
                rows.setdefault(f"{kind} {key}", []).append((graph_counts(found.plan, key, count), seconds))
        print(model, {key: f"{s:.2g}" for key, (_, s) in measured.items()}, flush=True)
    print("NANOSECONDS = {")
    for key, pairs in sorted(rows.items()):
        counts, seconds = np.array([c for c, _ in pairs]), np.array([s for _, s in pairs])
        trusted = np.ones(len(seconds), dtype=bool)
        for _ in range(3):  # a time that others' work has spoilt is an outlier
            relative = counts[trusted] / seconds[trusted, None] * 1e-9
            constants, _ = nnls(relative, np.ones(len(relative)))
            ratio = counts @ constants * 1e-9 / seconds
            trusted = (ratio > 0.6) & (ratio < 1.7)
        numbers = ", ".join(f"{c:.3g}" for c in constants)
        print(f'    "{key}": ({numbers}),  # {ratio.min():.2f} .. {ratio.max():.2f} of measured')
    print("}")
    print(f"REFERENCE_PROBE = {_probe():.3g}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=("speed", "cost", "fit"))
    parser.add_argument("--out", type=Path, help="a file for what is printed")
    options = parser.parse_args()
    part = {"speed": speed, "cost": check_cost, "fit": fit}[options.part]
    with recorded(options.out):
        part()
