"""What each method costs on a model, before anything is computed: the `cost` of the rows of the registry.

Seconds are those of the reference machine, roughly: what was measured, by parameters, edges and patterns.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from mrfbayes.base.checks import describe_bytes, memory_limit
from mrfbayes.calibration.cumulants import MAX_LOG2_STATES
from mrfbayes.calibration.exact_blocks import sees_windows
from mrfbayes.calibration.full import MOMENT_CELLS, PROPOSAL_CELLS, WINDOW_CELLS, moments_cost
from mrfbayes.calibration.one_loop import LOOP_BATCH, LOOP_SAMPLES
from mrfbayes.estimation.dense_mode import is_dense
from mrfbayes.exact.choice import (
    QUOTED_DRAWS,
    Work,
    describe_seconds,
    exact_cost,
    is_feasible,
    machine_factor,
    planar_size,
    predicted_seconds,
    recursion,
    weighs_by_planar,
)
from mrfbayes.kernels.particles.dense import MOST_LEVELS
from mrfbayes.methods.few_parameters import few_parameters_seconds, one_coupling_seconds
from mrfbayes.model.field import Model, require_model
from mrfbayes.model.natural_form import MOST_DENSE_PARAMETERS, PRODUCT_FORM, dense_layout

QUOTED_STEPS = 1_000  # that the cost of a method is quoted for
QUOTED_ROWS = 1000  # observations that a pseudolikelihood is quoted for: it goes over the patterns that occur
# Parameters and processor seconds of calibration block by block (`benchmarks/results/scale.md`).
BLOCKWISE = np.array([[1_984, 8_064, 32_512, 130_560, 523_264, 1_998_000], [6, 12, 41, 172, 391, 633]], dtype=float)
MEASURED_FACTOR = 0.53  # `machine_factor` where seconds below and those of quadrature were measured
# Parameters, processor seconds of the mode and of the whole call of `langevin` on complete graphs of 20, 40, 64, 100
# binary variables (`benchmarks/results/dense.md`).
WALKING = np.array([[210, 820, 2_080, 5_050], [0.11, 0.38, 1.3, 8.4], [1.4, 2.5, 7.4, 27.3]])
TABLE_WALK = 4.0  # times as long with tables: 4.2 and 21 s for 200 and 249 parameters of 10 and 18 variables
FULL_COVARIANCE = 2_000  # parameters up to which `calibrated` keeps a full covariance
WINDOW_SECONDS = 1.2e-3  # per node of a planar field: moments through windows
PARTICLE_SECONDS = 0.02, 2e-3  # per parameter and per node: moments from particles
PROPOSAL_PILOT = 2_000  # proposals that `exact` weighs before its first step
ESTIMATE_PASSES, PSEUDO_PASSES = 40, 100  # evaluations of an ascent
MAX_ESTIMATE_SECONDS = 20.0  # of an exact estimate, past which it is stochastic
CALL_SECONDS = 0.012  # of any call: checks, counting, diagnostics, result
COMPILE_SECONDS = 20  # of a method's first run, measured from 5 to 40 s
MAX_SPARSE_NODES, MAX_SPARSE_NEIGHBOURS = 400, 8  # past the first, fields with so few neighbours are no dense ones


class Seconds(NamedTuple):
    """Seconds of a method: before the first step, and of 1,000 steps, 0 where draws are independent."""

    preparation: float
    steps: float = 0.0


class MethodCosts:
    """Seconds on one model that the rows of the registry are made of; infinite where something cannot be done.

    ``sweep`` and ``ratio`` are those of 1,000 particles.
    """

    p: int
    sweep: float
    ratio: float

    def __init__(self, model: Model, work: Mapping[str, Work]) -> None:
        self.model, self.work, self.factor = model, work, machine_factor()
        self.measured = self.factor / MEASURED_FACTOR
        self.p, self.sweep, self.ratio = model.n_parameters, 5e-10 * 1024 * model.n_nodes, 270e-9 * model.n_edges

    def steps(self, seconds: float) -> Seconds:
        """Of an estimate and steps of so many ``seconds`` on the reference machine."""
        return Seconds(CALL_SECONDS + self.estimate, QUOTED_STEPS * seconds * self.factor)

    @cached_property
    def estimate(self) -> float:
        """Of an estimate: forty passes for expected counts, or persistent contrastive divergence.

        That took 26 s on a 24x24 grid with four states, 0.4 s on a binary 32x32 grid, whose particles are bits.
        """
        seconds = ESTIMATE_PASSES * self.work["expected_counts"].seconds
        if seconds <= MAX_ESTIMATE_SECONDS:
            return seconds
        each = 4e-4 if self.model.is_binary else 0.012 * float(self.model.states.max())
        return min(seconds, each * self.model.n_nodes * self.factor)

    @cached_property
    def draws(self) -> float:
        """Of 1,000 exact draws by tables."""
        return recursion(self.model).seconds("sample", QUOTED_DRAWS) if is_feasible(self.model) else float("inf")

    @cached_property
    def calibrated(self) -> Seconds:
        """Of quadrature where one to three parameters are tied, of replicas on dense fields, else of coins."""
        quadrature = one_coupling_seconds(self.model) or few_parameters_seconds(self.model)
        if quadrature is not None:
            return Seconds(CALL_SECONDS + quadrature * self.measured)
        if is_dense(self.model) and moments_cost(self.model) >= MOMENT_CELLS:
            return Seconds(sum(self.langevin))
        return Seconds(CALL_SECONDS + self.coins(WINDOW_CELLS))

    def coins(self, window_cells: float) -> float:
        """Of exact moments, particles, windows of planar fields past so many table cells, or blocks.

        Exact moments on 4x4, 6x6, 8x8, 10x10, 12x12 and 20x20 grids took 0.04, 0.21, 0.19, 0.46, 1.5 and 17 processor
        seconds, moments from particles 2.6 at 150 and 6.7 at 300 parameters; windows on a 30x30 grid 2.1 s.
        """
        model, p, work = self.model, self.model.n_parameters, self.work
        windows = WINDOW_SECONDS * model.n_nodes * self.measured
        if p <= FULL_COVARIANCE:
            cells = moments_cost(model)
            if cells >= window_cells and sees_windows(model):
                return windows + work["fisher_information"].seconds
            if cells < MOMENT_CELLS:
                derivatives = 3 * (work["fisher_information"].seconds + work["third_order"].seconds)
                return 3.5e-3 * p * self.factor + derivatives + self.loops
            return (PARTICLE_SECONDS[0] * p + PARTICLE_SECONDS[1] * model.n_nodes) * self.factor
        if weighs_by_planar(model) and model.lowering.is_plain:  # in this order: lowering a wide field takes a second
            return 40 * work["expected_counts"].seconds + windows
        is_local = model.chart.all_coins and not (model.chart.tosses > 1).any() and model.n_edges <= 12 * model.n_nodes
        return float(np.exp(np.interp(np.log(p), *np.log(BLOCKWISE)))) * self.factor if is_local else float("inf")

    @property
    def loops(self) -> float:
        """Of samples that loops are summed over where parameters are tied: all of them, as a few images take.

        On 20x20 grids they took 22 of 54 to 65 processor seconds with tied thresholds, 22 of 24 without.
        """
        model = self.model
        if self.p >= model.n_edges or np.log2(model.states).sum() <= MAX_LOG2_STATES:
            return 0.0
        return LOOP_SAMPLES / LOOP_BATCH * predicted_seconds(model, "sample", LOOP_BATCH) * self.factor

    @property
    def exact(self) -> Seconds:
        """Of weighed proposals, a log Z each; on larger planar fields of trajectories, two or three gradients each."""
        model, size = self.model, planar_size(self.model) if weighs_by_planar(self.model) else None
        if size is not None:
            step = size.seconds("log_z") if model.n_parameters <= FULL_COVARIANCE else 2.5 * size.seconds("moments")
        else:
            step = recursion(model).seconds("log_z") + 20e-9 * model.n_parameters if is_feasible(model) else np.inf
        before, steps = self.steps(step)
        proposals = self.coins(PROPOSAL_CELLS) + PROPOSAL_PILOT / QUOTED_STEPS * steps
        return Seconds(before + (proposals if np.isfinite(proposals) else 0.0), steps)

    @property
    def langevin(self) -> Seconds:
        """Of the mode and of a walk of the usual length, by the number of parameters, where it can sample the field."""
        p = self.model.n_parameters
        if is_large_sparse(self.model) or not 0 < p <= MOST_DENSE_PARAMETERS:
            return Seconds(float("inf"))
        layout = dense_layout(self.model)
        is_table = layout is None or (layout.coupling == PRODUCT_FORM and int(layout.states.max()) > MOST_LEVELS)
        known, *seconds = np.log(WALKING)
        past = max(np.log(p) - known[-1], 0.0) / (known[-1] - known[-2])
        mode, whole = (np.exp(np.interp(np.log(p), known, s) + past * (s[-1] - s[-2])) for s in seconds)
        scale = (TABLE_WALK if is_table else 1.0) * self.measured
        return Seconds(float(mode * scale), float((whole - mode) * scale))

    @property
    def pseudo(self) -> Seconds:
        """Of the patterns of neighbours that occur in `QUOTED_ROWS` rows."""
        model = self.model
        degree = np.minimum(np.bincount(model.edges.ravel(), minlength=model.n_nodes), 12)
        patterns = (model.states * float(np.median(model.states)) ** np.maximum(degree - 1.0, 0.0)).sum() / 2
        each = 27e-9 * min(float(patterns), float(QUOTED_ROWS * model.n_nodes)) * self.factor
        return Seconds(CALL_SECONDS + PSEUDO_PASSES * each, QUOTED_STEPS * each)


def is_large_sparse(model: Model) -> bool:
    """Whether chains that take all pairs of nodes would waste most of their time."""
    few = np.diff(model.adjacency.offset).max(initial=0) <= MAX_SPARSE_NEIGHBOURS
    return bool(model.n_nodes > MAX_SPARSE_NODES and few)


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
    methods : mapping of str to float
        Approximate processor seconds of each method: its preparation (estimate, mode, calibration) and 1,000 steps;
        infinite if it cannot run. For "langevin" they are those of a call with its defaults. Auxiliary data sets
        ("exchange-exact", "moller", "mavm") are assumed to have 1,000 observations.
    preparation : mapping of str to float
        The part of ``methods`` that comes before the first step: all of it for "calibrated", whose draws are
        independent and at no cost.
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
    preparation: Mapping[str, float]
    limit: int

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
            before = self.preparation[name]
            cells = [describe_seconds(before), describe_seconds(value - before) if value > before else "no cost"]
            lines.append("{:22}{:>12}{:>14}".format(name, *(cells if np.isfinite(value) else ("refused", ""))).rstrip())
        lines += [
            "",
            f"Compilation, in the first call of a method on this machine: {COMPILE_SECONDS} s or so more, once.",
        ]
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
    from mrfbayes.methods.registry import REGISTRY

    require_model(model)
    exact = exact_cost(model)
    costs = MethodCosts(model, exact.work)
    seconds = {key: row.cost(costs) for key, row in REGISTRY.items()}
    methods, before = ({k: float(f(s)) for k, s in seconds.items()} for f in (sum, lambda s: s.preparation))
    return Cost(exact.recursion, exact.treewidth, exact.is_complete, exact.work, methods, before, memory_limit())
