"""An elimination order worked out into flat arrays, which is all that the elimination kernels see.

Step s sums one variable v out of the product of its factors and of the messages sent to it. What is left is a message,
a table over the variables of the step's *scope* (the neighbours of v at that moment), sent to the step of the first of
them to be eliminated. In every table the variable eliminated last runs fastest, so that tables that meet share their
fast axes. A scope's configurations are numbered ``high * n_low + low``; the low part fits the innermost loop.

The plan holds no parameter values: it is made once a graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

MAX_LOW = 128  # cells of the innermost loop: a handful of such rows fits the first-level cache

# Columns of EliminationPlan.steps
VARIABLE, STATES, CELLS, N_LOW, N_HIGH, CHILD, CHILD_STOP, EDGE, EDGE_STOP, SCOPE, SCOPE_STOP, MESSAGE, JOINT = range(
    13
)
# Columns of EliminationPlan.children
STEP, STRIDE, LOW_INDEX, HIGH_INDEX, ALIGNED = range(5)
# Columns of EliminationPlan.edges
EDGE_ID, IS_SECOND, IS_HIGH, AXIS_STRIDE, OTHER_STATES, OTHER, OWNER = range(7)
# Columns of EliminationPlan.scope
SCOPE_VARIABLE, SCOPE_STRIDE = range(2)


class EliminationPlan(NamedTuple):
    """What the kernels need to know of a graph, its numbers of states and an elimination order.

    Attributes
    ----------
    steps : (d, 13) int64, one row a step: the variable and its states; cells of its message = n_low * n_high; ranges of
        rows in ``children``, ``edges`` and ``scope``; where its message and its joint table start in their buffers
    children : int64, one row per message received: the sender's step, the stride of the step's variable in it, where
        in ``lookup`` the tables from low and high part to the sender's cells start, whether the low one is 0, 1, 2, ...
    edges : int64, one row an edge, at the step of the end eliminated first: the edge, whether that end is its second,
        whether the other end is in the high part, its stride there, its number of states, and both ends' variables
    scope : int64, one row per variable of a scope, fastest first: the variable and its stride
    lookup : int32, all index tables one after the other
    pairs, states, node_offset, edge_offset : the graph and where each node's and edge's table starts
    n_message, n_joint : cells of the message buffer (reused as messages are consumed) and of all joint tables
    n_row, n_column : the largest states * n_low and states * n_high
    width : variables of the largest scope
    """

    steps: np.ndarray
    children: np.ndarray
    edges: np.ndarray
    scope: np.ndarray
    lookup: np.ndarray
    pairs: np.ndarray
    states: np.ndarray
    node_offset: np.ndarray
    edge_offset: np.ndarray
    n_message: int
    n_joint: int
    n_row: int
    n_column: int
    width: int


def build_plan(pairs: np.ndarray, states: np.ndarray, order: np.ndarray, max_low: int = MAX_LOW) -> EliminationPlan:
    """The plan that eliminates the variables in ``order`` (rearranged so that messages are consumed early)."""
    pairs = np.ascontiguousarray(pairs, dtype=np.int64).reshape(-1, 2)
    states = np.ascontiguousarray(states, dtype=np.int64)
    counts = states.tolist()
    sequence, scopes, parent = _scopes(pairs.tolist(), order.tolist())
    position = {variable: step for step, variable in enumerate(sequence)}
    incident: list[list[tuple[int, int, int]]] = [[] for _ in sequence]  # step -> (edge, is second, other end)
    for edge, (u, v) in enumerate(pairs.tolist()):
        second = position[v] < position[u]
        incident[position[v if second else u]].append((edge, int(second), u if second else v))
    senders: list[list[int]] = [[] for _ in sequence]
    for step, receiver in enumerate(parent):
        if receiver >= 0:
            senders[receiver].append(step)

    pool = _IndexPool()
    buffer = _Buffer()
    steps: list[list[int]] = []
    children: list[list[int]] = []
    edges: list[list[int]] = []
    scope_rows: list[list[int]] = []
    n_joint = n_row = n_column = 0
    for step, variable in enumerate(sequence):
        axes = scopes[step]
        shape = [counts[u] for u in axes]
        n_fast, n_low = _split(shape, max_low)
        cells = int(np.prod(shape, dtype=object)) if shape else 1
        stride = dict(zip(axes, _strides(shape), strict=True))
        row = [variable, counts[variable], cells, n_low, cells // n_low, len(children)]
        # The largest message first: the product starts from it.
        for sender in sorted(senders[step], key=lambda s: -steps[s][CELLS]):
            sent = scopes[sender]
            sent_stride = dict(zip(sent, _strides([counts[u] for u in sent]), strict=True))
            places = [sent_stride.get(u, 0) for u in axes]
            low, aligned = pool.table(shape[:n_fast], places[:n_fast])
            high, _ = pool.table(shape[n_fast:], places[n_fast:])
            children.append([sender, sent_stride[variable], low, high, int(aligned)])
        row += [len(children), len(edges)]
        for edge, is_second, other in sorted(incident[step], key=lambda item: stride[item[2]]):  # as `edge_rows` grows
            high_part = stride[other] >= n_low
            axis = stride[other] // (n_low if high_part else 1)
            edges.append([edge, is_second, int(high_part), axis, counts[other], other, variable])
        row += [len(edges), len(scope_rows)]
        scope_rows += [[u, stride[u]] for u in axes]
        row += [len(scope_rows), buffer.take(cells), n_joint]
        for sender in senders[step]:
            buffer.release(steps[sender][MESSAGE], steps[sender][CELLS])
        if parent[step] < 0:
            buffer.release(row[MESSAGE], cells)
        n_joint += counts[variable] * cells
        n_row = max(n_row, counts[variable] * n_low)
        n_column = max(n_column, counts[variable] * (cells // n_low))
        steps.append(row)
    sizes = states[pairs[:, 0]] * states[pairs[:, 1]]
    return EliminationPlan(
        steps=_table(steps, 13),
        children=_table(children, 5),
        edges=_table(edges, 7),
        scope=_table(scope_rows, 2),
        lookup=pool.array(),
        pairs=pairs,
        states=states,
        node_offset=np.concatenate([[0], np.cumsum(states)]).astype(np.int64),
        edge_offset=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        n_message=buffer.size,
        n_joint=n_joint,
        n_row=n_row,
        n_column=n_column,
        width=max((len(scope) for scope in scopes), default=0),
    )


def log_z_scratch(plan: EliminationPlan) -> int:
    """Cells of the scratch array of `elimination_log_z`, `elimination_moments` and their binary twins."""
    n_tables = int(plan.node_offset[-1] + plan.edge_offset[-1])
    return plan.n_message + 2 * n_tables + 2 * plan.n_row + plan.n_column


def taylor_scratch(plan: EliminationPlan) -> int:
    """Cells of the scratch array of `elimination_taylor`."""
    return 3 * plan.n_message + 6 * plan.n_row + 3 * plan.n_column


def _table(rows: list[list[int]], columns: int) -> np.ndarray:
    return np.array(rows, dtype=np.int64).reshape(-1, columns)


def _scopes(pairs: list[list[int]], order: list[int]) -> tuple[list[int], list[list[int]], list[int]]:
    """Order by depth first (the same tables), scopes with the variable eliminated last first, receivers of messages."""
    position = {variable: step for step, variable in enumerate(order)}
    later: list[set[int]] = [set() for _ in order]
    for u, v in pairs:
        first, second = sorted((position[u], position[v]))
        later[first].add(second)
    parent = []
    children: list[list[int]] = [[] for _ in order]
    for step, scope in enumerate(later):
        receiver = min(scope, default=-1)
        parent.append(receiver)
        if receiver >= 0:
            children[receiver].append(step)
            later[receiver] |= scope
            later[receiver].discard(receiver)
    # Children before parents, each subtree in one go, large messages first: few messages wait at a time.
    postorder: list[int] = []
    for root in (step for step, receiver in enumerate(parent) if receiver < 0):
        stack = [root]
        start = len(postorder)
        while stack:
            step = stack.pop()
            postorder.append(step)
            stack += sorted(children[step], key=lambda s: -len(later[s]))
        postorder[start:] = postorder[start:][::-1]
    rank = {step: new for new, step in enumerate(postorder)}
    new_order = [order[step] for step in postorder]
    scopes = [[order[u] for u in sorted(later[step], key=lambda u: -rank[u])] for step in postorder]
    new_parent = [rank[parent[step]] if parent[step] >= 0 else -1 for step in postorder]
    return new_order, scopes, new_parent


def _split(shape: Sequence[int], max_low: int) -> tuple[int, int]:
    """How many of the fast axes make the low part, and its cells."""
    n_fast, n_low = 0, 1
    for r in shape:
        if n_fast and n_low * r > max_low:
            break
        n_fast, n_low = n_fast + 1, n_low * r
    return n_fast, n_low


def _strides(shape: Sequence[int]) -> list[int]:
    strides, size = [], 1
    for r in shape:
        strides.append(size)
        size *= r
    return strides


class _IndexPool:
    """Tables from the number of a configuration to a cell elsewhere; equal ones are stored once."""

    def __init__(self) -> None:
        self._known: dict[tuple[tuple[int, ...], tuple[int, ...]], tuple[int, bool]] = {}
        self._tables: list[np.ndarray] = []
        self._size = 0

    def table(self, shape: list[int], places: list[int]) -> tuple[int, bool]:
        """Where the table starts that sends digits (fastest first) to sum(digit * place); is it the identity?"""
        key = (tuple(shape), tuple(places))
        if key not in self._known:
            index = np.zeros(1, dtype=np.int64)
            for r, place in zip(shape, places, strict=True):
                index = (np.arange(r)[:, None] * place + index).ravel()
            self._known[key] = (self._size, bool((index == np.arange(index.size)).all()))
            self._tables.append(index)
            self._size += index.size
        return self._known[key]

    def array(self) -> np.ndarray:
        """All tables, one after the other."""
        joined = np.concatenate(self._tables) if self._tables else np.zeros(0, dtype=np.int64)
        return np.ascontiguousarray(joined, dtype=np.int32)


class _Buffer:
    """First-fit places for messages, so that consumed ones are overwritten."""

    def __init__(self) -> None:
        self.size = 0
        self._free: list[tuple[int, int]] = []  # (start, cells), sorted, never adjacent

    def take(self, cells: int) -> int:
        """Where ``cells`` cells are free from now on."""
        for k, (start, room) in enumerate(self._free):
            if room >= cells:
                self._free[k : k + 1] = [(start + cells, room - cells)] if room > cells else []
                return start
        if self._free and sum(self._free[-1]) == self.size:  # grow the last hole
            start = self._free.pop()[0]
        else:
            start = self.size
        self.size = start + cells
        return start

    def release(self, start: int, cells: int) -> None:
        """Give back what `take` gave."""
        self._free.append((start, cells))
        self._free.sort()
        merged: list[tuple[int, int]] = []
        for begin, room in self._free:
            if merged and sum(merged[-1]) == begin:
                merged[-1] = (merged[-1][0], merged[-1][1] + room)
            else:
                merged.append((begin, room))
        self._free = merged
