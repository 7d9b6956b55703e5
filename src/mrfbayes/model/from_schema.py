"""The field that fits the kinds of variables of a schema: what `mrfbayes.Model.from_data` makes."""

from __future__ import annotations

from typing import Literal

import numpy as np

from mrfbayes.base.checks import flag, one_of
from mrfbayes.base.errors import InputError
from mrfbayes.base.memory import require_memory
from mrfbayes.base.types import EdgesLike
from mrfbayes.model.build import COUPLINGS, Skeleton, assemble
from mrfbayes.model.edges import EDGE_BYTES, GraphLike, check_names, check_pairs, read_edges
from mrfbayes.model.factors import MAX_STATES
from mrfbayes.model.field import Model
from mrfbayes.model.schema import Schema, Variable

Coupling = Literal["auto", "agreement", "both-one", "score", "table"]


def model_of_schema(schema: Schema, graph: EdgesLike | None, coupling: Coupling, fields: bool, tied: bool) -> Model:
    """The model of `mrfbayes.Model.from_data`."""
    names = schema.names
    if not names:
        raise InputError("data: there are no variables; a field has at least one.")
    check_names(names)
    for variable in schema:
        if not 2 <= variable.n_states <= MAX_STATES:
            raise InputError(
                f"data: variable {variable.name!r} has {variable.n_states} label(s), and a variable of a field has "
                f"from 2 to {MAX_STATES}; leave it out by drop=[{variable.name!r}], or declare its labels by levels=."
            )
    one_of("coupling", coupling, ("auto", *COUPLINGS))
    edges = _edges(names, graph)
    chosen = [_coupling(schema.variables[u], schema.variables[v], coupling) for u, v in edges.tolist()]
    skeleton = Skeleton(names, len(names), edges, named=True)
    states = [variable.n_states for variable in schema]
    return assemble(skeleton, states, fields, flag("tied", tied), coupling, schema, chosen)


def _edges(names: tuple[str, ...], graph: EdgesLike | None) -> np.ndarray:
    """(m, 2) indices of variables."""
    if graph is None:
        n_edges = len(names) * (len(names) - 1) // 2
        what = f"a complete graph of {len(names):,} variables has {n_edges:,} edges and"
        require_memory(EDGE_BYTES * n_edges, what, "choose fewer variables, or give a graph")
        return np.stack(np.triu_indices(len(names), 1), axis=1).astype(np.int64)
    if isinstance(graph, GraphLike) and (unknown := [str(node) for node in graph.nodes if str(node) not in names]):
        raise InputError(
            f"graph: its node {unknown[0]!r} is no variable of the data, which has {', '.join(names[:8])}"
            f"{', ...' if len(names) > 8 else ''}; rename the node or remove it."
        )
    matrix = _adjacency_matrix(names, graph)
    if matrix is not None:
        return np.argwhere(np.triu(matrix)).astype(np.int64)
    _, pairs, _ = read_edges(graph, names, False)
    return check_pairs(pairs, names, False)


def _adjacency_matrix(names: tuple[str, ...], graph: object) -> np.ndarray | None:
    """``graph`` as a symmetric 0/1 matrix in the order of ``names``; None where it is no square matrix of numbers."""
    if hasattr(graph, "toarray"):
        graph = graph.toarray()  # a sparse matrix
    if hasattr(graph, "columns") and hasattr(graph, "to_numpy"):
        labels = [str(label) for label in graph.columns]
        rows = [str(label) for label in getattr(graph, "index", labels)]
        if sorted(labels) != sorted(names) or len(graph.to_numpy()) != len(labels):
            return None
        rows = rows if sorted(rows) == sorted(names) else labels
        order = [[axis.index(name) for name in names] for axis in (rows, labels)]
        graph = graph.to_numpy()[np.ix_(*order)]
    if not isinstance(graph, np.ndarray) or graph.ndim != 2 or graph.dtype.kind not in "biuf":
        return None
    d = len(names)
    if graph.shape == (d, 2) and d == 2 and not (np.array_equal(graph, graph.T) and not np.diag(graph).any()):
        return None  # two edges
    if graph.shape != (d, d):
        if graph.shape[1] == 2:
            return None  # an edge list
        raise InputError(f"graph: a matrix of shape {graph.shape} for {d} variables; an adjacency matrix is {d} x {d}.")
    if not np.array_equal(graph, graph.T) or np.diag(graph).any():
        raise InputError("graph: an adjacency matrix is symmetric with zeros on its diagonal, and this one is not.")
    return np.asarray(graph != 0)


def _coupling(u: Variable, v: Variable, coupling: str) -> str:
    """The coupling of one pair; an order or an equality that the schema does not know is refused."""
    nominal = next((one for one in (u, v) if one.kind == "nominal" and one.n_states > 2), None)
    binary = u.n_states == v.n_states == 2
    if coupling == "auto":
        return "table" if nominal else "both-one" if binary else "score"
    pair = f"coupling = {coupling!r} of {u.name!r} and {v.name!r}"
    if coupling == "score" and nominal:
        raise InputError(
            f"{pair}: {nominal.name!r} is nominal, its labels have no order; use 'auto', or give the order by levels=."
        )
    if coupling == "agreement" and not binary and u.values != v.values:
        raise InputError(f"{pair}: agreement needs the same labels in both variables; use 'auto'.")
    return coupling
