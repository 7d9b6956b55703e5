r"""A planar field seen through windows: the exact Green function of the whole field among the edges of a few nodes.

The exterior X of a window is a matrix over the half-edges that leave it (`mrfbayes.exact.planar_passes`), so that with
F and T of the window's own half-edges and D = diag(tau) of those that leave,

.. math:: H = F (I - T' F)^{-1}, \qquad T' = T - D X D

is that of the whole field, restricted to the window. Windows are tiles, laid four times, each time shifted by half a
tile: every edge lies well inside of one of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from mrfbayes.exact.graph import ranges
from mrfbayes.exact.planar_drawing import Drawing
from mrfbayes.exact.planar_information import pairs_at_vertices
from mrfbayes.exact.planar_passes import Dissection

SHIFTS = ((0, 0), (1, 0), (0, 1), (1, 1))  # half tiles


class PlanarWindow(NamedTuple):
    """Some edges with both ends among the nodes of a tile.

    Attributes
    ----------
    edge : (m,) their numbers
    green : (2m, 2m) H between their halves; 2i and 2i + 1 are those of edge[i]
    """

    edge: np.ndarray
    green: np.ndarray


class Tiling:
    """One laying of tiles of about ``side`` x ``side`` nodes, shifted by halves of a tile."""

    def __init__(self, drawing: Drawing, side: int, shift: tuple[int, int]) -> None:
        self.drawing = drawing
        places = _even_places(drawing)
        self.tiles = _cut(places[0], side, shift[0]), _cut(places[1], side, shift[1])
        tile = self.tiles[0] * (1 + self.tiles[1].max(initial=0)) + self.tiles[1]
        ends = tile[drawing.end.reshape(-1, 2)]
        self.tile = tile.astype(np.int64)
        self.of_edge = np.where(ends[:, 0] == ends[:, 1], ends[:, 0], -1).astype(np.int64)  # -1: between two tiles

    def windows(self, t: np.ndarray, needed: np.ndarray) -> Iterator[PlanarWindow]:
        """The windows that hold some of the edges ``needed`` (m,)."""
        dissection = Dissection(self.drawing, self.tiles)
        tree = dissection.tree
        is_leaf = tree.vertex >= 0
        vertices = tree.vertex[is_leaf]
        begin = np.cumsum(is_leaf) - is_leaf
        stop = begin + tree.n_within
        changes = np.concatenate([[0], np.cumsum(np.diff(self.tile[vertices]) != 0)])
        whole = changes[begin] == changes[stop - 1]
        outer = np.zeros(whole.size, dtype=bool)  # whether the parent lies within one tile as well
        inner = np.flatnonzero(~is_leaf)
        for child in (inner + 1, inner + 2 * tree.n_within[inner + 1]):
            outer[child] = whole[inner]
        wanted_tile = np.zeros(int(self.tile.max(initial=0)) + 1, dtype=bool)
        wanted_tile[self.of_edge[needed & (self.of_edge >= 0)]] = True
        wanted = whole & ~outer & wanted_tile[self.tile[vertices[begin]]]
        tau = t * self.drawing.sign
        for region, exterior in dissection.exteriors(t, wanted):
            dangling = tree.dangling[tree.first[region] : tree.first[region + 1]]
            yield _window(self.drawing, vertices[begin[region] : stop[region]], dangling, tau, exterior)


def _window(
    drawing: Drawing, vertices: np.ndarray, dangling: np.ndarray, tau: np.ndarray, exterior: np.ndarray
) -> PlanarWindow:
    from scipy.sparse import csr_array

    degree = drawing.offset[vertices + 1] - drawing.offset[vertices]
    half = drawing.half[ranges(drawing.offset[vertices], degree)]
    size = half.size
    row, column = pairs_at_vertices(degree)
    f = csr_array((np.sign(column - row).astype(float), (row, column)), shape=(size, size))
    order = np.argsort(half)
    both = np.flatnonzero((half[order][:-1] ^ 1) == half[order][1:])  # sorted: the two halves of an edge are neighbours
    first, second = order[both], order[both + 1]
    edge = half[first] // 2
    between = np.zeros((size, size))
    between[first, second], between[second, first] = tau[edge], -tau[edge]
    if dangling.size:
        leaves = order[np.searchsorted(half[order], dangling)]
        own = np.where(dangling % 2, -tau[dangling // 2], tau[dangling // 2])
        between[np.ix_(leaves, leaves)] = -own[:, None] * exterior * own
    matrix = np.eye(size) - (f.T @ between.T).T
    chosen = np.stack([first, second], axis=1).ravel()
    green = (f @ np.linalg.inv(matrix))[np.ix_(chosen, chosen)]
    return PlanarWindow(edge, (green - green.T) / 2)


def _even_places(drawing: Drawing) -> tuple[np.ndarray, np.ndarray]:
    """Places whose ranks count: those of a lattice as they are, others spread evenly over a square."""
    ranks = [np.unique(place, return_inverse=True)[1] for place in (drawing.x, drawing.y)]
    n = drawing.n_vertices
    if (ranks[0].max(initial=0) + 1) * (ranks[1].max(initial=0) + 1) <= 2 * n:
        return ranks[0].astype(float), ranks[1].astype(float)
    x, y = (rank * (np.sqrt(n) / max(1, rank.max(initial=0))) for rank in ranks)
    return x, y


def _cut(place: np.ndarray, side: int, shift: int) -> np.ndarray:
    """Which tile, along one axis: the first one is half as long where shifted, and no other one is shorter."""
    length = float(place.max(initial=0.0)) + 1.0
    first = side / 2 if shift else float(side)
    last = np.floor((length - side / 2 - first) / side)
    found = np.floor((place - first) / side) + 1
    return np.asarray(np.clip(found, 0.0, max(last + 1.0, 0.0)))
