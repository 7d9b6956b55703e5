"""The parts of a search over the graph of a model: its factors, the blocks that are updated together, and the prior."""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mrfbayes.base.errors import InputError
from mrfbayes.kernels.structure.moves import BlockView
from mrfbayes.model.field import Model, require_model


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
        for states, weight in zip(self.model.states.tolist(), self.state_counts(counts, n), strict=True):
            known = np.full(states, n / states) if weight is None else weight
            found.append((known + 0.5) / (n + 0.5 * states))
        return found

    def state_counts(self, counts: np.ndarray, n: float) -> list[np.ndarray | None]:
        """Per node how many of n rows are in each of its states; None where its factor does not tell them apart."""
        found: list[np.ndarray | None] = []
        for node, rows in enumerate(self.nodes):
            named = counts[self.first[node] : self.first[node] + len(rows)]
            found.append(rows.T @ named + (n - named.sum()) * (rows.sum(axis=0) == 0) if is_saturated(rows) else None)
        return found


def is_saturated(rows: np.ndarray) -> bool:
    """Whether a node's factor has a parameter for every state but one: it can take over any function of the node."""
    if not len(rows):
        return False
    return bool(len(rows) == rows.shape[1] - 1 and ((rows == 0) | (rows == 1)).all() and (rows.sum(axis=1) == 1).all())


def edge_factors(model: Model) -> EdgeFactors:
    """``model`` taken apart, or an `InputError` that says why a search over its edges is not possible."""
    require_model(model)
    if model.field is not model:
        raise InputError(
            "model has covariates: a search over graphs, or of differences between groups, is one of the field without "
            "them (model.field); which couplings they change is said by select_effects."
        )
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
            if group.sides != 2 and group.kind.kind != "table":
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


PER_EDGE = "probabilities per edge"
_CHOICES = "'bernoulli(0.5)', 'beta-bernoulli(1, 1)', or one probability per edge (a sequence, or a mapping by name)"


@dataclass(frozen=True)
class GraphPrior:
    """Edges are there independently, or exchangeably with a beta-distributed density.

    Attributes
    ----------
    probability : (m,) prior probability of each edge
    counts : (a, b) of a beta-bernoulli prior, (0, 0) otherwise
    text : as the user wrote it
    """

    probability: np.ndarray
    counts: tuple[float, float]
    text: str

    @property
    def log_odds(self) -> np.ndarray:
        """(m,) marginal prior log-odds; infinite where an edge is there for certain."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.probability) - np.log1p(-self.probability))

    def log_probability(self, present: np.ndarray) -> np.ndarray:
        """Log prior probability of graphs (..., m)."""
        from scipy.special import betaln

        present = np.asarray(present, dtype=bool)
        if self.counts[0] > 0:
            a, b = self.counts
            size = present.sum(axis=-1)
            return np.asarray(betaln(a + size, b + present.shape[-1] - size) - betaln(a, b))
        with np.errstate(divide="ignore"):
            logs = np.where(present, np.log(self.probability), np.log1p(-self.probability))
        return np.asarray(logs.sum(axis=-1))

    def size_probability(self) -> np.ndarray:
        """(m + 1,) prior probabilities of the numbers of edges."""
        from scipy.special import betaln, gammaln

        m = self.probability.size
        if self.counts[0] > 0:
            a, b = self.counts
            k = np.arange(m + 1)
            choices = gammaln(m + 1) - gammaln(k + 1) - gammaln(m - k + 1)
            return np.asarray(np.exp(choices + betaln(a + k, b + m - k) - betaln(a, b)))
        found = np.ones(1)
        for probability in self.probability:
            found = np.convolve(found, [1.0 - probability, probability])
        return found

    def __str__(self) -> str:
        return self.text


def graph_prior(model: Model, given: object, argument: str = "edges") -> GraphPrior:
    """The prior that ``edges=`` (or another argument) asks for."""
    m = model.n_edges
    if isinstance(given, str):
        name, _, rest = given.strip().partition("(")
        try:
            values = ast.literal_eval(f"({rest[:-1]},)") if rest.endswith(")") and rest[:-1].strip() else None
            numbers = None if values is None else [float(value) for value in values]
        except (TypeError, ValueError, SyntaxError):
            numbers = None
        name = name.strip().lower()
        if numbers is None or (name, len(numbers)) not in (("bernoulli", 1), ("beta-bernoulli", 2)):
            raise InputError(f"{argument} = {given!r}: give {_CHOICES}.")
        if name == "bernoulli":
            return GraphPrior(_probabilities(model, [numbers[0]] * m, argument), (0.0, 0.0), given)
        a, b = numbers
        if not (a > 0 and b > 0 and math.isfinite(a) and math.isfinite(b)):
            raise InputError(f"{argument} = {given!r}: both numbers of a beta distribution are positive.")
        return GraphPrior(np.full(m, a / (a + b)), (a, b), given)
    if isinstance(given, Mapping):
        unknown = [name for name in given if name not in model.blocks[:m]]
        lacking = [name for name in model.blocks[:m] if name not in given]
        if unknown or lacking:
            which = f"no edge is called {unknown[0]!r}" if unknown else f"edge {lacking[0]!r} has no probability"
            raise InputError(f"{argument}: {which}; name every edge as in model.parameters.")
        given = [given[name] for name in model.blocks[:m]]
    try:
        values = np.asarray(given, dtype=float)
    except (TypeError, ValueError):
        raise InputError(f"{argument} = {given!r}: give {_CHOICES}.") from None
    if values.shape != (m,):
        raise InputError(f"{argument} has shape {values.shape}, the model has {m} edges: give {_CHOICES}.")
    return GraphPrior(_probabilities(model, values, argument), (0.0, 0.0), PER_EDGE)


def _probabilities(model: Model, values: object, argument: str) -> np.ndarray:
    array = np.asarray(values, dtype=float)
    if (bad := np.flatnonzero(~((array > 0) & (array <= 1)))).size:
        e = int(bad[0])
        raise InputError(
            f"{argument}: {array[e]:g} for {model.blocks[e]!r} is not a prior probability in (0, 1]; leave an edge out "
            "of the model to rule it out, give 1 to have it in for certain."
        )
    return array
