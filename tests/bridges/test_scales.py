"""Scales of couplings, Ising models and dimod hold the same distribution, there and back."""

import itertools

import dimod
import numpy as np
import pytest

import mrfbayes as mb
from bridges.bridge_cases import BINARY, FIELDS, THETA, every_row, log_probabilities, normalised
from mrfbayes import bridges
from mrfbayes.exact.quantities import log_partition_w
from mrfbayes.results.predictability import row_log_weights


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("temperature", [1.0, 2.5])
def test_dimod_round_trip_keeps_the_distribution(name, temperature):
    model, theta = FIELDS[name], THETA[name]
    bqm = bridges.to_dimod(model, theta, temperature)
    rows, mine = every_row(model), log_probabilities(model, theta)
    assert normalised(-bqm.energies((2 * rows - 1, list(model.nodes))) / temperature) == pytest.approx(mine, rel=1e-10)
    for form in (bqm, bqm.change_vartype("BINARY", inplace=False)):
        again, other = bridges.from_dimod(form, temperature)
        order = [model.nodes.index(node) for node in again.nodes]
        w = again.chart.log_odds(other)
        assert row_log_weights(again, w, rows[:, order]) - log_partition_w(again, w) == pytest.approx(mine, rel=1e-9)


def test_unsupported_dimod_models_raise_input_error():
    with pytest.raises(mb.InputError, match="two variables have the same name"):
        bridges.from_dimod(dimod.BinaryQuadraticModel({1: 0.0, "1": 0.0}, {}, "SPIN"))
    with pytest.raises(mb.InputError, match="no variables"):
        bridges.from_dimod(dimod.BinaryQuadraticModel("SPIN"))
    with pytest.raises(mb.InputError, match=r"two states, .*up to 3"):
        bridges.to_dimod(FIELDS["score"], THETA["score"])
    with pytest.raises(mb.InputError, match="temperature = 0"):
        bridges.to_dimod(FIELDS["tied"], THETA["tied"], 0)


@pytest.mark.parametrize("name", BINARY)
def test_ising_round_trip_keeps_the_distribution(name):
    model, theta = FIELDS[name], THETA[name]
    found = bridges.to_ising(model, theta)
    assert found.as_theta(model) == pytest.approx(theta, rel=1e-9)
    rows = every_row(model)
    spins = 2 * rows - 1
    total = np.array([s @ found.coupling @ s / 2 + found.field @ s for s in spins])
    assert normalised(total) == pytest.approx(log_probabilities(model, theta), rel=1e-10)
    sigma, mu = bridges.ising_to_binary(found.coupling, found.field)
    total = np.array([x @ sigma @ x / 2 + mu @ x for x in rows])
    assert normalised(total) == pytest.approx(log_probabilities(model, theta), rel=1e-10)
    coupling, field = bridges.binary_to_ising(sigma, mu)
    assert coupling == pytest.approx(found.coupling, abs=1e-12)
    assert field == pytest.approx(found.field, abs=1e-12)


@pytest.mark.parametrize("coupling", ["both-one", "agreement"])
def test_scales_of_an_edge_are_those_of_its_distribution(coupling):
    """One edge: the log odds ratio of its table is sigma, whatever the model calls its parameter."""
    model = mb.graph([("u", "v")], fields=True, coupling=coupling)
    theta = np.array([0.73, 0.4, 0.6])
    p = np.exp(log_probabilities(model, theta)).reshape(2, 2)
    sigma = np.log(p[1, 1] * p[0, 0] / (p[0, 1] * p[1, 0]))
    told = {
        "theta": 0.73,
        "log-odds": np.log(0.73 / 0.27),
        "sigma": sigma,
        "omega": sigma / 2,
        "ising": bridges.to_ising(model, theta).coupling[0, 1],
    }
    for source, target in itertools.product(told, told):
        assert bridges.convert_coupling(told[source], source, target, coupling) == pytest.approx(told[target]), (
            source,
            target,
        )


def test_ordered_variables_have_the_same_scales_without_spins():
    model = mb.graph([("u", "v")], states=3, fields=True, coupling="score")
    theta = np.full(model.n_parameters, 0.3)
    theta[0] = 0.7
    p = np.exp(log_probabilities(model, theta)).reshape(3, 3)
    sigma = np.log(p[2, 2] * p[1, 1] / (p[1, 2] * p[2, 1]))  # 4 + 1 - 2 - 2 = 1
    assert bridges.convert_coupling(0.7, "theta", "sigma", "score") == pytest.approx(sigma)
    with pytest.raises(mb.InputError, match="ordered variables have no spins"):
        bridges.convert_coupling(0.7, "theta", "ising", "score")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((1.0, "beta", "theta"), "source = 'beta'"),
        ((1.0, "theta", "sigma"), "theta is a weight between 0 and 1"),
        ((1.0, "sigma", "theta", "table"), "coupling = 'table'"),
        (("x", "sigma", "theta"), "values: expected numbers"),
    ],
)
def test_unknown_scale_raises_input_error(arguments, message):
    with pytest.raises(mb.InputError, match=message):
        bridges.convert_coupling(*arguments)
    with pytest.raises(mb.InputError, match="give a symmetric matrix"):
        bridges.ising_to_binary([[0, 1], [2, 0]], [0, 0])
