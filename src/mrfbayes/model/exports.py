r"""A field with its couplings in the formats of other programs.

All of them describe :math:`p(x) \propto \exp(\sum\text{node terms} + \sum\text{edge terms})` at one value of the
log-odds w: GraphML and edge lists carry the couplings, UAI the factors' tables, and dimod's JSON the energy -log p of
spins at temperature 1.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np

from mrfbayes.base.errors import InputError
from mrfbayes.base.plain_text import spreadsheet_cell, visible
from mrfbayes.model.edge_strength import edge_strengths
from mrfbayes.model.field import Model

if TYPE_CHECKING:
    import pandas as pd

EXPORT_FORMATS = ("graphml", "uai", "dimod", "edges")


def edge_table(model: Model, values: np.ndarray) -> pd.DataFrame:
    """A symmetric table, nodes by nodes, of one value per edge (m,): as qgraph and igraph read networks."""
    import pandas as pd

    matrix = np.zeros((model.n_nodes, model.n_nodes))
    u, v = model.edges.T
    matrix[u, v] = matrix[v, u] = values
    return pd.DataFrame(matrix, index=list(model.nodes), columns=list(model.nodes))


def export_text(model: Model, log_odds: np.ndarray | None, form: str) -> str:
    """The field at ``log_odds`` (p,) as text in one of `EXPORT_FORMATS`; None for a graph without couplings."""
    makers = {"graphml": _graphml, "uai": _uai, "dimod": _dimod, "edges": _edge_list}
    if form not in makers:
        raise InputError(f"format {form!r}: choose one of {', '.join(EXPORT_FORMATS)}.")
    if log_odds is None:
        return _graphml(model, None)
    return makers[form](model, np.asarray(log_odds, dtype=float))


def _graphml(model: Model, w: np.ndarray | None) -> str:
    import networkx as nx

    names = [visible(name) for name in model.nodes]  # XML has no way to write control characters
    graph = nx.Graph()
    graph.add_nodes_from((name, {"states": states}) for name, states in zip(names, model.states.tolist(), strict=True))
    graph.add_edges_from((names[u], names[v]) for u, v in model.edges.tolist())
    if w is not None:
        weights = zip(model.edges.tolist(), edge_strengths(model, w).tolist(), strict=True)
        nx.set_edge_attributes(graph, {(names[u], names[v]): weight for (u, v), weight in weights}, "weight")
    return "\n".join(nx.generate_graphml(graph)) + "\n"


def _edge_list(model: Model, w: np.ndarray) -> str:
    import csv
    import io

    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["from", "to", "weight"])
    for (u, v), coupling in zip(model.edges.tolist(), edge_strengths(model, w).tolist(), strict=True):
        ends = (spreadsheet_cell(model.nodes[node]) for node in (u, v))
        writer.writerow([*ends, repr(coupling)])
    return file.getvalue()


def _uai(model: Model, w: np.ndarray) -> str:
    """Node tables, then edge tables; the last variable of a scope changes fastest, as the format wants."""
    node, edge = model.lowering.potentials(w)
    lowering, states = model.lowering, model.states
    tables = []
    for i, r in enumerate(states.tolist()):
        tables.append(np.array([0.0, node[i]]) if model.is_binary else node[lowering.node_offset[i] :][:r])
    for e in range(model.n_edges):
        agree = edge[e] if model.is_binary else 0.0
        cells = edge[lowering.edge_offset[e] : lowering.edge_offset[e + 1]]
        tables.append(np.array([agree, 0.0, 0.0, agree]) if model.is_binary else cells)
    scopes = [f"1 {i}" for i in range(model.n_nodes)] + [f"2 {u} {v}" for u, v in model.edges.tolist()]
    lines = ["MARKOV", str(model.n_nodes), " ".join(map(str, states.tolist())), str(len(tables)), *scopes, ""]
    for table in tables:
        lines += [str(table.size), " ".join(repr(float(value)) for value in np.exp(table)), ""]
    return "\n".join(lines)


def _dimod(model: Model, w: np.ndarray) -> str:
    if not model.is_binary:
        raise InputError("format 'dimod' is for variables with two states: use 'uai'.")
    node, edge = model.lowering.potentials(w)
    u, v = model.edges.T
    content = {
        "type": "BinaryQuadraticModel",
        "version": {"bqm_schema": "3.0.0"},
        "use_bytes": False,
        "index_type": "int32",
        "bias_type": "float64",
        "num_variables": model.n_nodes,
        "num_interactions": model.n_edges,
        "variable_labels": list(model.nodes),
        "variable_type": "SPIN",
        "offset": 0.0,
        "info": {"energy": "-log p up to a constant, spins -1 and +1 for states 0 and 1"},
        "linear_biases": (-node / 2).tolist(),
        "quadratic_biases": (-edge / 2).tolist(),
        "quadratic_head": u.tolist(),
        "quadratic_tail": v.tolist(),
    }
    return json.dumps(content, indent=1) + "\n"
