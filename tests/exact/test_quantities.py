"""The exact layer on every kind of model, against enumeration of the field as it is defined."""

from itertools import product

import numpy as np
import pytest
from scipy import stats

import mrfbayes as mb
import oracles
from mrfbayes.exact.quantities import covariance_w, log_partition_w, moments_w, sample_exact, third_order_w

MODELS = {
    "grid": mb.grid(3, 3),
    "grid as a graph": mb.graph(mb.grid(3, 3).edges),
    "grid with fields, tied": mb.grid(2, 3, fields=True, tied="direction"),
    "both-one with fields": mb.graph([(0, 1), (1, 2), (2, 0), (2, 3)], coupling="both-one", fields=True),
    "Potts": mb.grid(2, 3, states=3),
    "ordinal": mb.graph([(0, 1), (1, 2), (2, 0)], states=[3, 2, 4], coupling="score", fields=True),
    "tables": mb.graph([(0, 1), (1, 2)], states=[3, 2, 2], coupling="table"),
    "apart": mb.graph([("a", "b"), ("c", "d")], nodes=list("abcde"), fields=True),
}


def enumerate_field(model):
    """All configurations and their sufficient statistics, straight from the factors' tables."""
    x = np.array(list(product(*map(range, model.states))))
    s = np.zeros((len(x), model.n_parameters))
    for group in model.groups:
        for scope, block in zip(group.scope, group.block, strict=True):
            cell = group.table[tuple(x[:, scope].T)]
            first = model.chart.offset[block]
            if group.is_score:
                s[:, first] += cell
            else:
                for k in range(group.sides - 1):
                    s[:, first + k] += cell == k
    return x, s


@pytest.fixture(params=MODELS, scope="module")
def case(request):
    model = MODELS[request.param]
    w = np.random.default_rng(9).normal(size=model.n_parameters)
    x, s = enumerate_field(model)
    weight = np.exp(s @ w)
    return model, w, x, s, weight / weight.sum(), float(np.log(weight.sum()))


def test_log_partition_and_moments(case):
    model, w, _, s, p, log_z = case
    assert log_partition_w(model, w) == pytest.approx(log_z, rel=1e-12)
    value, mean = moments_w(model, w)
    assert value == pytest.approx(log_z, rel=1e-12)
    np.testing.assert_allclose(mean, p @ s, rtol=1e-12)


def test_public_functions_take_theta(case):
    model, w, _, s, p, _ = case
    theta = model.chart.theta(w)
    last = model.chart.log_last_weight(w) @ model.chart.tosses
    assert mb.log_partition(model, theta) == pytest.approx(np.log(np.exp(s @ w + last).sum()), rel=1e-11)
    np.testing.assert_allclose(mb.expected_counts(model, theta), p @ s, rtol=1e-10)
    centred = s - p @ s
    np.testing.assert_allclose(mb.fisher_information(model, theta), centred.T @ (centred * p[:, None]), atol=1e-10)


def test_covariance_and_third_order(case):
    model, w, _, s, p, _ = case
    centred = s - p @ s
    covariance = centred.T @ (centred * p[:, None])
    np.testing.assert_allclose(covariance_w(model, w), covariance, atol=1e-12)
    spread = np.linalg.inv(covariance + np.eye(len(w)))
    big_p = centred @ spread
    q = (centred * big_p).sum(axis=1)
    cubes, mixed = third_order_w(model, w, spread)
    np.testing.assert_allclose(cubes, p @ big_p**3, atol=1e-12)
    np.testing.assert_allclose(mixed, p @ (q[:, None] * big_p), atol=1e-12)


def chi_square(model, x, probabilities):
    code = np.ravel_multi_index(tuple(x.T.astype(int)), tuple(model.states))
    return stats.chisquare(np.bincount(code, minlength=len(probabilities)), probabilities * len(x)).pvalue


def test_samples_are_independent_draws(case):
    model, w, _, _, p, _ = case
    x = sample_exact(model, w, 100_000, np.random.SeedSequence(4))
    assert chi_square(model, x, p) > 1e-6
    wrong = sample_exact(model, w + 0.1, 100_000, np.random.SeedSequence(4))
    assert chi_square(model, wrong, p) < 1e-6  # the test would notice a tenth of a logit
    assert not np.array_equal(x, sample_exact(model, w, 100_000, np.random.SeedSequence(5)))


def test_what_does_not_fit_is_refused():
    complete = mb.graph([(i, j) for i in range(60) for j in range(i)])
    with pytest.raises(mb.CostError, match=r"width 59 .*annealed_log_partition"):
        mb.log_partition(complete, 0.6)
    with pytest.raises(mb.CostError, match=r"needs 2\^1004 bytes here \(treewidth 1000"):
        mb.log_partition(mb.grid(1000, 1000, fields=True), 0.6)


@pytest.mark.parametrize("strength", [30.0, 300.0])
@pytest.mark.parametrize("fields", [False, True])
def test_strong_fields_neither_overflow_nor_vanish(strength, fields):
    """Frustrated couplings of both signs: at 300 a sweep's message spans more than a double does."""
    model = mb.grid(3, 3, fields=fields)
    w = strength * np.random.default_rng(2).choice([-1.0, 1.0, 0.5], size=model.n_parameters)
    _, s = enumerate_field(model)
    top = (s @ w).max()
    weight = np.exp(s @ w - top)
    p = weight / weight.sum()
    assert log_partition_w(model, w) == pytest.approx(top + np.log(weight.sum()), rel=1e-13)
    value, mean = moments_w(model, w)
    assert value == pytest.approx(top + np.log(weight.sum()), rel=1e-13)
    np.testing.assert_allclose(mean, p @ s, atol=1e-12)
    centred = s - p @ s
    np.testing.assert_allclose(covariance_w(model, w), centred.T @ (centred * p[:, None]), atol=1e-11)
    x = sample_exact(model, w, 1000, np.random.SeedSequence(1))
    code = np.ravel_multi_index(tuple(x.T.astype(int)), tuple(model.states))
    assert p[code].min() > 0  # nothing impossible is drawn


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("fields", [False, True])
@pytest.mark.parametrize("states", [2, 3])
def test_every_connected_graph_up_to_five_nodes(states, fields, tied):
    for number, (n, pairs) in enumerate(oracles.connected_graphs(5)):
        if n == 1 and not fields:
            continue  # a field without parameters
        model = mb.graph(pairs, nodes=range(n), states=states, fields=fields, tied=tied)
        w = np.random.default_rng(number).normal(size=model.n_parameters)
        _, s = enumerate_field(model)
        weight = np.exp(s @ w)
        p = weight / weight.sum()
        value, mean = moments_w(model, w)
        assert value == pytest.approx(np.log(weight.sum()), rel=1e-12, abs=1e-12)
        assert log_partition_w(model, w) == pytest.approx(value, rel=1e-12, abs=1e-12)
        np.testing.assert_allclose(mean, p @ s, rtol=1e-12)
        centred = s - p @ s
        np.testing.assert_allclose(covariance_w(model, w), centred.T @ (centred * p[:, None]), atol=1e-12)


def test_what_is_large_is_refused_before_it_is_made():
    with pytest.raises(mb.CostError, match=r"a covariance of \d[\d,]* parameters would take"):
        mb.fisher_information(mb.grid(2, 10**5), 0.6)
    with pytest.raises(mb.CostError, match=r"1,000,000,000,000 observations of 4 nodes .*7\.3 TiB"):
        mb.simulate(mb.grid(2, 2), 0.6, 10**12, sampler="gibbs")
