"""Elimination orders: in which order to sum variables out so that the tables stay small.

The treewidth of a graph is hard to find, good orders are not: several greedy rules with several tie-breaks are run and
the order with the least work is kept. Two families are needed: local rules (fewest fill edges, smallest table) find
tree-like structure, a sweep from one end finds long strips. Seeds are fixed: the same graph gives the same order.
"""

from __future__ import annotations

import heapq
import math
import random
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from mrfbayes.model.lowering import adjacency

HOPELESS_LOG2_CELLS = 50  # a single table of 2^50 cells is 8 PiB: no order is followed past it
FILL_RULE_NODES = 2_000  # on more nodes than this the fill rules take longer than they gain
FAR_OFF, FAR_OFF_NODES = 2**40, 500  # a table of so many cells on so many nodes: no rule brings that within reach
LARGE = 20_000  # nodes past which one sweep must do, unless it gives tables larger than ...
GOOD_ENOUGH = 2**12  # ... this many cells
PART = 4_000  # nodes of a large graph that are tried first
SWEEP_STARTS = 12
MERGE = 3  # cells of a table that a second message is multiplied into cost as much more: it is not read in order


@dataclass(frozen=True)
class Order:
    """An elimination order and what it costs.

    Attributes
    ----------
    order : (d,) variables, first eliminated first
    width : neighbours of a variable when it is eliminated, at most; an upper bound of the treewidth
    cells : table cells in all, each table with the variable that is summed out
    largest : cells of the largest table
    complete : False where the search stopped at a table past hope; width and cells are then lower bounds for this order
    """

    order: np.ndarray
    width: int
    cells: int
    largest: int
    complete: bool = True

    def work(self, lists: list[list[int]], states: list[int]) -> int:
        """Cells, those of tables that several messages meet in counted more."""
        order = self.order.tolist()
        position = dict(zip(order, range(len(lists)), strict=True))
        later = [{position[other] for other in lists[node] if position[other] > k} for k, node in enumerate(order)]
        messages = [0] * len(lists)
        total = self.cells
        for step, scope in enumerate(later):
            if messages[step] > 1:
                cells = math.prod(states[order[other]] for other in scope) * states[order[step]]
                total += MERGE * (messages[step] - 1) * cells
            if scope:
                receiver = min(scope)
                messages[receiver] += 1
                later[receiver] |= scope
                later[receiver].discard(receiver)
        return total


def find_order(edges: np.ndarray, states: np.ndarray) -> Order:
    """The best order found for the graph with (m, 2) ``edges`` on variables with ``states`` (d,) states."""
    neighbours = _neighbours(edges, int(states.size))
    counts = [int(r) for r in states]
    order: list[int] = []
    width, cells, largest, complete = 0, 0, 0, True
    for component in _components(neighbours):
        part = _order_component(component, neighbours, counts)
        order += [component[i] for i in part.order.tolist()]
        width, cells = max(width, part.width), cells + part.cells
        largest, complete = max(largest, part.largest), complete and part.complete
    return Order(np.array(order, dtype=np.int64), width, cells, largest, complete)


def sweep_order(edges: np.ndarray, states: np.ndarray) -> Order:
    """The order of one sweep from node 0 through a connected graph: at once, and as good as any on a grid."""
    lists = _neighbours(edges, int(states.size))
    found = _sweep(lists, states.tolist(), 0, None)
    assert found is not None
    return found


def _neighbours(edges: np.ndarray, n_nodes: int) -> list[list[int]]:
    lists = adjacency(np.asarray(edges, dtype=np.int64).reshape(-1, 2), n_nodes)
    flat, offset = lists.neighbour.tolist(), lists.offset.tolist()
    return [flat[offset[i] : offset[i + 1]] for i in range(n_nodes)]


class _Tally:
    """Counts width and cells while an order is being followed, and says when to give up."""

    def __init__(self, limit: int | None) -> None:
        self.limit = limit
        self.width = self.cells = self.largest = 0

    def add(self, degree: int, cells: int) -> bool:
        """Count one table; False when this order has already lost."""
        self.width, self.largest = max(self.width, degree), max(self.largest, cells)
        self.cells += cells
        return self.limit is None or self.cells < self.limit

    @property
    def is_infeasible(self) -> bool:
        return self.largest >> HOPELESS_LOG2_CELLS > 0

    def found(self, order: list[int], n_nodes: int) -> Order:
        found = np.array(order, dtype=np.int64)
        return Order(found, self.width, self.cells, self.largest, len(order) == n_nodes)


def _breadth_first(neighbours: list[list[int]], start: int, seen: bytearray) -> list[int]:
    """Nodes that can be reached from ``start``, nearest first; they are marked as ``seen``."""
    seen[start] = 1
    queue = [start]
    for node in queue:
        for other in neighbours[node]:
            if not seen[other]:
                seen[other] = 1
                queue.append(other)
    return queue


def _components(neighbours: list[list[int]]) -> list[list[int]]:
    """Connected components, each in breadth-first order from its first node."""
    seen = bytearray(len(neighbours))
    return [_breadth_first(neighbours, start, seen) for start in range(len(neighbours)) if not seen[start]]


def _order_component(component: list[int], neighbours: list[list[int]], counts: list[int]) -> Order:
    n = len(component)
    local = dict(zip(component, range(n), strict=True))
    lists = [[local[other] for other in neighbours[node]] for node in component]
    states = [counts[node] for node in component]
    if sum(map(len, lists)) == 2 * (n - 1):
        return _leaves_first(lists, states)
    found = _order_large(lists, states) if n > LARGE else _order_small(lists, states)
    if not found.complete:
        rest = np.setdiff1d(np.arange(n), found.order)
        return replace(found, order=np.concatenate([found.order, rest]))
    return found


def _order_small(lists: list[list[int]], states: list[int]) -> Order:
    """Everything there is, as often as it pays."""
    n = len(lists)
    first = _greedy(lists, states, _table, 0, None)
    assert first is not None
    best = first
    least = best.work(lists, states) if best.complete else None

    def consider(found: Order | None) -> None:
        nonlocal best, least
        if found is not None and found.complete:
            work = found.work(lists, states)
            if least is None or work < least:
                best, least = found, work

    for start in _ends(lists):
        consider(_sweep(lists, states, start, least))
    is_far_off = best.largest > FAR_OFF and n > FAR_OFF_NODES
    if n <= FILL_RULE_NODES and best.complete and not is_far_off:
        # More restarts where tables are large, fewer where a restart itself takes long (some 100 us a node and rule).
        for restart in range(max(1, min(best.cells // (16 * n), 1_200 // n, 30))):
            for rule in (_fill, _fill_per_neighbour, _table):
                consider(_greedy(lists, states, rule, restart, least))
    return best


def _order_large(lists: list[list[int]], states: list[int]) -> Order:
    """One sweep; where that is not good enough the smallest tables first, unless a part of the graph is past hope."""
    swept = _sweep(lists, states, _ends(lists)[-1], None)
    assert swept is not None
    if swept.complete and swept.largest <= GOOD_ENOUGH:
        return swept
    if not swept.complete:
        part = [[other for other in row if other < PART] for row in lists[:PART]]
        tried = _greedy(part, states[:PART], _table, 0, None)
        if tried is not None and not tried.complete:
            return tried
    greedy = _greedy(lists, states, _table, 0, swept.cells if swept.complete else None)
    return swept if greedy is None else greedy


def _leaves_first(lists: list[list[int]], states: list[int]) -> Order:
    """A tree numbered breadth first: backwards, every node has only its parent left."""
    n = len(lists)
    tally = _Tally(None)
    tally.add(0, states[0])
    for node in range(1, n):
        tally.add(1, states[node] * states[min(lists[node])])
    return tally.found(list(range(n - 1, -1, -1)), n)


def _ends(lists: list[list[int]]) -> list[int]:
    """Where a sweep may start: in small graphs nodes of least degree, and nodes far from each other."""
    starts: list[int] = []
    if len(lists) <= FILL_RULE_NODES:
        starts += sorted(range(len(lists)), key=lambda node: len(lists[node]))[:SWEEP_STARTS]
    far = 0
    for _ in range(3):
        far = _breadth_first(lists, far, bytearray(len(lists)))[-1]
        starts.append(far)
    return list(dict.fromkeys(starts))


def _sweep(lists: list[list[int]], states: list[int], start: int, limit: int | None) -> Order | None:
    """Grow one region from ``start``; next comes the border node with the fewest unseen neighbours, oldest first.

    The region stays connected, so that each table's scope is the whole border: path-like graphs keep it short.
    """
    n = len(lists)
    unseen = [len(row) for row in lists]
    seen = bytearray(n)
    border = {start: None}  # in order of age
    seen[start] = 1
    for other in lists[start]:
        unseen[other] -= 1
    tally, order, cells = _Tally(limit), [], states[start]
    while border:
        node, fewest = -1, n
        for candidate in border:
            if unseen[candidate] < fewest:
                node, fewest = candidate, unseen[candidate]
                if not fewest:
                    break
        del border[node]
        for entering in lists[node] if fewest else ():
            if not seen[entering]:
                seen[entering] = 1
                border[entering] = None
                cells *= states[entering]
                for other in lists[entering]:
                    unseen[other] -= 1
        if not tally.add(len(border), cells):
            return None
        if tally.is_infeasible:
            break
        cells //= states[node]
        order.append(node)
    return tally.found(order, n)


Rule = Callable[[int, list[set[int]], int], float]


def _missing_pairs(node: int, neighbours: list[set[int]]) -> int:
    """How many pairs of a node's neighbours are not joined, twice."""
    around = neighbours[node]
    return sum(len(around - neighbours[other]) - 1 for other in around)


def _fill(node: int, neighbours: list[set[int]], cells: int) -> float:
    return _missing_pairs(node, neighbours)


def _fill_per_neighbour(node: int, neighbours: list[set[int]], cells: int) -> float:
    return _missing_pairs(node, neighbours) / (len(neighbours[node]) + 1)


def _table(node: int, neighbours: list[set[int]], cells: int) -> float:
    return cells


def _greedy(lists: list[list[int]], states: list[int], rule: Rule, restart: int, limit: int | None) -> Order | None:
    """Eliminate the variable with the least ``rule`` next; ties by a permutation of its own a restart."""
    n = len(lists)
    neighbours = [set(row) for row in lists]
    ties = list(range(n))
    if restart:
        random.Random(restart).shuffle(ties)
    equal = states[0] if len(set(states)) == 1 else 0

    def size(node: int) -> int:
        if equal:
            return int(equal ** (len(neighbours[node]) + 1))
        return math.prod(states[other] for other in neighbours[node]) * states[node]

    is_local = rule is _table  # a node's own neighbours decide, and no fill edges between others
    current = [rule(node, neighbours, size(node) if is_local else 0) for node in range(n)]
    heap = list(zip(current, ties, range(n), strict=True))
    heapq.heapify(heap)
    tally, order, done = _Tally(limit), [], bytearray(n)
    while heap:
        value, _, node = heapq.heappop(heap)
        if done[node] or value != current[node]:
            continue
        around = neighbours[node]
        if not tally.add(len(around), size(node)):
            return None
        if tally.is_infeasible:
            break
        done[node] = 1
        order.append(node)
        affected = around
        for other in around:
            mine, before = neighbours[other], len(neighbours[other])
            mine |= around
            mine -= {node, other}
            if not is_local and len(mine) >= before:
                affected = affected | mine  # fill edges at ``other``: whoever sees both ends misses one pair less
        for other in affected:
            fresh = rule(other, neighbours, size(other) if is_local else 0)
            if fresh != current[other]:
                current[other] = fresh
                heapq.heappush(heap, (fresh, ties[other], other))
    return tally.found(order, n)
