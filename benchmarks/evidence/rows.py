"""Rows of the table of evidence: what stands in one, and what several kinds of cells have in common."""

from __future__ import annotations

import csv
import time

import numpy as np

import mrfbayes as mb

FIELDS = ["cell", "kind", "p", "n", "method", "mean_error", "mean_error_max", "sd_error", "sd_ratio", "sd_error_max"]
FIELDS += ["noise_mean", "noise_sd", "seconds", "note"]


def uniform_prior(w):
    """Log density in w of a uniform theta, and its gradient."""
    size = np.abs(w)
    return -(size + 2 * np.log1p(np.exp(-size))).sum(), -np.tanh(w / 2)


def compare(base, method, mean, sd, reference, seconds, note="", noise=None) -> dict:
    """One row: errors of ``mean`` and ``sd`` against the reference, and the noise of both together."""
    error, ratio = np.abs(mean - reference.mean) / reference.sd, sd / reference.sd
    own = (0.0, 0.0) if noise is None else (noise.mean_error, noise.sd_error)
    return base | {
        "method": method,
        "mean_error": float(error.mean()),
        "mean_error_max": float(error.max()),
        "sd_error": float(np.abs(ratio - 1).mean()),
        "sd_ratio": float(ratio.mean()),
        "sd_error_max": float(np.abs(ratio - 1).max()),
        "noise_mean": float(np.sqrt(np.mean(reference.mean_error**2 + own[0] ** 2))),
        "noise_sd": float(np.sqrt(np.mean(reference.sd_error**2 + own[1] ** 2))),
        "seconds": round(seconds, 2),
        "note": note,
    }


def mle_row(base, problem, reference) -> dict:
    """The row of MLE-L, whose marginals are known without a chain."""
    started = time.process_time()
    likelihood = mb.likelihood(problem.model, problem.statistics, "mle", estimate=problem.estimate)
    marginals = [likelihood.marginal(j) for j in range(problem.model.n_parameters)]
    own = np.array([float(c.mean) for c in marginals]), np.array([float(c.sd) for c in marginals])
    note = "no finite MLE: penalised" if problem.estimate.penalised else ""
    return compare(base, "mle", *own, reference, time.process_time() - started, note)


def append_rows(path, rows) -> None:
    """Add rows to the table at ``path``, which is begun where there is none."""
    fresh = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, FIELDS, restval="")
        if fresh:
            writer.writeheader()
        for row in rows:
            writer.writerow({k: f"{v:.5g}" if isinstance(v, float) else v for k, v in row.items()})
