"""Which recursion does which work, and what it costs: tables of states, or the planar determinant.

Tables go node by node on a binary grid, by elimination on any graph; the determinant is taken where it is faster or
alone feasible. Everything is in terms of the lowered potentials: (field, coupling) of a binary model, (node tables,
edge tables) otherwise. What would not fit into memory is refused before anything is allocated. Seconds are predicted,
never measured on the spot: the same model always takes the same way. For people they are multiplied by how much slower
or faster than on the reference machine a small NumPy computation runs on this one.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from weakref import WeakKeyDictionary

import numpy as np

from mrfbayes.base.checks import memory_limit
from mrfbayes.base.errors import CostError
from mrfbayes.exact.planar import PlanarRecursion, PlanarSize
from mrfbayes.exact.planar_drawing import draw, fielded_nodes
from mrfbayes.exact.planar_passes import COLUMN_BATCH_BYTES
from mrfbayes.exact.recursions import WORKS, GraphRecursion, GridRecursion, Recursion, TooLarge
from mrfbayes.model.field import Model

QUICK_SECONDS = 1e-4  # of tables on a grid, below which no other way is looked for
COLUMNS_SECONDS = 2e-3  # of tables for a whole covariance on a grid, below which no other way is looked for
SEARCH_SECONDS = 1e-2  # of tables on other graphs, where another way has to find a drawing first
CLEARLY_FASTER = 3.0  # times, for log Z inside chains
SET_UP_SECONDS = 1.0  # seconds that tables may take to be set up for draws: each draw is then nearly free

_TABLES: WeakKeyDictionary[Model, Recursion] = WeakKeyDictionary()
_PLANAR: WeakKeyDictionary[Model, PlanarRecursion | None] = WeakKeyDictionary()


def recursion(model: Model) -> Recursion:
    """The recursion by tables, made when first asked for; `CostError` where even log Z does not fit into memory."""
    if model not in _TABLES:
        if model.is_binary and model.grid_shape is not None:
            _TABLES[model] = GridRecursion(model)
        else:
            if model.grid_shape is not None:  # its treewidth is known: no order need be looked for
                _refuse_width(model.states, min(model.grid_shape), memory_limit(), is_bound=False)
            refuse_many_edges(model.states, model.n_edges)
            _TABLES[model] = GraphRecursion(model.edges, model.states)
    return _TABLES[model]


def is_feasible(model: Model, work: str = "log_z") -> bool:
    """Whether tables for ``work`` (a key of `WORKS`) fit into memory."""
    return _tables(model, work) is not None


def _tables(model: Model, work: str) -> Recursion | None:
    """The recursion by tables, or None where they do not fit into memory."""
    try:
        found = recursion(model)
        return found if found.n_bytes(work) <= memory_limit() else None
    except CostError:
        return None


def least_width(n_nodes: int, n_edges: int) -> int:
    """A lower bound of the treewidth k: a graph of treewidth k on d nodes has at most k d - k (k + 1) / 2 edges."""
    return math.ceil(n_nodes - 0.5 - math.sqrt(max((n_nodes - 0.5) ** 2 - 2 * n_edges, 0.0)) - 1e-6)


def refuse_many_edges(states: np.ndarray, n_edges: int) -> None:
    """So many edges may be too many for any order: then none need be looked for, which takes long on dense graphs."""
    _refuse_width(states, least_width(states.size, n_edges), 2 * memory_limit(), is_bound=True)


def _refuse_width(states: np.ndarray, width: int, limit: int, is_bound: bool) -> None:
    smallest = 8 * int(states.min()) ** min(width, 10_000)
    if smallest > limit:
        raise TooLarge("log_z", width, smallest, complete=not is_bound)


def planar(model: Model) -> PlanarRecursion | None:
    """The planar recursion of a model, made when first asked for; None where the field is not planar."""
    if model not in _PLANAR:
        drawing = draw(model)
        _PLANAR[model] = None if drawing is None else PlanarRecursion(drawing, _tables(model, "moments"))
    return _PLANAR[model]


def planar_size(model: Model) -> PlanarSize | None:
    """What the planar recursion would take; for grids without making it. None where the field is not planar."""
    if model.grid_shape is not None and model.is_binary and not fielded_nodes(model).size:
        return PlanarSize.of_grid(*model.grid_shape)
    found = planar(model)
    return None if found is None else found.size


def chosen(model: Model, work: str) -> Recursion:
    """The recursion that does ``work`` (a key of `WORKS`); `CostError` where none fits into memory."""
    return (planar(model) if takes_planar(model, work) else None) or recursion(model)


def predicted_seconds(model: Model, key: str, n: int = 1) -> float:
    """`Recursion.seconds` of the recursion that does the work; infinite where none fits into memory."""
    work = "series" if key in ("first", "second") else key
    found = planar_size(model) if takes_planar(model, work) else _tables(model, work)
    return float("inf") if found is None else found.seconds(key, n)


def takes_planar(model: Model, work: str) -> bool:
    """Whether ``work`` is done by the planar recursion; False too where nothing can do it."""
    assert work in WORKS
    key = "second" if work == "series" else work
    seconds = _table_seconds(model, work, key)
    if seconds < (QUICK_SECONDS if model.grid_shape is not None else SEARCH_SECONDS):
        return False
    if work == "sample" and seconds < SET_UP_SECONDS:
        return False
    size = planar_size(model)
    return size is not None and size.seconds(key) < seconds and size.n_bytes(work) <= memory_limit()


def _table_seconds(model: Model, work: str, key: str, n: int = 1) -> float:
    tables = _tables(model, work)
    return float("inf") if tables is None else tables.seconds(key, n)


def is_planar_alone(model: Model) -> bool:
    """Whether the planar recursion gives expected counts and tables give nothing."""
    return not is_feasible(model) and takes_planar(model, "moments")


def weighs_by_planar(model: Model) -> bool:
    """Whether chains evaluate log Z by the planar recursion: alone possible, or clearly faster.

    Inside a chain there are no tables to fall back on where digits are lost, so that a small gain is not worth it.
    """
    size = planar_size(model) if takes_planar(model, "log_z") else None
    return size is not None and CLEARLY_FASTER * size.seconds("log_z") < _table_seconds(model, "log_z", "log_z")


def covariance_by_columns(model: Model) -> PlanarRecursion | None:
    """The planar recursion where all columns of the covariance at once are faster than one parameter after another."""
    p = model.n_parameters
    seconds = _table_seconds(model, "series", "first", p)
    if seconds < (COLUMNS_SECONDS if model.grid_shape is not None else SEARCH_SECONDS):
        return None
    size = planar_size(model)
    if size is None or size.covariance_seconds > min(seconds, size.seconds("first", p)):
        return None
    if 24 * p * p > memory_limit():
        raise TooLarge("series", size.width, 24 * p * p)
    return planar(model)


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
