"""Normalisers of the pseudolikelihood and their derivatives against full conditionals by enumeration."""

import numpy as np
import pytest

from estimation.fields import FIELDS, Enumerated, weak
from mrfbayes.data.statistics import count
from mrfbayes.estimation.pseudolikelihood import PseudoObjective
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
    stats = count(field.model, x)
    value, gradient = by_enumeration(field, x, 0.8 * w)
    found = PseudoObjective(field.model, stats, None).value_gradient(0.8 * w)
    at_zero = PseudoObjective(field.model, stats, None).value_gradient(np.zeros(w.size))[0]
    # The lowered form leaves out what does not depend on x, so values are compared as differences.
    assert found[0] - at_zero == pytest.approx(value - by_enumeration(field, x, np.zeros(w.size))[0], rel=1e-11)
    np.testing.assert_allclose(found[1], gradient, atol=1e-10)


def test_the_prior_is_added_and_the_diagonal_is_a_curvature():
    field = Enumerated.of(FIELDS["2x3 grid"])
    w = weak(field.model, 1)
    stats = count(field.model, field.draw(w, 50, 2))
    prior = Prior(field.model, "normal(0, 2)")
    plain, penalised = PseudoObjective(field.model, stats, None), PseudoObjective(field.model, stats, prior)
    np.testing.assert_allclose(penalised.value_gradient(w)[1] - plain.value_gradient(w)[1], prior.gradient_w(w))
    step = 1e-5 * np.eye(w.size)
    curvature = [
        -(plain.value_gradient(w + h)[1] - plain.value_gradient(w - h)[1])[j] / 2e-5 for j, h in enumerate(step)
    ]
    np.testing.assert_allclose(plain.diagonal(w), curvature, rtol=1e-6)
