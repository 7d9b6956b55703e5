"""The search over graphs: processor seconds per sweep, and inclusion probabilities against all graphs of five items.

python benchmarks/bench_select.py [speed] [truth] [levels] [particles] [--out FILE]
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from record import recorded

import mrfbayes as mb

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
import oracles_structure as truth

SLABS = {
    "normal(0, 1)": truth.normal(0, 1),
    "cauchy(0, 2.5)": truth.cauchy(0, 2.5),
    "logistic(0, 1)": truth.logistic(0, 1),
}
PRIORS = {"bernoulli(0.5)": truth.bernoulli(0.5), "beta-bernoulli(1, 1)": truth.beta_bernoulli(1, 1)}


def complete(d):
    return mb.graph(list(itertools.combinations(range(d), 2)), fields=True, coupling="both-one")


def sparse_field(model, seed, share=0.2):
    """Log-odds with a share of the edges there."""
    rng = np.random.default_rng(seed)
    m = model.n_edges
    return np.concatenate([rng.normal(0, 0.8, m) * (rng.random(m) < share), rng.normal(-0.5, 0.5, model.n_nodes)])


def data_of(model, seed, n):
    theta = model.chart.theta(sparse_field(model, seed))
    exact = model.n_nodes <= 18 or model.grid_shape is not None
    return mb.simulate(model, theta, n, sampler="exact" if exact else "gibbs", rng=seed)


def per_sweep(model, x, sweeps, engine=None):
    """Milliseconds of processor time per sweep of one chain, from two runs of different length."""
    statistics = mb.Data(x).count(model)
    seconds = []
    for steps in (sweeps // 10, sweeps + sweeps // 10):
        options = {"draws": 1, "warmup": 1, "chains": 1, "thin": steps, "engine": engine, "progress": False}
        mb.select(model, statistics, **{**options, "draws": 1, "thin": 2})  # compiled before
        started = time.process_time()
        sel = mb.select(model, statistics, **options)
        seconds.append(time.process_time() - started)
    return 1e3 * (seconds[1] - seconds[0]) / sweeps, sel.engine


def speed():
    print("| field | engine | ms per sweep | bar |\n|---|---|---|---|")
    for d, sweeps, bar in (
        (5, 20000, ""),
        (8, 8000, "0.15"),
        (12, 3000, "0.5"),
        (16, 600, "9"),
        (18, 120, ""),
        (20, 30, ""),
    ):
        model = complete(d)
        ms, engine = per_sweep(model, data_of(model, d, 500), sweeps)
        print(f"| complete, d = {d}, fields | {engine} | {ms:.3f} | {bar} |", flush=True)
    for rows, columns, sweeps, bar in ((8, 8, 1000, "1"), (16, 8, 500, ""), (10, 10, 500, ""), (12, 12, 100, "")):
        model = mb.grid(rows, columns, fields=True, coupling="both-one")
        ms, engine = per_sweep(model, data_of(model, rows, 500), sweeps)
        print(f"| {rows}x{columns} grid, fields | {engine} | {ms:.3f} | {bar} |", flush=True)


def pseudo_evidences(statistics, tallies, m, slab, node, rng, draws=1000, df=8):
    """Log evidence of all graphs with the pseudolikelihood in place of the likelihood, by importance sampling."""
    from scipy.special import gammaln

    d = int(np.log2(len(statistics)))
    p = statistics.shape[1]
    x = truth.all_configurations([2] * d)
    flipped = np.array([[k ^ (1 << (d - 1 - i)) for k in range(len(x))] for i in range(d)])
    change = [statistics - statistics[flipped[i]] for i in range(d)]  # log-odds of the present state of node i
    used = np.flatnonzero(tallies)
    change = np.concatenate([c[used] for c in change])
    tally = np.tile(tallies[used], d)
    graphs = truth.all_graphs(m)
    found, errors = np.empty(len(graphs)), np.empty(len(graphs))
    for k, present in enumerate(graphs):
        chosen = np.concatenate([np.flatnonzero(present), np.arange(m, p)])
        size, features = int(present.sum()), change[:, chosen]

        def parts(w, size=size):
            return [np.concatenate([slab(w[..., :size])[j], node(w[..., size:])[j]], axis=-1) for j in range(3)]

        def target(w, features=features, parts=parts):
            return -np.logaddexp(0, -(w @ features.T)) @ tally + parts(w)[0].sum(axis=-1)

        w = np.zeros(chosen.size)
        for _ in range(50):
            q = 1 / (1 + np.exp(features @ w))
            _, first, second = parts(w)
            gradient = features.T @ (tally * q) + first
            information = (features * (tally * q * (1 - q))[:, None]).T @ features - np.diag(np.minimum(second, -1e-3))
            step = np.linalg.solve(information, gradient)
            w = w + step * min(1.0, 2.0 / np.abs(step).max())
            if np.abs(step).max() < 1e-8:
                break
        factor = np.linalg.cholesky(np.linalg.inv(information))
        z, chi = rng.standard_normal((draws, w.size)), rng.chisquare(df, draws)
        sample = w + (z / np.sqrt(chi / df)[:, None]) @ factor.T
        log_q = gammaln((df + w.size) / 2) - gammaln(df / 2) - w.size / 2 * np.log(df * np.pi)
        log_q = log_q - np.log(np.diag(factor)).sum() - (df + w.size) / 2 * np.log1p((z**2).sum(axis=1) / chi)
        log_weight = target(sample) - log_q
        weight = np.exp(log_weight - log_weight.max())
        found[k] = log_weight.max() + np.log(weight.mean())
        errors[k] = weight.std() / weight.mean() / np.sqrt(draws)
    return found, errors, np.zeros((len(graphs), p)), np.zeros((len(graphs), p))


def against_truth():
    """Five adhd items: 1,024 graphs, enumerated."""
    x = mb.datasets.load_adhd().x[:, :5].astype(int)
    model = complete(5)
    m = model.n_edges
    states = truth.all_configurations([2] * 5)
    statistics = np.hstack([states[:, model.edges[:, 0]] * states[:, model.edges[:, 1]], states]).astype(float)
    rng = np.random.default_rng(0)
    print("\nInclusion probabilities of 10 edges against all 1,024 graphs (five adhd items; rows drawn from the 355)")
    print(
        "\n| n | slab | edges | largest error in its errors | mean, largest error | pseudolikelihood: mean, largest |"
    )
    print("|---|---|---|---|---|---|")
    totals = []
    for n in (100, 350, 2000):
        rows = x[rng.choice(len(x), n, replace=n > len(x))]
        counts = mb.Data(rows).count(model).counts
        tallies = np.bincount(rows @ (2 ** np.arange(5)[::-1]), minlength=32).astype(float)
        for slab, density in SLABS.items():
            evidences = truth.graph_evidences(statistics, counts, n, m, density, truth.logistic(0, 1), rng, 2000)
            pseudo = pseudo_evidences(statistics, tallies, m, density, truth.logistic(0, 1), rng)
            for edges, prior in PRIORS.items():
                _, inclusion, error, _, _ = truth.graph_posterior(evidences, m, prior)
                _, other, _, _, _ = truth.graph_posterior(pseudo, m, prior)
                sel = mb.select(model, rows, slab=slab, edges=edges, progress=False)
                gap, far = np.abs(sel.inclusion - inclusion), np.abs(other - inclusion)
                z = (gap / np.hypot(np.maximum(sel.inclusion_error, 1e-4), error)).max()
                totals.append((z, gap.mean(), far.mean()))
                print(
                    f"| {n} | {slab} | {edges} | {z:.1f} | {gap.mean():.4f}, {gap.max():.4f} | "
                    f"{far.mean():.3f}, {far.max():.3f} |",
                    flush=True,
                )
    z, ours, theirs = np.array(totals).T
    print(f"\nAll: largest {z.max():.1f} errors; mean {ours.mean():.4f}, of the pseudolikelihood {theirs.mean():.3f}.")


def levels():
    """Four variables of three levels: 64 graphs, enumerated; node dice with normal priors, which the oracle knows."""
    from structure.graph_cases import case

    print("\nInclusion probabilities against all 64 graphs of four variables with three levels\n")
    print(
        "| coupling | n | slab | edges | largest error in its errors | mean, largest error |\n|---|---|---|---|---|---|"
    )
    for coupling, n, slab in itertools.product(("score", "agreement"), (100, 350), ("normal(0, 1)", "cauchy(0, 2.5)")):
        model, statistics, x = case(4, coupling, True, 3, n=n, seed=n)
        counts, rng = mb.Data(x).count(model).counts, np.random.default_rng(7)
        evidences = truth.graph_evidences(
            statistics, counts, n, model.n_edges, SLABS[slab], truth.normal(0, 1), rng, draws=2000
        )
        for edges, prior in PRIORS.items():
            _, inclusion, error, _, _ = truth.graph_posterior(evidences, model.n_edges, prior)
            sel = mb.select(model, x, slab=slab, edges=edges, prior={"nodes": "normal(0, 1)"}, progress=False)
            gap = np.abs(sel.inclusion - inclusion)
            z = (gap / np.hypot(np.maximum(sel.inclusion_error, 1e-4), error)).max()
            line = f"| {coupling} | {n} | {slab} | {edges} | {z:.1f} | {gap.mean():.4f}, {gap.max():.4f} |"
            print(line, flush=True)


def particles():
    print(
        "\nWeighted samples (two sets of 16,384)\n\n"
        "| field | compared with | mean | largest | ms per sweep |\n|---|---|---|---|---|"
    )
    for n in (500, 2000):
        model = complete(16)
        x = data_of(model, 16, n)
        exact = mb.select(model, x, draws=2_000, thin=2, chains=2, progress=False)
        weighted = mb.select(model, x, engine="particles", draws=1_500, thin=2, chains=2, progress=False)
        gap = np.abs(exact.inclusion - weighted.inclusion)
        ms, _ = per_sweep_of_particles(model, x)
        print(f"| d = 16, n = {n} | exact engine | {gap.mean():.4f} | {gap.max():.3f} | {ms:.1f} |", flush=True)
    model = complete(30)
    x = data_of(model, 30, 500)
    one, two = (mb.select(model, x, draws=2_000, chains=2, rng=seed, progress=False) for seed in (1, 2))
    gap = np.abs(one.inclusion - two.inclusion)
    ms, _ = per_sweep_of_particles(model, x)
    print(f"| d = 30, n = 500 | another seed | {gap.mean():.4f} | {gap.max():.3f} | {ms:.1f} |", flush=True)
    said = one.details
    print(
        f"| d = 30, n = 500 | its own two sets | {said['set_difference_mean']:.4f} | "
        f"{said['set_difference_max']:.3f} | |",
        flush=True,
    )
    model = complete(60)
    x = data_of(model, 60, 1000)
    started = time.process_time()
    one, two = (mb.select(model, x, draws=1_000, chains=2, rng=seed, progress=False) for seed in (1, 2))
    seconds, said, gap = (time.process_time() - started) / 2, one.details, np.abs(one.inclusion - two.inclusion)
    print(
        f"| d = 60, n = 1,000 | another seed | {gap.mean():.4f} | {gap.max():.3f} | {seconds:.0f} s in all |\n"
        f"| d = 60, n = 1,000 | its own two sets | {said['set_difference_mean']:.4f} | "
        f"{said['set_difference_max']:.3f} | |\n\nd = 60: Monte-Carlo error of an inclusion probability "
        f"{one.inclusion_error.mean():.4f} on average; effective share of the weights {said['effective_share']:.2f}.",
        flush=True,
    )


def per_sweep_of_particles(model, x):
    """As `per_sweep`, from two runs of different length."""
    seconds = []
    for steps in (50, 350):
        started = time.process_time()
        mb.select(model, x, engine="particles", draws=1, warmup=1, chains=2, thin=steps, progress=False)
        seconds.append(time.process_time() - started)
    return 1e3 * (seconds[1] - seconds[0]) / 600, "particles"


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("parts", nargs="*", default=["speed", "truth", "levels", "particles"])
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", mb.MRFWarning)
    with recorded(arguments.out):
        for part in arguments.parts:
            {"speed": speed, "truth": against_truth, "levels": levels, "particles": particles}[part]()
