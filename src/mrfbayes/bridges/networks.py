"""Results as networks: a networkx graph with posterior attributes, and the matrix of weights that qgraph draws."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mrfbayes.base.errors import InputError
from mrfbayes.base.types import Scale
from mrfbayes.model.formats import edge_table
from mrfbayes.model.scales import meaning, scaled
from mrfbayes.results.posterior import Posterior

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd


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
            attributes |= {column: _plain(table.loc[name, column]) for column in ("positive", "log_bf10", "verdict")}
        graph.add_edge(model.nodes[u], model.nodes[v], **attributes)
    return graph


def _plain(value: object) -> object:
    return value.item() if isinstance(value, np.generic) else value


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
