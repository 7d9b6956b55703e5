"""Whether the printed walk has the draws that it had before chains moved to log-odds, and others the same posterior.

    git worktree add ../before afa6d76
    PYTHONPATH=../before/src python benchmarks/same_draws.py record benchmarks/results/same_draws.json
    python benchmarks/same_draws.py compare benchmarks/results/same_draws.json

Only public names are used, so that the script runs on both layouts of the package. Draws of the paper's walk with its
printed settings (20 of them) are compared byte for byte, on one machine, with OPENBLAS_NUM_THREADS=1. Draws of all
other engines may differ: their means are compared in Monte-Carlo standard errors of both, from means of 20 batches a
chain. ``compare`` writes benchmarks/results/same_draws.md.
"""

from __future__ import annotations

import argparse
import hashlib
import inspect
import json
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from record import made_by

import mrfbayes as mb

PAGE = Path(__file__).parent / "results" / "same_draws.md"
PRINTED = ("exact", "mle", "pseudo", "laplace", "exchange")
OTHERS = {
    "exact": ("independence", "hmc", "mh"),
    "pseudo": ("hmc", "mh"),
    "mle": ("direct", "mh"),
    "laplace": ("mh",),
    "calibrated": ("direct",),
    "exchange": ("mh",),
}
BATCHES = 20  # a chain
LEVEL = 4.5  # Monte-Carlo errors: 200 means are compared, each with a probability of 7e-6 beyond it
LENGTH = "draws" if "draws" in inspect.signature(mb.sample).parameters else "steps"
PRINTED_LENGTH = 200 if LENGTH == "draws" else 400  # draws that are kept, or steps, of which every second is


def correlated(n: int, shape: tuple[int, ...], seed: int) -> np.ndarray:
    """States 0..r-1 (r = ``shape[i]``) of n observations that share a common cause, so that no maximum is missing."""
    rng = np.random.default_rng(seed)
    noisy = 0.6 * rng.normal(size=(n, 1)) + rng.normal(size=(n, len(shape)))
    ranks = noisy.argsort(0).argsort(0) / n
    return np.stack([(ranks[:, i] * r).astype(np.uint8) for i, r in enumerate(shape)], axis=1)


def fields() -> dict[str, tuple[mb.Model, np.ndarray]]:
    """A small field of each kind, and data."""
    complete = [(a, b) for a in range(4) for b in range(a)]
    return {
        "grid 2x3": (mb.grid(2, 3), correlated(40, (2,) * 6, 1)),
        "grid 3x3, tied": (mb.grid(3, 3, tied=True, fields=True), correlated(30, (2,) * 9, 2)),
        "complete 4": (mb.graph(complete, fields=True, coupling="both-one"), correlated(60, (2,) * 4, 3)),
        "Potts cycle": (mb.graph([(0, 1), (1, 2), (2, 0)], states=3), correlated(70, (3,) * 3, 5)),
    }


def calls() -> Iterator[tuple[str, tuple[mb.Model, np.ndarray], str, dict[str, object]]]:
    """Name, field, method and settings of every result."""
    for name, field in fields().items():
        for method in PRINTED:
            yield (
                f"{name}, {method}, printed",
                field,
                method,
                {LENGTH: PRINTED_LENGTH, "chains": 2, "thin": 2, "proposal": "printed"},
            )
        for method, engines in OTHERS.items():
            for engine in engines:
                settings: dict[str, object] = {LENGTH: 4_000, "warmup": 1_000, "chains": 2, "thin": 1, "engine": engine}
                if engine in ("independence", "direct"):
                    del settings["warmup"]
                yield f"{name}, {method} by {engine}", field, method, settings


def measure() -> dict[str, dict[str, object]]:
    """Hash, means, sds and Monte-Carlo errors of every result."""
    found: dict[str, dict[str, object]] = {}
    for name, field, method, settings in calls():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                draws = np.asarray(mb.sample(*field, method, prior="uniform", rng=11, progress=False, **settings).draws)
            except (mb.InputError, mb.CostError) as error:  # an engine that the method does not have on this field
                print(name, error)
                continue
        batches = draws[:, : draws.shape[1] // BATCHES * BATCHES].reshape(len(draws) * BATCHES, -1, draws.shape[2])
        error = batches.mean(axis=1).std(axis=0, ddof=1) / np.sqrt(len(batches))
        found[name] = {
            "sha256": hashlib.sha256(np.ascontiguousarray(draws).tobytes()).hexdigest()[:16],
            **{
                key: [float(f"{v:.8g}") for v in values]
                for key, values in (
                    ("mean", draws.mean(axis=(0, 1))),
                    ("sd", draws.std(axis=(0, 1))),
                    ("error", error),
                )
            },
        }
        print(name, found[name]["sha256"], flush=True)
    return found


def distance(old: dict[str, object], new: dict[str, object]) -> float:
    """The largest difference of the means, in standard errors of both."""
    return float((np.abs(np.subtract(new["mean"], old["mean"])) / np.hypot(new["error"], old["error"])).max())


def page(before: dict[str, dict[str, object]], found: dict[str, dict[str, object]]) -> tuple[str, bool]:
    """Every result with its difference, and whether all are as they should be."""
    rows, is_right = [], True
    n_printed = n_same = 0
    for name, old in before.items():
        new = found.get(name)
        if new is None:
            rows.append(f"| {name} | not available now | |")
            is_right = False
            continue
        is_same, z = old["sha256"] == new["sha256"], distance(old, new)
        is_right &= is_same if name.endswith("printed") else z < LEVEL
        n_printed += name.endswith("printed")
        n_same += is_same and name.endswith("printed")
        rows.append(f"| {name} | {'yes' if is_same else 'no'} | {z:.1f} |")
    lines = [
        "# Draws before and after chains moved to log-odds",
        "",
        "`OPENBLAS_NUM_THREADS=1 python benchmarks/same_draws.py compare benchmarks/results/same_draws.json`",
        "",
        f"Before: commit afa6d76, on the same machine ({made_by().splitlines()[1]}).",
        "",
        f"{n_same} of {n_printed} runs of the printed walk have the same bytes as before. Others may differ; their "
        f"means are to agree within {LEVEL} Monte-Carlo standard errors.",
        "",
        "| result | same bytes | largest difference of a mean, standard errors |",
        "|---|---|---|",
        *rows,
    ]
    return "\n".join(lines) + "\n", is_right


def main() -> int:
    """Record or compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=["record", "compare"])
    parser.add_argument("path", type=Path)
    asked = parser.parse_args()
    found = measure()
    if asked.action == "record":
        lines = ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in found.items())
        asked.path.write_text("{\n" + lines + "\n}\n")
        return 0
    text, is_right = page(json.loads(asked.path.read_text()), found)
    PAGE.write_text(text, encoding="utf-8")
    print(text)
    return not is_right


if __name__ == "__main__":
    sys.exit(main())
