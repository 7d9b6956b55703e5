"""Blocks of nodes on whose joint table the edges and nodes are updated, for each engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from mrfbayes.model.field import Model

if TYPE_CHECKING:
    from mrfbayes.kernels.structure.moves import BlockView

GROUP_CELLS = (
    16  # configurations of a group of nodes: a block of two groups has a table that fits the first-level cache
)


@dataclass(frozen=True, eq=False)
class Blocks:
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

    @property
    def n_cells(self) -> list[int]:
        """Configurations of each block."""
        return [int(np.prod(self.model.states[list(nodes)])) for nodes in self.nodes]

    @property
    def edge_shape(self) -> np.ndarray:
        """(m, 3) configurations of its block's nodes before, between and after the two nodes of each edge."""
        shape = np.ones((self.model.n_edges, 3), dtype=np.int64)
        order = self.order
        for nodes, edges in zip(self.nodes, self.edges, strict=True):
            radix = self.model.states[list(nodes)]
            for edge in edges:
                i, j = (nodes.index(end) for end in order[edge])
                shape[edge] = [radix[:i].prod(), radix[i + 1 : j].prod(), radix[j + 1 :].prod()]
        return shape

    @property
    def node_shape(self) -> np.ndarray:
        """(d, 2) configurations of its block's nodes before and after each node."""
        shape = np.ones((self.model.n_nodes, 2), dtype=np.int64)
        for nodes, updated in zip(self.nodes, self.updated, strict=True):
            radix = self.model.states[list(nodes)]
            for node in updated:
                i = nodes.index(node)
                shape[node] = [radix[:i].prod(), radix[i + 1 :].prod()]
        return shape

    def view(self) -> BlockView:
        """What each block updates, as the kernels take it."""
        from mrfbayes.kernels.structure.moves import BlockView

        return BlockView(
            _offsets(self.edges),
            np.array([e for edges in self.edges for e in edges], dtype=np.int64),
            _offsets(self.updated),
            np.array([i for nodes in self.updated for i in nodes], dtype=np.int64),
        )


def _offsets(parts: Sequence[Sequence[int]]) -> np.ndarray:
    return np.concatenate([[0], np.cumsum([len(part) for part in parts])]).astype(np.int64)


def node_groups(model: Model, limit: int = GROUP_CELLS) -> list[list[int]]:
    """Runs of nodes with at most ``limit`` configurations each, of about equal size; one where two would do."""
    logs = np.log(model.states)
    if np.exp(logs.sum()) <= limit * limit * 1.001:
        return [list(range(model.n_nodes))]
    count = int(np.ceil(logs.sum() / np.log(limit) - 1e-9))
    while True:
        share, groups, current = logs.sum() / count, [[0]], logs[0]
        for node in range(1, model.n_nodes):
            if current + logs[node] > max(share, logs[node]) + 1e-9 and len(groups) < count:
                groups.append([])
                current = 0.0
            groups[-1].append(node)
            current += logs[node]
        if max(np.exp(logs[group].sum()) for group in groups) <= max(limit, int(model.states.max())) * 1.001:
            return groups
        count += 1


def pair_blocks(model: Model) -> tuple[Blocks, list[list[int]], list[tuple[int, int]]]:
    """Blocks that are pairs of groups: every edge lies in one. Also the groups, and which two each block joins."""
    groups = node_groups(model)
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
    return Blocks(tuple(nodes), tuple(map(tuple, edges)), tuple(map(tuple, updated)), model), groups, pairs
