"""Coverage of 90 % intervals on larger fields, by whatever `mrfbayes.sample` chooses: truth and prior are the same."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable

import numpy as np
from ranks import KEPT, ranks_of

import mrfbayes as mb

Field = tuple[mb.Model, dict[str, str], Callable[[np.random.Generator], np.ndarray], int]


def grid(size: int) -> Field:
    """A square grid with normal couplings of both signs and 200 rows."""
    model = mb.grid(size, size)
    return model, {"edges": "normal(0, 0.7)"}, lambda rng: rng.normal(0, 0.7, model.n_parameters), 200


def questionnaire(items: int) -> Field:
    """Every pair of binary items, couplings of sd .3, thresholds of sd 1, 500 rows."""
    model = mb.complete([f"item{k}" for k in range(items)], fields=True, coupling="both-one")
    scale = np.where(np.arange(model.n_parameters) < model.n_edges, 0.3, 1.0)
    return model, {"edges": "normal(0, 0.3)", "nodes": "normal(0, 1)"}, lambda rng: rng.normal(0, scale), 500


FIELDS: dict[str, tuple[Callable[[], Field], int]] = {  # and the number of data sets
    **{f"{k}x{k} grid": (lambda k=k: grid(k), sets) for k, sets in ((4, 200), (8, 100), (12, 50), (16, 20), (20, 10))},
    **{f"{k} items": (lambda k=k: questionnaire(k), sets) for k, sets in ((20, 100), (40, 50), (60, 30))},
}
PLANAR_SIZE, PLANAR_SETS, PLANAR_THIN = 12, 500, 12
PLANAR_PARAMETERS = 15  # of all couplings, evenly spaced


def theta_of(w: np.ndarray) -> np.ndarray:
    """Theta of coins."""
    return np.asarray(1 / (1 + np.exp(-w)))


def run_one(name: str, index: int) -> dict[str, object]:
    """One data set: how many of the parameters lie in their interval, and their z scores."""
    model, prior, draw_prior, n = FIELDS[name][0]()
    rng = np.random.default_rng([index, 99])
    w = draw_prior(rng)
    started = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mb.MRFWarning)
        x = mb.simulate(model, theta_of(w), n, rng=index, progress=False)
        found = mb.sample(model, x, prior=prior, rng=index, progress=False)
    draws = found.log_odds.reshape(-1, w.size)
    low, high = np.quantile(draws, [0.05, 0.95], axis=0)
    z = (w - draws.mean(axis=0)) / draws.std(axis=0)
    return {
        "method": found.method,
        "covered": int(((low < w) & (w < high)).sum()),
        "of": int(w.size),
        "z": round(float(z.mean()), 4),
        "z2": round(float((z * z).mean()), 4),
        "cpu": round(time.process_time() - started, 2),
    }


def run_planar(first: int, n: int) -> dict[str, object]:
    """Ranks as in `ranks.run_batch` on a grid whose log Z is a planar determinant."""
    model = mb.grid(PLANAR_SIZE, PLANAR_SIZE)
    chosen = np.linspace(0, model.n_parameters - 1, PLANAR_PARAMETERS).astype(int)
    counts = np.zeros((PLANAR_PARAMETERS + 1, KEPT + 1), dtype=np.int64)
    spent = 0.0
    for index in range(first, first + n):
        rng = np.random.default_rng([index, 100])
        w = rng.normal(0, 0.7, model.n_parameters)
        started = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", mb.MRFWarning)
            data = mb.Data(mb.simulate(model, theta_of(w), 60, rng=index, progress=False)).count(model)
            found = mb.sample(
                model, data, "exact", prior={"edges": "normal(0, 0.7)"}, chains=1, thin=PLANAR_THIN, rng=index,
                progress=False, draws=KEPT,
            )  # fmt: skip
        spent += time.process_time() - started if index > first else 0.0
        draws = found.log_odds[0]
        heights = np.array([log_likelihood(model, data, one) for one in (w, *draws)])
        counts[np.arange(len(counts)), ranks_of(w[chosen], draws[:, chosen], heights)] += 1
    return {
        "n": n,
        "counts": counts.tolist(),
        "ms": round(1e3 * spent / max(n - 1, 1), 2),
        "recursion": mb.cost(model).recursion,
    }


def log_likelihood(model: mb.Model, data: mb.Statistics, w: np.ndarray) -> float:
    """At log-odds w, from counts of agreements; log Z is that of theta^agree (1 - theta)^disagree."""
    counts = np.asarray(data.counts)
    return float(counts @ w - data.n * (mb.log_partition(model, theta_of(w)) + np.log1p(np.exp(w)).sum()))
