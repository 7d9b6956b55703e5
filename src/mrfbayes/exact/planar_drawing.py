"""A planar field without node factors as a straight-line drawing: angles for the signs, places for the bisection.

Node factors are allowed where one more vertex, joined to each node that has one, leaves the graph planar: on the
nodes of one face, say. That vertex stands for the state 1, so a field becomes an agreement with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mrfbayes.model.field import Model

MOST_DRAWN = 300_000  # edges up to which a drawing is looked for: about a minute


@dataclass(frozen=True)
class Drawing:
    """Half-edges around their vertices, and where to cut.

    Attributes
    ----------
    n_nodes, n_vertices : the field's nodes, and with the vertex that stands for fields
    fielded : nodes that are joined to that vertex; their edges follow the field's own
    end : (2m,) the vertex of each half-edge; half-edges 2e and 2e + 1 are those of edge e
    offset, half : the half-edges of each vertex, in the order of their angles in (-pi, pi]
    sign : (m,) +1 where the angle of half-edge 2e is positive, else -1
    x, y : (n_vertices,) places that bisection goes by
    """

    n_nodes: int
    n_vertices: int
    fielded: np.ndarray
    end: np.ndarray
    offset: np.ndarray
    half: np.ndarray
    sign: np.ndarray
    x: np.ndarray
    y: np.ndarray


def fielded_nodes(model: Model) -> np.ndarray:
    """The nodes of a binary field whose 0 and 1 some factor tells apart."""
    is_fielded = np.zeros(model.n_nodes, dtype=bool)
    for group in model.groups:
        if not np.array_equal(group.table, np.flip(group.table)):
            is_fielded[group.scope] = True
    return np.flatnonzero(is_fielded)


def draw(model: Model) -> Drawing | None:
    """The drawing of a binary field; None where it is not planar with its node factors."""
    if not model.is_binary:
        return None
    fielded = fielded_nodes(model)
    if model.grid_shape is not None and not fielded.size:
        rows, columns = model.grid_shape
        x, y = np.tile(np.arange(columns, dtype=float), rows), np.repeat(np.arange(rows, dtype=float), columns)
        return _drawing(model, fielded, np.asarray(model.edges), (x, y), (x, y))
    joined = np.stack([fielded, np.full(fielded.size, model.n_nodes)], axis=1)
    edges = np.concatenate([model.edges, joined])
    n = model.n_nodes + bool(fielded.size)
    if model.grid_shape is not None and fielded.size == model.n_nodes and min(model.grid_shape) > 2:
        return None  # no face has all nodes
    if len(edges) > min(max(3 * n - 6, n), MOST_DRAWN):
        return None
    places = _straight_lines(edges, n)
    return None if places is None else _drawing(model, fielded, edges, places, _spread(edges, n))


def _drawing(
    model: Model,
    fielded: np.ndarray,
    edges: np.ndarray,
    drawn: tuple[np.ndarray, np.ndarray],
    places: tuple[np.ndarray, np.ndarray],
) -> Drawing:
    x, y = drawn
    n = model.n_nodes + bool(fielded.size)
    end = np.array(edges, dtype=np.int64).ravel()
    other = np.array(edges[:, ::-1], dtype=np.int64).ravel()
    dx, dy = x[other] - x[end], y[other] - y[end]
    is_up = (dy > 0) | ((dy == 0) & (dx < 0))  # never from a floating -pi
    half = np.lexsort((np.arctan2(dy, dx), end))
    offset = np.concatenate([[0], np.cumsum(np.bincount(end, minlength=n))])
    sign = np.where(is_up[::2], 1.0, -1.0)
    return Drawing(model.n_nodes, n, fielded, end, offset, half, sign, *places)


def _straight_lines(edges: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray] | None:
    """Whole-number places of the vertices in a drawing without crossings; None where there is none."""
    import networkx as nx

    graph = nx.Graph()
    graph.add_nodes_from(range(n))
    graph.add_edges_from(edges.tolist())
    is_planar, embedding = nx.check_planarity(graph)
    if not is_planar:
        return None
    places = nx.combinatorial_embedding_to_pos(embedding)
    at = np.array([places[v] for v in range(n)], dtype=float).reshape(n, 2)
    return at[:, 0].copy(), at[:, 1].copy()


def _spread(edges: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Places for bisection: differences of graph distances to two pairs of far-off vertices, piece by piece.

    A drawing without crossings crowds most vertices into a corner; separators found in it would be long.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import breadth_first_order, connected_components, shortest_path

    matrix = coo_array((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), shape=(n, n)).tocsr()
    matrix = matrix + matrix.T
    n_pieces, piece = connected_components(matrix, directed=False)
    x, y = np.zeros(n), np.zeros(n)
    shift = 0.0
    for nodes in np.split(np.argsort(piece, kind="stable"), np.cumsum(np.bincount(piece, minlength=n_pieces))[:-1]):
        if nodes.size > 2:
            part = matrix[nodes][:, nodes]

            def distances(source: int, part: Any = part) -> np.ndarray:
                return np.asarray(shortest_path(part, directed=False, unweighted=True, indices=source))

            west = int(breadth_first_order(part, 0, directed=False, return_predecessors=False)[-1])
            from_west = distances(west)
            east = int(from_west.argmax())
            from_east = distances(east)
            north = int(np.where(np.abs(from_west - from_east) <= 1, from_west + from_east, -1).argmax())
            from_north = distances(north)
            south = int((from_north - 0.5 * np.abs(from_west - from_east)).argmax())
            x[nodes], y[nodes] = from_west - from_east, from_north - distances(south)
        elif nodes.size == 2:
            x[nodes] = 0.0, 1.0
        x[nodes] += shift - x[nodes].min()
        shift = float(x[nodes].max()) + 1.0
    return x, y
