"""The recursion of any graph and any numbers of states, by elimination of one variable after the other."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from mrfbayes.base.budget import budget
from mrfbayes.base.memory import memory_limit
from mrfbayes.exact.contract import BATCH_CELLS, CALL_CELLS, OBJECTS, check_memory
from mrfbayes.exact.memory import TooLarge

if TYPE_CHECKING:
    from mrfbayes.exact.ordering import Order


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
        self.plan_bytes = sum(part.nbytes for part in self.plan if isinstance(part, np.ndarray))
        self.is_binary = bool((states == 2).all())
        check_memory(self, "log_z")

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
        return int(OBJECTS + 8 * cells + self.plan_bytes + n * plan.states.size)

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

        check_memory(self, work, n)
        joint = np.empty(self.plan.n_joint)
        elimination_forward(self.plan, nodes, edges, joint, self._scratch())
        return joint

    def moments(self, node_part: np.ndarray, edge_part: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Log Z and the expected statistics of nodes and edges."""
        from mrfbayes.kernels.exact.graph import elimination_moments

        check_memory(self, "moments")
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

    def best(self, node_part: np.ndarray, edge_part: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """The ``k`` configurations of largest weight (at most all there are), (k, d), and their log weights (k,)."""
        from mrfbayes.kernels.exact.graph_logs import elimination_best, forward_logs

        check_memory(self, "maximum", 2 * k)
        joint = np.empty(self.plan.n_joint)
        largest = forward_logs(self.plan, *self._tables(node_part, edge_part), joint, self._scratch(), True)
        x, regret = np.zeros((k, self.plan.states.size), dtype=np.uint8), np.empty(k)
        count = elimination_best(self.plan, joint, k, x, regret)
        return x[:count], largest - regret[:count]
