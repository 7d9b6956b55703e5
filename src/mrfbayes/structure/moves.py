"""The field, the data and the priors as the compiled moves take them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from mrfbayes.base.errors import InputError
from mrfbayes.model.field import Model
from mrfbayes.model.scales import n_edge_blocks
from mrfbayes.priors import Beta, Cauchy, Distribution, Logistic, Normal, Prior, Uniform, parse
from mrfbayes.structure.edge_blocks import EdgeBlocks
from mrfbayes.structure.factors import EdgeFactors, is_saturated
from mrfbayes.structure.graph_priors import GraphPrior

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from mrfbayes.kernels.structure.moves import MoveView


NO_SLAB = -1.0  # as in mrfbayes.kernels.structure.line (tested)


@dataclass(frozen=True, eq=False)
class Coordinates:
    """How the groups' log-odds are made of coordinates, and the priors of those.

    Attributes
    ----------
    rate : (G, C) log-odds of group g are the sum over c of rate[g, c] times coordinate c
    slabs : per coordinate the prior of an edge that is there
    nodes : per coordinate the prior of the node factors
    has_spike : per coordinate whether an edge may be absent in it
    """

    rate: np.ndarray
    slabs: tuple[Distribution, ...]
    nodes: tuple[Prior, ...]
    has_spike: tuple[bool, ...]


def slab_distribution(given: object, argument: str = "slab") -> Distribution:
    """The distribution of an edge's log-odds that ``given`` names."""
    if isinstance(given, str):
        given = parse(given)
    if not isinstance(given, (Uniform, Beta, Normal, Cauchy, Logistic)):
        raise InputError(
            f"{argument} = {given!r}: give the distribution of one log-odds, such as 'normal(0, 1)', 'cauchy(0, 2.5)', "
            "'logistic(0, 1)' or 'beta(2, 2)' (of theta)."
        )
    given.encode(2)
    return given


def log_constant(slab: Distribution) -> float:
    """Log of what makes the slab's density integrate to one."""
    if isinstance(slab, Normal):
        return -math.log(slab.scale * math.sqrt(2 * math.pi))
    if isinstance(slab, Cauchy):
        return -math.log(slab.scale * math.pi)
    if isinstance(slab, Logistic):
        return -math.log(slab.scale)
    if isinstance(slab, Beta):
        return math.lgamma(slab.a + slab.b) - math.lgamma(slab.a) - math.lgamma(slab.b)
    return 0.0


def log_density_at_zero(slab: Distribution) -> float:
    """Log density of the slab where an edge has no strength."""
    if isinstance(slab, (Normal, Cauchy, Logistic)):
        z = abs(slab.location / slab.scale)
        if isinstance(slab, Normal):
            return log_constant(slab) - 0.5 * z * z
        return log_constant(slab) - (
            math.log1p(z * z) if isinstance(slab, Cauchy) else z + 2 * math.log1p(math.exp(-z))
        )
    a, b = (slab.a, slab.b) if isinstance(slab, Beta) else (1.0, 1.0)
    return log_constant(slab) - (a + b) * math.log(2)


def node_prior(model: Model, given: object) -> Prior:
    """The prior of the node factors; ``given`` is a mapping without edges, or one distribution for all nodes."""
    if given is None:
        given = {}
    if isinstance(given, (str, Uniform, Beta, Normal, Cauchy, Logistic)):
        given = {"nodes": given}
    if isinstance(given, dict):
        on_edges = [key for key in given if key == "edges" or key in model.blocks[: model.n_edges]]
        if on_edges:
            raise InputError(
                f"prior has an entry for {on_edges[0]!r}: the prior of an edge that is there is slab=, and how likely "
                "it is to be there edges=; prior= is that of the node factors, as in {'nodes': 'normal(0, 1)'}."
            )
    prior = Prior(model, given)
    if prior.custom is not None:
        raise InputError("prior is a function: a search over graphs takes named priors, such as {'nodes': 'uniform'}.")
    return prior


def named_nodes(model: Model, prior: Prior) -> dict[str, str]:
    """The prior of the node factors as text: one for all nodes, or one per node."""
    first = n_edge_blocks(model)
    texts = {name: str(d) for name, d in zip(model.blocks[first:], prior.per_block[first:], strict=True)}
    return {"nodes": next(iter(texts.values()))} if len(set(texts.values())) == 1 else texts


def make_moves(
    factors: EdgeFactors,
    counts: np.ndarray,
    n: np.ndarray,
    coordinates: Coordinates,
    graphs: GraphPrior,
    blocks: EdgeBlocks,
) -> MoveView:
    """Everything that the compiled moves need; ``counts`` (G, p) and ``n`` (G,) are those of each group of data."""
    from mrfbayes.kernels.structure.moves import MoveView

    model = factors.model
    frequency = factors.frequencies(counts.sum(axis=0), float(n.sum()))
    centred = np.array(counts, dtype=float)
    numbers = _Numbers()
    index = np.zeros((model.n_parameters, 11), dtype=np.int64)
    edge_home, node_home = blocks.home
    for edge, (u, v) in enumerate(blocks.order):
        table = factors.edges[edge] if model.edges[edge, 0] == u else factors.edges[edge].T
        step, shifts = table.copy(), []
        means = (table @ frequency[v], frequency[u] @ table)  # of the statistic, given the state of either end
        for which, node in enumerate((u, v)):
            rows, first = factors.nodes[node], int(factors.first[node])
            shifts.append(np.zeros(len(rows)))
            if is_saturated(rows):
                by_state = means[which] - means[which][rows.sum(axis=0) == 0]
                shifts[-1] = rows @ by_state
                step = step - (by_state[:, None] if which == 0 else by_state[None, :])
                centred[:, edge] -= counts[:, first : first + len(rows)] @ shifts[-1]
        starts = numbers.append(step.ravel(), table.ravel(), *shifts)
        index[edge] = [u, v, *table.shape, *blocks.place(int(edge_home[edge]), u, v), *starts]
    for node, rows in enumerate(factors.nodes):
        place = blocks.place(int(node_home[node]), node)
        for k, row in enumerate(rows):
            (start, shift) = numbers.append(row, -np.eye(len(rows))[k])
            index[factors.first[node] + k] = [node, -1, row.size, 1, *place, start, start, shift, 0]
    return MoveView(
        n=np.array(n, dtype=float),
        rate=np.ascontiguousarray(coordinates.rate, dtype=float),
        total=np.ascontiguousarray(coordinates.rate.T @ centred),
        raw_count=np.array(counts, dtype=float),
        layout=index,
        node=np.stack([factors.first, factors.size], axis=1).astype(np.int64),
        number=numbers.together(),
        slab=_slabs(coordinates, model.n_edges, model.n_parameters),
        node_prior=_node_priors(coordinates, factors),
        has_spike=np.array(coordinates.has_spike, dtype=np.int64),
        log_prior_odds=np.array(graphs.log_odds),
        edge_counts=np.array(graphs.counts, dtype=float),
    )


def centring(moves: MoveView) -> csr_array:
    """K (p, p): statistics s (G, p) enter the moves as s K, an edge's less what its nodes' own parameters take over."""
    from scipy.sparse import coo_array

    from mrfbayes.kernels.structure.moves import FIRST_NODE, FIRST_SHIFT, SECOND_NODE, SECOND_SHIFT

    m, p = moves.log_prior_odds.size, moves.total.shape[1]
    rows, columns, values = [np.arange(p)], [np.arange(p)], [np.ones(p)]
    for edge, index in enumerate(moves.layout[:m]):
        for node, start in ((index[FIRST_NODE], index[FIRST_SHIFT]), (index[SECOND_NODE], index[SECOND_SHIFT])):
            first, size = moves.node[node]
            rows.append(np.arange(first, first + size))
            columns.append(np.full(size, edge))
            values.append(-moves.number[start : start + size])
    entries = np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))
    return coo_array(entries, shape=(p, p)).tocsr()


class _Numbers:
    """Arrays one after the other, and where each starts."""

    def __init__(self) -> None:
        self._parts: list[np.ndarray] = []
        self._size = 0

    def append(self, *parts: np.ndarray) -> list[int]:
        """Where each of the parts starts."""
        starts = []
        for part in parts:
            starts.append(self._size)
            self._parts.append(np.asarray(part, dtype=float))
            self._size += part.size
        return starts

    def together(self) -> np.ndarray:
        """All of them."""
        return np.concatenate(self._parts)


def _slabs(coordinates: Coordinates, n_edges: int, n_parameters: int) -> np.ndarray:
    found = np.zeros((len(coordinates.slabs), n_parameters, 4))
    found[:, :, 0] = NO_SLAB
    for c, slab in enumerate(coordinates.slabs):
        kind, values = slab.encode(2)
        found[c, :n_edges] = [float(kind), *values, log_constant(slab)]
    return found


def _node_priors(coordinates: Coordinates, factors: EdgeFactors) -> np.ndarray:
    wide = max(2, int(factors.size.max(initial=0)) + 1)
    found = np.zeros((len(coordinates.nodes), len(factors.nodes), 1 + wide))
    for c, prior in enumerate(coordinates.nodes):
        for node in np.flatnonzero(factors.size):
            block = factors.model.chart.block_of[factors.first[node]]
            values = prior.values[block, :wide]
            found[c, node, 0] = prior.kind[block]
            found[c, node, 1 : 1 + values.size] = values
    return found
