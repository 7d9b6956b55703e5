"""Counts and patterns against sums written out row by row."""

from collections import Counter
from itertools import combinations

import numpy as np
import pytest

from mrfbayes.data.counts import count
from mrfbayes.model.build import graph, grid
from mrfbayes.model.field import Factor, Model

MODELS = {
    "paper": grid(2, 3),
    "wide grid": grid(3, 50, fields=True),
    "tied by direction": grid(2, 2, tied="direction", fields=True),
    "both-one": graph([("a", "b"), ("c", "b")], coupling="both-one", fields=True),
    "ordinal": graph([(0, 1), (2, 1)], states=[2, 3, 4], coupling="score", fields=True),
    "tied ordinal": graph([(0, 1), (2, 1)], states=[2, 3, 4], coupling="score", tied=True),
    "tables": graph([(0, 1), (1, 2)], states=3, coupling="table"),
    "binary tables": graph([(0, 1), (1, 2)], coupling="table", fields=True),
    "tied Potts": grid(2, 2, states=3, tied=True),
    "complete": graph(list(combinations(range(9), 2)), coupling="both-one", fields=True),
    "complete, three states": graph(list(combinations(range(5), 2)), states=3),
    "star": graph([(0, k) for k in range(1, 70)]),
    "star, four states": graph([(0, k) for k in range(1, 40)], states=4),
    "isolated": graph([("a", "b")], nodes=["a", "b", "c"], fields=True),
    "several factors a pair, both directions": Model(
        {"a": 2, "b": 3},
        [
            Factor(("b", "a"), outcomes=[[0, 1], [1, 2], [2, 2]]),
            Factor(("a", "b"), scores=[[0, 1, 2], [1, 1, 0]]),
            Factor("a", outcomes=[1, 0]),
        ],
    ),
}


def draw(model, n, seed=0):
    x = np.random.default_rng(seed).integers(0, model.states, size=(n, model.n_nodes))
    x[: model.states.max()] = np.minimum(np.arange(model.states.max())[:, None], model.states - 1)  # every state occurs
    return x.astype(np.uint8)


def outcomes_by_definition(model, x, weight):
    """All outcome counts per block, factor by factor and row by row."""
    totals = [np.zeros(k) for k in model.chart.sides]
    for group in model.groups:
        for scope, block in zip(group.scope, group.block, strict=True):
            for row, amount in zip(x, weight, strict=True):
                cell = group.table[tuple(row[scope])]
                if group.is_score:
                    totals[block] += amount * np.array([cell, group.table.max() - cell])
                else:
                    totals[block][cell] += amount
    return totals


def patterns_by_definition(model, x, weight):
    offset, neighbour, _ = model.adjacency
    found = []
    for i in range(model.n_nodes):
        table = Counter()
        for row, amount in zip(x, weight, strict=True):
            if amount:
                table[tuple(row[neighbour[offset[i] : offset[i + 1]]].tolist())] += amount
        found.append(dict(table))
    return found


def unfold(model, table):
    degree = np.diff(model.adjacency.offset)
    found = []
    for i in range(model.n_nodes):
        weight = table.weight[table.node_offset[i] : table.node_offset[i + 1]]
        states = table.states[table.states_offset[i] : table.states_offset[i + 1]].reshape(weight.size, degree[i])
        node = {tuple(s.tolist()): w for s, w in zip(states, weight, strict=True)}
        assert len(node) == weight.size  # each pattern once
        found.append(node)
    return found


def check(model, x, weight=None):
    stats = count(model, x, weights=weight)
    ones = np.ones(len(x)) if weight is None else weight
    expected = outcomes_by_definition(model, x, ones)
    np.testing.assert_allclose(stats.outcome_counts, np.concatenate(expected), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(stats.counts, np.concatenate([t[:-1] for t in expected]), rtol=1e-12, atol=1e-12)
    assert stats.n == pytest.approx(ones.sum(), rel=1e-12)
    assert stats.n_rows == len(x)
    np.testing.assert_allclose(stats.mean * stats.n, stats.counts)
    for found, wanted in zip(unfold(model, stats.patterns), patterns_by_definition(model, x, ones), strict=True):
        assert found.keys() == wanted.keys()
        assert all(found[key] == pytest.approx(wanted[key], rel=1e-12) for key in wanted)
    return stats


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("n", [4, 64, 131])
def test_counts_and_patterns_are_those_of_the_definition(name, n):
    check(MODELS[name], draw(MODELS[name], n))


@pytest.mark.parametrize("name", MODELS)
def test_weights_count_rows_so_many_times(name):
    model = MODELS[name]
    x = draw(model, 70)
    whole = np.random.default_rng(1).integers(0, 4, size=70)
    whole[:4] = 1
    stats = check(model, x, whole.astype(float))
    repeated = count(model, np.repeat(x, whole, axis=0))
    np.testing.assert_array_equal(stats.counts, repeated.counts)
    assert stats.digest != repeated.digest
    check(model, x, np.random.default_rng(2).random(70))
