"""An elimination order worked out into flat arrays, which is all that the elimination kernels see.

Step s sums one variable v out of the product of its factors and of the messages sent to it. What is left is a message,
a table over the variables of the step's *scope* (the neighbours of v at that moment), sent to the step of the first of
them to be eliminated. A scope's configurations are numbered ``high * n_low + low``; the low part fits the innermost
loop. The axes of a table are those of the largest message that it receives, in that message's order, then the others:
so that message is read with unit stride, or with v running fastest, unless v is one of its next few axes. Variables
that no message knows come last of all, so that a product of messages serves all their states.

The plan holds no parameter values: it is made once a graph.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

MAX_LOW = 256  # cells of the innermost loop: a handful of such rows fits the first-level cache
MIN_RUN = 16  # cells in a row that are worth a loop of their own
MAX_SENDERS = 8  # messages to one receiver past which each is scaled, so that their product stays a double

BY_TABLE, UNIT_STRIDE, VARIABLE_FASTEST = range(3)  # values of `access`


def _record(names: str) -> np.dtype[np.void]:
    return np.dtype([(name, np.int64) for name in names.split()], align=True)


STEP_RECORD = _record(
    "variable states cells n_low n_high n_known child child_stop edge edge_stop scope scope_stop message joint to_crowd"
)
CHILD_RECORD = _record("step stride low_index high_index access")
EDGE_RECORD = _record("edge is_second is_high axis_stride other_states other owner")
SCOPE_RECORD = _record("variable stride")


class EliminationPlan(NamedTuple):
    """What the kernels need to know of a graph, its numbers of states and an elimination order.

    Attributes
    ----------
    steps : (d,) records `STEP_RECORD`: the variable and its states; cells of its message = n_low * n_high, of which
        high parts the first n_known are all that the messages received tell apart; ranges of rows in ``children``,
        ``edges`` and ``scope``; where its message and its joint table start in their buffers; whether its message is
        one of many for the receiver
    children : records `CHILD_RECORD`, one per message received, largest first: the sender's step, the stride of the
        step's variable in it, where in ``lookup`` the tables from low and high part to the sender's cells start, and
        how its cells follow the low part: by that table, one by one, or one by one after the step's own variable
    edges : records `EDGE_RECORD`, one per edge, at the step of the end eliminated first: the edge, whether that is its
        second, whether the other end is in the high part, its stride there, its number of states, and both ends'
        variables
    scope : records `SCOPE_RECORD`, one per variable of a scope, fastest first: the variable and its stride
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
    pairs = np.array(pairs, dtype=np.int64, order="C").reshape(-1, 2)
    states = np.array(states, dtype=np.int64, order="C")
    builder = _Builder(pairs.tolist(), states.tolist(), order.tolist(), max_low)
    sizes = states[pairs[:, 0]] * states[pairs[:, 1]]
    steps = _table(builder.steps, STEP_RECORD)
    return EliminationPlan(
        steps=steps,
        children=_table(builder.children, CHILD_RECORD),
        edges=_table(builder.edges, EDGE_RECORD),
        scope=_table(builder.scope, SCOPE_RECORD),
        lookup=builder.pool.array(),
        pairs=pairs,
        states=states,
        node_offset=np.concatenate([[0], np.cumsum(states)]).astype(np.int64),
        edge_offset=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        n_message=builder.buffer.size,
        n_joint=int((steps.states * steps.cells).sum()),
        n_row=int((steps.states * steps.n_low).max()),
        n_column=int((steps.states * steps.n_high).max()),
        width=int((steps.scope_stop - steps.scope).max()),
    )


class _Builder:
    """Works the plan out step by step; its lists are the rows of the plan, one after the other.

    Flat lists of numbers: a list a row would keep the garbage collector busy with every one of them.
    """

    def __init__(self, pairs: list[list[int]], states: list[int], order: list[int], max_low: int) -> None:
        self.states, self.max_low = states, max_low
        self.order, self.scopes, self.parent = _scopes(pairs, order)
        self.position = dict(zip(self.order, range(len(order)), strict=True))
        self.strides: dict[int, dict[int, int]] = {}  # of the messages that wait, by step: axes, fastest first
        self.cells: list[int] = []
        self.place: list[int] = []
        self.steps: list[int] = []
        self.children: list[int] = []
        self.edges: list[int] = []
        self.scope: list[int] = []
        self.pool, self.buffer = _IndexPool(), _Buffer()
        self.incident: list[list[tuple[int, int, int]]] = [[] for _ in order]  # edge, is second end, other end
        for edge, (u, v) in enumerate(pairs):
            second = self.position[v] < self.position[u]
            self.incident[self.position[v if second else u]].append((edge, int(second), u if second else v))
        self.senders: list[list[int]] = [[] for _ in order]
        for step, receiver in enumerate(self.parent):
            if receiver >= 0:
                self.senders[receiver].append(step)
        n_joint = 0
        for step, variable in enumerate(self.order):
            self._add(step, variable, n_joint)
            n_joint += states[variable] * self.cells[step]

    def _add(self, step: int, variable: int, joint: int) -> None:
        senders = sorted(self.senders[step], key=lambda s: -self.cells[s])
        axes, n_known, n_fast_at_most = self._arrange(step, variable, senders)
        shape = [self.states[u] for u in axes]
        n_fast, n_low = _split(shape[:n_fast_at_most], self.max_low)
        places = _strides(shape)
        cells, known = math.prod(shape), math.prod(shape[:n_known])
        stride = dict(zip(axes, places, strict=True))
        row = [variable, self.states[variable], cells, n_low, cells // n_low, known // n_low, len(self.children) // 5]
        for sender in senders:
            sent = self.strides.pop(sender)
            sources = [sent.get(u, 0) for u in axes]
            low = self.pool.table(shape[:n_fast], sources[:n_fast])
            high = self.pool.table(shape[n_fast:], sources[n_fast:])
            access = BY_TABLE
            if sources[:n_fast] == places[:n_fast]:
                access = UNIT_STRIDE
            elif sources[:n_fast] == [place * self.states[variable] for place in places[:n_fast]]:
                access = VARIABLE_FASTEST
            self.children += (sender, sent[variable], low, high, access)
        row += (len(self.children) // 5, len(self.edges) // 7)
        # By stride: edge_rows builds products from the fastest axis up.
        for edge, second, other in sorted(self.incident[step], key=lambda item: stride[item[2]]):
            is_high = stride[other] >= n_low
            axis = stride[other] // n_low if is_high else stride[other]
            self.edges += (edge, second, int(is_high), axis, self.states[other], other, variable)
        row += (len(self.edges) // 7, len(self.scope) // 2)
        for item in stride.items():
            self.scope += item
        place = self.buffer.take(cells)
        row += (len(self.scope) // 2, place, joint)
        for sender in senders:
            self.buffer.release(self.place[sender], self.cells[sender])
        receiver = self.parent[step]
        if receiver < 0:
            self.buffer.release(place, cells)
        else:
            self.strides[step] = stride
        row.append(int(receiver >= 0 and len(self.senders[receiver]) > MAX_SENDERS))
        self.cells.append(cells)
        self.place.append(place)
        self.steps += row

    def _arrange(self, step: int, variable: int, senders: list[int]) -> tuple[list[int], int, int]:
        """Axes of a step's table, fastest first; how many of them messages know; how many may be in the low part."""
        scope = self.scopes[step]
        if not senders:
            return scope, len(scope), len(scope)
        largest = list(self.strides[senders[0]])
        place = largest.index(variable)
        run = math.prod(self.states[u] for u in largest[:place])
        size = math.prod(self.states[u] for u in largest) // self.states[variable]
        known = set().union(*(self.strides[sender] for sender in senders))
        known.discard(variable)
        front: list[int] = []
        n_fast = len(known)
        if size >= MIN_RUN and (place == 0 or run >= MIN_RUN):
            front = [u for u in largest if u != variable]
            n_fast = place or len(front)
        others = known.difference(front)
        axes = front + [u for u in scope if u in others] + [u for u in scope if u not in known]
        n_known = len(known)
        if not front and n_known < len(axes) and math.prod(self.states[u] for u in known) < MIN_RUN:
            n_known = n_fast = len(axes)  # too few cells to be shared
        return axes, n_known, n_fast


def log_z_scratch(plan: EliminationPlan) -> int:
    """Cells of the scratch array of `elimination_log_z`, `elimination_moments` and their binary twins."""
    n_tables = int(plan.node_offset[-1] + plan.edge_offset[-1])
    return plan.n_message + 2 * n_tables + 2 * plan.n_row + plan.n_column


def taylor_scratch(plan: EliminationPlan) -> int:
    """Cells of the scratch array of `elimination_taylor`."""
    return 3 * plan.n_message + 2 * plan.n_row + plan.n_column


def _table(rows: list[int], record: np.dtype[np.void]) -> Any:
    """Records with fields as attributes, which kernels read with and without the JIT."""
    return np.array(rows, dtype=np.int64).view(record).view(np.recarray)


def _scopes(pairs: list[list[int]], order: list[int]) -> tuple[list[int], list[list[int]], list[int]]:
    """Order by depth first (the same tables), scopes with the next to be eliminated first, receivers of messages."""
    position = dict(zip(order, range(len(order)), strict=True))
    later: list[set[int]] = [set() for _ in order]
    for u, v in pairs:
        first, second = position[u], position[v]
        later[min(first, second)].add(max(first, second))
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
    rank = dict(zip(postorder, range(len(order)), strict=True))
    scopes = [[order[u] for u in sorted(later[step], key=rank.__getitem__)] for step in postorder]
    new_parent = [rank[parent[step]] if parent[step] >= 0 else -1 for step in postorder]
    return [order[step] for step in postorder], scopes, new_parent


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
        self._start: dict[tuple[tuple[int, ...], tuple[int, ...]], int] = {}
        self._tables: list[np.ndarray] = []
        self._size = 0

    def table(self, shape: list[int], places: list[int]) -> int:
        """Where the table starts that sends digits (fastest first) to sum(digit * place)."""
        key = (tuple(shape), tuple(places))
        start = self._start.get(key)
        if start is None:
            start = self._start[key] = self._size
            index = np.zeros(1, dtype=np.int64)
            for r, place in zip(shape, places, strict=True):
                index = (np.arange(r)[:, None] * place + index).ravel()
            self._tables.append(index)
            self._size += index.size
        return start

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
        grows_last_hole = self._free and sum(self._free[-1]) == self.size
        start = self._free.pop()[0] if grows_last_hole else self.size
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
