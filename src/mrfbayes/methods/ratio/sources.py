"""What the sampling methods share in their preparation: where particles come from and how they are weighed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mrfbayes.base.checks import one_of, require_memory, whole
from mrfbayes.base.errors import CostError, InputError
from mrfbayes.base.types import View
from mrfbayes.exact.choice import recursion
from mrfbayes.exact.clamped import observed
from mrfbayes.exact.recursions import GraphRecursion, GridRecursion
from mrfbayes.kernels.exact.graph_plan import log_z_scratch
from mrfbayes.kernels.exact.grid import transfer_scratch
from mrfbayes.kernels.methods.ratio import ColumnWeigher, WordWeigher
from mrfbayes.kernels.methods.ratio_sources import GraphSource, GridSource, HubSource, TableSource
from mrfbayes.kernels.particles.bitgibbs import MAX_DEGREE
from mrfbayes.methods.lowered import lowered_data, writable_layout, writable_plan
from mrfbayes.methods.problem import Problem, writable
from mrfbayes.model.build import graph, grid
from mrfbayes.model.field import Model
from mrfbayes.particles.sweeps import bit_view, spin_view, table_view
from mrfbayes.priors import Prior

SOURCES = ("auto", "exact", "gibbs")
AUTO_WIDTH = 12  # grids up to this width: 1,000 exact particles take below 10 ms
MOST_PARTICLE_BYTES = 2**30  # of one auxiliary data set
AUTO_CELLS = 1 << 18  # table cells of an elimination up to which drawing exactly is the default


@dataclass(frozen=True)
class Particles:
    """Arrays for particles, where they come from, and how they are weighed."""

    source: View
    weigher: View
    array: np.ndarray  # (d, n_words) uint64 or (d, n) uint8
    n: int
    sweeps: int | None  # of Gibbs sampling; None where particles are drawn exactly

    @property
    def details(self) -> dict[str, object]:
        """Facts for the result."""
        if self.sweeps is None:
            return {"particles": self.n, "source": "exact"}
        return {"particles": self.n, "source": "gibbs", "sweeps": self.sweeps}

    @property
    def unused(self) -> dict[str, str]:
        """Options that play no part."""
        return {"sweeps": "particles are drawn exactly here"} if self.sweeps is None else {}

    @property
    def n_weights(self) -> int:
        """Entries of an array of log weights."""
        return int(self.array.shape[1]) * (64 if self.array.dtype == np.uint64 else 1)


def ratio_view(
    problem: Problem,
    made: Particles,
    method: str,
    *,
    variant: int = 0,
    n_sweeps: int = 1,
    n_levels: int = 0,
    log_odds: np.ndarray | None = None,
) -> View:
    """The view of the sampling method in the file ``method``; ``log_odds`` is the estimate, where it needs one."""
    # It holds the methods' kernels, so they cannot import it.
    from mrfbayes.methods.ratio.views import RATIO_NUMBERS, RatioData, RatioView

    lowered, size = lowered_data(problem.model, observed(problem.statistics)), problem.model.lowering.n_rows
    data = RatioData(lowered, lowered.n, lowered.n_node_rows, *(np.zeros(size) for _ in range(3)))
    at = np.zeros(size)
    if log_odds is not None:
        at = np.concatenate(problem.model.lowering.potentials(np.asarray(log_odds)))
    fixed = (RATIO_NUMBERS[method], variant, n_sweeps, n_levels, data, made.source, made.weigher, writable(at))
    work = (np.zeros(size), made.array, np.zeros_like(made.array), np.zeros(2))
    return RatioView(*fixed, *work, *(np.zeros(made.n_weights) for _ in range(3)))


def check(model: Model, prior: Prior, *, particles: int, source: str, sweeps: int) -> None:
    """Refuse numbers and sources of particles that cannot be."""
    whole("particles", particles, 2)
    whole("sweeps", sweeps)
    one_of("source", source, SOURCES)
    if source == "exact":
        _draws_exactly(model, must=True)
    _require_memory(model, particles)


def require_exact_draws(model: Model, method: str) -> None:
    """Refuse a field of which no data set can be drawn exactly."""
    try:
        _draws_exactly(model, must=True)
    except CostError as error:
        raise CostError(f"method {method!r} needs exact draws: {error} Or use method='exchange'.") from None


def _require_memory(model: Model, n: int) -> None:
    """Refuse particles that memory could not hold: states, log weights and work arrays to draw them."""
    each = model.n_nodes * (2 if model.is_binary else 3) + 4 * 8
    require_memory(n * each, f"{n:,} particles of {model.n_nodes:,} nodes", "ask for fewer particles=")


def make_particles(model: Model, n: int, source: str = "auto", sweeps: int = 1000) -> Particles:
    """Arrays for ``n`` particles and their source: exact draws, or ``sweeps`` Gibbs sweeps from a random start."""
    _require_memory(model, n)
    if model.is_binary:
        array = np.zeros((model.n_nodes, -(-n // 64)), dtype=np.uint64)
        row = model.lowering.forward.row
        nodes, edges = (writable(part, np.int64) for part in (np.unique(row[row < model.n_nodes]), model.edges))
        rows = np.zeros((8, array.shape[1]), dtype=np.uint64)
        weigher: View = WordWeigher(nodes, edges, n, rows, np.zeros(256))
    else:
        array, lowering = np.zeros((model.n_nodes, n), dtype=np.uint8), model.lowering
        parts = (model.states, model.edges, lowering.node_offset, lowering.edge_offset)
        states, edges, node_offset, edge_offset = (writable(part, np.int64) for part in parts)
        weigher = ColumnWeigher(states, edges, node_offset, edge_offset, n)
    is_exact = source != "gibbs" and _draws_exactly(model, must=source == "exact")
    return Particles(_source(model, array, is_exact, sweeps), weigher, array, n, None if is_exact else sweeps)


def auxiliary_data(problem: Problem, method: str) -> Particles:
    """Particles for one data set of the size of the data, drawn exactly: what keeps the target exact."""
    n, model = problem.statistics.n, problem.model
    if n != round(n):
        raise InputError(
            f"method {method!r} draws auxiliary data sets of n observations, and the weights here sum to n = {n:g}: "
            "use whole weights, or method='exact' or 'exchange'."
        )
    size = n * model.n_nodes
    if size > MOST_PARTICLE_BYTES:
        raise CostError(
            f"method {method!r} draws n = {n:.3g} observations of {model.n_nodes} nodes at every step, "
            f"{size / 2**30:.1f} GiB: use method='exact', 'mle' or 'calibrated', whose cost does not grow with n."
        )
    require_exact_draws(model, method)
    return make_particles(model, int(n), "exact")


def _draws_exactly(model: Model, must: bool) -> bool:
    """Whether exact draws are feasible (if they must be made, or else an error) and cheap enough to be the default."""
    try:
        found = recursion(model)
    except CostError as error:
        if must:
            raise CostError(f"{error} Where the method has it, source='gibbs' makes particles without.") from None
        return False
    if isinstance(found, GridRecursion):
        return must or found.width <= AUTO_WIDTH
    assert isinstance(found, GraphRecursion)
    return must or found.plan.n_joint <= AUTO_CELLS


def _source(model: Model, array: np.ndarray, is_exact: bool, sweeps: int) -> View:
    """The source for this kind of field; its exact part is that of a single node where it is not used."""
    n_rows = array.shape[1] * (64 if model.is_binary else 1)
    lists = model.adjacency
    if model.is_binary:
        field, coupling = np.zeros(model.n_nodes), np.zeros(model.n_edges)
        symmetric = not (model.lowering.forward.row < model.n_nodes).any()
    if model.is_binary and model.grid_shape is not None:
        found = recursion(model if is_exact else grid(1, 1))
        assert isinstance(found, GridRecursion)
        layout = writable_layout(found.layout)
        scratch = np.zeros(transfer_scratch(layout, "sample", n_rows))
        return GridSource(layout, scratch, bit_view(lists, field, coupling, symmetric), is_exact, sweeps)
    found = recursion(model if is_exact else graph([], nodes=["alone"]))
    assert isinstance(found, GraphRecursion)
    plan = writable_plan(found.plan)
    joint, scratch = np.zeros(plan.n_joint), np.zeros(log_z_scratch(plan))
    rows = np.zeros((n_rows if is_exact else 1, model.n_nodes), dtype=np.uint8)
    if not model.is_binary:
        potentials = model.lowering.potentials(np.zeros(model.n_parameters))
        field_view = table_view(lists, model.lowering, *potentials)
        return TableSource(plan, joint, scratch, rows, field_view, is_exact, sweeps)
    tables = np.zeros(2 * model.n_nodes + 4 * model.n_edges)
    if np.diff(lists.offset).max(initial=0) <= MAX_DEGREE:
        bits = bit_view(lists, field, coupling, symmetric)
        return GraphSource(plan, tables, joint, scratch, rows, bits, is_exact, sweeps)
    columns = np.zeros((model.n_nodes, n_rows), dtype=np.uint8)
    spins = spin_view(lists, field, coupling)
    return HubSource(plan, tables, joint, scratch, rows, spins, columns, is_exact, sweeps)
