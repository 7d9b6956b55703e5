"""Nested dissection of a planar drawing, and the pass upwards: from single vertices to the whole field and its log Z.

Half-edge 2e sits at the first end of edge e, 2e + 1 at the second. A region is a set of vertices; the half-edges that
leave it dangle. Regions are numbered in preorder, so that the left child of region r is r + 1 and the right child is
r + 2 * n_within[r + 1]; children come before their parents when r runs downwards.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from mrfbayes.base.types import Workspace
from mrfbayes.kernels.base.jit import kernel, without_refcount
from mrfbayes.kernels.exact.planar_merge import ORDER_ZERO, contract, place_merged


class PlanarTree(NamedTuple):
    """A dissection of n vertices down to single ones: 2n - 1 regions."""

    n_within: np.ndarray  # (2n - 1,) vertices of a region
    vertex: np.ndarray  # (2n - 1,) the vertex of a leaf, -1 for other regions
    first: np.ndarray  # (2n,) where a region's dangling half-edges begin
    # half-edges, region by region: those that its parent keeps, then those shared with its sibling
    dangling: np.ndarray
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


class PlanarBuffers(NamedTuple):
    """Where the passes keep their matrices."""

    slot: np.ndarray  # (2n - 1,) where each region's matrix begins in `store`
    store: Workspace  # G of the regions, in layers: one for each order
    work: Workspace  # scratch of one merge, in as many
    places: Workspace  # scratch: positions in a parent's list
    shared: Workspace  # scratch: tau of the edges of one merge


@kernel
def right_child(tree, region):
    """The right child of a region; the left one is ``region + 1``."""
    return region + 2 * tree.n_within[region + 1]


@kernel
def stacked_slots(tree, slot):
    """Slots for a pass that needs no matrix twice: a stack. Returns its height."""
    height = 0
    slot[0] = 0
    for region in range(tree.n_within.size):
        size = tree.first[region + 1] - tree.first[region]
        height = max(height, slot[region] + size * size)
        if tree.vertex[region] < 0:
            right = right_child(tree, region)
            size = tree.first[right + 1] - tree.first[right]
            slot[right] = slot[region]
            slot[region + 1] = slot[region] + size * size
    return height


@kernel
def kept_slots(tree, slot):
    """Slots that keep every region's matrix; single vertices are made anew in two places at the end."""
    total, leaf = 0, 0
    for region in range(tree.n_within.size):
        size = tree.first[region + 1] - tree.first[region]
        if tree.vertex[region] < 0:
            slot[region] = total
            total += size * size
        else:
            leaf = max(leaf, size * size)
    for region in range(tree.n_within.size):
        if tree.vertex[region] < 0:
            right = right_child(tree, region)
            if tree.vertex[region + 1] >= 0:
                slot[region + 1] = total
            if tree.vertex[right] >= 0:
                slot[right] = total + leaf
    return total + 2 * leaf


@kernel
def tau_of(tau, half):
    """T between a half-edge and its partner; ``tau`` (m,) is that of the even half-edges."""
    return -tau[half // 2] if half % 2 else tau[half // 2]


@kernel
def clear_higher(buffers, begin, size, orders):
    """Zeros in all layers but the first: a single vertex does not change along a direction."""
    terms = len(orders)
    for n in range(1, terms):
        here = n * (buffers.store.size // terms) + begin
        buffers.store[here : here + size] = 0.0


@kernel(forceinline=True)  # by themselves, arrays of tree and buffers take longer to hand over than this takes
def fetch(tree, buffers, region, orders):
    """(begin, size) of a region's matrix; a single vertex's is made there: the signs of the differences of angles."""
    first, size = tree.first[region], tree.first[region + 1] - tree.first[region]
    begin = buffers.slot[region]
    if tree.vertex[region] >= 0:
        for i in range(size):
            here = tree.angle[tree.dangling[first + i]]
            for j in range(size):
                there = tree.angle[tree.dangling[first + j]]
                buffers.store[begin + i * size + j] = (there > here) - (there < here)
        if len(orders) > 1:
            clear_higher(buffers, begin, size * size, orders)
    return begin, size


@kernel
def shared_tau(tree, buffers, region, tau, orders):
    """Tau of the edges between the children of ``region``, seen from the left one."""
    begin = tree.cut_first[region]
    k = tree.cut_first[region + 1] - begin
    terms = len(orders)
    for i in range(k):
        half = tree.cut[begin + i]
        for n in range(terms):
            value = tau[n * (tau.size // terms) + half // 2]
            buffers.shared[n * k + i] = -value if half % 2 else value
    return buffers.shared[: terms * k]


@kernel
def child_places(tree, region, places):
    """Where the kept half-edges of the children, left then right, stand in the list of ``region``."""
    k = tree.cut_first[region + 1] - tree.cut_first[region]
    a, b = region + 1, right_child(tree, region)
    kept = tree.first[a + 1] - tree.first[a] - k
    for i in range(kept):
        places[i] = tree.place[tree.first[a] + i]
    for i in range(tree.first[b + 1] - tree.first[b] - k):
        places[kept + i] = tree.place[tree.first[b] + i]


@kernel
def inside(tree, buffers, tau, orders):
    """Merge the children of all regions, from the last up to the whole: log Z, and the weakest pivot."""
    tree, buffers, tau = without_refcount((tree, buffers, tau))
    log_z, weakest = 0.0, 1.0
    for region in range(tree.n_within.size - 1, -1, -1):
        if tree.vertex[region] >= 0:
            continue
        left = fetch(tree, buffers, region + 1, orders)
        right = fetch(tree, buffers, right_child(tree, region), orders)
        shared = shared_tau(tree, buffers, region, tau, orders)
        out, gained, pivot = contract(buffers.store, left, right, shared, buffers.work, orders)
        log_z += gained
        weakest = min(weakest, pivot)
        child_places(tree, region, buffers.places)
        size = tree.first[region + 1] - tree.first[region]
        into = (buffers.slot[region], size)
        place_merged(buffers.work, out, buffers.places, buffers.store, into, orders)
    return log_z, weakest


EPSILON = 2.0**-52


class PlanarPlan(NamedTuple):
    """A dissection and the room for a pass."""

    tree: PlanarTree
    buffers: PlanarBuffers
    sign: np.ndarray  # (m,) tau = sign * t
    fielded: np.ndarray  # nodes that are joined to the vertex of fields; their edges follow the field's own
    tau: Workspace  # (m,)
    n_free: int  # vertices whose state is not given
    most_error: float  # of log Z


@kernel
def log_z_error(n_vertices, weakest):
    """What rounding may have done to log Z, from the weakest pivot p of a pass.

    A pivot magnifies what was rounded before it by 1/p, and errors of matrices pass two such pivots at worst.
    """
    return EPSILON * (n_vertices / weakest + 1.0 / (weakest * weakest)) if weakest > 0.0 else math.inf


@kernel
def planar_log_z(plan, field, coupling):
    """Log of the sum of all weights; infinite, so that nobody goes there, where too many digits are lost."""
    m = coupling.size
    total = plan.n_free * math.log(2.0)
    for e in range(plan.tau.size):
        value = coupling[e] if e < m else field[plan.fielded[e - m]]
        plan.tau[e] = plan.sign[e] * math.tanh(0.5 * value)
        total += max(value, 0.0) + math.log(0.5 * (1.0 + math.exp(-abs(value))))
    series, weakest = inside(plan.tree, plan.buffers, plan.tau, ORDER_ZERO)
    n_vertices = (plan.tree.n_within.size + 1) // 2
    if not log_z_error(n_vertices, weakest) <= plan.most_error:
        return math.inf
    return total + series
