"""Fields in natural parameters against the log weights of all configurations."""

import itertools

import numpy as np
import pytest

import mrfbayes as mb
import small_fields
from mrfbayes.model.natural_form import dense_layout, node_levels

EDGES = [("a", "b"), ("c", "b"), ("a", "c")]
FIELDS = {
    "agreement": (mb.graph(EDGES, fields=True), "product"),
    "both-one": (mb.graph(EDGES, fields=True, coupling="both-one"), "product"),
    "tied": (mb.graph(EDGES, fields=True, tied=True), "product"),
    "scores": (mb.graph(EDGES, states=[2, 3, 4], fields=True, coupling="score"), "product"),
    "asymmetric": (mb.Model(["a", "b", "c"], [mb.Factor(pair, [[0, 1], [0, 0]]) for pair in EDGES]), "product"),
    "Potts": (mb.graph(EDGES, states=3, fields=True), "agreement"),
}


@pytest.mark.parametrize("name", FIELDS)
def test_natural_parameters_give_the_log_weights_up_to_a_constant(name):
    model, coupling = FIELDS[name]
    layout = dense_layout(model)
    assert layout.coupling == coupling
    theta = small_fields.random_theta(model, 2)
    natural = layout.forward @ model.chart.log_odds(theta)
    x = np.array(list(itertools.product(*(range(r) for r in model.states))))
    total = layout.values(x[:, model.edges[:, 0]], x[:, model.edges[:, 1]]) @ natural[: model.n_edges]
    for i, r in enumerate(model.states):
        mu = np.concatenate([[0.0], natural[layout.level_offset[i] :][: r - 1]])
        total += mu[x[:, i]]
    difference = small_fields.log_weights(model, theta, x) - total
    np.testing.assert_allclose(difference, difference[0], atol=1e-12)


@pytest.mark.parametrize("name", FIELDS)
def test_statistics_are_a_constant_and_a_linear_function_of_natural_ones(name):
    model, _ = FIELDS[name]
    layout = dense_layout(model)
    x = np.minimum(np.random.default_rng(1).integers(0, 4, size=(30, 3)), model.states - 1)
    node, state = layout.levels
    natural = [layout.values(x[:, model.edges[:, 0]], x[:, model.edges[:, 1]]), x[:, node] == state]
    s = layout.constant + np.concatenate(natural, axis=1) @ layout.forward
    np.testing.assert_allclose(s.sum(axis=0), mb.Data(x).count(model).counts, atol=1e-10)


def test_tables_have_no_such_form():
    assert dense_layout(mb.graph([("a", "b")], states=3, coupling="table", fields=True)) is None


def test_levels_start_at_one_for_every_node():
    node, state = node_levels(np.array([2, 4, 3]))
    assert node.tolist() == [0, 1, 1, 1, 2, 2]
    assert state.tolist() == [1, 1, 2, 3, 1, 2]
