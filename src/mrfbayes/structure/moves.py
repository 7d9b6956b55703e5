"""The field, the data and the priors as the compiled moves take them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from mrfbayes.base.errors import InputError
from mrfbayes.kernels.structure.moves import FIRST_NODE, FIRST_SHIFT, SECOND_NODE, SECOND_SHIFT, MoveView
from mrfbayes.model.distributions import EXCHANGEABLE
from mrfbayes.model.field import Model
from mrfbayes.model.scales import n_edge_blocks
from mrfbayes.priors import Beta, Cauchy, Distribution, Exchangeable, Logistic, Normal, Prior, Uniform, by_part, parse
from mrfbayes.structure.problem import EdgeBlocks, EdgeFactors, GraphPrior, is_saturated
from mrfbayes.targets.evidence import block_constants

if TYPE_CHECKING:
    from scipy.sparse import csr_array


NO_SLAB = -1.0  # as in mrfbayes.kernels.structure.line (tested)


@dataclass(frozen=True, eq=False)
class Coordinates:
    """How the groups' log-odds are made of coordinates, and the priors of those.

    Attributes
    ----------
    rate : (G, C) log-odds of group g are the sum over c of rate[g, c] times coordinate c
    priors : per coordinate the prior of edges that are there (the slab) and of the node factors
    has_spike : per coordinate whether an edge may be absent in it
    """

    rate: np.ndarray
    priors: tuple[Prior, ...]
    has_spike: tuple[bool, ...]


def slab_distribution(given: object, argument: str = "slab") -> Distribution:
    """The distribution of the edges' log-odds that ``given`` names; see `mrfbayes.priors` for how it is scaled."""
    if isinstance(given, str):
        given = parse(given, argument)
    if not isinstance(given, (Uniform, Beta, Normal, Cauchy, Logistic, Exchangeable)):
        raise InputError(
            f"{argument} = {given!r}: give the distribution of one log-odds, such as 'normal(0, 1)', 'cauchy(0, 2.5)', "
            "'logistic(0, 1)' or 'beta(2, 2)' (of theta)."
        )
    given.encode((1, 1))
    return given


def search_prior(model: Model, slab: object, nodes: object, argument: str = "slab") -> Prior:
    """The prior of edges that are there and of node factors.

    ``slab`` is a distribution for all edges, or None for the default; ``nodes`` a mapping without edges, "uniform", or
    None for the default.
    """
    if nodes is None:
        nodes = {}
    if isinstance(nodes, (str, Uniform, Beta, Normal, Cauchy, Logistic, Exchangeable)):
        if (given := by_part(nodes)).pop("edges") != "default" and not given:
            raise InputError(
                f"prior = {nodes!r}: one distribution is that of the couplings, which is slab= here; give that of the "
                "thresholds as {'nodes': ...}."
            )
        nodes = given
    if not isinstance(nodes, Mapping):
        raise InputError("prior is a function: a search over graphs takes named priors, such as {'nodes': 'uniform'}.")
    if on_edges := [key for key in nodes if key == "edges" or key in model.blocks[: model.n_edges]]:
        raise InputError(
            f"prior has an entry for {on_edges[0]!r}: the prior of an edge that is there is slab=, and how likely "
            "it is to be there edges=; prior= is that of the node factors, as in {'nodes': 'normal(0, 1)'}."
        )
    edges = {} if slab is None else {"edges": slab_distribution(slab, argument)}
    prior = Prior(model, {**edges, **nodes})
    is_table = model.chart.sides[: model.n_edges] > 2
    if (wrong := np.flatnonzero(is_table & (prior.kind[: model.n_edges] != EXCHANGEABLE))).size:
        raise InputError(
            f"{argument} = {slab!r}: edge {model.blocks[int(wrong[0])]!r} has a table of log-odds, which takes "
            "'normal(0, s)' or 'exchangeable(s)', so that no category is special."
        )
    return prior


def named_nodes(model: Model, prior: Prior) -> dict[str, str]:
    """The prior of the node factors as text: one for all nodes, or one per node."""
    first = n_edge_blocks(model)
    own = prior.per_block[first:]
    texts = {name: str(d) for name, d in zip(model.blocks[first:], own, strict=True)}
    for text in dict.fromkeys(texts.values()):
        if Prior(model, {"nodes": text}).per_block[first:] == own:
            return {"nodes": text}
    return texts


def named_edges(model: Model, prior: Prior) -> str:
    """The priors of the edges as text, each once."""
    return ", ".join(dict.fromkeys(map(str, prior.per_block[: model.n_edges])))


def named_thresholds(model: Model, prior: Prior) -> str:
    """The priors of the node factors as text, each once."""
    return ", ".join(dict.fromkeys(named_nodes(model, prior).values()))


def make_moves(
    factors: EdgeFactors,
    counts: np.ndarray,
    n: np.ndarray,
    coordinates: Coordinates,
    graphs: GraphPrior,
    blocks: EdgeBlocks,
) -> MoveView:
    """Everything that the compiled moves need; ``counts`` (G, p) and ``n`` (G,) are those of each group of data."""
    model = factors.model
    frequency = factors.frequencies(counts.sum(axis=0), float(n.sum()))
    centred = np.array(counts, dtype=float)
    numbers: list[np.ndarray] = []
    index = np.zeros((model.n_parameters, 11), dtype=np.int64)
    edge_home, node_home = blocks.home
    pairs = [(edge, k) for edge, size in enumerate(factors.edge_size.tolist()) for k in range(size)]
    order = blocks.order
    for parameter, (edge, k) in enumerate(pairs):
        u, v = order[edge]
        table = factors.edges[edge][k] if model.edges[edge, 0] == u else factors.edges[edge][k].T
        step, shifts = table.copy(), []
        means = (table @ frequency[v], frequency[u] @ table)  # of the statistic, given the state of either end
        for which, node in enumerate((u, v)):
            rows, first = factors.nodes[node], int(factors.first[node])
            shifts.append(np.zeros(len(rows)))
            if is_saturated(rows):
                by_state = means[which] - means[which][rows.sum(axis=0) == 0]
                shifts[-1] = rows @ by_state
                step = step - (by_state[:, None] if which == 0 else by_state[None, :])
                centred[:, parameter] -= counts[:, first : first + len(rows)] @ shifts[-1]
        starts = _append(numbers, step.ravel(), table.ravel(), *shifts)
        index[parameter] = [u, v, *table.shape, *blocks.place(int(edge_home[edge]), u, v), *starts]
    for node, rows in enumerate(factors.nodes):
        place = blocks.place(int(node_home[node]), node)
        for k, row in enumerate(rows):
            start, shift = _append(numbers, row, -np.eye(len(rows))[k])
            index[factors.first[node] + k] = [node, -1, row.size, 1, *place, start, start, shift, 0]
    return MoveView(
        n=np.array(n, dtype=float),
        rate=np.ascontiguousarray(coordinates.rate, dtype=float),
        total=np.ascontiguousarray(coordinates.rate.T @ centred),
        raw_count=np.array(counts, dtype=float),
        layout=index,
        node=np.stack([factors.first, factors.size], axis=1).astype(np.int64),
        number=np.concatenate(numbers),
        edge=np.stack([model.chart.offset[: model.n_edges], factors.edge_size], axis=1).astype(np.int64),
        edge_of=np.where(np.arange(model.n_parameters) < len(pairs), model.chart.block_of, -1).astype(np.int64),
        slab=_slabs(coordinates, factors),
        node_prior=_node_priors(coordinates, factors),
        has_spike=np.array(coordinates.has_spike, dtype=np.int64),
        log_prior_odds=np.array(graphs.log_odds),
        edge_counts=np.array(graphs.counts, dtype=float),
    )


def centring(moves: MoveView) -> csr_array:
    """K (p, p): statistics s (G, p) enter the moves as s K, an edge's less what its nodes' own parameters take over."""
    from scipy.sparse import coo_array

    m, p = int((moves.edge_of >= 0).sum()), moves.total.shape[1]
    rows, columns, values = [np.arange(p)], [np.arange(p)], [np.ones(p)]
    for edge, index in enumerate(moves.layout[:m]):
        for node, start in ((index[FIRST_NODE], index[FIRST_SHIFT]), (index[SECOND_NODE], index[SECOND_SHIFT])):
            first, size = moves.node[node]
            rows.append(np.arange(first, first + size))
            columns.append(np.full(size, edge))
            values.append(-moves.number[start : start + size])
    entries = np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))
    return coo_array(entries, shape=(p, p)).tocsr()


def _append(numbers: list[np.ndarray], *parts: np.ndarray) -> list[int]:
    """Append arrays to those that will stand one after the other; where each of them starts."""
    first = sum(part.size for part in numbers)
    numbers.extend(np.asarray(part, dtype=float) for part in parts)
    return [first + sum(part.size for part in parts[:k]) for k in range(len(parts))]


def _slabs(coordinates: Coordinates, factors: EdgeFactors) -> np.ndarray:
    """(C, p, 5): kind, three parameters, and the log of the constant of the whole edge."""
    chart, m = factors.model.chart, factors.n_edges
    found = np.zeros((len(coordinates.priors), chart.n_parameters, 5))
    found[:, :, 0] = NO_SLAB
    block = chart.block_of[: factors.n_edge_parameters]
    for c, prior in enumerate(coordinates.priors):
        wide = min(prior.values.shape[1], 3)
        own = found[c, : block.size]
        own[:, 0], own[:, 1 : 1 + wide] = prior.kind[block], prior.values[block, :wide]
        own[:, 4] = block_constants(prior)[:m][block]
    return found


def _node_priors(coordinates: Coordinates, factors: EdgeFactors) -> np.ndarray:
    """(C, d, 1 + R): kind and parameters; R is wide enough for the tables of edges, too."""
    most = int(factors.edge_size.max(initial=1))
    wide = max(2, int(factors.size.max(initial=0)) + 1, most if most == 1 else max(most, 3))
    found = np.zeros((len(coordinates.priors), len(factors.nodes), 1 + wide))
    for c, prior in enumerate(coordinates.priors):
        for node in np.flatnonzero(factors.size):
            block = factors.model.chart.block_of[factors.first[node]]
            values = prior.values[block, :wide]
            found[c, node, 0] = prior.kind[block]
            found[c, node, 1 : 1 + values.size] = values
    return found
