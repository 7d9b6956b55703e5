"""Fields as pgmpy's discrete Markov networks, and back; the distribution stays the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mrfbayes.base.checks import require_package
from mrfbayes.base.errors import InputError
from mrfbayes.base.types import ThetaLike
from mrfbayes.model.build import graph
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
    require_package("pgmpy", "interop", "to_pgmpy")
    from pgmpy.factors.discrete import DiscreteFactor
    from pgmpy.models import DiscreteMarkovNetwork

    nodes, edges = model.lowering.tables(model.chart.log_odds(model.theta(theta)))
    names = model.nodes
    pairs = [(names[u], names[v]) for u, v in model.edges.tolist()]
    network = DiscreteMarkovNetwork()
    network.add_nodes_from(names)
    network.add_edges_from(pairs)
    scopes = [*((name,) for name in names), *pairs]
    for scope, table in zip(scopes, [*nodes, *edges], strict=True):
        network.add_factors(DiscreteFactor(scope, table.shape, np.exp(table)))
    return network


def from_pgmpy(network: DiscreteMarkovNetwork) -> tuple[Model, np.ndarray]:
    """Return a pgmpy network of factors on one or two variables as a field.

    The field has thresholds and "table" couplings ("both-one" ones between two binary variables), so that every network
    has exactly one theta. States are numbered in the order of ``state_names``.

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
    edges = [scope for scope in logs if len(scope) == 2]
    pairs = np.array(edges, dtype=object).reshape(-1, 2)
    model = graph(pairs, nodes=list(cards), states=cards, fields=True, coupling="table")
    thresholds = {name: np.zeros(r - 1) for name, r in cards.items()}
    couplings = []
    for scope, table in logs.items():  # log f = constant + a(x_u) + b(x_v) + w(x_u, x_v), all 0 at state 0
        table = table - table.flat[0]
        for axis, name in enumerate(scope):
            thresholds[name] += np.take(table, 0, axis=1 - axis)[1:] if len(scope) == 2 else table[1:]
        if len(scope) == 2:
            couplings.append((table - table[:1] - table[:, :1])[1:, 1:].ravel())
    return model, model.chart.theta(np.concatenate([*couplings, *thresholds.values()]))
