"""Tight cycle inequalities of the cut polytope, by bounded shortest paths in the doubled graph.

An odd closed walk counts an edge as "crossing" (weight: how often its ends agree) or "staying" (how often they
disagree); valid agreement frequencies make every odd closed walk that is not one edge there and back at least n long
(Barahona & Mahjoub 1986). A cycle whose walk is exactly n long is a facet that the data touch.
"""

from __future__ import annotations

import numpy as np

from mrfbayes.kernels.base.jit import kernel

_HEAP = 1 << 20  # a search that needs more than this is not local: it is given up


@kernel
def _push(heap_key, heap_item, size, key, item):
    k = size
    while k > 0:
        up = (k - 1) >> 1
        if heap_key[up] <= key:
            break
        heap_key[k], heap_item[k] = heap_key[up], heap_item[up]
        k = up
    heap_key[k], heap_item[k] = key, item
    return size + 1


@kernel
def _pop(heap_key, heap_item, size):
    size -= 1
    key, item = heap_key[size], heap_item[size]
    k = 0
    while True:
        child = 2 * k + 1
        if child >= size:
            break
        if child + 1 < size and heap_key[child + 1] < heap_key[child]:
            child += 1
        if heap_key[child] >= key:
            break
        heap_key[k], heap_item[k] = heap_key[child], heap_item[child]
        k = child
    heap_key[k], heap_item[k] = key, item
    return size


@kernel
def tight_edges(lists, pairs, agree, n, slack, max_steps, tight):
    """Mark in ``tight`` (m,) the edges on a tight cycle; returns the steps taken, negative where it gave up.

    ``lists`` is the `Adjacency` of ``pairs`` (m, 2), a simple graph; ``agree`` (m,) lies strictly between 0 and n.
    """
    n_nodes = lists.offset.size - 1
    m = pairs.shape[0]
    distance = np.full(2 * n_nodes, np.inf)
    touched = np.empty(2 * n_nodes, dtype=np.int64)
    room = min(8 * m + 2, _HEAP)  # each of 2 n_nodes is left at most once, by at most 2 deg ways
    heap_key = np.empty(room)
    heap_item = np.empty(room, dtype=np.int64)
    least_crossing = np.inf
    for e in range(m):
        least_crossing = min(least_crossing, agree[e])
    steps = 0
    for e in range(m):
        if tight[e]:
            continue
        source, target = pairs[e, 0], pairs[e, 1]
        # Closing by e itself: crossing costs agree, so the rest stays even; staying costs n - agree, rest odd.
        need_even, need_odd = n - agree[e], agree[e]
        limit = max(need_even, need_odd) + slack
        n_touched = 0
        size = _push(heap_key, heap_item, 0, 0.0, 2 * source)
        distance[2 * source] = 0.0
        touched[n_touched] = 2 * source
        n_touched += 1
        while size > 0:
            here, key = heap_item[0], heap_key[0]
            size = _pop(heap_key, heap_item, size)
            if key > distance[here]:
                continue
            if here >> 1 == target:
                if key <= (need_odd if here & 1 else need_even) + slack:
                    tight[e] = True
                    break
                continue
            node, odd = here >> 1, here & 1
            for k in range(lists.offset[node], lists.offset[node + 1]):
                edge = lists.edge[k]
                if edge == e:
                    continue
                steps += 1
                if size + 2 > room:
                    return -steps
                for crossing in range(2):
                    reach = key + (agree[edge] if crossing else n - agree[edge])
                    parity = odd ^ crossing
                    # From the even layer either the even need is met or another crossing is still to be paid.
                    if parity == 0:
                        hopeless = reach > need_even + slack and reach + least_crossing > need_odd + slack
                    else:
                        hopeless = reach > limit
                    there = 2 * lists.neighbour[k] + parity
                    if hopeless or reach >= distance[there]:
                        continue
                    if distance[there] == np.inf:
                        touched[n_touched] = there
                        n_touched += 1
                    distance[there] = reach
                    size = _push(heap_key, heap_item, size, reach, there)
        for k in range(n_touched):
            distance[touched[k]] = np.inf
        if steps > max_steps:
            return -steps
    return steps
