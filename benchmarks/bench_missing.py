"""Missing cells: the likelihood against every completion of every row, calibrated coins, and dense fields in time.

``python benchmarks/bench_missing.py small``, ``... dense`` and ``... select`` print the tables of results/missing.md; a
name after "small" picks one field, and a share after that one row; a number after the others picks one row.
"""

import argparse
import itertools
import time
import warnings

import numpy as np
from scipy.sparse import csr_array

import mrfbayes as mb

SHARES = (0.1, 0.3, 0.5)
N = 350
HOLE = 255
PROPOSALS, DEGREES = 20_000, 8  # of the importance sampling by brute force, and of its t distribution
STEPS = {("6 nodes", 0.5): 100_000, ("4x4 grid", 0.5): 5_000}  # uneven weights; large components, and so trajectories
BATCHES = 100  # of the draws of `exact`, from which their Monte-Carlo error is taken


def fields():
    """Name, model, all configurations and their statistics, made here without the package; log-odds of the truth."""
    rng = np.random.default_rng(1)
    for name, d, states in (("5 nodes", 5, 2), ("6 nodes", 6, 2), ("4 nodes, 3 ordered levels", 4, 3)):
        pairs = list(itertools.combinations(range(d), 2))
        coupling = "both-one" if states == 2 else "score"
        model = mb.graph(pairs, states=states, coupling=coupling, fields=True)
        x = np.array(list(itertools.product(range(states), repeat=d)))
        u, v = np.array(pairs).T
        levels = [x[:, i] == a for i in range(d) for a in range(1, states)]
        s = np.column_stack([x[:, u] * x[:, v], *levels]).astype(float)
        yield name, model, x, s, rng.normal(0, 0.5 if states == 2 else 0.3, s.shape[1])
    model = mb.grid(4, 4)
    x = np.array(list(itertools.product(range(2), repeat=16)), dtype=np.uint8)
    u, v = model.edges.T
    yield "4x4 grid", model, x, (x[:, u] == x[:, v]).astype(float), rng.uniform(0.0, 1.4, len(u))


def hidden(x, share, rng):
    """``x`` with a share of its cells hidden, a cell of each row at least seen."""
    rows = x.astype(np.int64)
    hide = rng.random(rows.shape) < share
    hide[np.arange(len(rows)), rng.integers(rows.shape[1], size=len(rows))] = False
    rows[hide] = HOLE
    return rows


def brute_force(rows, x, s, log_odds):
    """Log-likelihoods of several w (k, p), by a sum over every completion of every row."""
    distinct, counts = np.unique(rows, axis=0, return_counts=True)
    places = [np.flatnonzero(((x == row) | (row == HOLE)).all(axis=1)) for row in distinct]
    out = []
    for w in log_odds:
        weights = np.exp(s @ w)
        sums = np.array([weights[place].sum() for place in places])
        out.append(counts @ np.log(sums) - len(rows) * np.log(weights.sum()))
    return np.array(out)


def brute_posterior(rows, x, s, near):
    """Mean and sd (p,) of w under uniform theta, and their errors: draws of a t around ``near``, weighted."""
    rng = np.random.default_rng(11)
    distinct, counts = np.unique(rows, axis=0, return_counts=True)
    compatible = csr_array(np.stack([((x == row) | (row == HOLE)).all(axis=1) for row in distinct]).astype(float))
    p = s.shape[1]
    factor = np.linalg.cholesky(1.2 * np.cov(near.T))
    z = rng.standard_normal((PROPOSALS, p)) / np.sqrt(rng.chisquare(DEGREES, (PROPOSALS, 1)) / DEGREES)
    w = near.mean(axis=0) + z @ factor.T
    log_weight = np.empty(PROPOSALS)
    for first in range(0, PROPOSALS, 500):
        part = slice(first, first + 500)
        cells = np.exp(s @ w[part].T)
        log_weight[part] = counts @ np.log(compatible @ cells) - len(rows) * np.log(cells.sum(axis=0))
    log_weight -= (np.abs(w) + 2 * np.log1p(np.exp(-np.abs(w)))).sum(axis=1)  # theta is uniform
    log_weight += (DEGREES + p) / 2 * np.log1p((z**2).sum(axis=1) / DEGREES)  # less the proposal's density
    weight = np.exp(log_weight - log_weight.max())
    weight /= weight.sum()
    mean = weight @ w
    square = weight @ (w - mean) ** 2
    errors = [np.sqrt(weight**2 @ (values**2)) for values in (w - mean, (w - mean) ** 2 - square)]
    sd = np.sqrt(square)
    return mean, sd, errors[0], errors[1] / (2 * sd)


def against_brute_force(post, rows, x, s):
    """Largest difference of `exact`'s means and sds of log-odds from brute force, in Monte-Carlo errors of both."""
    draws = post.model.chart.log_odds(post.draws.reshape(-1, s.shape[1]))
    mean, sd, mean_error, sd_error = brute_posterior(rows, x, s, draws)
    moved = draws[: len(draws) // BATCHES * BATCHES] - mean
    batches = np.stack([moved, moved**2]).reshape(2, BATCHES, -1, s.shape[1]).mean(axis=2)
    of_mean, of_square = batches.std(axis=1, ddof=1) / np.sqrt(BATCHES)
    off = (draws.mean(axis=0) - mean) / np.hypot(mean_error, of_mean)
    spread = (draws.std(axis=0) - sd) / np.hypot(sd_error, of_square / (2 * sd))
    return np.abs(off).max(), np.abs(spread).max()


def small(only, only_share):
    print(
        "| field | missing | log L against all completions | exact against brute force, in errors: mean, sd | ", end=""
    )
    print("calibrated: mean, % of sd | sd, % | noise of these | ", end="")
    print("exact: efficiency | sds against whole data | sds, rows dropped | seconds: calibrated, exact |")
    print("|" + "---|" * 11)
    for name, model, x, s, w in fields():
        if only and name != only:
            continue
        rng = np.random.default_rng(7)
        p = np.exp(s @ w)
        whole = x[rng.choice(len(x), size=N, p=p / p.sum())]
        full = mb.sample(model, whole.astype(np.uint8), "calibrated", progress=False)
        for share in [float(only_share)] if only_share else SHARES:
            rows = hidden(whole, share, np.random.default_rng(int(100 * share)))
            table = np.where(rows == HOLE, np.nan, rows)
            steps = STEPS.get((name, share), 25_000)
            started = time.process_time()
            coins = mb.sample(model, table, "calibrated", progress=False)
            between = time.process_time()
            post = mb.sample(model, table, "exact", draws=steps, chains=4, progress=False)
            done = time.process_time()
            some = post.draws[0, :: max(1, post.draws.shape[1] // 20)]
            ours = mb.likelihood(model, post._problem.statistics, "exact")
            values = np.array([ours.log_likelihood(theta) for theta in some])
            gap = np.abs(values - brute_force(rows, x, s, model.chart.log_odds(some))).max()
            off, spread = against_brute_force(post, rows, x, s)
            mean = 100 * np.abs((coins.mean - post.mean) / post.sd).mean()
            sd = 100 * np.abs(coins.sd / post.sd - 1).mean()
            drawn = post.facts.effective_proposals or post.summary()["ess_bulk"].median()
            noise = 100 * np.sqrt(2 / np.pi / drawn)
            efficiency = post.facts.efficiency or drawn / post.draws[..., 0].size
            wider = f"{np.mean(post.sd / full.sd):.2f}"
            kept = rows[(rows != HOLE).all(axis=1)]
            dropped = "no row left"
            if len(kept) > 1:
                dropped = (
                    f"{np.mean(mb.sample(model, kept.astype(np.uint8), 'calibrated', progress=False).sd / full.sd):.2f}"
                )
            print(
                f"| {name} | {share:.0%} | {gap:.1e} | {off:.1f}, {spread:.1f} | {mean:.2f} | {sd:.2f} | {noise:.2f} | "
                f"{efficiency:.2f} ({post.engine}) | {wider} | {dropped} | "
                f"{between - started:.1f}, {done - between:.1f} |",
                flush=True,
            )


def dense(only, _):
    print("| field | d | p | n | missing | rows with holes, distinct | whole, s | mean error | sd error | stated |")
    print("|" + "---|" * 10)
    rng = np.random.default_rng(5)
    rows = ((2, 30, 1000, 0.1), (2, 30, 1000, 0.3), (5, 17, 350, 0.1), (5, 17, 350, 0.3))
    for states, d, n, share in rows if not only else (rows[int(only)],):
        pairs = list(itertools.combinations(range(d), 2))
        model = mb.graph(pairs, states=states, coupling="both-one" if states == 2 else "score", fields=True)
        m, p = len(pairs), len(model.parameters)
        w = np.concatenate([rng.normal(0, 0.5 / (states - 1), m) * (rng.random(m) < 0.3), rng.normal(-0.5, 0.4, p - m)])
        x = mb.simulate(model, model.chart.theta(w), n, sampler="gibbs", rng=2, progress=False).astype(float)
        x[rng.random(x.shape) < share] = np.nan
        statistics = mb.Data(x).count(model)
        runs, seconds = [], []
        for seed in (0, 1):
            mb.sample(
                model, statistics, "langevin", prior="normal(0, 1)", draws=4, warmup=4, progress=False
            )  # compiles
            started = time.process_time()
            runs.append(mb.sample(model, statistics, "langevin", prior="normal(0, 1)", rng=seed, progress=False))
            seconds.append(time.process_time() - started)
        a, b = runs
        mean = np.sqrt(np.mean(((a.mean - b.mean) / a.sd) ** 2) / 2)
        sd = np.sqrt(np.mean((a.sd / b.sd - 1) ** 2) / 2)
        kind = "binary" if states == 2 else f"ordered, {states} levels"
        print(
            f"| {kind} | {d} | {p} | {n} | {share:.0%} | {len(statistics.incomplete.rows)} | {np.mean(seconds):.1f} | "
            f"{mean:.4f} | {sd:.4f} | {a.facts.trust_mean:.3f}, {a.facts.trust_sd:.3f} |",
            flush=True,
        )


def select(only, _):
    """Searches over graphs: weighted samples against all states, and two sets of samples where no sum is possible."""
    print("| d | n | missing | engine | compared with | mean | largest | Monte-Carlo error | ms per sweep |")
    print("|" + "---|" * 9)
    rows = ((16, 500, 0.1, "states", 1500), (16, 500, 0.3, "states", 1500), (30, 1000, 0.1, None, 800))
    for d, n, share, other, steps in rows if not only else (rows[int(only)],):
        model = mb.graph(list(itertools.combinations(range(d), 2)), coupling="both-one", fields=True)
        rng = np.random.default_rng(d)
        m = model.n_edges
        w = np.concatenate([rng.normal(0, 0.8, m) * (rng.random(m) < 0.2), rng.normal(-0.5, 0.5, d)])
        x = mb.simulate(model, model.chart.theta(w), n, sampler="gibbs", rng=d, progress=False).astype(float)
        x[rng.random(x.shape) < share] = np.nan
        statistics = mb.Data(x).count(model)
        settings = {"draws": steps, "chains": 2, "progress": False}
        started = time.process_time()
        found = mb.select(model, statistics, engine="particles", **settings)
        each = 1e3 * (time.process_time() - started) / (2 * (steps + found.warmup))
        gap, name = np.array([]), "its own two sets"
        if other is not None:
            gap, name = (
                np.abs(mb.select(model, statistics, engine=other, **settings).inclusion - found.inclusion),
                other,
            )
        mean = gap.mean() if gap.size else found.details["set_difference_mean"]
        most = gap.max() if gap.size else found.details["set_difference_max"]
        print(
            f"| {d} | {n} | {share:.0%} | particles | {name} | {mean:.4f} | {most:.3f} | "
            f"{found.inclusion_error.mean():.4f} | {each:.1f} |",
            flush=True,
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("part", choices=["small", "dense", "select"])
    parser.add_argument("only", nargs="?", default="")
    parser.add_argument("share", nargs="?", default="")
    warnings.simplefilter("ignore")
    given = parser.parse_args()
    {"small": small, "dense": dense, "select": select}[given.part](given.only, given.share)
