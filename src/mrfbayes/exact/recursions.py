"""What every exact recursion can do in terms of lowered potentials, and the recursions by tables.

Tables go by elimination on any graph with any numbers of states, and node by node on binary grids. What does not fit
into memory is refused. Seconds are a sum of counts (steps, edges, table cells by the way they are read) times constants
measured once (`benchmarks/bench_exact.py fit`), so that the same model always takes the same way.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from itertools import islice
from typing import Protocol

import numpy as np

from mrfbayes.base.budget import budget
from mrfbayes.base.checks import describe_bytes, memory_limit
from mrfbayes.base.errors import CostError
from mrfbayes.exact.ordering import Order, find_order, sweep_order
from mrfbayes.kernels.exact.graph import (
    elimination_forward,
    elimination_log_z,
    elimination_moments,
    elimination_sample,
    elimination_taylor,
)
from mrfbayes.kernels.exact.graph_binary import elimination_log_z_binary
from mrfbayes.kernels.exact.graph_logs import elimination_best, forward_logs
from mrfbayes.kernels.exact.graph_plan import BY_TABLE, EliminationPlan, build_plan, log_z_scratch, taylor_scratch
from mrfbayes.kernels.exact.grid import GridLayout, grid_layout, transfer_moments, transfer_scratch
from mrfbayes.kernels.exact.grid_sample import transfer_sample
from mrfbayes.model.field import Model

WORKS = {  # key -> what an error calls it
    "log_z": "the exact partition function",
    "moments": "exact expected counts",
    "series": "exact covariances",
    "sample": "exact sampling",
    "maximum": "the most probable configuration",
}
OBJECTS = 2048  # bytes of the arrays' own objects: what a very small field takes
BATCH_CELLS = 2**18  # table cells of the directions that one call follows
CALL_CELLS = 2**28  # cells that one call goes through, about a second: then Ctrl-C and the clock are heard
SECOND_LEVEL, THIRD_LEVEL = 2**19, 2**24  # bytes past which tables leave the caches


class TooLarge(CostError):
    """Exact work that does not fit into memory.

    ``complete`` is False where the search for an elimination order stopped at a table past hope; ``width`` and
    ``n_bytes`` are then those at which it stopped.
    """

    def __init__(self, work: str, width: int, n_bytes: int, complete: bool = True) -> None:
        self.work, self.width, self.n_bytes, self.complete = work, width, n_bytes, complete
        bound = "" if complete else "at least "
        order = f"treewidth {width}" if complete else f"width {width} or more in every order tried"
        self.reason = (
            f"{WORKS[work]} needs {bound}{describe_bytes(n_bytes)} here ({order}, limit "
            f"{describe_bytes(memory_limit())})"
        )
        super().__init__(f"{self.reason}: use method='calibrated' or 'persistent', and sampler='gibbs'.")

    def __reduce__(self) -> tuple[type[TooLarge], tuple[str, int, int, bool]]:
        return type(self), (self.work, self.width, self.n_bytes, self.complete)


@contextmanager
def refused(alternative: str) -> Iterator[None]:
    """Refuse what is too large inside with a `CostError` that names ``alternative``."""
    try:
        yield
    except TooLarge as problem:
        raise CostError(f"{problem.reason}: {alternative}.") from None


class Recursion(Protocol):
    """Exact sums over all configurations of one model."""

    width: int

    def n_bytes(self, work: str, n: int = 0) -> int:
        """Bytes of the arrays that ``work`` (a key of `WORKS`) needs; ``n`` is the number of samples or directions."""

    def seconds(self, key: str, n: int = 1) -> float:
        """Seconds on the reference machine of ``n`` evaluations, directions or draws.

        ``key`` is "log_z" (inside a chain), "moments", "first" or "second" (derivatives along a direction) or "sample".
        """

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


def check_memory(recursion: Recursion, work: str, n: int = 0) -> None:
    """Refuse ``work`` that does not fit into memory, before anything is allocated."""
    needed = recursion.n_bytes(work, n)
    if needed > memory_limit():
        raise TooLarge(work, recursion.width, needed)


# Nanoseconds per unit of each count of `graph_counts`, fitted on one core of an AMD EPYC (Zen 3).
GRAPH_NANOSECONDS: dict[str, tuple[float, ...]] = {
    "binary log_z": (200, 8.64, 24.3, 5.74, 0.126, 0, 0.539, 0.134, 0.0357, 0.451),
    "graph log_z": (0, 442, 0, 22.7, 0, 0.0327, 0.0529, 0.773, 0, 0),
    "graph moments": (3.01e4, 394, 69, 20.7, 1.73, 0, 1.74, 1.61, 0.556, 0),
    "graph first": (2.43e4, 866, 0, 20.1, 4.87, 3.88, 1.51, 1.19, 1.32, 3.24),
    "graph second": (3.3e4, 1010, 0, 83.9, 7.42, 5.47, 2.3, 3.43, 2.24, 15.1),
    "graph sample": (93.2, 0, 0, 0, 22, 0, 1.03, 0, 0.993, 0.0305, 8.46, 0),
}


class GraphRecursion:
    """Any graph, any numbers of states: an elimination order worked out once."""

    def __init__(self, edges: np.ndarray, states: np.ndarray, order: Order | None = None) -> None:
        self.order = order or find_order(edges, states)
        self.width = self.order.width
        # The largest table, without the variable that is summed out, is in memory at least once.
        if not self.order.complete or 8 * self.order.largest > 2 * memory_limit():
            raise TooLarge("log_z", self.width, 4 * self.order.largest, complete=self.order.complete)
        self.plan = build_plan(edges, states, self.order.order)
        self.plan_bytes = sum(part.nbytes for part in self.plan if isinstance(part, np.ndarray))
        self.is_binary = bool((states == 2).all())
        self._seconds: dict[tuple[str, int], float] = {}  # asked for at every gradient
        check_memory(self, "log_z")

    def n_bytes(self, work: str, n: int = 0) -> int:
        """Bytes of the plan, scratch and results."""
        plan = self.plan
        cells = log_z_scratch(plan)
        if work != "log_z":
            cells += plan.n_joint
        if work == "series":
            n_cells = int(plan.node_offset[-1] + plan.edge_offset[-1])
            cells += 2 * plan.n_joint + taylor_scratch(plan)
            cells += 4 * n_cells * min(max(n, 1), max(1, BATCH_CELLS // n_cells))  # directions and what comes of them
            n = 0
        return int(OBJECTS + 8 * cells + self.plan_bytes + n * plan.states.size)

    def seconds(self, key: str, n: int = 1) -> float:
        """Seconds on the reference machine of ``n`` evaluations, directions or draws."""
        if (key, n) not in self._seconds:
            weights = GRAPH_NANOSECONDS[f"{'binary' if key == 'log_z' and self.is_binary else 'graph'} {key}"]
            self._seconds[key, n] = float(np.dot(weights, graph_counts(self.plan, key, n))) * 1e-9
        return self._seconds[key, n]

    def _scratch(self) -> np.ndarray:
        return np.empty(log_z_scratch(self.plan))

    def _tables(self, node_part: np.ndarray, edge_part: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Log-potential tables of a field that may be given as fields and couplings."""
        return field_tables(node_part, edge_part) if self.is_binary else (node_part, edge_part)

    def _statistics(self, marginals: np.ndarray, n_nodes: int) -> tuple[np.ndarray, np.ndarray]:
        if not self.is_binary:
            return marginals[:n_nodes].copy(), marginals[n_nodes:].copy()
        return marginals[1 : 2 * n_nodes : 2].copy(), marginals[2 * n_nodes :: 4] + marginals[2 * n_nodes + 3 :: 4]

    def log_z(self, node_part: np.ndarray, edge_part: np.ndarray) -> float:
        """Log of the sum of all weights."""
        run = elimination_log_z_binary if self.is_binary else elimination_log_z
        return float(run(self.plan, node_part, edge_part, self._scratch()))

    def _conditionals(self, work: str, nodes: np.ndarray, edges: np.ndarray, n: int = 0) -> np.ndarray:
        check_memory(self, work, n)
        joint = np.empty(self.plan.n_joint)
        elimination_forward(self.plan, nodes, edges, joint, self._scratch())
        return joint

    def moments(self, node_part: np.ndarray, edge_part: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Log Z and the expected statistics of nodes and edges."""
        check_memory(self, "moments")
        nodes, edges = self._tables(node_part, edge_part)
        joint, marginals = np.empty(self.plan.n_joint), np.empty(nodes.size + edges.size)
        log_z = elimination_moments(self.plan, nodes, edges, joint, marginals, self._scratch())
        return float(log_z), *self._statistics(marginals, node_part.size)

    def series(
        self, node_part: np.ndarray, edge_part: np.ndarray, directions: Iterator[np.ndarray], order: int
    ) -> Iterator[np.ndarray]:
        """Derivatives of the expected statistics along each direction; one forward pass serves all of them."""
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
                found = [np.concatenate(self._statistics(row, n_nodes)) for row in result[1:]]
                yield np.stack(found)

    def sample(self, node_part: np.ndarray, edge_part: np.ndarray, n: int, state: np.ndarray) -> np.ndarray:
        """(n, d) independent draws."""
        joint = self._conditionals("sample", *self._tables(node_part, edge_part), n)
        x = np.empty((n, self.plan.states.size), dtype=np.uint8)
        elimination_sample(self.plan, joint, state, x)
        return x

    def best(self, node_part: np.ndarray, edge_part: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """The ``k`` configurations of largest weight (at most all there are), (k, d), and their log weights (k,)."""
        check_memory(self, "maximum", 2 * k)
        joint = np.empty(self.plan.n_joint)
        largest = forward_logs(self.plan, *self._tables(node_part, edge_part), joint, self._scratch(), True)
        x, regret = np.zeros((k, self.plan.states.size), dtype=np.uint8), np.empty(k)
        count = elimination_best(self.plan, joint, k, x, regret)
        return x[:count], largest - regret[:count]


def field_tables(field: np.ndarray, coupling: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A binary field as log-potential tables: (0, field_i) of each node, (c, 0, 0, c) of each edge."""
    nodes, edges = np.zeros((field.size, 2)), np.zeros((coupling.size, 4))
    nodes[:, 1], edges[:, 0], edges[:, 3] = field, coupling, coupling
    return nodes.ravel(), edges.ravel()


def model_tables(model: Model, log_odds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Log-potential tables of all nodes and of all edges at w (or along a direction of w)."""
    parts = model.lowering.potentials(log_odds)
    return field_tables(*parts) if model.lowering.binary else parts


def ranges(start: np.ndarray, count: np.ndarray) -> np.ndarray:
    """start[0], start[0] + 1, ... (count[0] numbers), then those of the next."""
    within = np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count, count)
    return np.asarray(np.repeat(start, count) + within, dtype=np.int64)


def graph_counts(plan: EliminationPlan, key: str, n: int) -> np.ndarray:
    """What the seconds of ``n`` eliminations are a sum of.

    Calls, steps, edges, loops, edge products, cells in order, cells by table, all cells, past the second-level cache,
    past the third; for samples also variables drawn and variables looked at.
    """
    steps = plan.steps
    states, n_low, n_known = (steps[name].astype(float) for name in ("states", "n_low", "n_known"))
    senders = steps["child_stop"] - steps["child"]
    read = np.repeat(states * n_low * n_known, senders)
    by_table = plan.children["access"] == BY_TABLE
    joint = states * steps["cells"]
    size = 8 * joint if key in ("log_z", "moments") else 24 * joint
    each = [
        1.0,
        len(steps),
        len(plan.pairs),
        (n_known * (1 + senders)).sum() + steps["n_high"].sum(),
        (states * (n_low + steps["n_high"])).sum(),
        read[~by_table].sum(),
        read[by_table].sum(),
        joint.sum(),
        joint[size > SECOND_LEVEL].sum(),
        joint[size > THIRD_LEVEL].sum(),
    ]
    if key == "sample":
        return np.array([*each, float(n) * len(steps), float(n) * len(plan.scope)])
    return np.array(each) * n


GRID_RANGE = 600.0  # nats that a grid's message may span: what underflows beyond 1e-260 of the largest might matter
# Nanoseconds per unit of each count of `grid_counts`, fitted on one core of an AMD EPYC (Zen 3).
GRID_NANOSECONDS = {"moments": (2.67e4, 122, 1.37, 0.365, 0.6), "sample": (2.59e4, 0, 0.823, 0, 0.7, 6.52)}


class GridRecursion:
    """Binary grids: 2^min(rows, columns) states, node by node."""

    def __init__(self, model: Model) -> None:
        assert model.grid_shape is not None
        self.rows, self.columns = model.grid_shape
        self.width = min(model.grid_shape)
        if self.width > 60 or 16 * 2**self.width > memory_limit():
            raise TooLarge("log_z", self.width, 16 * 2**self.width)  # before anything of the grid's size is made
        self._edges, self._states = model.edges, model.states

    @cached_property
    def layout(self) -> GridLayout:
        """The sweep, as the kernels take it."""
        return grid_layout(self.rows, self.columns)

    @cached_property
    def as_graph(self) -> GraphRecursion:
        """This grid by elimination.

        For log Z, for derivatives, whose directions share one forward pass, and for couplings so strong that the sweep
        might underflow: elimination looks after its scale step by step.
        """
        return GraphRecursion(self._edges, self._states, sweep_order(self._edges, self._states))

    def _is_strong(self, edge_part: np.ndarray) -> bool:
        # What comes after a message can lift a cell by the couplings that leave its nodes.
        return bool((self.width + 1) * np.abs(edge_part).max(initial=0.0) > GRID_RANGE)

    def n_bytes(self, work: str, n: int = 0) -> int:
        """Bytes of scratch and results."""
        if work in ("log_z", "series"):
            try:
                return self.as_graph.n_bytes(work, n)
            except TooLarge as error:
                return error.n_bytes
        scratch = transfer_scratch(self.layout, work, n)
        plan = self.as_graph.plan_bytes if "as_graph" in self.__dict__ else 0
        return OBJECTS + plan + 8 * scratch + 3 * self.layout.node.nbytes + n * self.layout.node.size

    def seconds(self, key: str, n: int = 1) -> float:
        """Seconds on the reference machine of ``n`` evaluations, directions or draws."""
        if key not in GRID_NANOSECONDS:
            return self.as_graph.seconds(key, n)
        return float(np.dot(GRID_NANOSECONDS[key], grid_counts(self, key, n))) * 1e-9

    def _scratch(self, work: str, n: int = 0) -> np.ndarray:
        check_memory(self, work, n)
        return np.empty(transfer_scratch(self.layout, work, n))

    def log_z(self, node_part: np.ndarray, edge_part: np.ndarray) -> float:
        """Log of the sum of all weights, by elimination."""
        return self.as_graph.log_z(node_part, edge_part)

    def moments(self, node_part: np.ndarray, edge_part: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Log Z and the expected statistics of nodes and edges."""
        if self._is_strong(edge_part):
            return self.as_graph.moments(node_part, edge_part)
        nodes, edges = np.empty(node_part.size), np.empty(edge_part.size)
        log_z = transfer_moments(self.layout, node_part, edge_part, self._scratch("moments"), nodes, edges)
        return float(log_z), nodes, edges

    def series(
        self, node_part: np.ndarray, edge_part: np.ndarray, directions: Iterator[np.ndarray], order: int
    ) -> Iterator[np.ndarray]:
        """Derivatives of the expected statistics along each direction, by elimination."""
        return self.as_graph.series(node_part, edge_part, directions, order)

    def sample(self, node_part: np.ndarray, edge_part: np.ndarray, n: int, state: np.ndarray) -> np.ndarray:
        """(n, d) independent draws."""
        if self._is_strong(edge_part):
            return self.as_graph.sample(node_part, edge_part, n, state)
        scratch = self._scratch("sample", n)
        x = np.empty((n, node_part.size), dtype=np.uint8)
        transfer_sample(self.layout, node_part, edge_part, scratch, state, x)
        return x


def grid_counts(found: GridRecursion, key: str, n: int) -> np.ndarray:
    """Calls, nodes, message cells, of those past the second-level cache, past the third; and nodes drawn."""
    n_nodes = found.rows * found.columns
    cells = float(n_nodes) * 2**found.width
    size = 48 * 2**found.width
    each = [1.0, n_nodes, cells, cells * (size > SECOND_LEVEL), cells * (size > THIRD_LEVEL)]
    return np.array([*each, float(n) * n_nodes]) if key == "sample" else np.array(each) * n
