"""Passes over the dissection of a planar drawing: log Z, its derivatives in two ways, exact draws.

Everything is in terms of t = 2 theta - 1 = tanh(coupling / 2) of each edge of the drawing, and of
L(t) = log of the sum over even sets of edges of the product of their t, so that log Z is L plus constants. Small
merges run compiled, one call for all of them between two large ones; those go to BLAS.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from mrfbayes.exact.planar_blocks import contract_blocks, split_blocks
from mrfbayes.exact.planar_drawing import Drawing

if TYPE_CHECKING:
    from mrfbayes.kernels.exact.planar_draw import PlanarDraw
    from mrfbayes.kernels.exact.planar_inside import PlanarBuffers
    from mrfbayes.kernels.exact.planar_log_z import PlanarPlan
    from mrfbayes.kernels.exact.planar_outside import PlanarExterior

LARGE_MERGE = 2**21  # multiplications of a merge from which on BLAS is faster
KEPT_BUFFER_BYTES = 2**27  # of buffers that are kept from call to call


class Dissection:
    """A drawing cut into regions, and what can be computed by merging them.

    ``tiles`` are whole-number places (x, y) of the vertices: those that share a place are kept together.
    """

    def __init__(self, drawing: Drawing, tiles: tuple[np.ndarray, np.ndarray] | None = None) -> None:
        from mrfbayes.kernels.exact.planar_tree import dissect

        self.drawing = drawing
        fine = drawing.x, drawing.y
        self.tree = dissect(drawing.offset, drawing.half, drawing.end, fine if tiles is None else tiles, fine)
        tree = self.tree
        self.size = np.diff(tree.first)
        inner = np.flatnonzero(tree.vertex < 0)
        left, right = inner + 1, inner + 2 * tree.n_within[inner + 1]
        k = np.diff(tree.cut_first)[inner]
        n_left, n_right, m = self.size[left], self.size[right], self.size[inner]
        up = k * (m + k) ** 2 > LARGE_MERGE
        self._large = inner[up]
        self.n_products = float((k * (m + k) ** 2).sum())
        small = ~up
        down = 3 * k * k + (n_left + n_right) * k + m * m, 6 * k * k + 4 * m * k + m * m
        self._work = int(max(np.max(part[small], initial=1) for part in down))
        self._whole_work = int(np.max(down[0], initial=1)), int(max(np.max(part, initial=1) for part in down))
        # Exteriors: each child is merged with its sibling over what the sibling keeps.
        region, sibling = np.concatenate([left, right]), np.concatenate([right, left])
        kept = self.size[sibling] - np.concatenate([k, k])
        whole = np.concatenate([m, m])
        out = (kept * (self.size[region] + kept) ** 2 > LARGE_MERGE) & (
            tree.vertex[region] < 0
        )  # kernels close vertices
        self._large_outside = np.sort(region[out])
        work = 3 * kept * kept + (whole + self.size[sibling]) * kept + self.size[region] ** 2
        leaf = self.size[tree.vertex >= 0].max(initial=0)
        self._outside_work = int(max(np.max(work[~out], initial=1), 2 * leaf**2))
        self._spare = int(max(np.max((whole**2 + self.size[sibling] ** 2)[~out], initial=1), 2 * leaf**2))
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
        """For log Z inside compiled chains, up to an error: with room of its own, and no merge left to BLAS."""
        from mrfbayes.kernels.exact.planar_inside import PlanarBuffers
        from mrfbayes.kernels.exact.planar_log_z import PlanarPlan

        drawing = self.drawing
        slot, total = self._slots(keep=False)
        places, shared = np.empty(self._longest, dtype=np.int64), np.empty(self._longest)
        buffers = PlanarBuffers(slot, np.zeros(total + 1), np.empty(self._whole_work[0]), places, shared)
        tree = type(self.tree)(*(np.array(part) for part in self.tree))
        fielded, n_free = np.array(drawing.fielded, dtype=np.int64), drawing.n_vertices - bool(drawing.fielded.size)
        return PlanarPlan(
            tree, buffers, np.array(drawing.sign), fielded, np.empty(drawing.sign.size), n_free, most_error
        )

    def log_z(self, t: np.ndarray) -> tuple[float, float]:
        """L(t) and an estimate of its error, from the weakest pivot."""
        from mrfbayes.kernels.exact.planar_log_z import log_z_error

        value, weakest = self._inside(self._tau(t), self._buffers(False))
        return value, float(log_z_error(self.drawing.n_vertices, weakest))

    def gradient(self, t: np.ndarray) -> tuple[float, np.ndarray, float]:
        """L(t), its derivatives (m,) by the adjoint, and an estimate of their error.

        For each edge, t times the derivative is found thrice: where it is cut and at both its ends.
        """
        from mrfbayes.kernels.exact.planar_gradient import gradient
        from mrfbayes.kernels.exact.planar_merge import ORDER_ZERO

        buffers, tau = self._buffers(True), self._tau(t)
        value, _ = self._inside(tau, buffers)
        slope, ends = np.zeros(tau.size), np.zeros(2 * tau.size)
        for span, region in self._ascending(self._large):
            if span is not None:
                gradient(self.tree, buffers, tau, span, slope, ends, ORDER_ZERO)
            if region is not None:
                self._split(region, tau, buffers, slope, ends)
        found = self._by_edge(slope)
        return value, found, self._disagreement(t, found, ends)

    def gradient_series(self, t: np.ndarray) -> tuple[np.ndarray, float]:
        """Where t is a power series, n terms (n, m), so are the derivatives; with the error of their first term.

        All merges run compiled, also those that `gradient` leaves to BLAS.
        """
        from mrfbayes.kernels.exact.planar_gradient import gradient
        from mrfbayes.kernels.exact.planar_inside import inside

        buffers, tau = self._buffers(True, len(t)), self._tau(t).ravel()
        orders, last = tuple(range(len(t))), self.size.size - 1
        inside(self.tree, buffers, tau, (last, 0), orders)
        slope, ends = np.zeros(tau.size), np.zeros(2 * t.shape[1])
        gradient(self.tree, buffers, tau, (0, last), slope, ends, orders)
        found = self._by_edge(slope.reshape(t.shape))
        return found, self._disagreement(t[0], found[0], ends)

    def _by_edge(self, slope: np.ndarray) -> np.ndarray:
        """Derivatives by t of each edge from those by tau in the order of the cuts."""
        cut = self.tree.cut
        found = np.empty_like(slope)
        found[..., cut // 2] = np.where(cut % 2, -slope, slope)
        return np.asarray(found * self.drawing.sign)

    @staticmethod
    def _disagreement(t: np.ndarray, found: np.ndarray, ends: np.ndarray) -> float:
        """How far t times the derivatives are from what both ends of the edges say, in expected counts."""
        error = np.maximum(np.abs(ends[::2] - found * t), np.abs(ends[1::2] - found * t)) * (1 - t * t)
        return float(error.max(initial=0.0))

    def gradient_at_ends(self, t: np.ndarray) -> tuple[float, np.ndarray, float]:
        """As `gradient`, by exteriors: slower, with other rounding, and each edge is found at both its ends."""
        buffers, tau = self._buffers(True), self._tau(t)
        value, _ = self._inside(tau, buffers)
        ends = np.zeros(2 * tau.size)
        nothing = np.zeros(0, dtype=np.int8)
        self._descend(tau, buffers, self._exterior(), self._drawn(nothing, ends), np.zeros(4, dtype=np.uint64))
        error = np.abs(ends[::2] - ends[1::2]) * (1 - t * t)
        return value, (ends[::2] + ends[1::2]) / 2 * self.drawing.sign, float(error.max(initial=0.0))

    def exteriors(self, t: np.ndarray, wanted: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
        """The exteriors of some regions (2n - 1,), none within another: (region, matrix over its dangling halves)."""
        buffers, tau, outer = self._buffers(True), self._tau(t), self._exterior()
        self._inside(tau, buffers)
        behind = np.concatenate([[0], np.cumsum(wanted)])
        has = behind[np.arange(wanted.size) + 2 * self.tree.n_within - 1] > behind[:-1]  # one within, or itself
        for region in np.flatnonzero(has).tolist():
            if region:
                sibling = self._sibling(region, outer)
                self._merge_exterior(region, tau, outer, self._matrix(sibling, buffers))
            if wanted[region]:
                yield region, _square(outer.store, outer.slot[region], self.size[region])

    def sample(self, t: np.ndarray, n: int, state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(n, n_vertices) draws of 0 and 1, and their log-probabilities (n,)."""
        from mrfbayes.kernels.exact.planar_draw import finish

        buffers, tau = self._buffers(True), self._tau(t)
        self._inside(self._tau(np.ones_like(t)), buffers)
        drawn = self._drawn(np.rint(buffers.store).astype(np.int8), np.zeros(0))
        self._inside(tau, buffers)
        outer = self._exterior()
        x, log_probability = np.empty((n, self.drawing.n_vertices), dtype=np.uint8), np.empty(n)
        for i in range(n):
            self._descend(tau, buffers, outer, drawn, state)
            finish(drawn, state, x[i])
            log_probability[i] = drawn.log_probability[0]
        return x, log_probability

    def _drawn(self, reference: np.ndarray, ends: np.ndarray) -> PlanarDraw:
        from mrfbayes.kernels.exact.planar_draw import PlanarDraw

        drawing, n = self.drawing, self.drawing.n_vertices
        above, flip = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
        tau = np.empty(drawing.sign.size)
        return PlanarDraw(reference, drawing.end, drawing.sign, tau, above, flip, np.zeros(1), ends)

    def _descend(
        self, tau: np.ndarray, buffers: PlanarBuffers, outer: PlanarExterior, drawn: PlanarDraw, state: np.ndarray
    ) -> None:
        """One pass down the exteriors: a draw, or the derivatives where ``drawn.ends`` has room for them."""
        from mrfbayes.kernels.exact.planar_draw import descend

        drawn.tau[:], drawn.above[:], drawn.log_probability[:] = tau, -1, 0.0
        for span, region in self._ascending(self._large_outside):
            if span is not None:
                descend(self.tree, buffers, outer, drawn, span, state)
            if region is not None:
                sibling = self._sibling(region, outer)
                is_known = sibling < region and not drawn.ends.size and self.tree.vertex[sibling] < 0
                matrix = self._known_matrix(sibling, buffers, drawn) if is_known else self._matrix(sibling, buffers)
                self._merge_exterior(region, drawn.tau, outer, matrix)

    def _known_matrix(self, region: int, buffers: PlanarBuffers, drawn: PlanarDraw) -> np.ndarray:
        from mrfbayes.kernels.exact.planar_draw import known_signs

        signs = np.empty(self.size[region])
        known_signs(self.tree, drawn, region, signs)
        return _square(drawn.reference, buffers.slot[region], signs.size) * signs[:, None] * signs

    def _tau(self, t: np.ndarray) -> np.ndarray:
        return np.asarray(t * self.drawing.sign)

    def _inside(self, tau: np.ndarray, buffers: PlanarBuffers) -> tuple[float, float]:
        from mrfbayes.kernels.exact.planar_inside import inside
        from mrfbayes.kernels.exact.planar_merge import ORDER_ZERO

        total, weakest = 0.0, 1.0
        stop = self.size.size - 1
        for region in [*self._large[::-1].tolist(), -1]:
            if stop > region:
                value, pivot = inside(self.tree, buffers, tau, (stop, region + 1), ORDER_ZERO)
                total, weakest = total + value, min(weakest, pivot)
            if region >= 0:
                merged, value, pivot = contract_blocks(*self._children(region, buffers), self._shared(region, tau))
                places = self._places(region)
                target = self._matrix(region, buffers)
                target[places[:, None], places] = merged
                total, weakest = total + value, min(weakest, pivot)
            stop = region - 1
        return total, float(weakest)

    def _split(self, region: int, tau: np.ndarray, buffers: PlanarBuffers, slope: np.ndarray, ends: np.ndarray) -> None:
        from mrfbayes.kernels.exact.planar_gradient import compare_ends

        tree, places = self.tree, self._places(region)
        left, right = self._children(region, buffers)
        gbar = self._matrix(region, buffers)[places[:, None], places]
        new_left, new_right, found = split_blocks(gbar, left, right, self._shared(region, tau))
        left[:], right[:] = new_left, new_right
        slope[tree.cut_first[region] : tree.cut_first[region + 1]] = found
        for child in (region + 1, self._right(region)):
            if tree.vertex[child] >= 0:
                compare_ends(tree, buffers, child, ends)

    def _merge_exterior(self, region: int, tau: np.ndarray, outer: PlanarExterior, matrix: np.ndarray) -> None:
        """The exterior of a region from its parent's and from its sibling's ``matrix``."""
        tree, parent, sibling = self.tree, int(outer.parent[region]), self._sibling(region, outer)
        k = int(tree.cut_first[parent + 1] - tree.cut_first[parent])
        first, m = tree.first[sibling], int(self.size[sibling]) - k
        near = tree.place[tree.first[region] : tree.first[region + 1] - k]
        places = np.concatenate([near, tree.place[first : first + m]])
        whole = _square(outer.store, outer.slot[parent], self.size[parent])[places[:, None], places]
        rolled = np.roll(matrix, k, axis=(0, 1))
        half = tree.dangling[first : first + m]
        shared = np.where(half % 2, tau[half // 2], -tau[half // 2])
        _square(outer.store, outer.slot[region], self.size[region])[:] = contract_blocks(whole, rolled, shared)[0]

    def _sibling(self, region: int, outer: PlanarExterior) -> int:
        parent = int(outer.parent[region])
        return self._right(parent) if region == parent + 1 else parent + 1

    def _right(self, region: int) -> int:
        return int(region + 2 * self.tree.n_within[region + 1])

    def _children(self, region: int, buffers: PlanarBuffers) -> tuple[np.ndarray, np.ndarray]:
        return self._matrix(region + 1, buffers), self._matrix(self._right(region), buffers)

    def _matrix(self, region: int, buffers: PlanarBuffers) -> np.ndarray:
        from mrfbayes.kernels.exact.planar_inside import fetch
        from mrfbayes.kernels.exact.planar_merge import ORDER_ZERO

        if self.tree.vertex[region] >= 0:
            fetch(self.tree, buffers, region, ORDER_ZERO)
        return _square(buffers.store, buffers.slot[region], self.size[region])

    def _places(self, region: int) -> np.ndarray:
        tree, k = self.tree, int(self.tree.cut_first[region + 1] - self.tree.cut_first[region])
        children = (region + 1, self._right(region))
        return np.concatenate([tree.place[tree.first[child] : tree.first[child + 1] - k] for child in children])

    def _shared(self, region: int, tau: np.ndarray) -> np.ndarray:
        half = self.tree.cut[self.tree.cut_first[region] : self.tree.cut_first[region + 1]]
        return np.asarray(np.where(half % 2, -tau[half // 2], tau[half // 2]))

    def _ascending(self, large: np.ndarray) -> Iterator[tuple[tuple[int, int] | None, int | None]]:
        """Spans of regions for the kernels, each followed by a large region where there is one."""
        begin, last = 0, self.size.size - 1
        for region in large.tolist():
            yield ((begin, region - 1) if begin < region else None), region
            begin = region + 1
        yield ((begin, last) if begin <= last else None), None

    def _slots(self, keep: bool) -> tuple[np.ndarray, int]:
        from mrfbayes.kernels.exact.planar_inside import kept_slots, stacked_slots

        slot = np.empty(self.size.size, dtype=np.int64)
        return slot, int((kept_slots if keep else stacked_slots)(self.tree, slot))

    def _buffers(self, keep: bool, terms: int = 1) -> PlanarBuffers:
        from mrfbayes.kernels.exact.planar_inside import PlanarBuffers

        known, key = self._known.__dict__, f"{keep} {terms}"
        found = known.get(key)
        if found is None:
            slot, total = self._slots(keep)
            work = self._whole_work[1] if terms > 1 else max(self._work, self._outside_work if keep else 1)
            found = PlanarBuffers(
                slot,
                np.zeros(terms * (total + 1)),  # zeros: not every slot of a vertex is ever made
                np.empty(terms * work),
                np.empty(self._longest, dtype=np.int64),
                np.empty(terms * self._longest),
            )
            if found.store.nbytes < KEPT_BUFFER_BYTES:
                known[key] = found
        return found

    def _exterior(self) -> PlanarExterior:
        from mrfbayes.kernels.exact.planar_outside import PlanarExterior, exterior_slots

        slot, parent = np.empty(self.size.size, dtype=np.int64), np.empty(self.size.size, dtype=np.int64)
        height = exterior_slots(self.tree, slot, parent)
        return PlanarExterior(slot, parent, np.empty(height + 1), np.empty(self._spare + 1))


def _square(store: np.ndarray, begin: int, size: int) -> np.ndarray:
    return store[begin : begin + size * size].reshape(size, size)
