"""The two exact recursions behind one interface: node by node on a binary grid, by elimination on any graph.

Everything is in terms of the lowered potentials: (field, coupling) of a binary model, (node tables, edge tables)
otherwise. `recursion` picks the one that fits a model, once a model.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol
from weakref import WeakKeyDictionary

import numpy as np

from mrfbayes.errors import CostError
from mrfbayes.model.field import Model

MAX_BYTES = 4 * 2**30  # of tables that have to be in memory at once


class Recursion(Protocol):
    """Exact sums over all configurations of one model."""

    width: int
    n_bytes: int

    def log_z(self, node_part: np.ndarray, edge_part: np.ndarray) -> float:
        """Log of the sum of all weights."""

    def moments(self, node_part: np.ndarray, edge_part: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Log Z and the expected statistics of nodes and edges."""

    def series(
        self, node_part: np.ndarray, edge_part: np.ndarray, directions: Iterator[np.ndarray]
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """For each direction: first and second derivatives of the expected statistics (nodes, then edges) along it."""

    def sample(self, node_part: np.ndarray, edge_part: np.ndarray, n: int, state: np.ndarray) -> np.ndarray:
        """(n, d) independent draws."""


class GridRecursion:
    """Binary grids: 2^min(rows, columns) states, node by node."""

    def __init__(self, rows: int, columns: int) -> None:
        from mrfbayes.kernels.transfer import grid_layout, transfer_bytes

        self.width = min(rows, columns)
        _refuse_large(self.width, 8.0 * 2**self.width, "grid")
        self.n_bytes = transfer_bytes(rows, columns, "taylor")
        _refuse_large(self.width, self.n_bytes, "grid")
        self.layout = grid_layout(rows, columns)
        self._n_nodes = rows * columns

    def log_z(self, node_part: np.ndarray, edge_part: np.ndarray) -> float:
        """Log of the sum of all weights."""
        from mrfbayes.kernels.transfer import transfer_log_z

        return float(transfer_log_z(self.layout, node_part, edge_part, self._scratch("log_z")))

    def _scratch(self, work: str, *particles: int) -> np.ndarray:
        from mrfbayes.kernels.transfer import transfer_scratch

        return np.empty(transfer_scratch(self.layout, work, *particles))

    def moments(self, node_part: np.ndarray, edge_part: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Log Z and the expected statistics of nodes and edges."""
        from mrfbayes.kernels.transfer_moments import transfer_moments

        nodes, edges = np.empty(node_part.size), np.empty(edge_part.size)
        log_z = transfer_moments(self.layout, node_part, edge_part, self._scratch("moments"), nodes, edges)
        return float(log_z), nodes, edges

    def series(
        self, node_part: np.ndarray, edge_part: np.ndarray, directions: Iterator[np.ndarray]
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """First and second derivatives of the expected statistics along each direction."""
        from mrfbayes.kernels.transfer_series import transfer_taylor

        scratch = self._scratch("taylor")
        nodes, edges = np.empty((3, node_part.size)), np.empty((3, edge_part.size))
        for direction in directions:
            along_nodes = np.ascontiguousarray(direction[: node_part.size])
            along_edges = np.ascontiguousarray(direction[node_part.size :])
            transfer_taylor(self.layout, node_part, edge_part, along_nodes, along_edges, scratch, nodes, edges)
            yield np.concatenate([nodes[1], edges[1]]), np.concatenate([nodes[2], edges[2]])

    def sample(self, node_part: np.ndarray, edge_part: np.ndarray, n: int, state: np.ndarray) -> np.ndarray:
        """(n, d) independent draws."""
        from mrfbayes.kernels.transfer_sample import transfer_sample

        x = np.empty((n, self._n_nodes), dtype=np.uint8)
        transfer_sample(self.layout, node_part, edge_part, self._scratch("sample", n), state, x)
        return x


class GraphRecursion:
    """Any graph, any numbers of states: an elimination order worked out once."""

    def __init__(self, edges: np.ndarray, states: np.ndarray) -> None:
        from mrfbayes.kernels.elimination_plan import build_plan
        from mrfbayes.ordering import find_order

        order = find_order(edges, states)
        self.width = order.width
        _refuse_large(order.width, 8.0 * 3 * order.cells, "graph", complete=order.complete)
        self.n_bytes = 8 * 3 * order.cells
        self.plan = build_plan(edges, states, order.order)
        self.is_binary = bool((states == 2).all())

    def _scratch(self) -> np.ndarray:
        from mrfbayes.kernels.elimination_plan import log_z_scratch

        return np.empty(log_z_scratch(self.plan))

    def _tables(self, node_part: np.ndarray, edge_part: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Log-potential tables of a field that may be given as fields and couplings."""
        if not self.is_binary:
            return node_part, edge_part
        from mrfbayes.kernels.elimination_binary import binary_tables

        table = np.empty(2 * node_part.size + 4 * edge_part.size)
        binary_tables(node_part, edge_part, table)
        return table[: 2 * node_part.size], table[2 * node_part.size :]

    def _statistics(self, marginals: np.ndarray, n_nodes: int, n_edges: int) -> tuple[np.ndarray, np.ndarray]:
        if not self.is_binary:
            return marginals[:n_nodes].copy(), marginals[n_nodes:].copy()
        from mrfbayes.kernels.elimination_binary import binary_means

        nodes, edges = np.empty(n_nodes), np.empty(n_edges)
        binary_means(marginals, nodes, edges)
        return nodes, edges

    def log_z(self, node_part: np.ndarray, edge_part: np.ndarray) -> float:
        """Log of the sum of all weights."""
        from mrfbayes.kernels.elimination import elimination_log_z
        from mrfbayes.kernels.elimination_binary import elimination_log_z_binary

        run = elimination_log_z_binary if self.is_binary else elimination_log_z
        return float(run(self.plan, node_part, edge_part, self._scratch()))

    def moments(self, node_part: np.ndarray, edge_part: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Log Z and the expected statistics of nodes and edges."""
        from mrfbayes.kernels.elimination import elimination_moments

        nodes, edges = self._tables(node_part, edge_part)
        joint, marginals = np.empty(self.plan.n_joint), np.empty(nodes.size + edges.size)
        log_z = elimination_moments(self.plan, nodes, edges, joint, marginals, self._scratch())
        return float(log_z), *self._statistics(marginals, node_part.size, edge_part.size)

    def series(
        self, node_part: np.ndarray, edge_part: np.ndarray, directions: Iterator[np.ndarray]
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """First and second derivatives of the expected statistics along each direction."""
        from mrfbayes.kernels.elimination import elimination_forward
        from mrfbayes.kernels.elimination_plan import taylor_scratch
        from mrfbayes.kernels.elimination_taylor import elimination_taylor

        nodes, edges = self._tables(node_part, edge_part)
        joint = np.empty(self.plan.n_joint)
        elimination_forward(self.plan, nodes, edges, joint, self._scratch())
        slope, scratch = np.empty((2, self.plan.n_joint)), np.empty(taylor_scratch(self.plan))
        result = np.empty((3, nodes.size + edges.size))
        n_nodes = node_part.size
        for direction in directions:
            along = np.concatenate(self._tables(direction[:n_nodes], direction[n_nodes:]))
            elimination_taylor(self.plan, joint, along, slope, result, scratch)
            first = self._statistics(result[1], n_nodes, edge_part.size)
            second = self._statistics(result[2], n_nodes, edge_part.size)
            yield np.concatenate(first), np.concatenate(second)

    def sample(self, node_part: np.ndarray, edge_part: np.ndarray, n: int, state: np.ndarray) -> np.ndarray:
        """(n, d) independent draws."""
        from mrfbayes.kernels.elimination import elimination_forward
        from mrfbayes.kernels.elimination_sample import elimination_sample

        nodes, edges = self._tables(node_part, edge_part)
        joint = np.empty(self.plan.n_joint)
        elimination_forward(self.plan, nodes, edges, joint, self._scratch())
        x = np.empty((n, self.plan.states.size), dtype=np.uint8)
        elimination_sample(self.plan, joint, state, x)
        return x


_KNOWN: WeakKeyDictionary[Model, Recursion] = WeakKeyDictionary()


def recursion(model: Model) -> Recursion:
    """The recursion of a model, made when first asked for; `CostError` where its tables would not fit."""
    known = _KNOWN.get(model)
    if known is None:
        if model.is_binary and model.grid_shape is not None:
            known = GridRecursion(*model.grid_shape)
        else:
            known = GraphRecursion(model.edges, model.states)
        _KNOWN[model] = known
    return known


def is_feasible(model: Model) -> bool:
    """Whether exact sums over the model's configurations fit into memory."""
    try:
        recursion(model)
    except CostError:
        return False
    return True


def _refuse_large(width: int, n_bytes: float, kind: str, complete: bool = True) -> None:
    if n_bytes > MAX_BYTES or not complete:
        size = f"{n_bytes / 2**30:.3g} GiB" if n_bytes < 2**60 else "more memory than there is"
        raise CostError(
            f"exact inference on this {kind} needs {size} (treewidth {'' if complete else 'at least '}{width}, limit "
            f"{MAX_BYTES / 2**30:.0f} GiB): use method='calibrated' or 'persistent', and sampler='gibbs'."
        )
