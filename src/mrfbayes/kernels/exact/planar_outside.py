"""Downwards through a dissection: the exterior of every region.

The exterior X of a region is a matrix over the partners of the region's dangling half-edges. That of a child is the
merge of its parent's exterior with its sibling; merged with a single vertex it gives the vertex's edges.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mrfbayes.kernels.base.jit import kernel
from mrfbayes.kernels.exact.planar_inside import fetch, right_child, tau_of
from mrfbayes.kernels.exact.planar_merge import ORDER_ZERO, contract, shared_inverse


class PlanarExterior(NamedTuple):
    """Where a downward pass keeps the exteriors along its path."""

    slot: np.ndarray  # (2n - 1,) where each region's exterior begins in `store`
    parent: np.ndarray  # (2n - 1,)
    store: np.ndarray
    spare: np.ndarray  # scratch: the two sides of one merge


@kernel
def exterior_slots(tree, slot, parent):
    """Slots of exteriors, a stack along the path from the root, and every region's parent. Returns the height."""
    slot[0], parent[0] = 0, -1
    height = 0
    for region in range(tree.n_within.size):
        size = tree.first[region + 1] - tree.first[region]
        height = max(height, slot[region] + size * size)
        if tree.vertex[region] < 0:
            right = right_child(tree, region)
            slot[region + 1] = slot[right] = slot[region] + size * size
            parent[region + 1] = parent[right] = region
    return height


@kernel
def gather_exterior(tree, outer, region, sibling, spare):
    """The parent's exterior in the order of ``region``'s kept half-edges, then ``sibling``'s, in ``spare``."""
    k = tree.cut_first[outer.parent[region] + 1] - tree.cut_first[outer.parent[region]]
    kept = tree.first[region + 1] - tree.first[region] - k
    other = tree.first[sibling + 1] - tree.first[sibling] - k
    begin, m = outer.slot[outer.parent[region]], kept + other
    for i in range(m):
        row = tree.place[tree.first[region] + i] if i < kept else tree.place[tree.first[sibling] + i - kept]
        for j in range(kept):
            spare[i * m + j] = outer.store[begin + row * m + tree.place[tree.first[region] + j]]
        for j in range(other):
            spare[i * m + kept + j] = outer.store[begin + row * m + tree.place[tree.first[sibling] + j]]
    return m


@kernel
def gather_sibling(store, matrix, k, spare, begin):
    """A region's matrix with its k shared half-edges first."""
    size = matrix[1]
    kept = size - k
    for i in range(size):
        row = matrix[0] + (i - k if i >= k else kept + i) * size
        for j in range(k):
            spare[begin + i * size + j] = store[row + kept + j]
        for j in range(kept):
            spare[begin + i * size + k + j] = store[row + j]


@kernel
def merge_exterior(tree, buffers, outer, region, sibling, tau):
    """Exterior of ``region`` from its parent's and from its sibling's matrix, which stands in ``outer.spare``."""
    m = tree.first[outer.parent[region] + 1] - tree.first[outer.parent[region]]
    size = tree.first[sibling + 1] - tree.first[sibling]
    k = tree.cut_first[outer.parent[region] + 1] - tree.cut_first[outer.parent[region]]
    other = size - k
    for i in range(other):
        buffers.shared[i] = -tau_of(tau, tree.dangling[tree.first[sibling] + i])
    out = contract(outer.spare, (0, m), (m * m, size), buffers.shared[:other], buffers.work, ORDER_ZERO)[0]
    n = m - other + k
    begin = outer.slot[region]
    for i in range(n):
        for j in range(i):
            value = buffers.work[out + i * n + j]
            outer.store[begin + i * n + j] = value
            outer.store[begin + j * n + i] = -value
        outer.store[begin + i * n + i] = 0.0


@kernel
def find_exterior(tree, buffers, outer, region, tau):
    """The exterior of a region, from its parent's; ``buffers`` as `planar_inside.inside` left them."""
    parent = outer.parent[region]
    if parent < 0:
        return
    k = tree.cut_first[parent + 1] - tree.cut_first[parent]
    sibling = right_child(tree, parent) if region == parent + 1 else parent + 1
    m = gather_exterior(tree, outer, region, sibling, outer.spare)
    gather_sibling(buffers.store, fetch(tree, buffers, sibling, ORDER_ZERO), k, outer.spare, m * m)
    merge_exterior(tree, buffers, outer, region, sibling, tau)


@kernel
def close_vertex(tree, buffers, outer, region, tau):
    """S^-1 of a vertex merged with its whole exterior, in ``buffers.work``; the vertex's matrix stands in the spare."""
    first, size = tree.first[region], tree.first[region + 1] - tree.first[region]
    begin = outer.slot[region]
    for i in range(size):
        here = tree.angle[tree.dangling[first + i]]
        buffers.shared[i] = tau_of(tau, tree.dangling[first + i])
        for j in range(size):
            there = tree.angle[tree.dangling[first + j]]
            outer.spare[i * size + j] = (there > here) - (there < here)
            outer.spare[size * size + i * size + j] = outer.store[begin + i * size + j]
    shared_inverse(outer.spare, (0, size), (size * size, size), buffers.shared[:size], buffers.work, ORDER_ZERO)
    return size


@kernel
def slope_at(buffers, outer, size, i):
    """Derivative of log Z by tau of a vertex's i-th edge: entry (i, i) of a S^-1 D b."""
    total = 0.0
    for s in range(size):
        row = 0.0
        for j in range(size):
            row += outer.spare[i * size + j] * buffers.work[(2 * j + 1) * size + s]
        total += row * buffers.shared[s] * outer.spare[size * size + s * size + i]
    return total
