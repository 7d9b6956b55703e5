"""Blocks of nodes on whose joint table the edges and nodes are updated, for each engine."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from mrfbayes.model.field import Model

if TYPE_CHECKING:
    from mrfbayes.kernels.structure.moves import BlockView

# Configurations of a group of nodes: a block of two groups has a table that fits the first-level cache. Passes over
# thousands of samples cost more than those over a table, so that fewer and larger blocks pay there.
GROUP_CELLS, SAMPLE_GROUP_CELLS = 16, 32


@dataclass(frozen=True, eq=False)
class EdgeBlocks:
    """Blocks, each a sequence of nodes (the first one is the slowest digit of its table) with what it updates."""

    nodes: tuple[tuple[int, ...], ...]
    edges: tuple[tuple[int, ...], ...]
    updated: tuple[tuple[int, ...], ...]
    model: Model

    @property
    def order(self) -> list[tuple[int, int]]:
        """Per edge its two nodes in the order of its block."""
        found: dict[int, tuple[int, int]] = {}
        for nodes, edges in zip(self.nodes, self.edges, strict=True):
            for edge in edges:
                u, v = self.model.edges[edge].tolist()
                found[edge] = (u, v) if nodes.index(u) < nodes.index(v) else (v, u)
        return [found[edge] for edge in range(self.model.n_edges)]

    @cached_property
    def n_cells(self) -> list[int]:
        """Configurations of each block."""
        return [int(np.prod(self.model.states[list(nodes)])) for nodes in self.nodes]

    def place(self, block: int, *nodes: int) -> list[int]:
        """Configurations of the block's nodes before, between and after one or two of them, in their order."""
        radix = self.model.states[list(self.nodes[block])]
        at = [self.nodes[block].index(node) for node in nodes]
        between = radix[at[0] + 1 : at[-1]] if len(at) == 2 else radix[:0]
        return [int(radix[: at[0]].prod()), int(between.prod()), int(radix[at[-1] + 1 :].prod())]

    @cached_property
    def home(self) -> tuple[np.ndarray, np.ndarray]:
        """The blocks that update each edge and each node."""
        edges, nodes = np.empty(self.model.n_edges, dtype=np.int64), np.empty(self.model.n_nodes, dtype=np.int64)
        for block, (some, updated) in enumerate(zip(self.edges, self.updated, strict=True)):
            edges[list(some)] = block
            nodes[list(updated)] = block
        return edges, nodes

    def view(self, first: np.ndarray, size: np.ndarray) -> BlockView:
        """The parameters that each block updates; ``first`` and ``size`` (d,) are those of the nodes."""
        from mrfbayes.kernels.structure.moves import BlockView

        offset = self.model.chart.offset
        parameters = [
            [
                *(j for edge in edges for j in range(int(offset[edge]), int(offset[edge + 1]))),
                *(int(first[node]) + k for node in nodes for k in range(int(size[node]))),
            ]
            for edges, nodes in zip(self.edges, self.updated, strict=True)
        ]
        flat = np.array([j for some in parameters for j in some], dtype=np.int64)
        return BlockView(np.concatenate([[0], np.cumsum([len(some) for some in parameters])]).astype(np.int64), flat)


def node_groups(model: Model, limit: int = GROUP_CELLS) -> list[list[int]]:
    """Runs of nodes with at most ``limit`` configurations each, or single nodes; one where two would do."""
    logs = np.log(model.states)
    if np.exp(logs.sum()) <= limit * limit * 1.001:
        return [list(range(model.n_nodes))]
    groups: list[list[int]] = [[]]
    for node in range(model.n_nodes):
        if groups[-1] and logs[[*groups[-1], node]].sum() > np.log(limit) + 1e-9:
            groups.append([])
        groups[-1].append(node)
    return groups


def pair_blocks(model: Model, limit: int = GROUP_CELLS) -> tuple[EdgeBlocks, list[list[int]], list[tuple[int, int]]]:
    """Blocks that are pairs of groups: every edge lies in one. Also the groups, and which two each block joins."""
    groups = node_groups(model, limit)
    pairs = [(0, 0)] if len(groups) == 1 else [(g, h) for g in range(len(groups)) for h in range(g + 1, len(groups))]
    place = np.empty(model.n_nodes, dtype=np.int64)
    for g, group in enumerate(groups):
        place[group] = g
    home = {g: next(k for k, pair in enumerate(pairs) if g in pair) for g in range(len(groups))}
    number = {pair: k for k, pair in enumerate(pairs)}
    edges: list[list[int]] = [[] for _ in pairs]
    updated: list[list[int]] = [[] for _ in pairs]
    for edge, (u, v) in enumerate(model.edges.tolist()):
        g, h = sorted((int(place[u]), int(place[v])))
        edges[home[g] if g == h else number[g, h]].append(edge)
    for node in range(model.n_nodes):
        updated[home[int(place[node])]].append(node)
    nodes = [tuple(groups[g]) + (tuple(groups[h]) if h != g else ()) for g, h in pairs]
    return EdgeBlocks(tuple(nodes), tuple(map(tuple, edges)), tuple(map(tuple, updated)), model), groups, pairs
