"""The recursion of binary grids, node by node."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from mrfbayes.base.checks import memory_limit
from mrfbayes.exact.contract import OBJECTS, SECOND_LEVEL, THIRD_LEVEL, TooLarge, check_memory
from mrfbayes.exact.graph import GraphRecursion
from mrfbayes.exact.ordering import sweep_order
from mrfbayes.kernels.exact.grid import GridLayout, grid_layout, transfer_scratch
from mrfbayes.kernels.exact.grid_moments import transfer_moments
from mrfbayes.kernels.exact.grid_sample import transfer_sample
from mrfbayes.model.field import Model

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
