"""How many ordinary data sets end with a warning under default settings.

    python benchmarks/default_warnings.py run            # resumable; one line of results for each data set
    python benchmarks/default_warnings.py run --most 20  # at most so many more
    python benchmarks/default_warnings.py real FOLDER    # the same of every CSV file there
    python benchmarks/default_warnings.py page           # benchmarks/results/default_warnings.md

200 data sets: 18 to 60 yes/no items and 10 or 20 five-level items of n = 100 to 2,000 people, with one or two factors
behind them or simulated from sparse or dense fields. Each is drawn from by `mrfbayes.sample(model, data)` with the
model that `Model.from_data` makes; a warning is anything that was warned of, or stands in ``warnings`` of the result.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from record import made_by

import mrfbayes as mb

RESULTS = Path(__file__).parent / "results" / "default_warnings.jsonl"
PAGE = RESULTS.with_suffix(".md")
ITEMS = (18, 20, 25, 30, 40, 50, 60)
PEOPLE = (100, 200, 400, 1_000, 2_000)
KINDS = ("one factor", "two factors", "sparse field", "dense field", "five levels")
N_SETS = 200
REAL, GROUPS = "real data", ["group", "language", "digit"]  # columns that say whose row it is


def make_set(number: int) -> tuple[str, np.ndarray]:
    """Data set ``number``, and what it is."""
    rng = np.random.default_rng([20_26, number])
    kind, n = KINDS[number % len(KINDS)], PEOPLE[(number // len(KINDS)) % len(PEOPLE)]
    d = int(rng.choice((10, 20) if kind == "five levels" else ITEMS))
    if kind.endswith("field"):
        share = 0.15 if kind == "sparse field" else 1.0
        edges = [(i, j) for i in range(d) for j in range(i) if rng.random() < share]
        model = mb.graph(edges, nodes=range(d), fields=True, coupling="both-one")
        size = 0.8 if kind == "sparse field" else 3.0 / d
        w = np.concatenate([rng.normal(0.5 * size, size, len(edges)), rng.normal(-0.5, 0.7, d)])
        x = mb.simulate(model, model.chart.theta(w), n, sampler="gibbs", rng=int(rng.integers(2**31)), progress=False)
        return f"{kind}, {d} items, n = {n}", np.asarray(x)
    factors = 2 if kind == "two factors" else 1
    loading = rng.uniform(0.5, 1.5, (factors, d)) * (rng.random((factors, d)) < (1.0 if factors == 1 else 0.6))
    latent = rng.normal(size=(n, factors)) @ loading + rng.logistic(size=(n, d))
    if kind == "five levels":
        cuts = np.sort(rng.normal(0, 1.5, (d, 4)), axis=1)
        return f"{kind}, {d} items, n = {n}", (latent[:, :, None] > cuts).sum(axis=2)
    return f"{kind}, {d} items, n = {n}", (latent > rng.normal(0, 1, d)).astype(int)


def run_set(number: int, name: str, table: np.ndarray | pd.DataFrame) -> dict[str, object]:
    """Default draws of one data set, and what was warned of."""
    started, began = time.perf_counter(), time.process_time()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        data = mb.Data(table)
        posterior = mb.sample(mb.Model.from_data(data), data, progress=False, rng=number)
    texts = list(dict.fromkeys([*(str(one.message) for one in caught), *posterior.warnings]))
    return {
        "number": number,
        "name": name,
        "method": posterior.method,
        "engine": posterior.engine,
        "steps": posterior.steps,
        "least_ess": float(posterior.ess.min()),
        "warnings": texts,
        "notes": list(posterior.notes),
        "seconds": round(time.perf_counter() - started, 1),
        "processor_seconds": round(time.process_time() - began, 1),
    }


def done() -> list[dict[str, object]]:
    """What was run before."""
    if not RESULTS.exists():
        return []
    return [json.loads(line) for line in RESULTS.read_text(encoding="utf-8").splitlines()]


def keep(found: dict[str, object]) -> None:
    """Add a line to the results."""
    line = json.dumps(found)
    with RESULTS.open("a", encoding="utf-8") as file:
        file.write(line + "\n")
    print(line, flush=True)


def write_page() -> None:
    """A row for each kind of data, and all warnings."""
    everything = sorted(done(), key=lambda one: int(str(one["number"])))
    found = [one for one in everything if not str(one["name"]).startswith(REAL)]
    lines = [
        "# Warnings of default runs",
        "",
        f"{len(found)} of {N_SETS} data sets; {sum(bool(one['warnings']) for one in found)} of them with a warning. "
        f"Made by: {made_by().strip()}",
        "",
        "| data | data sets | with a warning | methods and engines | median processor seconds |",
        "|---|---|---|---|---|",
    ]
    for kind in (*KINDS, REAL):
        rows = [one for one in everything if str(one["name"]).startswith(kind)]
        if rows:
            used = ", ".join(sorted({f"{one['method']} by {one['engine']}" for one in rows}))
            seconds = np.median([float(str(one["processor_seconds"])) for one in rows])
            warned = sum(bool(one["warnings"]) for one in rows)
            lines.append(f"| {kind} | {len(rows)} | {warned} | {used} | {seconds:.1f} |")
    lines += [
        "",
        *(f"- {one['name']} (number {one['number']}): {text}" for one in everything for text in one["warnings"]),
    ]
    PAGE.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")


def main() -> None:
    """Run what is left, or write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("run", "real", "page"))
    parser.add_argument("folder", nargs="?", type=Path, default=Path())
    parser.add_argument("--most", type=int, default=N_SETS)
    given = parser.parse_args()
    known = {one["number"] for one in done()}
    if given.what == "run":
        for number in [k for k in range(N_SETS) if k not in known][: given.most]:
            keep(run_set(number, *make_set(number)))
    if given.what == "real":
        for number, path in enumerate(sorted(given.folder.glob("*.csv")), start=N_SETS):
            if number not in known:
                table = pd.read_csv(path).drop(columns=GROUPS, errors="ignore")
                keep(run_set(number, f"{REAL}, {path.stem}, {table.shape[1]} items, n = {len(table)}", table))
    write_page()


if __name__ == "__main__":
    main()
