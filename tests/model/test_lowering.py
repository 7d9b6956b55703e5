"""Lowering against the definition of the field, configuration by configuration."""

from itertools import product

import numpy as np
import pytest

from mrfbayes.model.build import graph, grid
from mrfbayes.model.factors import Factor
from mrfbayes.model.field import Model

MODELS = {
    "paper": grid(2, 3),
    "grid with fields": grid(2, 2, fields=True),
    "tied by direction": grid(2, 2, tied="direction", fields=True),
    "both-one": graph([("a", "b"), ("c", "b")], coupling="both-one", fields=True),
    "ordinal": graph([(0, 1), (2, 1)], states=[2, 3, 4], coupling="score", fields=True),
    "tables": graph([(0, 1), (1, 2)], states=3, coupling="table"),
    "binary tables": graph([(0, 1), (1, 2)], coupling="table", fields=True),
    "tied Potts": grid(2, 2, states=3, tied=True),
    "several factors a pair, both directions": Model(
        {"a": 2, "b": 3},
        [
            Factor(("b", "a"), outcomes=[[0, 1], [1, 2], [2, 2]]),
            Factor(("a", "b"), scores=[[0, 1, 2], [1, 1, 0]]),
            Factor("a", outcomes=[1, 0]),
        ],
    ),
}


def log_weight_by_definition(model, theta, x):
    total = 0.0
    for group in model.groups:
        for scope, block in zip(group.scope, group.block, strict=True):
            cell = group.table[tuple(x[scope])]
            free = theta[model.chart.offset[block] : model.chart.offset[block + 1]]
            weights = np.append(free, 1 - free.sum())
            if group.is_score:
                total += cell * np.log(weights[0]) + (group.table.max() - cell) * np.log(weights[1])
            else:
                total += np.log(weights[cell])
    return total


def indicator_statistics(model, x):
    u, v = model.edges.T
    if model.is_binary:
        return x.astype(float), (x[u] == x[v]).astype(float)
    lowering = model.lowering
    nodes, edges = np.zeros(lowering.node_offset[-1]), np.zeros(lowering.edge_offset[-1])
    nodes[lowering.node_offset[:-1] + x] = 1
    edges[lowering.edge_offset[:-1] + x[u] * model.states[v] + x[v]] = 1
    return nodes, edges


@pytest.mark.parametrize("name", MODELS)
def test_lowered_weight_is_the_defined_weight(name):
    model = MODELS[name]
    w = np.random.default_rng(1).normal(size=model.n_parameters)
    theta = model.chart.theta(w)
    np.testing.assert_allclose(model.chart.log_odds(theta), w, rtol=1e-12)
    node_part, edge_part = model.lowering.potentials(w)
    last = model.chart.log_last_weight(w) @ model.chart.tosses
    for states in product(*map(range, model.states)):
        x = np.array(states)
        nodes, edges = indicator_statistics(model, x)
        lowered = model.lowering.constant @ w + node_part @ nodes + edge_part @ edges + last
        by_statistics = model.lowering.statistics(nodes, edges) @ w + last
        expected = log_weight_by_definition(model, theta, x)
        assert lowered == pytest.approx(expected, rel=1e-12)
        assert by_statistics == pytest.approx(expected, rel=1e-12)


def test_names_follow_the_promised_order():
    model = graph([("b", "a"), ("a", "c")], states=[2, 3, 2], fields=True)
    assert model.nodes == ("b", "a", "c")
    assert model.edges.tolist() == [[0, 1], [1, 2]]
    assert model.parameters == ("b--a", "a--c", "b", "a[1]", "a[2]", "c")


def test_no_interaction_makes_every_configuration_equally_likely():
    for model in MODELS.values():
        w = model.chart.log_odds(model.no_interaction)
        np.testing.assert_allclose(w, 0.0, atol=1e-14)
        assert all(np.ptp(part) < 1e-14 for part in model.lowering.potentials(w) if part.size)
