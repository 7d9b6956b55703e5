"""Theta, log-odds and Ising couplings are the same field: enumerated by hand, for every coupling."""

import itertools

import numpy as np
import pytest

import mrfbayes as mb
from mrfbayes.model.scales import coupling_of, edge_strengths, meaning, natural_scale, scaled

PATH = [("a", "b"), ("b", "c"), ("a", "c")]


def log_weights(model, theta):
    """Log weight of every configuration, up to a constant: the factors as they are defined, one by one."""
    out = []
    for x in itertools.product((0, 1), repeat=model.n_nodes):
        total = 0.0
        for group in model.groups:
            for scope, block in zip(group.scope, group.block, strict=True):
                first = model.chart.offset[block]
                cell = group.table[tuple(x[i] for i in scope)]
                if group.is_score:
                    total += cell * np.log(theta[first]) + (group.tosses - cell) * np.log(1 - theta[first])
                else:
                    weights = [*theta[first : model.chart.offset[block + 1]]]
                    total += np.log([*weights, 1 - sum(weights)][cell])
        out.append(total)
    return np.array(out) - out[0]


def spin_weights(nodes, values):
    """The same from J and h by name: the definition of the scale."""
    out = []
    for spins in itertools.product((-1, 1), repeat=len(nodes)):
        sigma = dict(zip(nodes, spins, strict=True))
        total = 0.0
        for name, value in values.items():
            ends = name.split("--")
            total += value * np.prod([sigma[end] for end in ends])
        out.append(total)
    return np.array(out) - out[0]


@pytest.mark.parametrize("coupling", ["agreement", "both-one", "score", "table"])
@pytest.mark.parametrize("fields", [False, True])
def test_ising_couplings_give_the_same_field(coupling, fields):
    model = mb.graph(PATH, fields=fields, coupling=coupling)
    theta = np.random.default_rng(1).uniform(0.1, 0.3, model.n_parameters)
    rows = scaled(model, "ising")
    found = dict(zip(rows.names, rows.values(theta), strict=True))
    np.testing.assert_allclose(spin_weights(model.nodes, found), log_weights(model, theta), atol=1e-12)
    assert rows.names[: rows.n_edge_rows] == ("a--b", "b--c", "a--c")
    wrong = {name: value * 1.01 for name, value in found.items()}
    assert np.abs(spin_weights(model.nodes, wrong) - log_weights(model, theta)).max() > 1e-3


def test_tied_edges_are_one_row():
    rows = scaled(mb.grid(3, 4, tied="direction", fields=True), "ising")
    assert rows.names == ("horizontal", "vertical", "nodes")
    theta = np.array([0.6, 0.7, 0.2])
    np.testing.assert_allclose(rows.values(theta), np.log(theta / (1 - theta)) / 2)
    by_degree = scaled(mb.grid(2, 3, tied=True, coupling="both-one"), "ising")
    assert by_degree.names == ("edges", "0,0 and 3 more", "0,1 and 1 more")
    np.testing.assert_allclose(by_degree.values([0.7]), np.log(0.7 / 0.3) / 4 * np.array([1, 2, 3]))


def test_log_odds_and_theta_keep_the_parameters():
    model = mb.graph(PATH, states=3, fields=True)
    draws = np.random.default_rng(2).uniform(0.1, 0.4, (2, 5, model.n_parameters))
    rows = scaled(model, "log-odds")
    assert rows.names == model.parameters
    assert rows.n_edge_rows == 3
    assert not rows.is_monotone
    last = 1 - draws[..., 3] - draws[..., 4]
    np.testing.assert_allclose(rows.values(draws)[..., 3], np.log(draws[..., 3] / last))
    np.testing.assert_array_equal(scaled(model, "theta").values(draws), draws)
    np.testing.assert_allclose(scaled(model, "theta").values(model.no_interaction), scaled(model, "theta").neutral)


def test_unknown_scale_raises_input_error():
    with pytest.raises(mb.InputError, match=r"scale = 'odds': .*'theta', 'log-odds', 'ising'"):
        scaled(mb.grid(2, 2), "odds")
    with pytest.raises(mb.InputError, match=r"two states, .*up to 3.*'log-odds'"):
        scaled(mb.grid(2, 2, states=3), "ising")


@pytest.mark.parametrize("coupling", ["agreement", "both-one", "score", "table"])
def test_each_coupling_has_its_sentence(coupling):
    model = mb.graph(PATH, coupling=coupling, states=2 if coupling in ("both-one", "agreement") else 3)
    assert coupling_of(model) == coupling
    for scale in ("theta", "log-odds"):
        assert meaning(model, scale).endswith(".")
        assert "no interaction" in meaning(model, scale)
    assert natural_scale(model) == ("theta" if coupling == "agreement" else "log-odds")
    assert natural_scale(mb.graph(PATH, fields=True)) == "log-odds"


def test_strengths_of_moderated_edges_are_couplings_at_the_centre_and_no_effects():
    data = mb.Data({"a": [0, 1, 1], "b": [1, 0, 1], "c": [0, 0, 1], "age": [1, 2, 3]}, covariates=["age"])
    model = mb.Model.from_data(data, covariates="couplings")
    w = np.arange(2.0 * model.n_parameters).reshape(2, -1)
    np.testing.assert_array_equal(edge_strengths(model, w), w[:, : model.n_edges])
