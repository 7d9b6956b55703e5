"""Marginal and joint probabilities, unconditional or given the states of other nodes.

Past the reach of exact sums there is loopy belief propagation: exact on trees. On graphs with cycles a message comes
back to where it started and is counted again, so that strong couplings make marginals too sure; on frustrated cycles
messages may not settle at all. Yedidia, Freeman and Weiss (2005), "Constructing free-energy approximations and
generalized belief propagation algorithms".
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
import pandas as pd

from mrfbayes.base.checks import one_of, require_memory
from mrfbayes.base.errors import CostError, InputError, SamplingError
from mrfbayes.exact.held import HeldField, held_field
from mrfbayes.exact.recursions import refused
from mrfbayes.methods.laplace.bethe import BeliefGraph, propagate
from mrfbayes.model.field import Model
from mrfbayes.queries.points import QUERY_DRAWS, Answer, Held, Points, ThetaLike, points

MOST_JOINT_CELLS = 2**16  # configurations of a joint table, each a sum over the rest of the field
INSTEAD_OF_MARGINALS = "use method='loopy' (approximate), hold more nodes with given=, or count rows of mb.simulate"
LOOPY_TOLERANCE = 1e-9  # of a message, in log-odds
LOOPY_SWEEPS = 2_000
LOOPY_DAMPINGS = (0.0, 0.5, 0.9)
FIRST_MESSAGE_SD = 1e-3  # of the first messages, which must not be an unstable symmetric fixed point
LOOPY_NOTE = (
    "Loopy belief propagation counts evidence again that comes back around cycles: where couplings on short cycles are "
    "strong its marginals are too sure, and it may break a symmetry that the field has. Compare with mb.simulate."
)


@dataclass(frozen=True, eq=False, repr=False)
class Marginals(Answer):
    """Marginal probabilities; see `mrfbayes.marginals`.

    Attributes
    ----------
    table : pandas.DataFrame
        Index (node, state), column ``probability``; for a posterior also ``sd`` and the ends of the interval.
    pairs : pandas.DataFrame or None
        Index (node, other, state, other_state), the same columns; None where no pairs were asked for.
    """

    pairs: pd.DataFrame | None = None


@dataclass(frozen=True, eq=False, repr=False)
class JointProbabilities(Answer):
    """Joint probabilities of several nodes, one row per configuration; see `mrfbayes.joint`."""


def marginals(
    model: Model,
    theta: ThetaLike,
    *,
    nodes: Iterable[str] | None = None,
    pairs: Iterable[tuple[str, str]] | Literal["edges"] | None = None,
    given: Held | None = None,
    method: Literal["exact", "loopy"] = "exact",
    draws: int = QUERY_DRAWS,
    ci_prob: float = 0.9,
) -> Marginals:
    """Marginal probabilities of nodes and pairs, given the states of other nodes.

    Parameters
    ----------
    model : Model
        The field.
    theta : (p,) array_like, Ising or Posterior
        Parameters in the order of ``model.parameters``; of a posterior, every answer has an interval.
    nodes : iterable of str, default all that are not held
        Nodes whose marginals are wanted.
    pairs : iterable of (str, str) or "edges", optional
        Pairs whose joint probabilities are wanted, joined by an edge or not; "edges" for all edges between ``nodes``.
    given : mapping of str to label, optional
        Nodes that are held, and their states: labels where the model has a schema, else numbers from 0.
    method : {"exact", "loopy"}
        "loopy" is belief propagation, which is approximate unless the graph is a tree.
    draws : int, default 200
        Draws of a posterior that are used.
    ci_prob : float, default 0.9
        Probability of the intervals of a posterior.

    Returns
    -------
    Marginals
        A table with one row per node, or pair, and state.

    Raises
    ------
    InputError
        If a pair shares no edge and the method has beliefs of edges only.
    CostError
        Where the exact sum does not fit into memory. Names what to do instead.

    See Also
    --------
    joint : joint probabilities of any set of nodes.
    Posterior.predict : probabilities for many rows at once.

    Examples
    --------
    >>> import mrfbayes as mb
    >>> model = mb.graph([("a", "b"), ("b", "c")])
    >>> mb.marginals(model, 0.8, nodes=["c"], given={"a": 1}).table["probability"].round(2).tolist()
    [0.32, 0.68]
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    at = points(model, theta, draws, ci_prob)
    one_of("method", method, ("exact", "loopy"))
    known, pattern = at.given(given)
    asked = at.asked(nodes, known)
    chosen = _pairs(at, pairs, known, asked)
    wanted = sorted({*asked, *itertools.chain.from_iterable(chosen)})
    field = held_field(model, known, wanted if len(wanted) + len(known) < model.n_nodes else None)
    n_cells = int(field.node_offset[-1] + field.edge_offset[-1])
    require_memory(16 * n_cells * len(at.log_odds), "marginals at every draw", "ask for fewer draws=")
    where = {frozenset(ends): e for e, ends in enumerate(field.free[field.edges].tolist())}
    apart = [pair for pair in chosen if frozenset(pair) not in where]
    if method == "loopy" and apart:
        first, second = (model.nodes[i] for i in apart[0])
        raise InputError(
            f"pairs: {first!r} and {second!r} share no edge, and method='loopy' has beliefs of edges only: leave the "
            "pair out, or use method='exact'."
        )

    beliefs = partial(loopy_marginals, field) if method == "loopy" else field.marginals
    with refused(INSTEAD_OF_MARGINALS):
        values = at.each(lambda w: np.concatenate(beliefs(w, pattern)))
        others = {pair: at.each(_joint_of(model, known, pattern, pair)) for pair in apart}
    table = _node_table(at, field, asked, values)
    pair_table = _pair_table(at, field, chosen, where, values, others) if pairs is not None else None
    shape = (field.free.size, field.free.size)
    graph = coo_array((np.ones(len(field.edges)), tuple(field.edges.T)), shape=shape)
    n_trees = int(connected_components(graph, directed=False)[0])
    is_exact = method == "exact" or len(field.edges) == field.free.size - n_trees
    way = "elimination" if method == "exact" else "loopy belief propagation"
    return Marginals(table, way, is_exact, () if is_exact else (LOOPY_NOTE,), pair_table)


def joint(
    model: Model,
    theta: ThetaLike,
    nodes: Iterable[str],
    *,
    given: Held | None = None,
    draws: int = QUERY_DRAWS,
    ci_prob: float = 0.9,
) -> JointProbabilities:
    """Joint probabilities of several nodes, given the states of others.

    Parameters
    ----------
    model : Model
        The field.
    theta : (p,) array_like, Ising or Posterior
        Parameters in the order of ``model.parameters``; of a posterior, every answer has an interval.
    nodes : iterable of str
        Nodes whose joint distribution is wanted; they need not share edges.
    given : mapping of str to label, optional
        Nodes that are held, and their states.
    draws : int, default 200
        Draws of a posterior that are used.
    ci_prob : float, default 0.9
        Probability of the intervals of a posterior.

    Returns
    -------
    JointProbabilities
        Its table has one row per configuration of ``nodes``, the last node's state changing fastest.

    Raises
    ------
    CostError
        Where the configurations are too many, or the sum over the other nodes does not fit into memory.

    See Also
    --------
    marginals : of single nodes and of pairs.

    Examples
    --------
    >>> import mrfbayes as mb
    >>> model = mb.graph([("a", "b"), ("b", "c")])
    >>> mb.joint(model, 0.8, ["a", "c"]).table["probability"].round(2).tolist()
    [0.34, 0.16, 0.16, 0.34]
    """
    at = points(model, theta, draws, ci_prob)
    known, pattern = at.given(given)
    asked = at.asked(nodes, known)
    cells = math.prod(int(model.states[i]) for i in asked)
    if cells > MOST_JOINT_CELLS:
        raise CostError(
            f"nodes: {len(asked)} nodes have {cells:.3g} configurations, more than {MOST_JOINT_CELLS:,}: name fewer "
            "nodes, ask mb.most_probable, or count rows of mb.simulate."
        )
    with refused("name fewer nodes, hold more with given=, or count rows of mb.simulate"):
        values = at.each(_joint_of(model, known, pattern, asked))
    index = pd.MultiIndex.from_product([at.labels[i] for i in asked], names=[model.nodes[i] for i in asked])
    return JointProbabilities(pd.DataFrame(at.columns(values), index=index), "elimination", True, ())


def _joint_of(
    model: Model, known: Sequence[int], pattern: Sequence[int], asked: Sequence[int]
) -> Callable[[np.ndarray], np.ndarray]:
    """P(x_A = a | given) for all a at some log-odds, from one log Z each: the nodes A are held, too."""
    joined = held_field(model, known, asked)  # what no path joins to A is the same factor for all a
    field = held_field(model, [*known, *asked], np.setdiff1d(joined.free, asked).tolist())
    states = list(itertools.product(*(range(model.states[i]) for i in asked)))

    def probabilities(log_odds: np.ndarray) -> np.ndarray:
        logs = np.array([field.log_z(log_odds, [*pattern, *state]) for state in states])
        weight = np.exp(logs - logs.max())
        return np.asarray(weight / weight.sum())

    return probabilities


def _pairs(
    at: Points, pairs: Iterable[tuple[str, str]] | str | None, known: list[int], asked: list[int]
) -> list[tuple[int, int]]:
    if pairs is None:
        return []
    if isinstance(pairs, str):
        if pairs != "edges":
            raise InputError(f"pairs = {pairs!r}: give pairs of nodes, or 'edges' for all edges between nodes.")
        inside = np.isin(at.model.edges, asked).all(axis=1)
        return [(int(u), int(v)) for u, v in at.model.edges[inside]]
    found = []
    for pair in pairs:
        if isinstance(pair, str) or len(tuple(pair)) != 2:
            raise InputError(f"pairs: {pair!r} is not a pair of nodes.")
        u, v = at.asked(pair, known, "pairs")
        found.append((u, v))
    return found


def _node_table(at: Points, field: HeldField, asked: list[int], values: np.ndarray) -> pd.DataFrame:
    names = at.model.nodes
    cells = [field.node_offset[field.place[i]] + k for i in asked for k in range(int(at.model.states[i]))]
    index = pd.MultiIndex.from_tuples(
        [(names[i], label) for i in asked for label in at.labels[i]], names=["node", "state"]
    )
    return pd.DataFrame(at.columns(values[:, cells]), index=index)


def _pair_table(
    at: Points,
    field: HeldField,
    pairs: list[tuple[int, int]],
    where: dict[frozenset[int], int],
    values: np.ndarray,
    others: dict[tuple[int, int], np.ndarray],
) -> pd.DataFrame:
    names, n_nodes = at.model.nodes, int(field.node_offset[-1])
    parts, rows = [np.zeros((len(values), 0))], []
    for u, v in pairs:
        rows += [(names[u], names[v], a, b) for a in at.labels[u] for b in at.labels[v]]
        if (u, v) in others:
            parts.append(others[u, v])
            continue
        e = where[frozenset((u, v))]
        shape = tuple(int(field.states[i]) for i in field.edges[e])
        cells = n_nodes + np.arange(field.edge_offset[e], field.edge_offset[e + 1]).reshape(shape)
        parts.append(values[:, (cells if field.free[field.edges[e, 0]] == u else cells.T).ravel()])
    index = pd.MultiIndex.from_tuples(rows, names=["node", "other", "state", "other_state"])
    return pd.DataFrame(at.columns(np.concatenate(parts, axis=1)), index=index)


def loopy_marginals(field: HeldField, log_odds: np.ndarray, pattern: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """Beliefs of free nodes and inner edges, flat; `SamplingError` where messages do not settle."""
    node, edge, _ = field.tables(log_odds, pattern)
    receivers = field.states[field.edges[:, ::-1].ravel()]
    offset = np.concatenate([[0], np.cumsum(receivers)])
    arrays = (field.states, field.edges, field.node_offset, field.edge_offset, offset)
    graph = BeliefGraph(*(np.array(array, dtype=np.int64, order="C") for array in arrays))
    for damping in LOOPY_DAMPINGS:
        messages = FIRST_MESSAGE_SD * np.random.default_rng(0).standard_normal(int(offset[-1]))
        messages[offset[:-1]] = 0.0
        beliefs = np.zeros(node.size)
        _, residual = propagate(graph, (node, edge), messages, beliefs, damping, LOOPY_TOLERANCE, LOOPY_SWEEPS)
        if residual <= LOOPY_TOLERANCE:
            return _beliefs(field, node, edge, messages, offset)
    raise SamplingError(
        f"method='loopy': messages still change by {residual:.2g} after {LOOPY_SWEEPS} sweeps with damping "
        f"{damping:g}; belief propagation does not converge at couplings this strong: use mb.simulate(model, theta, n)."
    )


def _beliefs(
    field: HeldField, node: np.ndarray, edge: np.ndarray, messages: np.ndarray, offset: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Node and edge beliefs at a fixed point."""
    belief = node.copy()
    receiver = field.edges[:, ::-1].ravel()
    size = field.states[receiver]
    to = np.arange(messages.size) + np.repeat(field.node_offset[receiver] - offset[:-1], size)
    np.add.at(belief, to, messages)
    number = np.repeat(np.arange(len(field.edges)), np.diff(field.edge_offset))
    u, v = field.edges[number].T
    a, b = np.divmod(np.arange(edge.size) - field.edge_offset[number], field.states[v])
    forward, backward = messages[offset[2 * number] + b], messages[offset[2 * number + 1] + a]
    joint = edge + belief[field.node_offset[u] + a] - backward + belief[field.node_offset[v] + b] - forward
    return _normalised(belief, np.repeat(np.arange(field.free.size), field.states)), _normalised(joint, number)


def _normalised(values: np.ndarray, group: np.ndarray) -> np.ndarray:
    """Probabilities from logs within each group."""
    top = np.full(int(group.max(initial=-1)) + 1, -np.inf)
    np.maximum.at(top, group, values)
    weight = np.exp(values - top[group])
    return np.asarray(weight / np.bincount(group, weights=weight)[group])
