"""The two exact recursions behind one interface: node by node on a binary grid, by elimination on any graph.

Everything is in terms of the lowered potentials: (field, coupling) of a binary model, (node tables, edge tables)
otherwise. `recursion` picks the one that fits a model, once a model. What would not fit into memory is refused before
anything is allocated.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from functools import cache, cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Protocol
from weakref import WeakKeyDictionary

import numpy as np

from mrfbayes.base.budget import budget
from mrfbayes.base.errors import CostError
from mrfbayes.model.field import Model

if TYPE_CHECKING:
    from mrfbayes.exact.ordering import Order
    from mrfbayes.kernels.exact.grid import GridLayout

WORKS = {  # key -> what an error calls it
    "log_z": "the exact partition function",
    "moments": "exact expected counts",
    "series": "exact covariances",
    "sample": "exact sampling",
}
GRID_RANGE = 600.0  # nats that a grid's message may span: what underflows beyond 1e-260 of the largest might matter
SQUARE_WIDTH = 9  # columns from which on elimination takes derivatives faster on a square grid
OBJECTS = 2048  # bytes of the arrays' own objects: what a very small field takes
BATCH_CELLS = 2**18  # table cells of the directions that one call follows
CALL_CELLS = 2**28  # cells that one call goes through, about a second: then Ctrl-C and the clock are heard


class Recursion(Protocol):
    """Exact sums over all configurations of one model."""

    width: int

    def n_bytes(self, work: str, n: int = 0) -> int:
        """Bytes of the arrays that ``work`` (a key of `WORKS`) needs; ``n`` is the number of samples or directions."""

    def log_z(self, node_part: np.ndarray, edge_part: np.ndarray) -> float:
        """Log of the sum of all weights."""

    def moments(self, node_part: np.ndarray, edge_part: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Log Z and the expected statistics of nodes and edges."""

    def series(
        self, node_part: np.ndarray, edge_part: np.ndarray, directions: Iterator[np.ndarray], order: int
    ) -> Iterator[np.ndarray]:
        """For each direction (nodes, then edges): the first ``order`` derivatives of the expected statistics along it.

        Each is (order, rows), nodes, then edges; order is 1 or 2.
        """

    def sample(self, node_part: np.ndarray, edge_part: np.ndarray, n: int, state: np.ndarray) -> np.ndarray:
        """(n, d) independent draws."""


class GridRecursion:
    """Binary grids: 2^min(rows, columns) states, node by node."""

    def __init__(self, model: Model) -> None:
        assert model.grid_shape is not None
        self.rows, self.columns = model.grid_shape
        self.width = min(model.grid_shape)
        if self.width > 60 or 16 * 2**self.width > memory_limit():
            raise TooLarge("log_z", self.width, 16 * 2**self.width)  # before anything of the grid's size is made
        self._edges, self._states = model.edges, model.states
        nodes = model.lowering.forward.row < model.n_nodes
        self.has_fields = bool(nodes.any())  # without, states and their opposites weigh the same: half the work

    @cached_property
    def layout(self) -> GridLayout:
        """The sweep, as the kernels take it."""
        from mrfbayes.kernels.exact.grid import grid_layout

        return grid_layout(self.rows, self.columns)

    @cached_property
    def as_graph(self) -> GraphRecursion:
        """The same grid by elimination.

        For couplings so strong that the sweep might underflow (elimination looks after its scale step by step), and for
        derivatives on grids that are about square: there the tables at the corners are small, and the directions
        share one forward pass.
        """
        from mrfbayes.exact.ordering import sweep_order

        return GraphRecursion(self._edges, self._states, sweep_order(self._edges, self._states))

    @property
    def series_by_elimination(self) -> bool:
        """Whether derivatives are taken by elimination: measured to be two to four times faster on such grids."""
        if self.width < SQUARE_WIDTH or max(self.rows, self.columns) > 2 * self.width:
            return False
        return bool(24 * self.rows * self.columns * 2**self.width < memory_limit() // 4)

    def _is_strong(self, edge_part: np.ndarray) -> bool:
        # What comes after a message can lift a cell by the couplings that leave its nodes.
        return bool((self.width + 1) * np.abs(edge_part).max(initial=0.0) > GRID_RANGE)

    def n_bytes(self, work: str, n: int = 0) -> int:
        """Bytes of scratch and results."""
        from mrfbayes.kernels.exact.grid import transfer_scratch

        if work == "series":
            if self.series_by_elimination:
                return self.as_graph.n_bytes(work, n)
            work, n = "taylor", 0  # one direction at a time
        scratch = transfer_scratch(self.layout, work, n)
        return OBJECTS + 8 * scratch + 3 * self.layout.node.nbytes + n * self.layout.node.size

    def _scratch(self, work: str, n: int = 0) -> np.ndarray:
        from mrfbayes.kernels.exact.grid import transfer_scratch

        _check(self, work, n)
        return np.empty(transfer_scratch(self.layout, "taylor" if work == "series" else work, n))

    def log_z(self, node_part: np.ndarray, edge_part: np.ndarray) -> float:
        """Log of the sum of all weights."""
        from mrfbayes.kernels.exact.grid import transfer_log_z

        if self._is_strong(edge_part):
            return self.as_graph.log_z(node_part, edge_part)
        return float(transfer_log_z(self.layout, node_part, edge_part, self._scratch("log_z")))

    def moments(self, node_part: np.ndarray, edge_part: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Log Z and the expected statistics of nodes and edges."""
        from mrfbayes.kernels.exact.grid_moments import transfer_moments

        if self._is_strong(edge_part):
            return self.as_graph.moments(node_part, edge_part)
        nodes, edges = np.empty(node_part.size), np.empty(edge_part.size)
        log_z = transfer_moments(self.layout, node_part, edge_part, self._scratch("moments"), nodes, edges)
        return float(log_z), nodes, edges

    def series(
        self, node_part: np.ndarray, edge_part: np.ndarray, directions: Iterator[np.ndarray], order: int
    ) -> Iterator[np.ndarray]:
        """Derivatives of the expected statistics along each direction."""
        from mrfbayes.kernels.exact.grid_series import transfer_taylor

        if self.series_by_elimination or self._is_strong(edge_part):
            yield from self.as_graph.series(node_part, edge_part, directions, order)
            return
        scratch = self._scratch("series")
        nodes, edges = np.empty((3, node_part.size)), np.empty((3, edge_part.size))
        for direction in directions:
            budget().check("exact covariances")
            along_nodes = np.ascontiguousarray(direction[: node_part.size])
            along_edges = np.ascontiguousarray(direction[node_part.size :])
            transfer_taylor(self.layout, node_part, edge_part, along_nodes, along_edges, scratch, nodes, edges)
            yield np.concatenate([nodes, edges], axis=1)[1 : order + 1]

    def sample(self, node_part: np.ndarray, edge_part: np.ndarray, n: int, state: np.ndarray) -> np.ndarray:
        """(n, d) independent draws."""
        from mrfbayes.kernels.exact.grid_sample import transfer_sample

        if self._is_strong(edge_part):
            return self.as_graph.sample(node_part, edge_part, n, state)
        scratch = self._scratch("sample", n)
        x = np.empty((n, node_part.size), dtype=np.uint8)
        transfer_sample(self.layout, node_part, edge_part, scratch, state, x)
        return x


class GraphRecursion:
    """Any graph, any numbers of states: an elimination order worked out once."""

    def __init__(self, edges: np.ndarray, states: np.ndarray, order: Order | None = None) -> None:
        from mrfbayes.exact.ordering import find_order
        from mrfbayes.kernels.exact.graph_plan import build_plan

        self.order = order or find_order(edges, states)
        self.width = self.order.width
        # The largest table, without the variable that is summed out, is in memory at least once.
        if not self.order.complete or 8 * self.order.largest > 2 * memory_limit():
            raise TooLarge("log_z", self.width, 4 * self.order.largest, complete=self.order.complete)
        self.plan = build_plan(edges, states, self.order.order)
        self._held = sum(part.nbytes for part in self.plan if isinstance(part, np.ndarray))
        self.is_binary = bool((states == 2).all())
        _check(self, "log_z")

    def n_bytes(self, work: str, n: int = 0) -> int:
        """Bytes of the plan, scratch and results."""
        from mrfbayes.kernels.exact.graph_plan import log_z_scratch, taylor_scratch

        plan = self.plan
        cells = log_z_scratch(plan)
        if work != "log_z":
            cells += plan.n_joint
        if work == "series":
            n_cells = int(plan.node_offset[-1] + plan.edge_offset[-1])
            cells += 2 * plan.n_joint + taylor_scratch(plan)
            cells += 4 * n_cells * min(max(n, 1), max(1, BATCH_CELLS // n_cells))  # directions and what comes of them
            n = 0
        return int(OBJECTS + 8 * cells + self._held + n * plan.states.size)

    def _scratch(self) -> np.ndarray:
        from mrfbayes.kernels.exact.graph_plan import log_z_scratch

        return np.empty(log_z_scratch(self.plan))

    def _tables(self, node_part: np.ndarray, edge_part: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Log-potential tables of a field that may be given as fields and couplings."""
        if not self.is_binary:
            return node_part, edge_part
        from mrfbayes.kernels.exact.graph_binary import binary_tables

        table = np.empty(2 * node_part.size + 4 * edge_part.size)
        binary_tables(node_part, edge_part, table)
        return table[: 2 * node_part.size], table[2 * node_part.size :]

    def _statistics(self, marginals: np.ndarray, n_nodes: int, n_edges: int) -> tuple[np.ndarray, np.ndarray]:
        if not self.is_binary:
            return marginals[:n_nodes].copy(), marginals[n_nodes:].copy()
        from mrfbayes.kernels.exact.graph_binary import binary_means

        nodes, edges = np.empty(n_nodes), np.empty(n_edges)
        binary_means(marginals, nodes, edges)
        return nodes, edges

    def log_z(self, node_part: np.ndarray, edge_part: np.ndarray) -> float:
        """Log of the sum of all weights."""
        from mrfbayes.kernels.exact.graph import elimination_log_z
        from mrfbayes.kernels.exact.graph_binary import elimination_log_z_binary

        run = elimination_log_z_binary if self.is_binary else elimination_log_z
        return float(run(self.plan, node_part, edge_part, self._scratch()))

    def _conditionals(self, work: str, nodes: np.ndarray, edges: np.ndarray, n: int = 0) -> np.ndarray:
        from mrfbayes.kernels.exact.graph import elimination_forward

        _check(self, work, n)
        joint = np.empty(self.plan.n_joint)
        elimination_forward(self.plan, nodes, edges, joint, self._scratch())
        return joint

    def moments(self, node_part: np.ndarray, edge_part: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Log Z and the expected statistics of nodes and edges."""
        from mrfbayes.kernels.exact.graph import elimination_moments

        _check(self, "moments")
        nodes, edges = self._tables(node_part, edge_part)
        joint, marginals = np.empty(self.plan.n_joint), np.empty(nodes.size + edges.size)
        log_z = elimination_moments(self.plan, nodes, edges, joint, marginals, self._scratch())
        return float(log_z), *self._statistics(marginals, node_part.size, edge_part.size)

    def series(
        self, node_part: np.ndarray, edge_part: np.ndarray, directions: Iterator[np.ndarray], order: int
    ) -> Iterator[np.ndarray]:
        """Derivatives of the expected statistics along each direction; one forward pass serves all of them."""
        from mrfbayes.kernels.exact.graph_plan import taylor_scratch
        from mrfbayes.kernels.exact.graph_series import elimination_taylor

        nodes, edges = self._tables(node_part, edge_part)
        joint = self._conditionals("series", nodes, edges)
        slope, scratch = np.empty((order, self.plan.n_joint)), np.empty(taylor_scratch(self.plan))
        n_nodes, n_cells = node_part.size, nodes.size + edges.size
        batch = max(1, min(BATCH_CELLS // n_cells, CALL_CELLS // self.plan.n_joint))
        while taken := list(islice(directions, batch)):
            budget().check("exact covariances")
            along = np.stack([np.concatenate(self._tables(v[:n_nodes], v[n_nodes:])) for v in taken])
            results = np.empty((len(taken), order + 1, n_cells))
            elimination_taylor(self.plan, joint, along, slope, results, scratch)
            for result in results:
                found = [np.concatenate(self._statistics(row, n_nodes, edge_part.size)) for row in result[1:]]
                yield np.stack(found)

    def sample(self, node_part: np.ndarray, edge_part: np.ndarray, n: int, state: np.ndarray) -> np.ndarray:
        """(n, d) independent draws."""
        from mrfbayes.kernels.exact.graph_sample import elimination_sample

        joint = self._conditionals("sample", *self._tables(node_part, edge_part), n)
        x = np.empty((n, self.plan.states.size), dtype=np.uint8)
        elimination_sample(self.plan, joint, state, x)
        return x


_KNOWN: WeakKeyDictionary[Model, Recursion] = WeakKeyDictionary()


def recursion(model: Model) -> Recursion:
    """The recursion of a model, made when first asked for; `CostError` where even log Z does not fit into memory."""
    known = _KNOWN.get(model)
    if known is None:
        if model.is_binary and model.grid_shape is not None:
            known = GridRecursion(model)
        else:
            if model.grid_shape is not None:
                _refuse_wide_grid(model)
            known = GraphRecursion(model.edges, model.states)
        _KNOWN[model] = known
    return known


def is_feasible(model: Model, work: str = "log_z") -> bool:
    """Whether ``work`` (a key of `WORKS`) fits into memory."""
    try:
        return recursion(model).n_bytes(work) <= memory_limit()
    except CostError:
        return False


@cache
def memory_limit() -> int:
    """Bytes that exact inference may take: half of what this machine, or the container, has."""
    try:
        limit = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # not every system says
        limit = 8 * 2**30
    with suppress(OSError, ValueError):  # no such group, or "max"
        limit = min(limit, int(Path("/sys/fs/cgroup/memory.max").read_text()))
    return limit // 2


def _refuse_wide_grid(model: Model) -> None:
    """A grid's treewidth is its shorter side: no order need be looked for to know that a wide one is too wide."""
    assert model.grid_shape is not None
    width = min(model.grid_shape)
    smallest = 8 * int(model.states.min()) ** min(width, 10_000)
    if smallest > memory_limit():
        raise TooLarge("log_z", width, smallest)


def _check(recursion: Recursion, work: str, n: int = 0) -> None:
    needed = recursion.n_bytes(work, n)
    if needed > memory_limit():
        raise TooLarge(work, recursion.width, needed)


class TooLarge(CostError):
    """Exact work that does not fit into memory.

    ``complete`` is False where the search for an elimination order stopped at a table past hope; ``width`` and
    ``n_bytes`` are then those at which it stopped.
    """

    def __init__(self, work: str, width: int, n_bytes: int, complete: bool = True) -> None:
        self.work, self.width, self.n_bytes, self.complete = work, width, n_bytes, complete
        bound = "" if complete else "at least "
        order = f"treewidth {width}" if complete else f"width {width} or more in every order tried"
        super().__init__(
            f"{WORKS[work]} needs {bound}{describe_bytes(n_bytes)} here ({order}, limit "
            f"{describe_bytes(memory_limit())}): use method='calibrated' or 'persistent', and sampler='gibbs'."
        )

    def __reduce__(self) -> tuple[type[TooLarge], tuple[str, int, int, bool]]:
        return type(self), (self.work, self.width, self.n_bytes, self.complete)


def describe_bytes(n_bytes: int) -> str:
    """Bytes for people: "1.5 GiB", or as a power of two past any memory."""
    if n_bytes >= 2**60:
        return f"2^{n_bytes.bit_length() - 1} bytes"
    power = max(0, (n_bytes.bit_length() - 1) // 10)
    unit = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB")[power]
    return f"{n_bytes / 2 ** (10 * power):.1f} {unit}" if power else f"{n_bytes} bytes"
