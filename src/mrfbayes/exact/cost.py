"""What exact inference on a model would cost, before any of it is done.

Bytes and seconds are those that the recursions state (`mrfbayes.exact.contract`); seconds are multiplied by how much
slower or faster than on the reference machine a small NumPy computation runs on this one.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache

import numpy as np

from mrfbayes.base.checks import memory_limit
from mrfbayes.exact.choice import covariance_by_columns, planar_size, recursion, takes_planar
from mrfbayes.exact.contract import Recursion, TooLarge
from mrfbayes.exact.planar import PlanarSize
from mrfbayes.exact.planar_information import COLUMN_BATCH_BYTES
from mrfbayes.model.field import Model

QUOTED_DRAWS = 1_000  # that the cost of sampling is quoted for
COLUMN_BYTES, FACTOR_BYTES = 130, 2_000  # per edge and column that is solved for, and per edge: a planar covariance
REFERENCE_PROBE = 2.52e-5  # seconds that `_probe` took there


@dataclass(frozen=True)
class Work:
    """Seconds and bytes of one call, and whether the bytes are there."""

    seconds: float
    n_bytes: int
    feasible: bool


@dataclass(frozen=True)
class ExactCost:
    """Cost of exact inference; see `mrfbayes.methods.cost.Cost`."""

    recursion: str
    treewidth: int
    is_complete: bool
    work: Mapping[str, Work]


def exact_cost(model: Model) -> ExactCost:
    """Predict treewidth, bytes and seconds of exact inference."""
    p, n_bytes = model.n_parameters, 0
    calls = {
        "log_partition": ("log_z", 1),
        "expected_counts": ("moments", 1),
        "fisher_information": ("first", p),
        "third_order": ("second", 2 * p),
        "sample": ("sample", QUOTED_DRAWS),
    }
    kind = "grid" if model.is_binary and model.grid_shape is not None else "elimination"
    tables: Recursion | None = None
    try:
        tables = recursion(model)
        width, is_complete = tables.width, True
    except TooLarge as error:
        width, is_complete, n_bytes = error.width, error.complete, error.n_bytes
    work = {}
    for name, (key, count) in calls.items():
        size = planar_size(model) if takes_planar(model, "series" if key in ("first", "second") else key) else None
        found = size or tables
        work[name] = Work(float("inf"), n_bytes, False) if found is None else _work(found, key, count, p)
        if size is not None and key == "log_z":
            kind = "planar determinant"
    with suppress(TooLarge):
        by_columns = covariance_by_columns(model)
        if by_columns is not None:
            size = by_columns.size
            batch = max(1, min(size.n_edges, COLUMN_BATCH_BYTES // (64 * size.n_edges)))
            n_bytes = 24 * p * p + size.n_edges * (COLUMN_BYTES * batch + FACTOR_BYTES)
            seconds = size.covariance_seconds * machine_factor()
            work["fisher_information"] = Work(seconds, n_bytes, n_bytes <= memory_limit())
    return ExactCost(kind, width, is_complete, work)


def _work(found: Recursion | PlanarSize, key: str, count: int, n_parameters: int) -> Work:
    """Seconds, and bytes of arrays that a call needs at its peak, the plan included."""
    if key in ("first", "second"):
        matrices = 2 if key == "first" else 3  # results, and what they are made from
        n_bytes = found.n_bytes("series", count) + 8 * matrices * n_parameters**2
    else:
        n_bytes = found.n_bytes(key, count if key == "sample" else 0)
    fits = n_bytes <= memory_limit()
    return Work(found.seconds(key, count) * machine_factor() if fits else float("inf"), n_bytes, fits)


@cache
def machine_factor() -> float:
    """How much slower than the reference machine this one is, from a computation of a few milliseconds."""
    return float(np.clip(_probe() / REFERENCE_PROBE, 0.1, 10.0))


def _probe() -> float:
    """Seconds of a short NumPy computation, the least of many: others' work on the machine should not count."""
    a, b = np.linspace(0.0, 1.0, 2048), np.linspace(1.0, 2.0, 2048)
    best = float("inf")
    for _ in range(200):
        start = time.perf_counter()
        for _ in range(8):
            np.multiply(a, b, out=a)
            np.add(a, b, out=a)
            np.divide(a, b, out=a)
        best = min(best, time.perf_counter() - start)
    return best


def describe_seconds(seconds: float) -> str:
    """Seconds for people."""
    if seconds >= 7200:
        return f"{seconds / 3600:.3g} h"
    if seconds >= 120:
        return f"{seconds / 60:.3g} min"
    if seconds >= 0.1:
        return f"{seconds:.2g} s"
    return f"{1e3 * seconds:.2g} ms" if seconds >= 1e-4 else f"{1e6 * seconds:.2g} us"
