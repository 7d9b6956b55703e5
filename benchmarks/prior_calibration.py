"""Coverage of intervals and calibration of edge probabilities under default priors, by number of levels.

Three variables with r = 2, 3, 5 or 7 levels each. Every coupling is there with probability one half; its strength
J = w sd_u sd_v is uniform on (.1, .4) with a random sign, sd being that of r equally likely levels; thresholds are
normal with sd .5 about centred scores. Intervals and edge probabilities are those of the normal approximation in
log-odds at the mode, with log Z by enumeration. Edge probabilities are calibrated if the strengths come from the slab;
a second set of data, with J normal with mean 0 and sd .25 as in the slab, checks this. All data sets of one number of
levels and one n are a unit; one that is recorded is not run again, so that the script goes on where it was stopped.

    python benchmarks/prior_calibration.py [data sets [data sets from the slab]]

writes benchmarks/results/prior_calibration.jsonl (units) and benchmarks/results/prior_calibration.md (tables).
"""

from __future__ import annotations

import itertools
import json
import sys
from pathlib import Path

import numpy as np

import mrfbayes as mb
from mrfbayes.model.schema import Schema, Variable
from mrfbayes.particles.moments import row_statistics
from mrfbayes.priors import Prior

UNITS = Path(__file__).parent / "results" / "prior_calibration.jsonl"
TABLES = UNITS.with_suffix(".md")
LEVELS, SIZES = (2, 3, 5, 7), (100, 300, 1000)
PAIRS = list(itertools.combinations(range(3), 2))
REVERSED_LEVELS = 5
BINS = np.array([0, 0.1, 0.25, 0.5, 0.75, 0.9, 1])


def scales(r):
    """Standard deviations of a score coupling's prior: relative to the default: by score sds, and by the range."""
    by_sd = 3.0 / (r * r - 1)
    return {"by sds": 1.0, "by range": 1.0 / (r - 1) ** 2 / by_sd}


def priors(r):
    found = {f"normal, {name}": f"normal(0, {scale!r})" for name, scale in scales(r).items()}
    found["default couplings, thresholds normal(0, 1)"] = {"nodes": "normal(0, 1)"}
    return found


def simulate(r, n, seed, is_from_slab=False):
    """Data (n, 3) and the true couplings w (3,)."""
    rng = np.random.default_rng([r, n, seed, 1] if is_from_slab else [r, n, seed])
    sd = np.sqrt((r * r - 1) / 12)
    z = (np.arange(r) - (r - 1) / 2) / sd
    strength = rng.normal(0, 0.25, 3) if is_from_slab else rng.uniform(0.1, 0.4, 3) * rng.choice([-1, 1], 3)
    j = strength * (rng.random(3) < 0.5)
    cells = np.array(list(itertools.product(range(r), repeat=3)))
    main = rng.normal(0, 0.5, (3, r))
    energy = sum(main[k][cells[:, k]] for k in range(3))
    energy = energy + sum(w * z[cells[:, u]] * z[cells[:, v]] for w, (u, v) in zip(j, PAIRS, strict=True))
    p = np.exp(energy - energy.max())
    return cells[rng.choice(len(cells), n, p=p / p.sum())].astype(np.uint8), j / sd**2


def make_model(r):
    kind = "binary" if r == 2 else "ordinal"
    return mb.Model.from_data(Schema(tuple(Variable(k, kind, tuple(map(float, range(r)))) for k in "abc")))


def fit(states, counts, n, prior, chosen):
    """Modes (D, k), covariances (D, k, k) and log evidences (D,) of D data sets, by normal approximations.

    Of normal priors with mean zero alone: their precision is a constant matrix.
    """
    precision = -prior.hessian_w(np.zeros(states.shape[1]))
    precision = np.diag(precision) if precision.ndim == 1 else precision
    s, c, precision = states[:, chosen], counts[:, chosen], precision[np.ix_(chosen, chosen)]

    def log_posterior(w):
        energy = w @ s.T
        top = energy.max(axis=1, keepdims=True)
        weight = np.exp(energy - top)
        total = weight.sum(axis=1, keepdims=True)
        value = (c * w).sum(axis=1) - n * (top + np.log(total))[:, 0] - 0.5 * ((w @ precision) * w).sum(axis=1)
        return value, weight / total

    w = np.zeros(c.shape)
    value, p = log_posterior(w)
    for _ in range(60):
        mean = p @ s
        square = np.matmul(s.T[None] * p[:, None, :], s)
        information = n * (square - mean[:, :, None] * mean[:, None, :]) + precision
        step = np.linalg.solve(information, (c - n * mean - w @ precision)[:, :, None])[:, :, 0]
        if np.abs(step).max() < 1e-6:
            break
        size = np.ones(len(w))
        for _ in range(20):
            new, q = log_posterior(w + size[:, None] * step)
            if (new >= value - 1e-9).all():
                break
            size = np.where(new < value - 1e-9, size / 2, size)
        w, value, p = w + size[:, None] * step, new, q
    evidence = value + 0.5 * np.linalg.slogdet(precision)[1] - 0.5 * np.linalg.slogdet(information)[1]
    return w, np.linalg.inv(information), evidence


def edge_probabilities(states, counts, n, prior):
    """(D, 3) inclusion probabilities from the evidence of all eight graphs."""
    p = states.shape[1]
    graphs = np.array(list(itertools.product((0, 1), repeat=3)), dtype=bool)
    chosen = [np.concatenate([np.flatnonzero(graph), np.arange(3, p)]) for graph in graphs]
    logs = np.stack([fit(states, counts, n, prior, own)[2] for own in chosen], axis=1)
    weight = np.exp(logs - logs.max(axis=1, keepdims=True))
    return weight @ graphs / weight.sum(axis=1, keepdims=True)


def run_cell(r, n, data_sets):
    """What all priors say of data sets of r levels and n rows, as one record."""
    made = [simulate(r, n, seed) for seed in range(data_sets)]
    model = make_model(r)
    states = all_statistics(model)
    everything = np.arange(states.shape[1])
    counts = np.stack([row_statistics(model, x).sum(axis=0) for x, _ in made]).astype(float)
    unit = {"levels": r, "n": n, "truth": [truth.tolist() for _, truth in made], "sample": {}, "select": {}}
    for name, prior in priors(r).items():
        w, covariance, _ = fit(states, counts, n, Prior(model, prior), everything)
        sd = np.sqrt(np.diagonal(covariance, axis1=1, axis2=2)[:, :3])
        unit["sample"][name] = {"mean": w[:, :3].round(5).tolist(), "sd": sd.round(5).tolist()}
    for name, scale in scales(r).items():
        found = edge_probabilities(states, counts, n, Prior(model, f"normal(0, {scale!r})"))
        unit["select"][name] = found.round(4).tolist()
    if r == REVERSED_LEVELS:
        turned = [np.column_stack([r - 1 - x[:, 0], x[:, 1:]]) for x, _ in made]
        counts = np.stack([row_statistics(model, x).sum(axis=0) for x in turned]).astype(float)
        prior = Prior(model, "default")
        unit["reversed"] = fit(states, counts, n, prior, everything)[0][:, :3].round(5).tolist()
        unit["reversed_inclusion"] = edge_probabilities(states, counts, n, prior).round(4).tolist()
    return unit


def binned(p, there):
    """Per bin of the probabilities p: number of edges, their mean probability, and the share that is there."""
    bins = np.searchsorted(BINS, p.ravel(), side="right").clip(1, len(BINS) - 1) - 1
    sums = [np.bincount(bins, weight, len(BINS) - 1) for weight in (None, p.ravel(), there.ravel())]
    return np.array(sums).T


def run_slab(r, n, data_sets):
    """Calibration of edge probabilities where the couplings come from the slab, as one record."""
    made = [simulate(r, n, seed, is_from_slab=True) for seed in range(data_sets)]
    model = make_model(r)
    counts = np.stack([row_statistics(model, x).sum(axis=0) for x, _ in made]).astype(float)
    p = edge_probabilities(all_statistics(model), counts, n, Prior(model, "default"))
    there = np.array([truth for _, truth in made]) != 0
    return {"levels": r, "n": n, "data_sets": data_sets, "slab": binned(p, there).round(4).tolist()}


def all_statistics(model):
    """Statistics (N, p) of every configuration."""
    return row_statistics(model, np.array(list(np.ndindex(*model.states)), dtype=np.uint8))


def load_units():
    return [json.loads(line) for line in UNITS.read_text().splitlines()] if UNITS.exists() else []


def run(data_sets, slab_sets):
    done = {(unit["levels"], unit["n"], "slab" in unit) for unit in load_units()}
    for is_slab, r, n in itertools.product((False, True), LEVELS, SIZES):
        if (r, n, is_slab) not in done:
            unit = run_slab(r, n, slab_sets) if is_slab else run_cell(r, n, data_sets)
            with UNITS.open("a") as file:
                file.write(json.dumps(unit) + "\n")


def coverage(unit, name):
    """Share of the true couplings in the 90 % intervals, and the slope of estimate on truth."""
    truth, found = np.array(unit["truth"]), unit["sample"][name]
    mean, sd = np.array(found["mean"]), np.array(found["sd"])
    return float((np.abs(mean - truth) <= 1.645 * sd).mean()), float((truth * mean).sum() / (truth**2).sum())


def bin_table(sums):
    lines = ["| probability | edges | mean probability | there | standard error |", "|---|---|---|---|---|"]
    for (a, b), (n, p, there) in zip(itertools.pairwise(BINS), sums, strict=True):
        error = np.sqrt(p / n * (1 - p / n) / n)
        lines.append(f"| {a:g} to {b:g} | {n:.0f} | {p / n:.3f} | {there / n:.3f} | {error:.3f} |")
    return lines


def write_tables():
    units, from_slab = load_units(), [unit for unit in load_units() if "slab" in unit]
    units = [unit for unit in units if "slab" not in unit]
    names, slabs, sets = list(priors(2)), list(scales(2)), len(units[0]["truth"])
    lines = [
        "# Priors: coverage and calibration",
        "",
        *__doc__.split(" Edge probabilities are calibrated")[0].splitlines()[2:],
        "",
    ]
    lines += [
        f"Command: `python benchmarks/prior_calibration.py {sets}`: {sets} data sets, {3 * sets} couplings a row.",
        "",
    ]
    lines += ["## Coverage of 90 % intervals of the couplings", ""]
    lines += [
        f"Standard error of a share of .90: {0.3 / np.sqrt(3 * sets):.3f}. In brackets the slope of estimate on truth.",
        "",
    ]
    lines += ["| levels | n | " + " | ".join(names) + " |", "|---|---|" + "---|" * len(names)]
    for unit in units:
        texts = ["{:.3f} ({:.2f})".format(*coverage(unit, name)) for name in names]
        lines.append(f"| {unit['levels']} | {unit['n']} | " + " | ".join(texts) + " |")
    lines += ["", "## Calibration of edge probabilities (prior odds 1)", ""]
    lines += ["Mean probability of edges that are there, and of edges that are not; Brier score.", ""]
    lines += ["| levels | n | " + " | ".join(slabs) + " |", "|---|---|" + "---|" * len(slabs)]
    for unit in units:
        there, texts = np.array(unit["truth"]) != 0, []
        for name in slabs:
            p = np.array(unit["select"][name])
            texts.append(f"{p[there].mean():.2f}, {p[~there].mean():.2f}; {((p - there) ** 2).mean():.3f}")
        lines.append(f"| {unit['levels']} | {unit['n']} | " + " | ".join(texts) + " |")
    p = np.concatenate([np.array(u["select"]["by sds"]).ravel() for u in units])
    there = np.concatenate([np.array(u["truth"]).ravel() for u in units]) != 0
    lines += ["", "All rows together, scaled by sds:", "", *bin_table(binned(p, there)), ""]
    lines += [
        "No edge of these data is weaker than .1, where the slab has 31 % of its edges: low probabilities are too high",
        f"for them. {from_slab[0]['data_sets']} data sets in each row with strengths from the slab:",
        "",
        *bin_table(np.sum([unit["slab"] for unit in from_slab], axis=0)),
    ]
    units = [unit for unit in units if "reversed" in unit]
    sign = np.array([-1, -1, 1])  # couplings of the first variable change their sign
    own = [u["sample"]["normal, by sds"] for u in units]
    shift = [np.abs(np.array(u["reversed"]) * sign - o["mean"]) / o["sd"] for u, o in zip(units, own, strict=True)]
    moved = [np.abs(np.array(u["reversed_inclusion"]) - u["select"]["by sds"]) for u in units]
    lines += ["", "## Reversing an item", ""]
    lines += [
        f"The first of the three items was reversed in {sets * len(units)} data sets of five levels. Modes change",
        f"their signs only, up to {np.mean(shift):.4f} posterior sds on average and {np.max(shift):.3f} at most; edge",
        f"probabilities move by {np.mean(moved):.4f} on average and {np.max(moved):.3f} at most.",
        "",
    ]
    TABLES.write_text("\n".join(lines))


if __name__ == "__main__":
    run(*[int(text) for text in sys.argv[1:3]] + [100, 400][len(sys.argv[1:3]) :])
    write_tables()
