"""A model taken apart for a search over its graph: the statistics of each edge, one factor per node."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mrfbayes.base.errors import InputError
from mrfbayes.model.field import Model
from mrfbayes.model.parameter_kinds import parameter_kind


@dataclass(frozen=True, eq=False)
class EdgeFactors:
    """The factors of a model whose edges have a block of parameters each.

    Attributes
    ----------
    model : the field with all edges that may be there
    edges : per edge its statistics, (k, r_u, r_v) tables in the direction of ``model.edges``; block e is that of edge e
    nodes : per node the statistics of its parameters, an (r,) row each; no rows where it has no factor
    first : (d,) the first parameter of each node
    """

    model: Model
    edges: tuple[np.ndarray, ...]
    nodes: tuple[np.ndarray, ...]
    first: np.ndarray

    @property
    def n_edges(self) -> int:
        """Number of edges that may be there."""
        return len(self.edges)

    @property
    def n_edge_parameters(self) -> int:
        """Number of parameters of all edges; they are the first ones."""
        return int(self.model.chart.offset[self.n_edges])

    @cached_property
    def edge_size(self) -> np.ndarray:
        """(m,) number of parameters of each edge."""
        return np.array([len(tables) for tables in self.edges], dtype=np.int64)

    @cached_property
    def size(self) -> np.ndarray:
        """(d,) number of parameters of each node."""
        return np.array([len(rows) for rows in self.nodes], dtype=np.int64)

    def frequencies(self, counts: np.ndarray, n: float) -> list[np.ndarray]:
        """Per node the smoothed frequencies of its states; equal ones where its factor does not tell them apart."""
        found = []
        for node, rows in enumerate(self.nodes):
            states = int(self.model.states[node])
            weight = np.full(states, n / states)
            if is_saturated(rows):
                named = counts[self.first[node] : self.first[node] + len(rows)]
                weight = rows.T @ named + (n - named.sum()) * (rows.sum(axis=0) == 0)
            found.append((weight + 0.5) / (n + 0.5 * states))
        return found


def is_saturated(rows: np.ndarray) -> bool:
    """Whether a node's factor has a parameter for every state but one: it can take over any function of the node."""
    if not len(rows):
        return False
    return bool(len(rows) == rows.shape[1] - 1 and ((rows == 0) | (rows == 1)).all() and (rows.sum(axis=1) == 1).all())


def edge_factors(model: Model) -> EdgeFactors:
    """``model`` taken apart, or an `InputError` that says why a search over its edges is not possible."""
    m, d = model.n_edges, model.n_nodes
    if m == 0:
        raise InputError("model has no edges: there is nothing to select; give it all edges that may be there.")
    edges: list[np.ndarray | None] = [None] * m
    nodes: list[np.ndarray] = [np.zeros((0, int(r))) for r in model.states]
    first = np.zeros(d, dtype=np.int64)
    seen: set[int] = set()
    position = {tuple(pair): k for k, pair in enumerate(model.edges.tolist())}
    for group in model.groups:
        for scope, block in zip(group.scope.tolist(), group.block.tolist(), strict=True):
            name = model.blocks[block]
            if block in seen:
                raise InputError(
                    f"model: block {name!r} ties several factors (tied=), and a shared parameter cannot be in one edge "
                    "and out of another: build the model with tied=False."
                )
            seen.add(block)
            if group.arity == 1:
                node = scope[0]
                if len(nodes[node]):
                    raise InputError(f"model: node {model.nodes[node]!r} has two factors; give it one.")
                nodes[node] = group.statistics
                first[node] = model.chart.offset[block]
                continue
            if group.sides != 2 and parameter_kind(group).kind != "table":
                raise InputError(
                    f"model: edge {name!r} is a die with {group.sides - 1} free parameters that is no table with a "
                    "reference category: use coupling='agreement', 'both-one', 'score' or 'table'."
                )
            is_forward = tuple(scope) in position
            edge = position[tuple(scope) if is_forward else (scope[1], scope[0])]
            if edges[edge] is not None:
                raise InputError(f"model: edge {name!r} has two factors; give it one.")
            if block != edge:
                raise InputError(f"model: the parameters of edge {name!r} are not in the order of model.edges.")
            tables = group.statistics
            edges[edge] = np.ascontiguousarray(tables if is_forward else tables.transpose(0, 2, 1))
    return EdgeFactors(model, tuple(tables for tables in edges if tables is not None), tuple(nodes), first)
