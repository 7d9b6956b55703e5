"""Fields as pgmpy's discrete Markov networks, and back; the distribution stays the same."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from mrfbayes.base.errors import InputError
from mrfbayes.base.types import ThetaLike
from mrfbayes.model.build import graph
from mrfbayes.model.factors import Factor
from mrfbayes.model.field import Model

if TYPE_CHECKING:
    from pgmpy.models import DiscreteMarkovNetwork


def to_pgmpy(model: Model, theta: ThetaLike) -> DiscreteMarkovNetwork:
    """Return a field as a `pgmpy.models.DiscreteMarkovNetwork` with a factor per node, then one per edge.

    Parameters
    ----------
    model : Model
        The field.
    theta : (p,) array_like, float or Ising
        Parameters in the order of ``model.parameters``.

    Returns
    -------
    pgmpy.models.DiscreteMarkovNetwork
        The network.

    See Also
    --------
    from_pgmpy : The other direction.

    Examples
    --------
    >>> import mrfbayes as mb
    >>> from mrfbayes.bridges import to_pgmpy
    >>> sorted(to_pgmpy(mb.graph([("a", "b")]), 0.8).nodes)
    ['a', 'b']
    """
    try:
        from pgmpy.factors.discrete import DiscreteFactor
        from pgmpy.models import DiscreteMarkovNetwork
    except ImportError:
        raise InputError("pgmpy is not installed: pip install 'mrfbayes[interop]'.") from None
    node, edge = model.lowering.potentials(model.chart.log_odds(model.theta(theta)))
    lowering, states, names = model.lowering, model.states.tolist(), model.nodes
    network = DiscreteMarkovNetwork()
    network.add_nodes_from(names)
    network.add_edges_from([(names[u], names[v]) for u, v in model.edges.tolist()])
    factors = []
    for i, r in enumerate(states):
        values = np.array([0.0, node[i]]) if model.is_binary else node[lowering.node_offset[i] :][:r]
        factors.append(DiscreteFactor([names[i]], [r], np.exp(values)))
    for e, (u, v) in enumerate(model.edges.tolist()):
        cells = edge[e] * np.eye(2) if model.is_binary else edge[lowering.edge_offset[e] : lowering.edge_offset[e + 1]]
        factors.append(DiscreteFactor([names[u], names[v]], [states[u], states[v]], np.exp(cells).ravel()))
    network.add_factors(*factors)
    return network


def from_pgmpy(network: DiscreteMarkovNetwork) -> tuple[Model, np.ndarray]:
    """Return a pgmpy network of factors on one or two variables as a field.

    Networks of binary variables become a field of "both-one" couplings with node factors, in which every such network
    has exactly one theta; others become tables. States are numbered in the order of ``state_names``.

    Parameters
    ----------
    network : pgmpy.models.DiscreteMarkovNetwork
        The network.

    Returns
    -------
    model : Model
        The field.
    theta : (p,) ndarray
        Its parameters.

    See Also
    --------
    to_pgmpy : The other direction.

    Examples
    --------
    >>> import mrfbayes as mb
    >>> from mrfbayes.bridges import from_pgmpy, to_pgmpy
    >>> model, theta = from_pgmpy(to_pgmpy(mb.graph([("a", "b")]), 0.8))
    >>> model.nodes
    ('a', 'b')
    """
    cards = {str(name): int(r) for name, r in network.get_cardinality().items()}
    for name in network.nodes():
        if str(name) not in cards:
            raise InputError(f"network: no factor has the variable {name!r}, so that its states are not known.")
    logs: dict[tuple[str, ...], np.ndarray] = {}
    for factor in network.get_factors():
        scope = tuple(map(str, factor.variables))
        if len(scope) not in (1, 2):
            raise InputError(f"network: the factor on {scope} has {len(scope)} variables; a field has at most two.")
        values = np.asarray(factor.values, dtype=float)
        if not (np.isfinite(values) & (values > 0)).all():
            raise InputError(f"network: the factor on {scope} has values that are not positive and finite.")
        swapped = scope[::-1] in logs
        key, table = (scope[::-1], np.log(values).T) if swapped else (scope, np.log(values))
        logs[key] = logs[key] + table if key in logs else table
    if len(cards) != len(network.nodes()):
        raise InputError("network: two variables have the same name when written as text.")
    for pair in network.edges():
        key = (str(pair[0]), str(pair[1]))
        if key not in logs and key[::-1] not in logs:
            logs[key] = np.zeros((cards[key[0]], cards[key[1]]))
    return _binary(cards, logs) if set(cards.values()) == {2} else _tables(cards, logs)


def _binary(cards: dict[str, int], logs: dict[tuple[str, ...], np.ndarray]) -> tuple[Model, np.ndarray]:
    """log f = constant + a x_u + b x_v + w x_u x_v of every factor."""
    edges = [scope for scope in logs if len(scope) == 2]
    model = graph(np.array(edges, dtype=object).reshape(-1, 2), nodes=list(cards), fields=True, coupling="both-one")
    fields = dict.fromkeys(cards, 0.0)
    strength = {}
    for scope, table in logs.items():
        if len(scope) == 1:
            fields[scope[0]] += table[1] - table[0]
            continue
        fields[scope[0]] += table[1, 0] - table[0, 0]
        fields[scope[1]] += table[0, 1] - table[0, 0]
        strength[frozenset(scope)] = table[1, 1] + table[0, 0] - table[0, 1] - table[1, 0]
    pairs = [frozenset((model.nodes[u], model.nodes[v])) for u, v in model.edges.tolist()]
    w = np.array([*(strength[pair] for pair in pairs), *(fields[node] for node in model.nodes)], dtype=float)
    return model, model.chart.theta(w)


def _tables(cards: dict[str, int], logs: dict[tuple[str, ...], np.ndarray]) -> tuple[Model, np.ndarray]:
    factors = [Factor(scope, outcomes=np.arange(table.size).reshape(table.shape)) for scope, table in logs.items()]
    model = Model(cards, factors)
    by_scope = {frozenset(scope): (scope, table) for scope, table in logs.items()}
    parts = []
    pairs = [(model.nodes[u], model.nodes[v]) for u, v in model.edges.tolist()]
    singles = [(node,) for node in model.nodes if (node,) in logs]
    for scope in itertools.chain(pairs, singles):
        _, table = by_scope[frozenset(scope)]
        flat = table.ravel()
        parts.append(flat[:-1] - flat[-1])
    return model, model.chart.theta(np.concatenate(parts))
