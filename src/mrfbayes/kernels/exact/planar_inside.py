"""Upwards through a dissection: from single vertices to the whole field, whose G is empty and whose log Z is known."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mrfbayes.base.types import Workspace
from mrfbayes.kernels.base.borrowed import borrow
from mrfbayes.kernels.base.jit import kernel
from mrfbayes.kernels.exact.planar_merge import contract, place_merged


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
    tree, buffers, tau = borrow(tree), borrow(buffers), borrow(tau)
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
