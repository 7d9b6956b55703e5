"""Nodes and edges of fields: those of grids, and what users give, read and checked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from typing import Protocol, runtime_checkable

import numpy as np

from mrfbayes.base.checks import require_memory
from mrfbayes.base.errors import InputError, Problems
from mrfbayes.model.factors import MAX_STATES

EDGE_BYTES = 400  # that an edge of a field takes with its name and its lowered form, measured on grids


@runtime_checkable
class GraphLike(Protocol):
    """A graph of networkx, or what behaves like one."""

    @property
    def nodes(self) -> Iterable[object]:
        """Its nodes."""

    @property
    def edges(self) -> Iterable[object]:
        """Its edges, as pairs of nodes."""

    def is_directed(self) -> bool:
        """Whether edges have a direction."""

    def is_multigraph(self) -> bool:
        """Whether a pair of nodes may have several edges."""


def read_edges(
    edges: object, nodes: Iterable[object] | None, merge_edges: bool
) -> tuple[tuple[str, ...], np.ndarray, bool]:
    """Names of the nodes, (m, 2) indices of distinct pairs, and whether the names are the user's own."""
    problems, places = Problems(), None
    if isinstance(edges, (str, PathLike)):
        from mrfbayes.model.formats import read_graph

        edges, file_nodes, places = read_graph(edges, problems)
        nodes = file_nodes if nodes is None else nodes
    elif isinstance(edges, GraphLike):
        if edges.is_directed():
            raise InputError("edges is a directed graph: a Markov random field is undirected; use to_undirected().")
        if edges.is_multigraph():
            raise InputError("edges is a multigraph: give each pair of nodes one edge, as in networkx.Graph(graph).")
        nodes = list(edges.nodes) if nodes is None else nodes
        edges = list(edges.edges)
    listed = _listed_edges(edges)
    ends = [end for edge in listed for end in edge]
    integral = all(isinstance(end, (int, np.integer)) for end in ends)
    if nodes is not None:
        order = list_nodes(nodes)
    elif integral:
        order = [*sorted({int(str(end)) for end in ends})]
    else:
        order = list(dict.fromkeys(ends))
    names = tuple(str(name) for name in order)
    if not names:
        problems.refuse()
        raise InputError("edges is empty and no nodes are given: a field has at least one node.")
    check_names(names)
    index = {name: i for i, name in enumerate(names)}
    unknown = [end for end in dict.fromkeys(ends) if str(end) not in index]
    for end in unknown:
        is_off_by_one = integral and str(int(str(end)) - 1) in index
        hint = " (are nodes counted from 0 here and from 1 there?)" if is_off_by_one else ""
        problems.add(f"edges: node {end!r} is not among nodes=; add it or correct the edge{hint}.")
    if unknown:
        problems.refuse()
    pairs = [(index[str(u)], index[str(v)]) for u, v in listed]
    is_named = not (integral and all(isinstance(name, (int, np.integer)) for name in order))
    rows = _distinct_rows(pairs, names, merge_edges, places, problems)
    problems.refuse()
    return names, np.array([pairs[row] for row in rows], dtype=np.int64).reshape(-1, 2), is_named


def _listed_edges(edges: object) -> list[tuple[object, object]]:
    """Edges as pairs of names or ints, every other thing refused with its place."""
    if hasattr(edges, "columns") and hasattr(edges, "to_numpy"):
        edges = edges.to_numpy()  # a data frame; iterating over it would give the names of its columns
    if isinstance(edges, np.ndarray) and edges.dtype.kind == "f" and np.array_equal(edges, np.floor(edges)):
        edges = edges.astype(np.int64) if np.abs(edges).max(initial=0) < 2**53 else edges
    if not isinstance(edges, Iterable) or (isinstance(edges, np.ndarray) and not edges.ndim):
        raise InputError(
            f"edges = {edges!r}: expected pairs of nodes, a networkx graph, or the path of an edge list or a GraphML "
            "file."
        )
    n_edges = len(edges) if isinstance(edges, np.ndarray) else 0
    require_memory(EDGE_BYTES * n_edges, f"a graph of {n_edges:,} edges", "use fewer nodes or a sparser graph")
    listed = []
    for row, edge in enumerate(edges.tolist() if isinstance(edges, np.ndarray) else edges):
        if isinstance(edge, (str, bytes)) or not isinstance(edge, Iterable) or len(ends := tuple(edge)) != 2:
            raise InputError(f"edges[{row}] = {edge!r}: an edge is a pair of nodes.")
        for end in ends:
            _check_node(end, f"edges[{row}] = {edge!r}")
        listed.append((ends[0], ends[1]))
    return listed


def list_nodes(nodes: object) -> list[object]:
    """The nodes as a list, each checked to be a name or a whole number."""
    if isinstance(nodes, (str, bytes)) or not isinstance(nodes, Iterable):
        raise InputError(f"nodes = {nodes!r}: give a list of names.")
    order = list(nodes)
    for k, node in enumerate(order):
        _check_node(node, f"nodes[{k}]")
    return order


def _check_node(node: object, where: str) -> None:
    """A node is called by a text, a whole number, or a tuple of those, as networkx names the nodes of a grid."""
    if isinstance(node, tuple):
        for part in node:
            _check_node(part, where)
    elif isinstance(node, (bool, np.bool_)) or not isinstance(node, (str, int, np.integer)):
        raise InputError(f"{where}: {node!r} is a {type(node).__name__}; a node is a name or a whole number.")


def _distinct_rows(
    pairs: Sequence[tuple[int, int]],
    names: Sequence[str],
    merge_edges: bool,
    places: Sequence[str] | None,
    problems: Problems,
) -> Iterable[int]:
    """The first row of every pair; loops, and repetitions that are not merged, are added to ``problems``."""
    first: dict[tuple[int, int], int] = {}

    def place(row: int) -> str:
        return places[row] if places else f"edges[{row}]"

    for row, (u, v) in enumerate(pairs):
        before = first.setdefault((min(u, v), max(u, v)), row)
        if u == v:
            problems.add(f"{place(row)}: joins {names[u]!r} to itself; remove the self-loop.")
        elif before != row and not merge_edges:
            what = f"edge {names[u]!r}, {names[v]!r} repeats {place(before)}"
            problems.add(f"{place(row)}: {what}; remove it, or merge edges (merge_edges=True, --merge-edges).")
    return first.values()


def check_states(states: object, where: str) -> int:
    """A number of states as an int, checked."""
    if isinstance(states, (bool, np.bool_)) or not isinstance(states, (int, np.integer)):
        raise InputError(f"{where} = {states!r}: a number of states is a whole number from 2 to {MAX_STATES}.")
    if not 2 <= states <= MAX_STATES:
        raise InputError(f"{where} = {states}: a variable has from 2 to {MAX_STATES} states.")
    return int(states)


def read_variables(variables: Mapping[str, int] | Iterable[str]) -> tuple[tuple[str, ...], np.ndarray]:
    """Names and numbers of states (d,) of the variables of a field."""
    if isinstance(variables, (str, bytes)) or not isinstance(variables, Iterable):
        raise InputError(f"variables = {variables!r}: give a list of names, or a mapping from names to states.")
    if isinstance(variables, Mapping):
        pairs = [(str(name), check_states(r, f"variables[{name!r}]")) for name, r in variables.items()]
    else:
        pairs = [(str(name), 2) for name in variables]
    if not pairs:
        raise InputError("variables is empty: a field has at least one variable.")
    names = tuple(name for name, _ in pairs)
    check_names(names)
    return names, np.array([r for _, r in pairs], dtype=np.int64)


def check_names(names: Sequence[str]) -> None:
    """Names are non-empty and unique."""
    seen: set[str] = set()
    for name in names:
        if not name.strip():
            raise InputError("a node has an empty name: give every node a name.")
        if name in seen:
            raise InputError(f"two nodes are called {name!r}: names must be unique.")
        seen.add(name)


NEIGHBOUR_STEPS = ((0, 1), (1, 0), (1, 1), (1, -1))  # rows, columns; the first two are those of four neighbours
DIRECTIONS = ("horizontal", "vertical", "diagonal", "antidiagonal")
_PIXEL = re.compile(r"(\d+),(\d+)")


def lattice_edges(
    rows: int, columns: int, neighbours: int = 4, periodic: bool = False, mask: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Pixels (d,) of the nodes as r * columns + c, edges (m, 2) between nodes, and the direction (m,) of each edge."""
    inside = np.ones((rows, columns), dtype=bool) if mask is None else mask
    pixels = np.flatnonzero(inside.ravel())
    number = np.full(rows * columns, -1)
    number[pixels] = np.arange(pixels.size)
    row, column = np.divmod(np.arange(rows * columns), columns)
    edges, directions = [], []
    for direction, (down, right) in enumerate(NEIGHBOUR_STEPS[: neighbours // 2]):
        other_row, other_column = row + down, column + right
        if periodic:
            other_row, other_column = other_row % rows, other_column % columns
        fits = (other_row >= 0) & (other_row < rows) & (other_column >= 0) & (other_column < columns)
        pair = np.stack([number[np.flatnonzero(fits)], number[(other_row * columns + other_column)[fits]]], axis=1)
        pair = pair[(pair >= 0).all(axis=1) & (pair[:, 0] != pair[:, 1])]
        edges.append(pair)
        directions.append(np.full(len(pair), direction))
    flat, kind = np.sort(np.concatenate(edges), axis=1), np.concatenate(directions)
    # On a torus of two rows or columns both ways round lead to the same neighbour: one edge.
    _, first = np.unique(flat[:, 0] * (rows * columns) + flat[:, 1], return_index=True)
    return pixels, flat[first], kind[first]


def check_mask(mask: object, rows: int, columns: int) -> np.ndarray | None:
    """A mask as a boolean array of the grid's shape."""
    if mask is None:
        return None
    array = np.asarray(mask)
    if array.shape != (rows, columns) or not np.isin(array, (0, 1)).all():
        raise InputError(
            f"mask has shape {array.shape}: give {rows} x {columns} zeros and ones, one where a pixel belongs to the "
            "field."
        )
    if not array.any():
        raise InputError("mask is zero everywhere: a field has at least one node.")
    return array.astype(bool)


def pixel_names(pixels: np.ndarray, columns: int) -> tuple[str, ...]:
    """Names "r,c" of pixels r * columns + c."""
    return tuple(f"{pixel // columns},{pixel % columns}" for pixel in pixels.tolist())


def pixels_of(names: Sequence[str]) -> np.ndarray | None:
    """Row and column (d, 2) of nodes that are called like pixels, else None."""
    found = [_PIXEL.fullmatch(name) for name in names]
    return np.array([[int(one[1]), int(one[2])] for one in found if one]) if all(found) else None
