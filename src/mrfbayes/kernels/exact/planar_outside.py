r"""Downwards through a dissection: the exterior of every region.

The exterior X of a region is a matrix over the partners of the region's dangling half-edges. That of a child is the
merge of its parent's exterior with its sibling; merged with a single vertex it gives the vertex's edges.

So the passes end at the vertices: with their edges' derivatives, or exact draws with their log-probability.

Without drawing, each edge is found at both its ends, and the difference tells the error. For a draw every vertex is
asked, in the order of the regions, whether it agrees with a neighbour that came before:
P(agree) = (1 + E[\sigma_u \sigma_v]) / 2 given all that is known, from its exterior. Then that edge's t is +1 or -1.
A region whose vertices are all known has the matrix of its reference (all t = 1) times \sigma_i \sigma_j.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from mrfbayes.kernels.base.jit import kernel, without_refcount
from mrfbayes.kernels.base.random import uniform
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


class PlanarDraw(NamedTuple):
    """What is known while one draw is made."""

    reference: np.ndarray  # int8, in the slots of the regions: their matrices at t = 1
    end: np.ndarray  # (2m,) vertex of each half-edge
    sign: np.ndarray  # (m,) tau = sign * t
    tau: np.ndarray  # (m,) given what is known
    above: np.ndarray  # (n,) union-find: vertices whose relation is known hang together; -1: not yet visited
    flip: np.ndarray  # (n,) whether a vertex differs from the one above it
    log_probability: np.ndarray  # (1,)
    ends: np.ndarray  # (2m,) instead of a draw: derivatives of log Z by tau at both ends of each edge; else empty


@kernel
def find(draw, v):
    """The root of v's known relations, and whether v differs from it."""
    flip = 0
    while draw.above[v] != v:
        up = draw.above[v]
        flip ^= draw.flip[v]
        if draw.above[up] != up:  # halve the path
            draw.flip[v] ^= draw.flip[up]
            flip ^= draw.flip[up]
            draw.above[v] = draw.above[up]
            up = draw.above[v]
        v = up
    return v, flip


@kernel
def known_signs(tree, draw, region, signs):
    """+1 or -1 for the vertex of each dangling half-edge of a region that is known."""
    first = tree.first[region]
    for i in range(tree.first[region + 1] - first):
        signs[i] = 1.0 - 2.0 * find(draw, draw.end[tree.dangling[first + i]])[1]


@kernel
def gather_known(draw, matrix, k, signs, spare, begin):
    """`gather_sibling` for a region that is known."""
    size = matrix[1]
    kept = size - k
    for i in range(size):
        there = i - k if i >= k else kept + i
        row, sign = matrix[0] + there * size, signs[there]
        for j in range(k):
            spare[begin + i * size + j] = draw.reference[row + kept + j] * sign * signs[kept + j]
        for j in range(kept):
            spare[begin + i * size + k + j] = draw.reference[row + j] * sign * signs[j]


@kernel
def visit(tree, buffers, outer, draw, region, state):
    """Draw the relations of one vertex to those of its neighbours that came before."""
    v, first = tree.vertex[region], tree.first[region]
    draw.above[v], draw.flip[v] = v, 0
    for i in range(tree.first[region + 1] - first):
        half = tree.dangling[first + i]
        u, edge = draw.end[half ^ 1], half // 2
        if draw.above[u] < 0:
            continue
        (root_u, flip_u), (root_v, flip_v) = find(draw, u), find(draw, v)
        if root_u == root_v:
            differs = flip_u ^ flip_v
        else:
            size = close_vertex(tree, buffers, outer, region, draw.tau)
            towards = tau_of(draw.sign, half)
            t = draw.tau[edge] * draw.sign[edge]
            agree = 0.5 * (1.0 + t) + 0.5 * (1.0 - t * t) * towards * slope_at(buffers, outer, size, i)
            agree = min(max(agree, 0.0), 1.0)
            differs = 0 if uniform(state) < agree else 1
            draw.log_probability[0] += math.log(1.0 - agree if differs else agree)
            draw.above[root_v] = root_u
            draw.flip[root_v] = flip_u ^ flip_v ^ differs
        draw.tau[edge] = draw.sign[edge] * (1 - 2 * differs)


@kernel
def read_slopes(tree, buffers, outer, draw, region):
    """Derivatives of log Z by tau of a vertex's edges."""
    size = close_vertex(tree, buffers, outer, region, draw.tau)
    for i in range(size):
        half = tree.dangling[tree.first[region] + i]
        slope = slope_at(buffers, outer, size, i)
        draw.ends[half] = -slope if half % 2 else slope


@kernel
def descend(tree, buffers, outer, draw, state):
    """Visit all regions, parents first; ``buffers`` as `mrfbayes.kernels.exact.planar_inside.inside` left them."""
    tree, buffers, outer, draw, state = without_refcount((tree, buffers, outer, draw, state))
    is_drawing = draw.ends.size == 0
    for region in range(tree.n_within.size):
        parent = outer.parent[region]
        if parent >= 0:
            k = tree.cut_first[parent + 1] - tree.cut_first[parent]
            is_left = region == parent + 1
            sibling = right_child(tree, parent) if is_left else parent + 1
            if is_left or not is_drawing or tree.vertex[sibling] >= 0:
                find_exterior(tree, buffers, outer, region, draw.tau)
            else:
                m = gather_exterior(tree, outer, region, sibling, outer.spare)
                known_signs(tree, draw, sibling, buffers.shared)
                size = tree.first[sibling + 1] - tree.first[sibling]
                gather_known(draw, (buffers.slot[sibling], size), k, buffers.shared, outer.spare, m * m)
                merge_exterior(tree, buffers, outer, region, sibling, draw.tau)
        if tree.vertex[region] >= 0:
            if is_drawing:
                visit(tree, buffers, outer, draw, region, state)
            else:
                read_slopes(tree, buffers, outer, draw, region)


@kernel
def finish(draw, state, x):
    """Give each group of related vertices a state, and write the draw to ``x`` (n,)."""
    draw, state, x = without_refcount((draw, state, x))
    for v in range(x.size):
        if draw.above[v] == v:
            x[v] = uniform(state) < 0.5
            draw.log_probability[0] -= math.log(2.0)
    for v in range(x.size):
        if draw.above[v] != v:
            root, flip = find(draw, v)
            x[v] = x[root] ^ flip
