"""How far `calibrated`, `mle`, `laplace` and `pseudo` are from the exact posterior, cell by cell.

    python benchmarks/evidence/run.py results.csv [--cells grids|graphs|all] [--sizes 4,6,8,10] [--seconds 3600]

Every cell draws theta and data from its own seed, makes a reference by weighing calibrated draws with the exact
likelihood (with other seeds than the method under test; by Hamiltonian Monte Carlo where
Pareto k or the effective size says so), and appends one row a
method to the file. Cells already in the file are left alone, so that a run can be stopped and continued; `summary.py`
makes the table.
"""

from __future__ import annotations

import argparse
import csv
import time
import warnings
from pathlib import Path

import networkx as nx
import numpy as np
from hamiltonian import hamiltonian_draws
from scipy.special import ndtri

import mrfbayes as mb
from mrfbayes import diagnostics
from mrfbayes.copula import coin_quantiles, theta_moments
from mrfbayes.exact import sample_exact
from mrfbayes.independence import TRUSTED_K, make_proposal, pareto_k, weigh
from mrfbayes.methods import method_row
from mrfbayes.methods.calibrated import calibrate
from mrfbayes.methods.problem import Problem
from mrfbayes.priors import Prior
from mrfbayes.streams import child, generator, kernel_state

RANGES = ((0.5, 0.8), (0.6, 0.9), (0.7, 0.9), (0.2, 0.8))
N = (100, 1_000, 500, 50, 5_000)
REFERENCE = {4: 200_000, 6: 100_000, 8: 50_000, 10: 20_000}  # proposals
HAMILTONIAN = 2_000  # draws, where the reference has to be a chain
LEVELS = (0.5, 0.9)
FIELDS = ["cell", "p", "n", "method", "mean_error", "mean_error_max", "sd_error", "sd_ratio", "sd_error_max"]
FIELDS += ["cover50", "cover90", "reference_ess", "reference_k", "seconds", "note"]


def cells(which, sizes):
    """Name, model, theta (None: real data), n or the data, and proposals of every cell."""
    if which in ("grids", "all"):
        for n in N:
            for size in sizes:
                for low, high in RANGES:
                    name = f"grid {size}x{size} ({low:g},{high:g}) n={n}"
                    model = mb.grid(size, size)
                    theta = generator(np.random.SeedSequence(size), name).uniform(low, high, model.n_parameters)
                    yield name, model, theta, n, REFERENCE[size]
    if which in ("graphs", "all"):
        graphs = {
            "3-regular 16": (nx.random_regular_graph(3, 16, seed=1), False, "agreement", (0.3, 0.8)),
            "small-world 16": (nx.connected_watts_strogatz_graph(16, 4, 0.2, seed=1), False, "agreement", (0.4, 0.75)),
            "complete 8 agreement+fields": (nx.complete_graph(8), True, "agreement", (0.4, 0.65)),
            "complete 8 both-one+fields": (nx.complete_graph(8), True, "both-one", (0.4, 0.7)),
        }
        for label, (graph, fields, coupling, (low, high)) in graphs.items():
            for n in (100, 500, 2_000):
                name = f"{label} n={n}"
                model = mb.graph(list(graph.edges), fields=fields, coupling=coupling)
                theta = generator(np.random.SeedSequence(3), name).uniform(low, high, model.n_parameters)
                yield name, model, theta, n, 100_000
        data = mb.datasets.load_adhd().x
        for items in (9, 12):
            for coupling in ("agreement", "both-one"):
                model = mb.graph(list(nx.complete_graph(items).edges), fields=True, coupling=coupling)
                yield f"adhd {items} items {coupling}+fields", model, None, data[:, :items], 50_000


def weighted_summary(theta, log_weights):
    """Mean, sd, effective size, Pareto k, and interval ends of weighted draws."""
    weights = np.exp(log_weights - log_weights.max())
    weights /= weights.sum()
    mean = weights @ theta
    sd = np.sqrt(weights @ (theta - mean) ** 2)
    ends = {level: weighted_interval(theta, weights, level) for level in LEVELS}
    return mean, sd, 1 / (weights**2).sum(), pareto_k(log_weights), ends


def weighted_interval(theta, weights, level):
    """Equal-tailed interval ends (2, p)."""
    out = np.empty((2, theta.shape[1]))
    for j in range(theta.shape[1]):
        order = np.argsort(theta[:, j])
        place = np.searchsorted(np.cumsum(weights[order]), [(1 - level) / 2, (1 + level) / 2])
        out[:, j] = theta[order[np.minimum(place, len(order) - 1)], j]
    return out


def cover(ends, theta):
    """Share of the true parameters inside the intervals."""
    if theta is None:
        return {}
    return {f"cover{100 * k:g}": float(((v[0] < theta) & (theta < v[1])).mean()) for k, v in ends.items()}


def run_cell(name, model, theta, data, proposals):
    """Rows of one cell."""
    seed = child(np.random.SeedSequence(11), name)
    if theta is not None:
        data = sample_exact(model, model.chart.log_odds(theta), data, child(seed, "data"))
    statistics = mb.count(model, data)
    prior = Prior(model, "uniform")
    problem = Problem(model, statistics, prior, child(seed, "reference"), progress=False)
    proposal = make_proposal(problem, method_row("exact").prepare(problem), 100)
    draws, log_weights = weigh(proposal.view, problem, proposals, kernel_state(seed, "reference draws"))
    mean, sd, ess, k, ends = weighted_summary(draws, log_weights)
    note = ""
    if k > TRUSTED_K or ess < 1_000:
        mode = proposal.calibration.mode
        w = hamiltonian_draws(problem, mode.w, mode.factor, HAMILTONIAN, generator(seed, "hamiltonian"))
        draws = model.chart.theta(w)
        mean, sd, note = draws.mean(axis=0), draws.std(axis=0, ddof=1), "reference: HMC"
        ess = float(np.median(diagnostics.ess_bulk(draws[None])))
        ends = {level: np.quantile(draws, [(1 - level) / 2, (1 + level) / 2], axis=0) for level in LEVELS}
    base = {"cell": name, "p": model.n_parameters, "n": int(statistics.n)}
    base |= {"reference_ess": round(ess), "reference_k": round(k, 3)}

    def row(method, m, s, seconds, extra=None, remark=""):
        error, ratio = np.abs(m - mean) / sd, s / sd
        return base | {
            "method": method,
            "mean_error": error.mean(),
            "mean_error_max": error.max(),
            "sd_error": np.abs(ratio - 1).mean(),
            "sd_ratio": ratio.mean(),
            "sd_error_max": np.abs(ratio - 1).max(),
            "seconds": round(seconds, 3),
            "note": "; ".join(filter(None, (note, remark))),
            **(extra or {}),
        }

    yield row("exact", mean, sd, 0.0, cover(ends, theta))
    for variance, label in (("relative", "calibrated"), ("order", "calibrated (order)")):
        started = time.perf_counter()
        own = Problem(model, statistics, prior, child(seed, "calibrated"), progress=False)
        found = calibrate(own, variance)
        m, s = theta_moments(found.coins)
        intervals = {}
        for level in LEVELS:
            w, _ = coin_quantiles(found.coins, ndtri(np.array([(1 - level) / 2, (1 + level) / 2])))
            intervals[level] = model.chart.theta(w.T)
        remark = f"{found.details['clipped']} clipped" if found.details["clipped"] else ""
        yield row(label, m, s, time.perf_counter() - started, cover(intervals, theta), remark)

    started = time.perf_counter()
    likelihood = mb.likelihood("mle", model, statistics, estimate=problem.estimate)
    coins = [likelihood.marginal(j) for j in range(model.n_parameters)]
    m, s = np.array([float(c.mean) for c in coins]), np.array([float(c.sd) for c in coins])
    intervals = {k: np.array([c.ppf([(1 - k) / 2, (1 + k) / 2]) for c in coins]).T for k in LEVELS}
    remark = "MLE not finite" if len(problem.estimate.boundary) else ""
    yield row("mle", m, s, time.perf_counter() - started, cover(intervals, theta), remark)
    for label, key, options in (
        ("laplace (bethe)", "laplace", {"fisher": "bethe"}),
        ("laplace (exact)", "laplace", {"fisher": "exact"}),
        ("pseudo", "pseudo", {}),
    ):
        started = time.perf_counter()
        try:
            prepared = method_row(key).prepare(problem, **options)
            view = proposal.view._replace(target=prepared.view)
            draws, log_weights = weigh(view, problem, min(proposals, 100_000), kernel_state(seed, label))
            m, s, own_ess, own_k, _ = weighted_summary(draws, log_weights)
            remark = ""
            if own_k > TRUSTED_K or own_ess < 500:
                # Far from the exact posterior: a chain, where it is cheap enough to mean anything.
                if model.n_parameters > 24:
                    yield base | {"method": label, "note": "too far from the exact posterior to be weighed"}
                    continue
                settings = {**options, "estimate": problem.estimate}
                posterior = mb.sample(model, statistics, key, steps=60_000, chains=4, progress=False, **settings)
                m, s, remark = posterior.mean, posterior.sd, f"by MH, ESS {posterior.ess.min():.0f}"
            yield row(label, m, s, time.perf_counter() - started, remark=remark)
        except mb.InputError as refused:
            yield base | {"method": label, "note": str(refused)[:80]}


def main():
    """Run the cells asked for that are not in the file yet."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path)
    parser.add_argument("--cells", choices=("grids", "graphs", "all"), default="all")
    parser.add_argument("--sizes", default="4,6,8,10")
    parser.add_argument("--seconds", type=float, default=float("inf"))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    done = set()
    if options.results.exists():
        with options.results.open() as file:
            done = {row["cell"] for row in csv.DictReader(file)}
    started = time.monotonic()
    for name, *cell in cells(options.cells, tuple(map(int, options.sizes.split(",")))):
        if name in done or time.monotonic() - started > options.seconds:
            continue
        rows = list(run_cell(name, *cell))
        fresh = not options.results.exists()
        with options.results.open("a", newline="") as file:
            writer = csv.DictWriter(file, FIELDS, restval="")
            if fresh:
                writer.writeheader()
            for row in rows:
                writer.writerow({k: f"{v:.5g}" if isinstance(v, float) else v for k, v in row.items()})
        own = next(row for row in rows if row["method"] == "calibrated")
        print(f"{name}: mean error {own['mean_error']:.2%}, sd error {own['sd_error']:.2%}", flush=True)


if __name__ == "__main__":
    main()
