"""Results as networks of networkx, and weights as qgraph draws them; fields as pgmpy's Markov networks, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mrfbayes.base.checks import require_package
from mrfbayes.base.errors import InputError
from mrfbayes.base.types import Scale, ThetaLike
from mrfbayes.model.build import graph
from mrfbayes.model.field import Model
from mrfbayes.model.formats import edge_table
from mrfbayes.model.scales import meaning, scaled
from mrfbayes.results.posterior import Posterior

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd
    from pgmpy.models import DiscreteMarkovNetwork


def to_networkx(posterior: Posterior, *, scale: Scale | None = None, evidence: bool = True) -> nx.Graph:
    """Return the field as a networkx graph with the posterior of nodes and edges as attributes.

    Edges have ``weight`` (the posterior mean), ``sd``, ``q5``, ``q95`` and, with ``evidence``, ``positive``,
    ``log_bf10`` and ``verdict`` as in `Posterior.edges`. Nodes have ``states`` and, if they have a factor of their own,
    ``mean``, ``sd``, ``q5``, ``q95``. ``graph.graph`` has the scale, its meaning, method, n and warnings.
    `mrfbayes.graph` reads the result, and networkx writes it to files.

    Parameters
    ----------
    posterior : Posterior
        Result of `mrfbayes.sample`.
    scale : {"theta", "log-odds", "ising"}, optional
        Scale of the attributes; by default the usual one for the model.
    evidence : bool, default True
        Whether Bayes factors are included.

    Returns
    -------
    networkx.Graph
        The graph.

    Raises
    ------
    InputError
        If an edge shares its parameter with others or has several.

    See Also
    --------
    weight_table : A matrix, for qgraph.

    Examples
    --------
    >>> import mrfbayes as mb
    >>> from mrfbayes.bridges import to_networkx
    >>> model = mb.graph([("a", "b"), ("b", "c")])
    >>> posterior = mb.sample(model, mb.simulate(model, 0.8, 200, rng=1), "mle", rng=1, progress=False)
    >>> sorted(to_networkx(posterior).edges)
    [('a', 'b'), ('b', 'c')]
    """
    import networkx as nx

    model = posterior.model
    rows = scaled(model, scale)
    moments = posterior._moments(rows)
    about = {"scale": rows.scale, "meaning": meaning(model, rows.scale), "method": posterior.method}
    texts = "\n".join(posterior.warnings)  # GraphML and GEXF hold no lists
    graph = nx.Graph(**about, n=float(posterior.n), warnings=texts)
    for i, node in enumerate(model.nodes):
        known = {"states": int(model.states[i])}
        graph.add_node(node, **known, **(moments.loc[node].to_dict() if node in moments.index else {}))
    table = posterior.edges(scale=scale) if evidence and model.n_edges else None
    for u, v in model.edges.tolist():
        name = f"{model.nodes[u]}--{model.nodes[v]}"
        if name not in moments.index:
            raise InputError(f"edge {name} shares its parameter or has several: use posterior.summary().")
        attributes = moments.loc[name].to_dict()
        attributes["weight"] = attributes.pop("mean")
        if table is not None:
            attributes |= table.loc[[name], ["positive", "log_bf10", "verdict"]].to_dict("records")[0]
        graph.add_edge(model.nodes[u], model.nodes[v], **attributes)
    return graph


def weight_table(posterior: Posterior, *, scale: Scale | None = None, only: str = "") -> pd.DataFrame:
    """Return a symmetric table of edge strengths, nodes by nodes, as ``qgraph`` in R takes it.

    Parameters
    ----------
    posterior : Posterior
        Result of `mrfbayes.sample`.
    scale : {"theta", "log-odds", "ising"}, optional
        Scale of the strengths; by default the usual one for the model.
    only : {"", "present"}, default ""
        "present" sets edges whose Bayes factor is not above 10 to 0.

    Returns
    -------
    DataFrame
        One row and one column per node.

    Raises
    ------
    InputError
        If `only` is unknown.

    See Also
    --------
    to_networkx : A graph with attributes.

    Examples
    --------
    >>> import mrfbayes as mb
    >>> from mrfbayes.bridges import weight_table
    >>> model = mb.graph([("a", "b"), ("b", "c")])
    >>> posterior = mb.sample(model, mb.simulate(model, 0.8, 200, rng=1), "mle", rng=1, progress=False)
    >>> float(weight_table(posterior).loc["a", "c"])
    0.0
    """
    if only not in ("", "present"):
        raise InputError(f"only = {only!r}: choose 'present', or leave it out.")
    model = posterior.model
    graph = to_networkx(posterior, scale=scale, evidence=only == "present")
    edges = [graph.edges[model.nodes[u], model.nodes[v]] for u, v in model.edges.tolist()]
    weights = [edge["weight"] if only in ("", edge.get("verdict")) else 0.0 for edge in edges]
    table = edge_table(model, np.array(weights))
    table.attrs |= {"scale": graph.graph["scale"], "meaning": graph.graph["meaning"]}
    return table


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

    Raises
    ------
    InputError
        If a factor has more than two variables or a value that is not positive, or names repeat.

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
