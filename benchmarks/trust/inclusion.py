"""Calibration of inclusion probabilities: graphs from their prior, data, and the probability of every edge.

Of all edges with probability q a share of q must be there. The same for edges that differ between two groups.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable

import numpy as np
from ranks import Case, mixed, table_case
from scipy import stats

import mrfbayes as mb

BINS = 10
SWEEPS = {"chains": 1, "warmup": 100, "progress": False}


def graph_case(case: Case, told: float = 0.5) -> Callable[[int], tuple[np.ndarray, np.ndarray]]:
    """Probabilities and truth of every edge of a data set; ``told`` is the prior probability that `select` gets."""
    slices = case.edge_slices()

    def one(index: int) -> tuple[np.ndarray, np.ndarray]:
        rng = np.random.default_rng([index, 7])
        w = case.draw_prior(rng)
        is_there = rng.random(len(slices)) < 0.5
        for own, there in zip(slices, is_there, strict=True):
            w[own] *= there
        data = case.data(case.draw_rows(w, rng))
        prior = {"nodes": "normal(0, 1)"}
        options = {**SWEEPS, "draws": 600, "edges": f"bernoulli({told})", "prior": prior}
        return mb.select(case.model, data, rng=index, **options).inclusion, is_there  # type: ignore[arg-type]

    return one


def group_case(case: Case, told: float = 0.5) -> Callable[[int], tuple[np.ndarray, np.ndarray]]:
    """The same for edges that differ between two groups, whose log-odds lie half a difference off their mean."""
    m = case.model.n_edges

    def one(index: int) -> tuple[np.ndarray, np.ndarray]:
        rng = np.random.default_rng([index, 8])
        mean, difference = case.draw_prior(rng), rng.standard_normal(case.statistics.shape[1])
        differs = rng.random(m) < 0.5
        difference[:m] *= differs
        rows = {name: case.draw_rows(mean + sign * difference / 2, rng) for name, sign in (("a", -1), ("b", 1))}
        data = {name: case.data(x) for name, x in rows.items()}
        options = {**SWEEPS, "draws": 600, "differences": f"bernoulli({told})"}
        return mb.compare_groups(case.model, data, rng=index, prior=case.prior, **options).inclusion, differs  # type: ignore[arg-type]

    return one


CASES: dict[str, tuple[Callable[[], Callable[[int], tuple[np.ndarray, np.ndarray]]], str]] = {
    "select, 4 binary variables": (lambda: graph_case(table_case(4, 80)), "calibrated"),
    "select, 6 mixed variables": (lambda: graph_case(mixed(n=100)), "calibrated"),
    "select, 4-cycle with missing cells": (lambda: graph_case(table_case(4, 80, "missing")), "calibrated"),
    "compare_groups, 3 binary variables": (lambda: group_case(table_case(3, 60)), "calibrated"),
    "select, told bernoulli(0.8)": (lambda: graph_case(table_case(4, 80), 0.8), "rejected"),
    "compare_groups, told bernoulli(0.8)": (lambda: group_case(table_case(3, 60), 0.8), "rejected"),
}


def run_batch(name: str, first: int, n: int) -> dict[str, object]:
    """By tenth of the probability: number of edges, sums of p, of p (1 - p), of edges that are there, of squares."""
    one = CASES[name][0]()
    sums = np.zeros((BINS, 5))
    spent = 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mb.MRFWarning)
        for index in range(first, first + n):
            started = time.process_time()
            probability, truth = one(index)
            spent += time.process_time() - started if index > first else 0.0
            place = np.minimum((probability * BINS).astype(int), BINS - 1)
            each = np.stack(
                [
                    np.ones_like(probability),
                    probability,
                    probability * (1 - probability),
                    truth,
                    (probability - truth) ** 2,
                ],
                axis=1,
            )
            np.add.at(sums, place, each)
    return {"n": n, "bins": np.round(sums, 6).tolist(), "ms": round(1e3 * spent / max(n - 1, 1), 2)}


def p_value(sums: np.ndarray) -> float:
    """That edges are there with the stated probabilities: a chi-squared test over tenths, and one over all edges."""
    used = sums[:, 2] > 5
    z = (sums[:, 3] - sums[:, 1])[used] / np.sqrt(sums[used, 2])
    total = sums.sum(axis=0)
    overall = 2 * stats.norm.sf(abs(total[3] - total[1]) / np.sqrt(total[2]))
    return float(min(1.0, 2 * min(stats.chi2.sf(z @ z, used.sum()), overall)))


def brier(sums: np.ndarray) -> dict[str, float]:
    """Brier score and its parts: reliability (0 is best), resolution, uncertainty; parts by tenths."""
    n = sums[:, 0].sum()
    used = sums[:, 0] > 0
    share, probability = (sums[used, k] / sums[used, 0] for k in (3, 1))
    base = sums[:, 3].sum() / n
    weight = sums[used, 0] / n
    return {
        "score": float(sums[:, 4].sum() / n),
        "reliability": float(weight @ (share - probability) ** 2),
        "resolution": float(weight @ (share - base) ** 2),
        "uncertainty": float(base * (1 - base)),
    }
