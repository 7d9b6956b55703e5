"""Builders of fields: `grid`, `graph`, `complete`, and the field of a schema (`mrfbayes.Model.from_data`)."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from mrfbayes.base.checks import flag, one_of, require_memory, whole
from mrfbayes.base.errors import InputError
from mrfbayes.base.types import Coupling, EdgesLike
from mrfbayes.model.edges import (
    DIRECTIONS,
    EDGE_BYTES,
    GraphLike,
    check_mask,
    check_names,
    check_states,
    lattice_edges,
    list_nodes,
    pixel_names,
    read_edges,
)
from mrfbayes.model.factors import MAX_STATES, FactorGroup
from mrfbayes.model.field import FieldArrays, Model
from mrfbayes.model.schema import Schema, Variable

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


NODE_BYTES = 200  # that a node of a field takes, as `EDGE_BYTES`
COUPLINGS = ("agreement", "both-one", "score", "table")
States = int | Sequence[int] | Mapping[str, int]


def grid(
    rows: int,
    columns: int,
    *,
    states: States = 2,
    fields: bool = False,
    tied: bool | Literal["direction"] = False,
    coupling: Coupling = "agreement",
    neighbours: int = 4,
    periodic: bool = False,
    mask: ArrayLike | None = None,
) -> Model:
    """Build a rectangular grid with one coupling per pair of neighbours; by default the field of the paper.

    Parameters
    ----------
    rows : int
        Number of rows.
    columns : int
        Number of columns. Node (r, c) is column ``r * columns + c`` of the data and is called ``"r,c"``.
    states : int or sequence of int, default 2
        Number of states, one for all nodes or one per node.
    fields : bool, default False
        Whether each node has a factor of its own.
    tied : bool or "direction", default False
        True: one block for all edges and one for all nodes. "direction": one block per direction of edges.
    coupling : {"agreement", "both-one", "score", "table"}, default "agreement"
        Kind of the couplings; see `graph`.
    neighbours : {4, 8}, default 4
        Number of neighbours of a node; 8 includes the diagonals.
    periodic : bool, default False
        Whether the last row and column are neighbours of the first.
    mask : (rows, columns) array_like, optional
        Zeros and ones; only pixels with a one are nodes.

    Returns
    -------
    Model
        The field.

    Raises
    ------
    InputError
        If `neighbours` is neither 4 nor 8.

    See Also
    --------
    graph : A field on any graph.
    complete : A field in which every pair is an edge.

    References
    ----------
    Jie Liu and Hao Zheng, MLE-induced Likelihood for Markov Random Fields.

    Examples
    --------
    >>> import mrfbayes as mb
    >>> mb.grid(2, 2).parameters
    ('0,0--0,1', '0,0--1,0', '0,1--1,1', '1,0--1,1')
    """
    rows, columns = whole("rows", rows), whole("columns", columns)
    n_bytes, what = (NODE_BYTES + 2 * EDGE_BYTES) * rows * columns, f"a grid of {rows:,} x {columns:,} nodes"
    require_memory(n_bytes, what, "use a smaller grid, or cut the image into pieces")
    inside = check_mask(mask, rows, columns)
    if isinstance(neighbours, (bool, float)) or neighbours not in (4, 8):
        raise InputError(f"neighbours = {neighbours!r}: choose 4 or 8.")
    pixels, edges, direction = lattice_edges(rows, columns, neighbours, flag("periodic", periodic), inside)
    is_plain = neighbours == 4 and not periodic and inside is None
    names, shape = (None, (rows, columns)) if is_plain else (pixel_names(pixels, columns), None)
    return assemble(Skeleton(names, pixels.size, edges, direction, shape), states, fields, tied, coupling)


def graph(
    edges: EdgesLike,
    *,
    nodes: Iterable[Hashable] | None = None,
    states: States = 2,
    fields: bool = False,
    tied: bool = False,
    coupling: Coupling = "agreement",
    merge_edges: bool = False,
) -> Model:
    """Build a field on any graph, with one coupling per edge.

    Parameters
    ----------
    edges : (m, 2) array_like, networkx graph, str or path
        Pairs of names or ints, a graph, or the path of an edge list (CSV) or GraphML file.
    nodes : iterable, optional
        Names of all nodes in the order of the columns of the data; it may add isolated nodes.
    states : int, sequence of int or mapping, default 2
        Number of states, one for all nodes, or one per node in the order of ``model.nodes`` or by name.
    fields : bool, default False
        Whether each node has a factor of its own.
    tied : bool, default False
        Whether all edges share one block, and all nodes another one.
    coupling : {"agreement", "both-one", "score", "table"}, default "agreement"
        "agreement": one parameter per edge for "equal states".
        "both-one": one parameter per edge for "both are 1" (binary variables, {0, 1} coding).
        "score": one parameter per edge with the score x_u * x_v (ordinal variables).
        "table": a table of (r_u - 1) (r_v - 1) log-odds per edge, 0 where either variable has state 0, the reference
        category (nominal variables); with two binary variables the same as "both-one".
    merge_edges : bool, default False
        Whether duplicate edges are merged; by default they are refused.

    Returns
    -------
    Model
        The field.

    Raises
    ------
    InputError
        If an edge is a loop, is given twice, or has an unknown node.

    See Also
    --------
    grid : A rectangular grid.
    complete : A field in which every pair is an edge.
    Model.from_data : The field that fits the variables of a data set.

    Examples
    --------
    >>> import mrfbayes as mb
    >>> mb.graph([("a", "b"), ("b", "c")], fields=True).parameters
    ('a--b', 'b--c', 'a', 'b', 'c')
    """
    names, pairs, named = read_edges(edges, nodes, flag("merge_edges", merge_edges))
    return assemble(Skeleton(names, len(names), pairs, named=named), states, fields, flag("tied", tied), coupling)


def complete(
    nodes: Iterable[Hashable],
    *,
    states: States = 2,
    fields: bool = False,
    tied: bool = False,
    coupling: Coupling = "agreement",
) -> Model:
    """Build a field in which every pair of nodes is an edge.

    Parameters
    ----------
    nodes : iterable
        Names of the nodes in the order of the columns of the data.
    states : int, sequence of int or mapping, default 2
        Number of states, one for all nodes, or one per node in order or by name.
    fields : bool, default False
        Whether each node has a factor of its own.
    tied : bool, default False
        Whether all edges share one block, and all nodes another one.
    coupling : {"agreement", "both-one", "score", "table"}, default "agreement"
        Kind of the couplings; see `graph`.

    Returns
    -------
    Model
        The field.

    Raises
    ------
    InputError
        If there are no nodes.

    See Also
    --------
    graph : A field on any graph.

    Examples
    --------
    >>> import mrfbayes as mb
    >>> mb.complete(["a", "b", "c"]).n_edges
    3
    """
    names = tuple(str(node) for node in list_nodes(nodes))
    if not names:
        raise InputError("nodes is empty: a field has at least one node.")
    check_names(names)
    edges = _all_pairs(len(names))
    return assemble(Skeleton(names, len(names), edges, named=True), states, fields, bool(tied), coupling)


def _all_pairs(n_nodes: int) -> np.ndarray:
    """(m, 2) edges of the complete graph."""
    n_edges = n_nodes * (n_nodes - 1) // 2
    what = f"a complete graph of {n_nodes:,} variables has {n_edges:,} edges and"
    require_memory(EDGE_BYTES * n_edges, what, "choose fewer columns, or give a graph")
    return np.stack(np.triu_indices(n_nodes, 1), axis=1).astype(np.int64)


def coupling_table(coupling: str, states_u: int, states_v: int) -> tuple[np.ndarray, bool]:
    """The table of a named coupling and whether it is a score coin."""
    one_of("coupling", coupling, COUPLINGS)
    u, v = np.meshgrid(np.arange(states_u), np.arange(states_v), indexing="ij")
    if coupling == "agreement":
        return np.where(u == v, 0, 1), False
    if coupling == "both-one":
        if states_u != 2 or states_v != 2:
            raise InputError("coupling = 'both-one' is for binary variables: use 'score' for ordinal ones.")
        return np.where(u * v == 1, 0, 1), False
    if coupling == "score":
        return u * v, True
    # "table": a cell of states >= 1 is an outcome of its own, all others are the last outcome, so that w is 0 there
    return np.where(u * v > 0, (u - 1) * (states_v - 1) + v - 1, (states_u - 1) * (states_v - 1)), False


def node_table(states: int) -> np.ndarray:
    """The die of a node: state k is outcome k-1 and state 0 the last, so that w compares with state 0."""
    return (np.arange(states) - 1) % states


class Skeleton(NamedTuple):
    """The graph of a field, without its factors.

    Attributes
    ----------
    names : of the nodes; None on a grid, where they follow from its shape
    n_nodes : number of nodes
    edges : (m, 2) indices of nodes
    direction : (m,) 0 for the horizontal, 1 for the vertical edges of a grid
    grid_shape : rows and columns of a grid
    named : whether the names are the user's own, so that columns of data are matched by them
    """

    names: tuple[str, ...] | None
    n_nodes: int
    edges: np.ndarray
    direction: np.ndarray | None = None
    grid_shape: tuple[int, int] | None = None
    named: bool = False


def assemble(
    skeleton: Skeleton,
    states: States,
    fields: bool,
    tied: bool | str,
    coupling: str,
    schema: Schema | None = None,
    per_edge: Sequence[str] | None = None,
) -> Model:
    """The model with a factor per edge, of one ``coupling`` or of the ones that ``per_edge`` names."""
    names, n_nodes, edges, direction, grid_shape, named = skeleton
    if not isinstance(tied, (bool, np.bool_)) and not (isinstance(tied, str) and tied == "direction"):
        raise InputError(f"tied = {tied!r}: choose False, True or 'direction'.")
    flag("fields", fields)
    counts = _states(states, n_nodes, names)
    m = len(edges)
    if per_edge is None:
        coupling_table(coupling, 2, 2)  # the name is checked even without edges
    names_of, code = np.unique([coupling] if per_edge is None else list(per_edge), return_inverse=True)
    block_names: list[str] | None = None
    if not tied:
        edge_block, node_block = np.arange(m), m + np.arange(n_nodes)
    else:
        if tied == "direction":
            assert direction is not None
            present = np.unique(direction)
            edge_block = np.searchsorted(present, direction)
            block_names = [DIRECTIONS[k] for k in present]
        else:
            edge_block = np.zeros(m, dtype=np.int64)
            block_names = ["edges"] if m else []
        node_block = np.full(n_nodes, len(block_names))
        mixed = np.unique(counts).size > 1 and (fields or set(names_of) - {"score"})
        if mixed or len(names_of) > 1:
            raise InputError("tied = True needs the same number of states everywhere: tied factors share one table.")
        block_names += ["nodes"] if fields else []
    groups = []
    shapes = counts[edges] if m else np.zeros((0, 2), dtype=np.int64)
    keys = np.column_stack([np.broadcast_to(code, m), shapes])
    kinds = keys[:1] if np.unique(counts).size == 1 and len(names_of) == 1 else np.unique(keys, axis=0)
    for kind, *shape in kinds.tolist():
        chosen = (keys == (kind, *shape)).all(axis=1)
        table, is_score = coupling_table(str(names_of[kind]), *shape)
        is_centred = schema is not None and names_of[kind] == "table" and max(shape) > 2
        groups.append(FactorGroup(table, is_score, edges[chosen], edge_block[chosen].astype(np.int64), is_centred))
    if fields:
        for r in np.unique(counts):
            chosen = np.flatnonzero(counts == r)
            groups.append(FactorGroup(node_table(int(r)), False, chosen[:, None], node_block[chosen].astype(np.int64)))
    arrays = FieldArrays(names, counts, edges, groups, block_names, grid_shape, named)
    return Model._from_arrays(arrays)._with_schema(schema)


def _states(states: States, n_nodes: int, names: Sequence[str] | None) -> np.ndarray:
    if isinstance(states, np.ndarray):
        states = states.tolist()
    if isinstance(states, (str, bytes)) or not isinstance(states, Iterable):
        return np.full(n_nodes, check_states(states, "states"), dtype=np.int64)
    if isinstance(states, Mapping):
        by_name = {str(name): r for name, r in states.items()}
        if names is None:
            raise InputError("states is a mapping, but the nodes of a grid are numbered: give a list, one per node.")
        if differ := [name for name in (*by_name, *names) if (name in by_name) != (name in set(names))]:
            what = f"node {differ[0]!r} has none" if differ[0] in names else f"no node is called {differ[0]!r}"
            raise InputError(f"states: {what}; give one number per node.")
        states = [by_name[name] for name in names]
    given = list(states)
    if len(given) != n_nodes:
        raise InputError(f"states has {len(given)} entries, the field has {n_nodes} nodes: give one per node.")
    return np.array([check_states(r, f"states[{i}]") for i, r in enumerate(given)], dtype=np.int64)


def model_of_schema(
    schema: Schema, graph: EdgesLike | None, coupling: Coupling | Literal["auto"], fields: bool, tied: bool
) -> Model:
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
        return _all_pairs(len(names))
    if isinstance(graph, GraphLike) and (unknown := [str(node) for node in graph.nodes if str(node) not in names]):
        raise InputError(
            f"graph: its node {unknown[0]!r} is no variable of the data, which has {', '.join(names[:8])}"
            f"{', ...' if len(names) > 8 else ''}; rename the node or remove it."
        )
    matrix = _adjacency_matrix(names, graph)
    if matrix is not None:
        return np.argwhere(np.triu(matrix)).astype(np.int64)
    return read_edges(graph, names, False)[1]


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
