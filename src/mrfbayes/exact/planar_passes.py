"""Passes over the dissection of a planar drawing: log Z, its derivatives in two ways, exact draws.

Everything is in terms of t = 2 theta - 1 = tanh(coupling / 2) of each edge of the drawing, and of
L(t) = log of the sum over even sets of edges of the product of their t, so that log Z is L plus constants.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator

import numpy as np

from mrfbayes.exact.planar_drawing import Drawing
from mrfbayes.kernels.exact.planar_draw import PlanarDraw, descend, finish
from mrfbayes.kernels.exact.planar_gradient import gradient
from mrfbayes.kernels.exact.planar_inside import PlanarBuffers, inside, kept_slots, stacked_slots
from mrfbayes.kernels.exact.planar_log_z import PlanarPlan, log_z_error
from mrfbayes.kernels.exact.planar_merge import ORDER_ZERO
from mrfbayes.kernels.exact.planar_outside import PlanarExterior, exterior_slots, find_exterior
from mrfbayes.kernels.exact.planar_tree import dissect

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
        value, weakest = self._inside(self._tau(t), self._buffers(False))
        return value, float(log_z_error(self.drawing.n_vertices, weakest))

    def gradient(self, t: np.ndarray) -> tuple[float, np.ndarray, float]:
        """L(t), its derivatives (m,) by the adjoint, and an estimate of their error.

        For each edge, t times the derivative is found thrice: where it is cut and at both its ends. Where t is a power
        series, n terms (n, m), so are the derivatives; L and the error are those of the first term.
        """
        series = np.atleast_2d(t)
        orders, m = tuple(range(len(series))), series.shape[1]
        buffers, tau = self._buffers(True, len(series)), self._tau(series).ravel()
        value, _ = self._inside(tau, buffers, orders)
        slope, ends = np.zeros(tau.size), np.zeros(2 * m)
        gradient(self.tree, buffers, tau, slope, ends, orders)
        cut, by_cut, by_edge = self.tree.cut, slope.reshape(series.shape), np.empty(series.shape)
        by_edge[:, cut // 2] = np.where(cut % 2, -by_cut, by_cut) * self.drawing.sign[cut // 2]
        error = np.abs(ends.reshape(-1, 2).T - by_edge[0] * series[0]) * (1 - series[0] ** 2)
        return value, by_edge.reshape(t.shape), float(error.max(initial=0.0))

    def gradient_at_ends(self, t: np.ndarray) -> tuple[float, np.ndarray, float]:
        """As `gradient`, by exteriors: slower, with other rounding, and each edge is found at both its ends."""
        buffers, tau = self._buffers(True), self._tau(t)
        value, _ = self._inside(tau, buffers)
        ends = np.zeros(2 * tau.size)
        nothing = np.zeros(0, dtype=np.int8)
        descend(self.tree, buffers, self._exterior(), self._drawn(tau, nothing, ends), np.zeros(4, dtype=np.uint64))
        error = np.abs(ends[::2] - ends[1::2]) * (1 - t * t)
        return value, (ends[::2] + ends[1::2]) / 2 * self.drawing.sign, float(error.max(initial=0.0))

    def exteriors(self, t: np.ndarray, wanted: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
        """The exteriors of some regions (2n - 1,), none within another: (region, matrix over its dangling halves)."""
        buffers, tau, outer = self._buffers(True), self._tau(t), self._exterior()
        self._inside(tau, buffers)
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
        self._inside(self._tau(np.ones_like(t)), buffers)
        reference = np.rint(buffers.store).astype(np.int8)
        self._inside(tau, buffers)
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

    def _inside(
        self, tau: np.ndarray, buffers: PlanarBuffers, orders: tuple[int, ...] = ORDER_ZERO
    ) -> tuple[float, float]:
        value, weakest = inside(self.tree, buffers, tau, orders)
        return float(value), float(weakest)

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
