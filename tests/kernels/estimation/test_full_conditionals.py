"""Normalisers of the pseudolikelihood and their derivatives against full conditionals by enumeration."""

import numpy as np
import pytest

from estimation.fields import FIELDS, Enumerated, weak
from mrfbayes.data.data import Data
from mrfbayes.estimation.pseudolikelihood import PseudoObjective, has_score_couplings
from mrfbayes.kernels.estimation.full_conditionals import ScorePatterns
from mrfbayes.model.build import graph
from mrfbayes.priors import Prior


def by_enumeration(field, x, w):
    """Log pseudolikelihood, its gradient, and the sum over nodes of the conditional variances of s_j."""
    shape = tuple(field.model.states)
    log_weight = (field.statistics @ w).reshape(shape)
    statistics = field.statistics.reshape(*shape, -1)
    value, gradient = 0.0, np.zeros(w.size)
    for row in x:
        for node in range(len(shape)):
            here = tuple(slice(None) if i == node else int(a) for i, a in enumerate(row))
            weight = np.exp(log_weight[here] - log_weight[here].max())
            weight /= weight.sum()
            value += np.log(weight[row[node]])
            gradient += statistics[here][row[node]] - weight @ statistics[here]
    return value, gradient


@pytest.mark.parametrize("name", FIELDS)
def test_value_and_gradient(name):
    field = Enumerated.of(FIELDS[name])
    w = weak(field.model, 8)
    x = field.draw(w, 60, 9)
    stats = Data(x).count(field.model)
    value, gradient = by_enumeration(field, x, 0.8 * w)
    found = PseudoObjective(field.model, stats, None).value_gradient(0.8 * w)
    at_zero = PseudoObjective(field.model, stats, None).value_gradient(np.zeros(w.size))[0]
    # The lowered form leaves out what does not depend on x, so values are compared as differences.
    assert found[0] - at_zero == pytest.approx(value - by_enumeration(field, x, np.zeros(w.size))[0], rel=1e-11)
    np.testing.assert_allclose(found[1], gradient, atol=1e-10)


def test_the_prior_is_added_and_the_diagonal_is_a_curvature():
    field = Enumerated.of(FIELDS["2x3 grid"])
    w = weak(field.model, 1)
    stats = Data(field.draw(w, 50, 2)).count(field.model)
    prior = Prior(field.model, "normal(0, 2)")
    plain, penalised = PseudoObjective(field.model, stats, None), PseudoObjective(field.model, stats, prior)
    np.testing.assert_allclose(penalised.value_gradient(w)[1] - plain.value_gradient(w)[1], prior.gradient_w(w))
    step = 1e-5 * np.eye(w.size)
    curvature = [
        -(plain.value_gradient(w + h)[1] - plain.value_gradient(w - h)[1])[j] / 2e-5 for j, h in enumerate(step)
    ]
    np.testing.assert_allclose(plain.diagonal(w), curvature, rtol=1e-6)


@pytest.mark.parametrize("name", ["ordinal", "both-one", "Potts", "2x3 grid"])
def test_strong_couplings_neither_overflow_nor_lose_digits(name):
    field = Enumerated.of(FIELDS[name])
    w = weak(field.model, 8)
    x = field.draw(w, 20, 9)
    stats = Data(x).count(field.model)
    w = 400 * w
    value, gradient = by_enumeration(field, x, w)
    objective = PseudoObjective(field.model, stats, None)
    found = objective.value_gradient(w)
    at_zero = objective.value_gradient(np.zeros(w.size))[0] - by_enumeration(field, x, np.zeros(w.size))[0]
    assert found[0] - at_zero == pytest.approx(value, rel=1e-11)
    np.testing.assert_allclose(found[1], gradient, atol=1e-8)


def test_products_of_levels_are_recognised():
    edges = [(0, 1), (2, 1), (2, 0)]
    products = graph(edges, states=[3, 2, 4], fields=True, coupling="score")
    tied = graph(edges, states=3, tied=True, coupling="score")
    assert has_score_couplings(products)
    assert has_score_couplings(tied)
    assert not has_score_couplings(graph(edges, states=3))
    assert not has_score_couplings(graph(edges, states=[2, 3, 2], coupling="table"))
    stats = Data([[0, 1, 2], [1, 2, 0], [2, 0, 1]]).count(tied)
    assert isinstance(PseudoObjective(tied, stats, None).patterns, ScorePatterns)
