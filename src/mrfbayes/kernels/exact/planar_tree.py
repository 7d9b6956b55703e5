"""Nested dissection of a planar drawing: which regions are merged, in which order, over which edges.

Half-edge 2e sits at the first end of edge e, 2e + 1 at the second. A region is a set of vertices; the half-edges that
leave it dangle. Regions are numbered in preorder, so that the left child of region r is r + 1 and the right child is
r + 2 * n_within[r + 1]; children come before their parents when r runs downwards.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mrfbayes.kernels.base.jit import kernel


class PlanarTree(NamedTuple):
    """A dissection of n vertices down to single ones: 2n - 1 regions."""

    n_within: np.ndarray  # (2n - 1,) vertices of a region
    vertex: np.ndarray  # (2n - 1,) the vertex of a leaf, -1 for other regions
    first: np.ndarray  # (2n,) where a region's dangling half-edges begin
    dangling: (
        np.ndarray
    )  # half-edges, region by region: those that its parent keeps, then those shared with its sibling
    place: np.ndarray  # as `dangling`: where the half-edge stands in the parent's list, -1 for shared ones
    cut_first: np.ndarray  # (2n,) where the edges between a region's children begin in `cut`
    cut: np.ndarray  # (m,) half-edges of the left child that its sibling shares; each edge is cut once
    angle: np.ndarray  # (2m,) rank of a half-edge among those of its vertex, by angle


@kernel
def _extent(coordinate, order, low, high):
    values = coordinate[order[low:high]]
    return values.max() - values.min()


@kernel
def _bisect(coordinate, order, low, high, spare):
    """Split order[low:high] by its median coordinate, along a straight line where that is nearly even; where it is."""
    n = high - low
    median = np.partition(coordinate[order[low:high]], n // 2)[n // 2]
    below, upto = 0, 0
    for i in range(low, high):
        below += coordinate[order[i]] < median
        upto += coordinate[order[i]] <= median
    size = below if abs(2 * below - n) <= abs(2 * upto - n) else upto
    if 4 * min(size, n - size) < n:
        size = n // 2  # so many share the median that they have to be told apart by their numbers
    equal = size - below
    left, right = low, 0
    for i in range(low, high):
        v = order[i]
        value = coordinate[v]
        if value < median or (value == median and equal > 0):
            equal -= value == median
            order[left] = v
            left += 1
        else:
            spare[right] = v
            right += 1
    for i in range(right):
        order[left + i] = spare[i]
    return left


@kernel
def _grown(array, size):
    """``array`` itself, or a longer copy that has room for ``size`` entries."""
    if size <= array.size:
        return array
    longer = np.empty(2 * size, dtype=array.dtype)
    for i in range(array.size):
        longer[i] = array[i]
    return longer


@kernel
def dissect(offset, half, end, coarse, fine):
    """`PlanarTree` by bisection of the vertices by their ``coarse`` places (x, y), and by the ``fine`` within one.

    offset, half: the half-edges of each vertex in the order of their angles; end: (2m,) the vertex of each half-edge.
    """
    n, n_half = offset.size - 1, half.size
    n_regions = 2 * n - 1
    n_within, vertex = np.empty(n_regions, dtype=np.int64), np.full(n_regions, -1, dtype=np.int64)
    first, cut_first = np.zeros(n_regions + 1, dtype=np.int64), np.zeros(n_regions + 1, dtype=np.int64)
    cut, angle = np.empty(n_half // 2, dtype=np.int32), np.empty(n_half, dtype=np.int32)
    dangling, place = np.empty(8 * n_half + 8, dtype=np.int32), np.empty(8 * n_half + 8, dtype=np.int32)
    for v in range(n):
        for i in range(offset[v], offset[v + 1]):
            angle[half[i]] = i - offset[v]
    order, position = np.arange(n), np.arange(n)
    spare = np.empty(n, dtype=np.int64)
    open_ = np.empty((2 * n + 2, 3), dtype=np.int64)  # low, high, parent; a right child lies under its left sibling
    open_[0, 0], open_[0, 1], open_[0, 2] = 0, n, -1
    depth, region, used, n_cut = 1, 0, 0, 0
    while depth:
        depth -= 1
        low, high, parent = open_[depth, 0], open_[depth, 1], open_[depth, 2]
        n_within[region], first[region], cut_first[region] = high - low, used, n_cut
        if parent >= 0:
            begin, stop = first[parent], first[parent + 1]
            shared, shared_stop = cut_first[parent], cut_first[parent + 1]
            dangling = _grown(dangling, used + stop - begin + shared_stop - shared)
            place = _grown(place, dangling.size)
            for i in range(begin, stop):
                if low <= position[end[dangling[i]]] < high:
                    dangling[used], place[used] = dangling[i], i - begin
                    used += 1
            is_right = region != parent + 1
            for i in range(shared, shared_stop):
                dangling[used], place[used] = cut[i] ^ is_right, -1
                used += 1
        first[region + 1] = used
        if high - low == 1:
            vertex[region] = order[low]
        else:
            x, y = coarse
            if _extent(x, order, low, high) == 0.0 and _extent(y, order, low, high) == 0.0:
                x, y = fine
            wide = _extent(x, order, low, high) >= _extent(y, order, low, high)
            middle = _bisect(x if wide else y, order, low, high, spare)
            for i in range(low, high):
                position[order[i]] = i
            for i in range(low, middle):
                v = order[i]
                for j in range(offset[v], offset[v + 1]):
                    if middle <= position[end[half[j] ^ 1]] < high:
                        cut[n_cut] = half[j]
                        n_cut += 1
            open_[depth, 0], open_[depth, 1], open_[depth, 2] = middle, high, region
            open_[depth + 1, 0], open_[depth + 1, 1], open_[depth + 1, 2] = low, middle, region
            depth += 2
        cut_first[region + 1] = n_cut
        region += 1
    return PlanarTree(n_within, vertex, first, dangling[:used].copy(), place[:used].copy(), cut_first, cut, angle)
