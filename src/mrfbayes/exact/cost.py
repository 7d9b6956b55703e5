"""What exact inference on a model would cost, before any of it is done.

Bytes and seconds are those that the recursions state (`mrfbayes.exact.contract`); seconds are multiplied by how much
slower or faster than on the reference machine a small NumPy computation runs on this one.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache

import numpy as np

from mrfbayes.base.memory import describe_bytes, memory_limit
from mrfbayes.exact.choice import covariance_by_columns, planar_size, recursion, takes_planar, weighs_by_planar
from mrfbayes.exact.contract import Recursion, TooLarge
from mrfbayes.exact.planar import PlanarSize
from mrfbayes.exact.planar_information import COLUMN_BATCH_BYTES
from mrfbayes.kernels.particles.dense_draws import MOST_LEVELS
from mrfbayes.model.field import Model
from mrfbayes.model.natural_form import MOST_DENSE_PARAMETERS, PRODUCT_FORM, dense_layout

QUOTED_DRAWS = 1_000  # that the cost of sampling is quoted for
QUOTED_STEPS = 1_000  # that the cost of a method is quoted for
QUOTED_ROWS = 1000  # observations that a row of the table of costs takes for granted
# Parameters and processor seconds of calibration block by block (`benchmarks/results/scale.md`).
BLOCKWISE = np.array([[1_984, 8_064, 32_512, 130_560, 523_264, 1_998_000], [6, 12, 41, 172, 391, 633]], dtype=float)
# Parameters and processor seconds of `langevin` on complete graphs of 20, 40, 64, 100 (`benchmarks/results/dense.md`).
WALKING = np.array([[210, 820, 2_080, 5_050], [1.0, 3.9, 10.6, 57.1]])
# Times as long with tables: 4.2 and 21 processor seconds for 200 and 249 parameters of 10 and 18 variables.
TABLE_WALK = 10.0
MAVM_LEVELS = 10  # of `mavm` by default
FULL_COVARIANCE = 2_000  # parameters up to which `calibrated` keeps a full covariance
WINDOW_SECONDS = 1.2e-3  # per node of a planar field: moments through windows
MOST_EXACT_SECONDS = 120.0  # of exact moments, past which it takes particles
COLUMN_BYTES, FACTOR_BYTES = 130, 2_000  # per edge and column that is solved for, and per edge: a planar covariance
ESTIMATE_PASSES, PSEUDO_PASSES = 40, 100  # evaluations of an ascent
MAX_ESTIMATE_SECONDS = 20.0  # of an exact estimate, past which it is stochastic
COMPILE_SECONDS = 20  # of a method's first run, measured from 5 to 40 s
MAX_SPARSE_NODES, MAX_SPARSE_NEIGHBOURS = 400, 8  # past the first, fields with so few neighbours are no dense ones
REFERENCE_PROBE = 2.52e-5  # seconds that `_probe` took there


@dataclass(frozen=True)
class Work:
    """Seconds and bytes of one call, and whether the bytes are there."""

    seconds: float
    n_bytes: int
    feasible: bool


@dataclass(frozen=True)
class Cost:
    """Cost of exact inference and of each method on a model; it prints as a table.

    Attributes
    ----------
    recursion : {"grid", "elimination", "planar determinant"}
        The algorithm that computes log Z.
    treewidth : int
        Width of the best elimination order found, an upper bound of the treewidth; for grids the shorter side.
    is_complete : bool
        False if the search for an order stopped at an infeasible table; ``treewidth`` is then the width at this table.
    work : mapping of str to Work
        Seconds and bytes by name: "log_partition" (one evaluation inside a chain), "expected_counts",
        "fisher_information", "third_order" and "sample" (one call).
    preparation : mapping of str to float
        Approximate seconds before the first step of each method: its estimate, mode or calibration.
    methods : mapping of str to float
        Seconds of 1,000 steps of each method after its preparation; infinite if it cannot run. For "calibrated" and
        "langevin" it is the time of the whole call with its defaults. Auxiliary data sets ("exchange-exact", "moller",
        "mavm") are assumed to have 1,000 observations.
    limit : int
        Bytes that may be used.

    See Also
    --------
    cost : Returns it.

    Examples
    --------
    >>> import mrfbayes as mb
    >>> mb.cost(mb.grid(8, 8)).treewidth
    8
    """

    recursion: str
    treewidth: int
    is_complete: bool
    work: Mapping[str, Work]
    methods: Mapping[str, float]
    limit: int
    preparation: Mapping[str, float] = field(default_factory=dict)

    @property
    def feasible(self) -> bool:
        """Whether log Z is feasible, so that the exact posterior can be sampled."""
        return self.work["log_partition"].feasible

    def __str__(self) -> str:
        width = (
            f"treewidth {self.treewidth}" if self.is_complete else f"width past {self.treewidth} in every order tried"
        )
        lines = [f"exact inference by {self.recursion}, {width}; at most {describe_bytes(self.limit)} may be used", ""]
        lines.append(f"{'':22}{'seconds':>12}{'memory':>14}")
        for name, work in self.work.items():
            label = f"sample, {QUOTED_DRAWS:,} draws" if name == "sample" else name.replace("_", " ")
            seconds = describe_seconds(work.seconds) if work.feasible else "refused"
            lines.append(f"{label:22}{seconds:>12}{describe_bytes(work.n_bytes):>14}")
        lines += ["", f"{'':22}{'preparation':>12}{f'{QUOTED_STEPS:,} steps':>14}"]
        for name, value in self.methods.items():
            before = describe_seconds(self.preparation.get(name, 0.0)) if np.isfinite(value) else ""
            lines.append(f"{name:22}{before:>12}{describe_seconds(value) if np.isfinite(value) else 'refused':>14}")
        lines += ["", f"The first run of a method on this machine also compiles it: {COMPILE_SECONDS} s or so, once."]
        return "\n".join(lines)

    __repr__ = __str__


def cost(model: Model) -> Cost:
    """Predict treewidth, bytes and seconds of exact inference, and the seconds of each method.

    Nothing is computed on the field itself; for fields that are too wide the answer takes less than a second.

    Parameters
    ----------
    model : Model
        The field.

    Returns
    -------
    Cost
        What is feasible, and the expected time of each method.

    See Also
    --------
    Cost : What it returns.
    CostError : Raised where a method is too expensive.

    Examples
    --------
    >>> import mrfbayes as mb
    >>> mb.cost(mb.grid(6, 6)).treewidth
    6
    """
    p = model.n_parameters
    calls = {
        "log_partition": ("log_z", 1),
        "expected_counts": ("moments", 1),
        "fisher_information": ("first", p),
        "third_order": ("second", 2 * p),
        "sample": ("sample", QUOTED_DRAWS),
    }
    limit = memory_limit()
    kind = "grid" if model.is_binary and model.grid_shape is not None else "elimination"
    try:
        found = recursion(model)
    except TooLarge as error:
        width, is_complete = error.width, error.complete
        work = {name: Work(float("inf"), error.n_bytes, False) for name in calls}
    else:
        width, is_complete, work = found.width, True, {}
        for name, (key, count) in calls.items():
            work[name] = _work(found, key, count, p)
    methods = _methods(model, width, work)  # which run on tables
    by_planar = _planar_work(model, calls)
    if "log_partition" in by_planar:
        kind = "planar determinant"
        methods |= _planar_methods(model)
    work |= by_planar
    return Cost(kind, width, is_complete, work, methods, limit, _preparation(model, work, methods))


def _preparation(model: Model, work: Mapping[str, Work], methods: Mapping[str, float]) -> dict[str, float]:
    """Seconds before the first step of each method, roughly.

    Measured: an exact estimate takes some forty passes for expected counts; one by persistent contrastive divergence
    26 s on a 24x24 grid with four states, 0.4 s on a binary 32x32 grid, whose particles are bits.
    """
    moments = work["expected_counts"]
    estimate = ESTIMATE_PASSES * moments.seconds if moments.feasible else float("inf")
    if estimate > MAX_ESTIMATE_SECONDS:
        each = 4e-4 if model.is_binary else 0.012 * float(model.states.max())
        estimate = min(estimate, each * model.n_nodes * machine_factor())
    exact = estimate + (methods["calibrated"] if np.isfinite(methods["calibrated"]) else 0.0)
    pseudo = PSEUDO_PASSES * methods["pseudo"] / QUOTED_STEPS
    whole = {"calibrated": 0.0, "langevin": 0.0, "exact": exact, "pseudo": pseudo}
    return {name: whole.get(name, estimate) for name in methods}


def _work(found: Recursion | PlanarSize, key: str, count: int, n_parameters: int) -> Work:
    """Seconds, and bytes of arrays that a call needs at its peak, the plan included."""
    if key in ("first", "second"):
        matrices = 2 if key == "first" else 3  # results, and what they are made from
        n_bytes = found.n_bytes("series", count) + 8 * matrices * n_parameters**2
    else:
        n_bytes = found.n_bytes(key, count if key == "sample" else 0)
    fits = n_bytes <= memory_limit()
    return Work(found.seconds(key, count) * machine_factor() if fits else float("inf"), n_bytes, fits)


def _planar_work(model: Model, calls: Mapping[str, tuple[str, int]]) -> dict[str, Work]:
    """What the planar recursion does in place of tables."""
    found: dict[str, Work] = {}
    p, limit = model.n_parameters, memory_limit()
    for name, (key, count) in calls.items():
        size = planar_size(model) if takes_planar(model, "series" if key in ("first", "second") else key) else None
        if size is not None:
            found[name] = _work(size, key, count, p)
    with suppress(TooLarge):
        by_columns = covariance_by_columns(model)
        if by_columns is not None:
            size = by_columns.size
            batch = max(1, min(size.n_edges, COLUMN_BATCH_BYTES // (64 * size.n_edges)))
            n_bytes = 24 * p * p + size.n_edges * (COLUMN_BYTES * batch + FACTOR_BYTES)
            found["fisher_information"] = Work(size.covariance_seconds * machine_factor(), n_bytes, n_bytes <= limit)
    return found


def _planar_methods(model: Model) -> dict[str, float]:
    """Seconds of 1,000 steps of the methods that the planar recursion serves, roughly.

    Measured: the exact posterior by weighed proposals takes a log Z a step, by trajectories two or three passes for
    expected counts; exact calibration takes some forty of these and about a millisecond a node for its windows.
    """
    size = planar_size(model)
    if size is None or not weighs_by_planar(model):
        return {}
    step = size.seconds("log_z") if model.n_parameters <= FULL_COVARIANCE else 2.5 * size.seconds("moments")
    found = {"exact": QUOTED_STEPS * step * machine_factor()}
    if model.lowering.is_plain and model.n_parameters > FULL_COVARIANCE:
        found["calibrated"] = (40 * size.seconds("moments") + WINDOW_SECONDS * model.n_nodes) * machine_factor()
    return found


def _methods(model: Model, width: int, work: Mapping[str, Work]) -> dict[str, float]:
    """Seconds of 1,000 steps of each method, roughly: what the prototypes took, by parameters, edges and patterns.

    A pseudolikelihood goes over the patterns of neighbours that occur: here over those of `QUOTED_ROWS` rows.
    """
    p, d, m = model.n_parameters, model.n_nodes, model.n_edges
    degree = np.minimum(np.bincount(model.edges.ravel(), minlength=d), 12)
    patterns = float((model.states * float(np.median(model.states)) ** np.maximum(degree - 1.0, 0.0)).sum()) / 2
    patterns = min(patterns, float(QUOTED_ROWS * d))
    ratio = 270e-9 * m  # of 1,000 particles' weights
    sweep = 5e-10 * 1024 * d  # of 1,000 particles
    exact = work["log_partition"]
    draws = work["sample"].seconds if work["sample"].feasible else float("inf")
    each = {
        "exact": exact.seconds + 20e-9 * p if exact.feasible else float("inf"),
        "mle": 20e-9 * p,
        "pseudo": 27e-9 * patterns,
        "laplace": 13e-9 * p + 5e-11 * p * p,
        "persistent": sweep + ratio,
        "exchange": draws + ratio,
        "importance": 2 * draws + ratio,
        "auxiliary": 2 * draws + ratio,
        "exchange-exact": draws + ratio,
        "moller": draws + ratio,
        "mavm": draws + MAVM_LEVELS * (sweep + ratio) + ratio,
    }
    seconds = {name: QUOTED_STEPS * one for name, one in each.items()}
    seconds |= {"calibrated": _calibrated(model, work), "langevin": _langevin(model)}
    return {name: one if np.isinf(one) else one * machine_factor() for name, one in seconds.items()}


def _calibrated(model: Model, work: Mapping[str, Work]) -> float:
    """Seconds to calibrate all coins and to draw from them, roughly.

    Measured: exact moments on 6x6, 8x8, 10x10 grids and on complete graphs of 8 and 12 nodes took 0.32, 0.79, 2.2,
    0.05 and 0.47 processor seconds, moments from particles 2.6 at 150 and 6.7 at 300 parameters; block by block it
    takes what `benchmarks/results/scale.md` says.
    """
    p = model.n_parameters
    exactly = 4e-3 * p + 4 * (work["fisher_information"].seconds + work["third_order"].seconds)
    if work["third_order"].feasible and exactly < MOST_EXACT_SECONDS and p <= FULL_COVARIANCE:
        return exactly
    if p <= FULL_COVARIANCE:  # one coupling on 48x48 nodes with four states takes 4.9 s (bench_one_coupling.py)
        return 0.02 * p + 2e-3 * model.n_nodes
    is_local = model.chart.all_coins and not (model.chart.tosses > 1).any() and 2 * model.n_edges <= 24 * model.n_nodes
    return float(np.exp(np.interp(np.log(p), *np.log(BLOCKWISE)))) if is_local else float("inf")


def is_large_sparse(model: Model) -> bool:
    """Whether chains that take all pairs of nodes would waste most of their time."""
    few = np.diff(model.adjacency.offset).max(initial=0) <= MAX_SPARSE_NEIGHBOURS
    return bool(model.n_nodes > MAX_SPARSE_NODES and few)


def _langevin(model: Model) -> float:
    """Seconds of the whole call where `langevin` can sample the field, by the number of parameters."""
    if is_large_sparse(model):
        return float("inf")
    p = model.n_parameters
    if not 0 < p <= MOST_DENSE_PARAMETERS:
        return float("inf")
    layout = dense_layout(model)
    is_table = layout is None or (layout.coupling == PRODUCT_FORM and int(layout.states.max()) > MOST_LEVELS)
    known, seconds = np.log(WALKING)
    steepest = (seconds[-1] - seconds[-2]) / (known[-1] - known[-2])
    beyond = steepest * max(np.log(p) - known[-1], 0.0)
    return float(np.exp(np.interp(np.log(p), known, seconds) + beyond)) * (TABLE_WALK if is_table else 1.0)


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
