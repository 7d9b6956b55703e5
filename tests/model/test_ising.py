"""J, h and T in place of theta: the distribution is that of the formula, for every way to write them."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import mrfbayes as mb

EDGES = [("a", "b"), ("b", "c"), ("a", "c")]
J, H, T = np.array([0.4, -0.3, 0.2]), np.array([0.1, -0.2, 0.3]), 1.7


def spins(coupling, field, temperature):
    """Probabilities of 000, 001, ... by the formula."""
    weights = []
    for x in product((-1, 1), repeat=3):
        energy = sum(j * x["abc".index(u)] * x["abc".index(v)] for j, (u, v) in zip(coupling, EDGES, strict=True))
        weights.append(np.exp((energy + np.dot(field, x)) / temperature))
    return np.array(weights) / sum(weights)


def probabilities(model, theta):
    """Probabilities of 000, 001, ... from the model's own tables."""
    w = model.chart.log_odds(model.theta(theta))
    nodes, pairs = model.lowering.potentials(w)
    weights = []
    for x in product((0, 1), repeat=3):
        agree = [x[u] == x[v] for u, v in model.edges.tolist()]
        weights.append(np.exp(np.dot(nodes, x) + np.dot(pairs, agree)))
    return np.array(weights) / sum(weights)


MATRIX = np.zeros((3, 3))
for _value, (_u, _v) in zip(J, ((0, 1), (1, 2), (0, 2)), strict=True):
    MATRIX[_u, _v] = MATRIX[_v, _u] = _value


@pytest.mark.parametrize("coupling", [J, J.tolist(), MATRIX, {("a", "b"): 0.4, "c--b": -0.3, ("c", "a"): 0.2}])
@pytest.mark.parametrize("kind", ["agreement", "both-one", "score"])
def test_the_distribution_is_that_of_the_formula(coupling, kind):
    model = mb.graph(EDGES, fields=True, coupling=kind)
    for field in (H, dict(zip("abc", H, strict=True))):
        np.testing.assert_allclose(probabilities(model, mb.Ising(coupling, field, T)), spins(J, H, T), rtol=1e-10)


def test_it_is_accepted_where_theta_is():
    model = mb.grid(2, 2)
    theta = np.full(4, 1 / (1 + np.exp(-2 * 0.4 / 2.0)))
    ising = mb.Ising(0.4, temperature=2.0)
    np.testing.assert_allclose(model.theta(ising), theta)
    assert mb.log_partition(model, ising, convention="weights") == pytest.approx(mb.log_partition(model, theta))
    np.testing.assert_array_equal(mb.simulate(model, ising, 9, rng=1), mb.simulate(model, theta, 9, rng=1))
    assert mb.grid(2, 2, tied=True, fields=True).theta(mb.Ising(0.3, 0.1)) == pytest.approx(
        1 / (1 + np.exp([-0.6, -0.2]))
    )


@pytest.mark.parametrize(
    ("ising", "options", "message"),
    [
        (mb.Ising(0.3, 0.1), {}, "h of 'a' cannot be had in this model: it needs node factors (fields=True)"),
        (mb.Ising(J), {"tied": True}, "one J per tied block"),
        (mb.Ising(J), {"states": 3}, "Ising couplings are for two states"),
        (mb.Ising(J), {"coupling": "table"}, "h of 'a' cannot be had"),
        (mb.Ising(J[:2]), {}, "coupling has shape (2,), expected (3,)"),
        (mb.Ising(MATRIX + np.eye(3, k=1)), {}, "not symmetric"),
        (mb.Ising({"a--z": 1.0}), {}, "the model has no edge 'a--z'"),
        (mb.Ising({"a--b": 1.0, ("b", "a"): 0.5}), {}, "the edge ('b', 'a') is given twice"),
        (mb.Ising("strong"), {}, "coupling: expected numbers, got str"),
        (mb.Ising(np.nan), {}, "coupling: must be finite numbers"),
        (mb.Ising(J, H[:2]), {"fields": True}, "field has shape (2,), expected (3,)"),
        (mb.Ising(J, {"z": 1.0}), {"fields": True}, "field: no node is called 'z'"),
        (mb.Ising(J, temperature=0.0), {}, "temperature = 0.0: must be a positive number"),
        (mb.Ising(J, temperature="hot"), {}, "temperature = 'hot': must be a finite number"),
    ],
)
def test_what_a_model_cannot_have_is_refused(ising, options, message):
    with pytest.raises(mb.InputError) as caught:
        mb.graph(EDGES, **options).theta(ising)
    assert message in str(caught.value)


def test_model_with_more_parameters_than_couplings_is_refused():
    factors = [mb.Factor(("a", "b"), outcomes=[[3, 0], [1, 2]]), mb.Factor("a", outcomes=[1, 0])]
    model = mb.Model(["a", "b"], factors)
    with pytest.raises(mb.InputError, match="do not follow from J and h"):
        model.theta(mb.Ising(0.3))
