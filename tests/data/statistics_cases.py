"""Fields of every kind, rows for them, and their patterns unfolded: for tests of counts and patterns."""

from itertools import combinations

import numpy as np

from mrfbayes.model.build import graph, grid
from mrfbayes.model.factors import Factor
from mrfbayes.model.field import Model

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
