"""Differences between groups: against enumeration, and calibrated on simulated groups.

python benchmarks/bench_groups.py [truth] [calibration] [--out FILE]

- truth: which of the edges differ, two groups of four variables (64 subsets) and three groups of three (8 subsets)
- calibration: ten variables, 2 x 200 rows: of the edges with a given probability of a difference, how many differ
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
from scipy import stats

import mrfbayes as mb

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from structure.group_cases import exact_differences, some_groups

DATA_SETS, VARIABLES, ROWS = 120, 10, 200
EDGE_PRIOR, NODE_PRIOR = 0.5, 1.0  # scales of the normal baseline in the calibration


def truth():
    """Errors in Monte-Carlo errors."""
    print("Inclusion probabilities of differences against enumeration\n")
    print("| field | groups | largest error in its errors | mean, largest error |\n|---|---|---|---|")
    cases = [
        (4, (150, 250), 3),
        (4, (100, 100), 11),
        (4, (600, 400), 12),
        (3, (100, 150, 200), 6),
        (3, (80, 80, 80), 7),
    ]
    for d, sizes, seed in cases:
        model, statistics, data = some_groups(d, sizes, seed)
        inclusion, error = exact_differences(model, statistics, data, 6000)
        found = mb.compare_groups(model, data, draws=2_000, thin=5, progress=False)
        gap = np.abs(found.inclusion - inclusion)
        z = (gap / np.hypot(np.maximum(found.inclusion_error, 1e-4), error)).max()
        size = " and ".join(map(str, sizes))
        print(f"| {d} variables | n = {size} | {z:.1f} | {gap.mean():.4f}, {gap.max():.4f} |", flush=True)


def calibration():
    """Of the edges with a probability in each tenth, the share that differ."""
    pairs = list(itertools.combinations(range(VARIABLES), 2))
    model = mb.graph(pairs, fields=True, coupling="both-one")
    m, p = model.n_edges, model.n_parameters
    prior = {"edges": f"normal(0, {EDGE_PRIOR})", "nodes": f"normal(0, {NODE_PRIOR})"}
    scale = np.repeat([EDGE_PRIOR, NODE_PRIOR], [m, p - m])
    rng = np.random.default_rng(0)
    said, true, started = [], [], time.process_time()
    for number in range(DATA_SETS):
        differs = rng.random(m) < 0.5
        base, delta = rng.normal(0, scale), rng.standard_normal(p)
        delta[:m] *= differs
        groups = {
            name: mb.simulate(model, model.chart.theta(base + sign * delta), ROWS, rng=int(rng.integers(2**31)))
            for name, sign in (("a", -0.5), ("b", 0.5))
        }
        found = mb.compare_groups(model, groups, prior=prior, draws=1_500, chains=2, rng=number, progress=False)
        said.append(found.inclusion)
        true.append(differs)
    said, true = np.concatenate(said), np.concatenate(true)
    seconds = time.process_time() - started
    print(
        f"\nCalibration: {DATA_SETS} pairs of groups of {ROWS} rows, {VARIABLES} variables, {said.size} edges, "
        f"{seconds / DATA_SETS:.1f} processor seconds per pair\n"
    )
    print("| probability of a difference | edges | mean probability | share that differ | in its errors |")
    print("|---|---|---|---|---|")
    edges = np.linspace(0, 1, 11)
    for low, high in itertools.pairwise(edges):
        chosen = (said >= low) & ((said < high) | (high == 1))
        if chosen.any():
            mean, share = said[chosen].mean(), true[chosen].mean()
            z = (share - mean) / np.sqrt((said[chosen] * (1 - said[chosen])).sum() / chosen.sum() ** 2)
            print(f"| {low:.1f} to {high:.1f} | {chosen.sum()} | {mean:.3f} | {share:.3f} | {z:+.1f} |")
    z = (true - said).sum() / np.sqrt((said * (1 - said)).sum())
    slope = ((said - 0.5) * (true - said)).sum() / np.sqrt(((said - 0.5) ** 2 * said * (1 - said)).sum())
    print(f"\nAll edges: {z:+.1f} errors; weighted by how sure the probability is: {slope:+.1f} errors.")
    print(f"p value of the sum of squares: {stats.chi2.sf(_squares(said, true), 10):.2g}")


def _squares(said, true):
    """Sum over tenths of (share - mean)^2 in its errors."""
    total = 0.0
    for low in np.linspace(0, 0.9, 10):
        chosen = (said >= low) & (said < low + 0.1 + (low > 0.85))
        total += (true[chosen] - said[chosen]).sum() ** 2 / max((said[chosen] * (1 - said[chosen])).sum(), 1e-12)
    return total


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("parts", nargs="*", default=["truth", "calibration"])
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", mb.MRFWarning)
    with recorded(arguments.out):
        for part in arguments.parts:
            {"truth": truth, "calibration": calibration}[part]()
