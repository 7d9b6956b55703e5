r"""Passes over a planar drawing: log Z, its derivatives in two ways, exact draws, covariances, windows.

Everything is in terms of t = 2 theta - 1 = tanh(coupling / 2) of each edge of the drawing, and of
L(t) = log of the sum over even sets of edges of the product of their t, so that log Z is L plus constants.

**Covariance.** With H = F (I - T F)^{-1}, skew over half-edges, the derivative of L by tau_e is H between the halves of
e, and :math:`\partial^2 L / \partial\tau_e \partial\tau_f = -H_{AA} H_{BB} - H_{AB} H_{BA}^T` element by element: A and
B are the first and second halves. Columns of H are solved for in batches, so that nothing larger than the result is
held.

**Windows.** The exterior X of a window is a matrix over the half-edges that leave it, so that with F and T of the
window's own half-edges and D = diag(tau) of those that leave,

.. math:: H = F (I - T' F)^{-1}, \qquad T' = T - D X D

is the exact Green function of the whole field among the edges of the window's nodes. Windows are tiles, laid four
times, each time shifted by half a tile: every edge lies well inside of one of them.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mrfbayes.exact.planar_drawing import Drawing
from mrfbayes.exact.recursions import ranges
from mrfbayes.kernels.exact.planar_gradient import gradient
from mrfbayes.kernels.exact.planar_inside import (
    PlanarBuffers,
    PlanarPlan,
    dissect,
    inside,
    kept_slots,
    log_z_error,
    stacked_slots,
)
from mrfbayes.kernels.exact.planar_merge import ORDER_ZERO
from mrfbayes.kernels.exact.planar_outside import (
    PlanarDraw,
    PlanarExterior,
    descend,
    exterior_slots,
    find_exterior,
    finish,
)

if TYPE_CHECKING:
    from scipy.sparse import csc_array

KEPT_BUFFER_BYTES = 2**27  # of buffers that are kept from call to call


class Dissection:
    """A drawing cut into regions, and what can be computed by merging them.

    ``tiles`` are whole-number places (x, y) of the vertices: those that share a place are kept together.
    """

    def __init__(self, drawing: Drawing, tiles: tuple[np.ndarray, np.ndarray] | None = None) -> None:
        self.drawing = drawing
        fine = drawing.x, drawing.y
        self.tree = dissect(drawing.offset, drawing.half, drawing.end, fine if tiles is None else tiles, fine)
        tree = self.tree
        self.size = np.diff(tree.first)
        inner = np.flatnonzero(tree.vertex < 0)
        left, right = inner + 1, inner + 2 * tree.n_within[inner + 1]
        k = np.diff(tree.cut_first)[inner]
        n_left, n_right, m = self.size[left], self.size[right], self.size[inner]
        self.n_products = float((k * (m + k) ** 2).sum())
        up, down = 3 * k * k + (n_left + n_right) * k + m * m, 6 * k * k + 4 * m * k + m * m
        # Exteriors: each child is merged with its sibling over what the sibling keeps.
        region, sibling = np.concatenate([left, right]), np.concatenate([right, left])
        kept, whole = self.size[sibling] - np.concatenate([k, k]), np.concatenate([m, m])
        out = 3 * kept * kept + (whole + self.size[sibling]) * kept + self.size[region] ** 2
        leaf = 3 * int(self.size[tree.vertex >= 0].max(initial=0)) ** 2
        self._work = [int(np.max(part, initial=max(leaf, 1))) for part in (up, down, out)]
        self._spare = int(np.max(whole**2 + self.size[sibling] ** 2, initial=max(leaf, 1)))
        self._longest = int(self.size.max()) + 1
        self._known = threading.local()

    @property
    def width(self) -> int:
        """The longest list of dangling half-edges of a region."""
        return self._longest - 1

    @property
    def n_kept(self) -> int:
        """Entries of all regions' matrices."""
        return int((self.size[self.tree.vertex < 0] ** 2).sum())

    def plan(self, most_error: float) -> PlanarPlan:
        """For log Z inside compiled chains, up to an error: with room of its own."""
        drawing = self.drawing
        tree = type(self.tree)(*(np.array(part) for part in self.tree))
        fielded, n_free = np.array(drawing.fielded, dtype=np.int64), drawing.n_vertices - bool(drawing.fielded.size)
        buffers, tau = self._make_buffers(False, 1), np.empty(drawing.sign.size)
        return PlanarPlan(tree, buffers, np.array(drawing.sign), fielded, tau, n_free, most_error)

    def log_z(self, t: np.ndarray) -> tuple[float, float]:
        """L(t) and an estimate of its error, from the weakest pivot."""
        value, weakest = inside(self.tree, self._buffers(False), self._tau(t), ORDER_ZERO)
        return float(value), float(log_z_error(self.drawing.n_vertices, weakest))

    def gradient(self, t: np.ndarray) -> tuple[float, np.ndarray, float]:
        """L(t), its derivatives (m,) by the adjoint, and an estimate of their error.

        For each edge, t times the derivative is found thrice: where it is cut and at both its ends. Where t is a power
        series, n terms (n, m), so are the derivatives; L and the error are those of the first term.
        """
        series = np.atleast_2d(t)
        orders, m = tuple(range(len(series))), series.shape[1]
        buffers, tau = self._buffers(True, len(series)), self._tau(series).ravel()
        value, _ = inside(self.tree, buffers, tau, orders)
        slope, ends = np.zeros(tau.size), np.zeros(2 * m)
        gradient(self.tree, buffers, tau, slope, ends, orders)
        cut, by_cut, by_edge = self.tree.cut, slope.reshape(series.shape), np.empty(series.shape)
        by_edge[:, cut // 2] = np.where(cut % 2, -by_cut, by_cut) * self.drawing.sign[cut // 2]
        error = np.abs(ends.reshape(-1, 2).T - by_edge[0] * series[0]) * (1 - series[0] ** 2)
        return value, by_edge.reshape(t.shape), float(error.max(initial=0.0))

    def gradient_at_ends(self, t: np.ndarray) -> tuple[float, np.ndarray, float]:
        """As `gradient`, by exteriors: slower, with other rounding, and each edge is found at both its ends."""
        buffers, tau = self._buffers(True), self._tau(t)
        value, _ = inside(self.tree, buffers, tau, ORDER_ZERO)
        ends = np.zeros(2 * tau.size)
        nothing = np.zeros(0, dtype=np.int8)
        descend(self.tree, buffers, self._exterior(), self._drawn(tau, nothing, ends), np.zeros(4, dtype=np.uint64))
        error = np.abs(ends[::2] - ends[1::2]) * (1 - t * t)
        return value, (ends[::2] + ends[1::2]) / 2 * self.drawing.sign, float(error.max(initial=0.0))

    def exteriors(self, t: np.ndarray, wanted: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
        """The exteriors of some regions (2n - 1,), none within another: (region, matrix over its dangling halves)."""
        buffers, tau, outer = self._buffers(True), self._tau(t), self._exterior()
        inside(self.tree, buffers, tau, ORDER_ZERO)
        behind = np.concatenate([[0], np.cumsum(wanted)])
        has = behind[np.arange(wanted.size) + 2 * self.tree.n_within - 1] > behind[:-1]  # one within, or itself
        for region in np.flatnonzero(has).tolist():
            find_exterior(self.tree, buffers, outer, region, tau)
            if wanted[region]:
                begin, size = outer.slot[region], self.size[region]
                yield region, outer.store[begin : begin + size * size].reshape(size, size)

    def sample(self, t: np.ndarray, n: int, state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(n, n_vertices) draws of 0 and 1, and their log-probabilities (n,)."""
        buffers, tau = self._buffers(True), self._tau(t)
        inside(self.tree, buffers, self._tau(np.ones_like(t)), ORDER_ZERO)
        reference = np.rint(buffers.store).astype(np.int8)
        inside(self.tree, buffers, tau, ORDER_ZERO)
        outer = self._exterior()
        x, log_probability = np.empty((n, self.drawing.n_vertices), dtype=np.uint8), np.empty(n)
        for i in range(n):
            drawn = self._drawn(tau, reference, np.zeros(0))
            descend(self.tree, buffers, outer, drawn, state)
            finish(drawn, state, x[i])
            log_probability[i] = drawn.log_probability[0]
        return x, log_probability

    def _drawn(self, tau: np.ndarray, reference: np.ndarray, ends: np.ndarray) -> PlanarDraw:
        drawing, n = self.drawing, self.drawing.n_vertices
        above, flip = np.full(n, -1, dtype=np.int64), np.empty(n, dtype=np.int64)
        return PlanarDraw(reference, drawing.end, drawing.sign, tau.copy(), above, flip, np.zeros(1), ends)

    def _tau(self, t: np.ndarray) -> np.ndarray:
        return np.asarray(t * self.drawing.sign)

    def _buffers(self, keep: bool, terms: int = 1) -> PlanarBuffers:
        known, key = self._known.__dict__, f"{keep} {terms}"
        found = known.get(key)
        if found is None:
            found = self._make_buffers(keep, terms)
            if found.store.nbytes < KEPT_BUFFER_BYTES:
                known[key] = found
        return found

    def _make_buffers(self, keep: bool, terms: int) -> PlanarBuffers:
        """Room for upward passes, and for downward ones where ``keep`` says so: those need all regions' matrices."""
        slot = np.empty(self.size.size, dtype=np.int64)
        total = int((kept_slots if keep else stacked_slots)(self.tree, slot))
        up, down, out = self._work
        work = up if not keep else max(down, up) if terms > 1 else max(down, up, out)
        return PlanarBuffers(
            slot,
            np.zeros(terms * (total + 1)),  # zeros: not every slot of a vertex is ever made
            np.empty(terms * work),
            np.empty(self._longest, dtype=np.int64),
            np.empty(terms * self._longest),
        )

    def _exterior(self) -> PlanarExterior:
        slot, parent = np.empty(self.size.size, dtype=np.int64), np.empty(self.size.size, dtype=np.int64)
        height = exterior_slots(self.tree, slot, parent)
        return PlanarExterior(slot, parent, np.empty(height + 1), np.empty(self._spare + 1))


COLUMN_BATCH_BYTES = 2**26


def pairs_at_vertices(degree: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All pairs of half-edges at the same vertex, where those of a vertex follow each other, by ``degree`` (n,)."""
    others, begin = np.repeat(degree, degree), np.repeat(np.cumsum(degree) - degree, degree)
    return np.repeat(np.arange(others.size), others), ranges(begin, others)


def kac_ward(drawing: Drawing, t: np.ndarray) -> tuple[csc_array, csc_array]:
    """F, and I - T F in compressed columns, both (2m, 2m)."""
    from scipy.sparse import csc_array, eye_array

    row, column = pairs_at_vertices(np.diff(drawing.offset))
    size = (drawing.half.size, drawing.half.size)
    signs = np.sign(column - row).astype(float)
    f = csc_array((signs, (drawing.half[row], drawing.half[column])), shape=size)
    tau = t * drawing.sign
    first = np.arange(0, drawing.half.size, 2)
    pairs = np.concatenate([first, first + 1]), np.concatenate([first + 1, first])
    between = csc_array((np.concatenate([tau, -tau]), pairs), shape=size)
    return f, (eye_array(drawing.half.size) - between @ f).tocsc()


def covariance_columns(drawing: Drawing, t: np.ndarray) -> Iterator[tuple[slice, np.ndarray, float]]:
    """Cov of the edges' agreements, a batch of columns at a time: (which, (m, batch) block, error of their counts)."""
    from scipy.sparse.linalg import splu

    m = t.size
    f, matrix = kac_ward(drawing, t)
    solver = splu(matrix, permc_spec="MMD_AT_PLUS_A")
    batch = max(1, COLUMN_BATCH_BYTES // (64 * max(m, 1)))
    weight = (1 - t * t) / 2 * drawing.sign
    for begin in range(0, m, batch):
        some = np.arange(begin, min(begin + batch, m))
        unit = np.zeros((2 * m, 2 * some.size))
        unit[2 * some, np.arange(some.size)] = 1.0
        unit[2 * some + 1, some.size + np.arange(some.size)] = 1.0
        h = f @ solver.solve(unit)
        first, second = h[:, : some.size], h[:, some.size :]
        block = second[::2] * first[1::2] - first[::2] * second[1::2]
        block *= weight[:, None] * weight[some]
        at = np.arange(some.size)
        forth, back = second[2 * some, at], -first[2 * some + 1, at]
        mean = (1 + t[some]) / 2 + weight[some] * forth
        block[some, at] = mean * (1 - mean)
        yield slice(begin, begin + some.size), block, float(np.abs(weight[some] * (forth - back)).max(initial=0.0))


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
