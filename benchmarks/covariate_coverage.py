"""Coverage of the 90 % intervals of fields with covariates over simulated data, resumable.

    python benchmarks/covariate_coverage.py run pseudo 100     # data set after data set, a line each in the results
    python benchmarks/covariate_coverage.py table              # benchmarks/results/covariate_coverage.md

Five binary variables, 300 rows, one covariate with ten values; thresholds and couplings depend on it. Parameters come
from their priors: couplings and effects normal(0, 1), thresholds normal(0, 1).
"""

from __future__ import annotations

import itertools
import json
import sys
import time
import warnings
from pathlib import Path

import numpy as np

import mrfbayes as mb

RESULTS = Path(__file__).parent / "results"
LINES = RESULTS / "covariate_coverage.jsonl"
D, ROWS = 5, 300
PRIOR = {"edges": "normal(0, 1)", "nodes": "normal(0, 1)", "effects": "normal(0, 1)"}
STATES = np.array(list(itertools.product([0, 1], repeat=D)))
PAIRS = np.array([STATES[:, u] * STATES[:, v] for u, v in itertools.combinations(range(D), 2)]).T
STATISTICS = np.concatenate([PAIRS, STATES], axis=1)


def simulated(seed: int) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """A table and the true parameters."""
    rng = np.random.default_rng(seed)
    value = rng.integers(0, 10, ROWS).astype(float)
    z = (value - value.mean()) / (2 * value.std())
    base, effect = rng.normal(size=(2, STATISTICS.shape[1]))
    logs = (base + z[:, None] * effect) @ STATISTICS.T
    p = np.exp(logs - np.logaddexp.reduce(logs, axis=1)[:, None])
    rows = STATES[(rng.random((ROWS, 1)) > np.cumsum(p, axis=1)).sum(axis=1).clip(max=len(STATES) - 1)]
    return {f"q{i}": rows[:, i] for i in range(D)} | {"z": value}, np.concatenate([base, effect])


def run(method: str, n: int) -> None:
    """Data sets that have no line yet."""
    known = {(line["method"], line["set"]) for line in read()}
    for k in range(n):
        if (method, k) in known:
            continue
        table, truth = simulated(k)
        data = mb.Data(table, covariates=["z"])
        model = mb.Model.from_data(data, covariates="couplings")
        began = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", mb.MRFWarning)
            w = mb.sample(model, data, method, prior=PRIOR, rng=k, progress=False).log_odds
        low, high = np.quantile(w, [0.05, 0.95], axis=(0, 1))
        z = (w.mean(axis=(0, 1)) - truth) / w.std(axis=(0, 1))
        line = {
            "method": method,
            "set": k,
            "cpu_seconds": round(time.process_time() - began, 2),
            "inside": ((low <= truth) & (truth <= high)).astype(int).tolist(),
            "z": np.round(z, 3).tolist(),
        }
        with LINES.open("a") as file:
            file.write(json.dumps(line) + "\n")


def read() -> list[dict]:
    """All lines so far."""
    return [json.loads(text) for text in LINES.read_text().splitlines()] if LINES.exists() else []


def table() -> str:
    """Coverage by method and kind of parameter, with standard errors over data sets."""
    rows = [
        "# Coverage of 90 % intervals with a covariate\n",
        "`python benchmarks/covariate_coverage.py run <method> <sets>`; z = (mean - truth) / sd.\n",
        "| method | parameters | sets | coverage | standard error | sd of z | median cpu s |",
        "|---|---|---|---|---|---|---|",
    ]
    p, m = STATISTICS.shape[1], PAIRS.shape[1]
    kinds = {
        "couplings": slice(0, m),
        "thresholds": slice(m, p),
        "effects on couplings": slice(p, p + m),
        "effects on thresholds": slice(p + m, 2 * p),
    }
    for method in ("exact", "langevin", "pseudo"):
        lines = [line for line in read() if line["method"] == method]
        if not lines:
            continue
        seconds = np.median([line["cpu_seconds"] for line in lines])
        for name, part in kinds.items():
            inside = np.array([line["inside"][part] for line in lines])
            z = np.array([line["z"][part] for line in lines])
            error = inside.mean(axis=1).std(ddof=1) / np.sqrt(len(lines))
            shown = f"{inside.mean():.3f} | {error:.3f} | {z.std():.2f} | {seconds:.1f}"
            rows.append(f"| {method} | {name} | {len(lines)} | {shown} |")
    return "\n".join(rows) + "\n"


if __name__ == "__main__":
    if sys.argv[1] == "run":
        run(sys.argv[2], int(sys.argv[3]))
    else:
        (RESULTS / "covariate_coverage.md").write_text(table())
        print(table())
