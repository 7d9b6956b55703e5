"""Plans of elimination: scopes, places of messages and index tables against elimination on sets of variables."""

from __future__ import annotations

import itertools

import networkx
import numpy as np
import pytest

import oracles
from kernels.exact.graph_cases import Problem
from mrfbayes.kernels.exact.graph_plan import BY_TABLE, UNIT_STRIDE, VARIABLE_FASTEST, _Buffer

WHEEL = np.array([(0, k) for k in range(1, 7)] + [(k, k % 6 + 1) for k in range(1, 7)])
GRAPHS = {
    "strip": (oracles.grid_pairs(7, 3), np.full(21, 2)),
    "wheel": (WHEEL, 2 + np.arange(7) % 3),
    "pieces": (np.array([(0, 1), (1, 2), (0, 2), (4, 5)]), np.array([2, 3, 2, 4, 2, 3, 2])),
    "many senders": (np.array([(0, k) for k in range(1, 12)]), np.full(12, 2)),
}


@pytest.fixture(params=itertools.product(GRAPHS, [2, 16, 256]), ids=lambda case: f"{case[0]}, {case[1]}")
def plan(request):
    name, max_low = request.param
    return Problem(*GRAPHS[name], 1, max_low=max_low).plan


def scope_of(plan, step):
    """Stride by variable."""
    part = plan.scope[step.scope : step.scope_stop]
    return {int(u): int(stride) for u, stride in zip(part.variable, part.stride, strict=True)}


def test_scopes_are_the_neighbours_at_elimination(plan):
    graph = networkx.Graph(plan.pairs.tolist())
    graph.add_nodes_from(range(plan.states.size))
    edges = []
    for step in plan.steps:
        around = set(graph[step.variable])
        strides = scope_of(plan, step)
        assert set(strides) == around
        assert step.cells == step.n_low * step.n_high == np.prod([plan.states[u] for u in around])
        assert sorted(strides.values()) == sorted(set(strides.values()))
        for edge in plan.edges[step.edge : step.edge_stop]:
            ends = plan.pairs[edge.edge].tolist()
            assert ends[edge.is_second] == edge.owner == step.variable
            assert edge.other in around
            assert strides[edge.other] == edge.axis_stride * (step.n_low if edge.is_high else 1)
            edges.append(int(edge.edge))
        graph.add_edges_from(itertools.combinations(around, 2))
        graph.remove_node(step.variable)
    assert sorted(edges) == list(range(len(plan.pairs)))


def test_messages_that_wait_are_not_overwritten(plan):
    waiting = {}
    for number, step in enumerate(plan.steps):
        cells = set(range(step.message, step.message + step.cells))
        assert max(cells) < plan.n_message
        assert all(cells.isdisjoint(other) for other in waiting.values())
        for child in plan.children[step.child : step.child_stop]:
            del waiting[int(child.step)]
        if step.scope_stop > step.scope:
            waiting[number] = cells
    assert not waiting


def test_index_tables_lead_to_the_cells_of_the_sender(plan):
    """At every configuration of a scope and every state of the variable, by the digits of the sender's scope."""
    for step in plan.steps:
        strides = scope_of(plan, step)
        for child in plan.children[step.child : step.child_stop]:
            sent = scope_of(plan, plan.steps[child.step])
            low = plan.lookup[child.low_index : child.low_index + step.n_low]
            for x, high, position in itertools.product(range(step.states), range(step.n_high), range(step.n_low)):
                number = high * step.n_low + position
                digit = {u: number // stride % plan.states[u] for u, stride in strides.items()} | {step.variable: x}
                expected = sum(digit[u] * stride for u, stride in sent.items())
                assert x * child.stride + plan.lookup[child.high_index + high] + low[position] == expected
            step_of = {UNIT_STRIDE: 1, VARIABLE_FASTEST: step.states}.get(int(child.access))
            assert child.access == BY_TABLE or low.tolist() == (step_of * np.arange(step.n_low)).tolist()


def test_places_taken_and_given_back_in_any_order_do_not_overlap():
    rng, buffer, taken = np.random.default_rng(1), _Buffer(), {}
    for _ in range(300):
        if taken and rng.random() < 0.45:
            start = list(taken)[rng.integers(len(taken))]
            buffer.release(start, taken.pop(start))
            continue
        cells = int(rng.integers(1, 20))
        start = buffer.take(cells)
        assert all(start + cells <= other or other + size <= start for other, size in taken.items())
        assert start + cells <= buffer.size
        taken[start] = cells
    for start, cells in taken.items():
        buffer.release(start, cells)
    size = buffer.size
    assert buffer.take(size) == 0  # all of it is one place again
    assert buffer.size == size
