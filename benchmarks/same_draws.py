"""Whether a change of the code left all draws as they were: hashes of draws, estimates and simulated data.

    python benchmarks/same_draws.py record benchmarks/results/same_draws.json     # before the change
    python benchmarks/same_draws.py compare benchmarks/results/same_draws.json    # after it

Only public names are used, so the script runs on any layout of the package. A hash covers the bytes of the draws;
where it differs, the largest difference of the stored means (eight of them, to eight digits), in posterior sds, is
printed beside it. Both are made on one machine, since another processor rounds differently, with
OPENBLAS_NUM_THREADS=1; the code before the files were moved is commit 7a5291f:

    git worktree add ../before 7a5291f
    PYTHONPATH=../before/src python benchmarks/same_draws.py record benchmarks/results/same_draws.json

``compare`` also writes benchmarks/results/same_draws.md. ``--keep FILE`` remembers what was measured of one state of
the code, so that ``--only PART`` (of the names) can be run part by part.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from record import made_by

import mrfbayes as mb

METHODS = [
    "exact",
    "calibrated",
    "mle",
    "pseudo",
    "laplace",
    "importance",
    "auxiliary",
    "exchange",
    "persistent",
    "exchange-exact",
    "moller",
    "mavm",
]
ALGORITHMS = ["exact", "cd", "pcd", "fpcd", "mcmc-mle", "pf-mcmc-mle", "stochastic", "pseudo"]
PARTICLE_METHODS = {"importance", "auxiliary", "exchange", "persistent"}
SETTINGS = {"steps": 300, "warmup": 100, "chains": 2, "thin": 2, "rng": 11, "progress": False}
# Default engines that changed since the draws were recorded: the old one is asked for.
ENGINES = {"pseudo": "mh"}
# Why results may differ in their last digits (part of a name -> reason); anything else is not expected.
REASONS = {
    "| exact": "one Newton ascent finds the mode that proposals are made at",
    "| calibrated": "one Newton ascent finds the mode; on the sheet it is exact, where it came from particles",
    "| pseudo": "one gradient of the pseudolikelihood for all kinds of fields",
    "| estimate pseudo": "one gradient of the pseudolikelihood for all kinds of fields",
    "| estimate": "the start is the maximum of the pseudolikelihood, which has one gradient now",
}
PAGE = Path(__file__).parent / "results" / "same_draws.md"
Field = tuple[mb.Model, np.ndarray]


def correlated(n: int, shape: tuple[int, ...], seed: int) -> np.ndarray:
    """States 0..r-1 (r = ``shape[i]``) of n observations that share a common cause, so that no maximum is missing."""
    rng = np.random.default_rng(seed)
    common = rng.normal(size=(n, 1))
    noisy = 0.6 * common + rng.normal(size=(n, len(shape)))
    ranks = noisy.argsort(0).argsort(0) / n
    return np.stack([(ranks[:, i] * r).astype(np.uint8) for i, r in enumerate(shape)], axis=1)


def fields() -> dict[str, Field]:
    """Small fields of every kind, and two larger ones that are calibrated in bands and block by block."""
    complete = [(a, b) for a in range(4) for b in range(a)]
    return {
        "grid 2x3": (mb.grid(2, 3), correlated(40, (2,) * 6, 1)),
        "grid 3x3 tied, fields": (mb.grid(3, 3, tied=True, fields=True), correlated(30, (2,) * 9, 2)),
        "complete 4 both-one": (
            mb.graph(complete, fields=True, coupling="both-one"),
            correlated(60, (2,) * 4, 3),
        ),
        "complete 4 score": (
            mb.graph(complete, states=3, fields=True, coupling="score"),
            correlated(80, (3,) * 4, 4),
        ),
        "potts cycle": (mb.graph([(0, 1), (1, 2), (2, 0)], states=3), correlated(70, (3,) * 3, 5)),
    }


def large_fields() -> dict[str, Field]:
    """Fields that `calibrated` treats in bands, and block by block."""
    strip, sheet = mb.grid(4, 120), mb.grid(24, 24)
    return {
        "strip 4x120": (strip, mb.simulate(strip, np.full(len(strip.parameters), 0.62), 200, rng=6)),
        "sheet 24x24": (sheet, mb.simulate(sheet, np.full(len(sheet.parameters), 0.6), 200, sampler="gibbs", rng=7)),
    }


def calls() -> Iterator[tuple[str, Callable[[], tuple[np.ndarray, np.ndarray, np.ndarray]]]]:
    """Names of results, and what makes each: bytes to hash, means, sds."""

    def posterior(field: Field, method: str, **options: object) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        post = mb.sample(*field, method, **{**SETTINGS, **options})
        return np.asarray(post.draws), post.mean, post.sd

    def estimated(field: Field, algorithm: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        theta = mb.estimate(*field, algorithm=algorithm, rng=3, progress=False).theta
        return theta, theta, np.full(theta.size, 0.05)

    def simulated(model: mb.Model, sampler: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        x = mb.simulate(model, np.full(len(model.parameters), 0.6), 500, sampler=sampler, rng=5)
        return x, x.mean(0), x.std(0)

    for name, field in fields().items():
        for method in METHODS:
            options: dict[str, object] = {"particles": 100} if method in PARTICLE_METHODS else {}
            options |= {"engine": ENGINES[method]} if method in ENGINES else {}
            yield f"{name} | {method}", lambda f=field, m=method, o=options: posterior(f, m, **o)
        for method in ("exact", "mle", "pseudo"):
            yield f"{name} | {method} mh", lambda f=field, m=method: posterior(f, m, engine="mh")
        for algorithm in ALGORITHMS:
            yield f"{name} | estimate {algorithm}", lambda f=field, a=algorithm: estimated(f, a)
    for sampler in ("exact", "cftp", "gibbs", "swendsen-wang"):
        yield f"simulate {sampler}", lambda s=sampler: simulated(mb.grid(4, 5), s)
    for name, field in large_fields().items():
        yield f"{name} | calibrated", lambda f=field: posterior(f, "calibrated")


def measure(only: str, keep: Path | None) -> dict[str, dict[str, object]]:
    """The hash, the means and the sds of every call; an error is recorded by its first line."""
    found: dict[str, dict[str, object]] = json.loads(keep.read_text()) if keep is not None and keep.exists() else {}
    for name, call in calls():
        if name in found or only not in name:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                drawn, mean, sd = call()
            except (mb.InputError, mb.CostError, mb.SamplingError) as error:
                found[name] = {"error": str(error).splitlines()[0]}
                continue
        digest = hashlib.sha256(np.ascontiguousarray(drawn).tobytes()).hexdigest()[:16]
        numbers = {key: [float(f"{v:.8g}") for v in values[:8]] for key, values in (("mean", mean), ("sd", sd))}
        found[name] = {"sha256": digest, **numbers}
        print(name, digest, flush=True)
        if keep is not None:
            keep.write_text(json.dumps(found))
    return found


def main() -> int:
    """Record or compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=["record", "compare"])
    parser.add_argument("path", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--keep", type=Path)
    asked = parser.parse_args()
    path, found = asked.path, measure(asked.only, asked.keep)
    if asked.action == "record":
        path.write_text("{\n" + ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in found.items()) + "\n}\n")
        return 0
    before = json.loads(path.read_text())
    left = [name for name in before if name not in found]
    if left:
        print(f"{len(left)} are not measured yet")
        return 0
    different = {name: shift(before[name], found.get(name, {})) for name in before if before[name] != found.get(name)}
    for name, by in different.items():
        print(f"DIFFERENT {name}: {by}")
    print(f"{len(before) - len(different)} of {len(before)} the same")
    PAGE.write_text(page(before, different), encoding="utf-8")
    return bool(different)


def shift(old: dict[str, object], new: dict[str, object]) -> str:
    """The largest difference of the means, in posterior sds."""
    if "mean" not in old or "mean" not in new:
        return f"{old} -> {new}"
    largest = np.abs(np.subtract(new["mean"], old["mean"]) / np.maximum(old["sd"], 1e-300)).max()
    return f"{largest:.2g}" if largest > 0 else "below 1e-6"


def page(before: dict[str, dict[str, object]], different: dict[str, str]) -> str:
    """All places where draws differ, the largest difference of each, and why."""
    lines = [
        "# Draws before and after",
        "",
        "`OPENBLAS_NUM_THREADS=1 python benchmarks/same_draws.py compare benchmarks/results/same_draws.json`",
        "",
        f"Before: commit 7a5291f, on the same machine ({made_by().splitlines()[1]}). `pseudo` has another default "
        "engine now; the former one is asked for.",
        "",
        f"{len(before) - len(different)} of {len(before)} results have the same bytes as before the files were moved. "
        "The others, with the largest difference of their means in posterior sds (estimates: in units of 0.05):",
        "",
        "| result | difference | why |",
        "|---|---|---|",
    ]
    for name, by in different.items():
        reason = next((text for part, text in REASONS.items() if part in name), "not expected")
        lines.append(f"| {name.replace('|', ':')} | {by} | {reason} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
