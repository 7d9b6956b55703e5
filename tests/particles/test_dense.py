"""Persistent chains of dense fields and of tables: rows, moments and covariances against enumeration."""

import itertools

import numpy as np
import pytest

import mrfbayes as mb
from mrfbayes.base.random_streams import kernel_state
from mrfbayes.particles.dense import DenseEnsemble, TableEnsemble, TableLayout, cell_layout, make_ensemble

D = 4
PAIRS = list(itertools.combinations(range(D), 2))
KINDS = {
    "binary": (2, "both-one"),
    "ordered": ([3, 2, 4, 3], "score"),
    "Potts": (3, "agreement"),
    "table": (3, "table"),
}
REPLICAS = 2


class Case:
    """A complete field, its chains, and T of all states by the definition."""

    def __init__(self, kind, chains=1_024, threads=1):
        states, coupling = KINDS[kind]
        self.model = mb.graph(PAIRS, states=states, fields=True, coupling=coupling)
        self.layout = cell_layout(self.model)
        self.states = np.array(list(itertools.product(*(range(r) for r in self.model.states))))
        levels = [(i, k) for i, r in enumerate(self.model.states) for k in range(1, r)]
        means = np.array([1 / self.model.states[i] for i, _ in levels])
        state = kernel_state(np.random.SeedSequence(7))
        self.kind = kind
        self.ensemble = make_ensemble(self.layout, means, REPLICAS, chains, state, threads)
        u, v = np.transpose(PAIRS)
        if kind == "table":
            self.t = self.ensemble.statistics(self.states.astype(np.uint8))
        else:
            a, b = self.states[:, u], self.states[:, v]
            pairs = a == b if coupling == "agreement" else a * b
            self.t = np.column_stack([pairs, *(self.states[:, i] == k for i, k in levels)]).astype(float)

    def moments(self, natural):
        weights = np.exp(self.t @ natural)
        p = weights / weights.sum()
        centred = self.t - p @ self.t
        return p @ self.t, (centred * p[:, None]).T @ centred

    def some_rows(self):
        return self.states[np.random.default_rng(2).integers(0, len(self.states), self.ensemble.n_chains)]


@pytest.fixture(params=KINDS)
def case(request):
    return Case(request.param)


def test_rows_come_back_as_they_were_put(case):
    x = case.some_rows()
    case.ensemble.start(x)
    np.testing.assert_array_equal(case.ensemble.rows(), x)
    assert type(case.ensemble) is (TableEnsemble if case.kind == "table" else DenseEnsemble)
    np.testing.assert_array_equal(case.ensemble.statistics(case.states.astype(np.uint8)), case.t)


def test_replicas_have_the_moments_of_their_own_parameters(case):
    """Both halves of both replicas, which have different parameters."""
    natural = np.random.default_rng(3).normal(0, 0.5, (REPLICAS, case.layout.n_natural))
    case.ensemble.start(case.some_rows())
    case.ensemble.set_parameters(natural)
    found = case.ensemble.moments(30, 20)
    for of_replica, parameters in zip(found, natural, strict=True):
        mean, covariance = case.moments(parameters)
        error = 5.5 * np.sqrt(np.diag(covariance) / case.ensemble.width)  # as if only one sweep was counted
        assert (np.abs(of_replica - mean) < error).all()
    assert (np.abs(found[0] - case.moments(natural[1])[0]) > error).any()


def test_covariances_are_enumerated_ones(case):
    natural = np.random.default_rng(4).normal(0, 0.4, case.layout.n_natural)
    case.ensemble.start(case.some_rows())
    case.ensemble.set_parameters(natural)
    case.ensemble.sweep(30)
    mean, covariance = case.ensemble.products(8, 3)
    expected_mean, expected = case.moments(natural)
    sd = np.sqrt(np.diag(expected))
    n = case.ensemble.n_chains  # snapshots of one chain are not independent
    assert (np.abs(mean - expected_mean) < 5.5 * sd / np.sqrt(n)).all()
    np.testing.assert_allclose(covariance / np.outer(sd, sd), expected / np.outer(sd, sd), atol=5.5 * np.sqrt(3 / n))
    np.testing.assert_allclose(covariance, covariance.T, atol=1e-12)


def test_products_are_those_of_the_states_that_were_visited(case):
    """One snapshot, of which no sweep is left out: numpy's mean and covariance of T of all rows."""
    case.ensemble.start(case.some_rows())
    mean, covariance = case.ensemble.products(1, 0)
    t = case.ensemble.statistics(case.ensemble.rows()).astype(float)
    np.testing.assert_allclose(mean, t.mean(axis=0), atol=1e-6)
    np.testing.assert_allclose(covariance, np.cov(t, rowvar=False, bias=True), atol=1e-5)


@pytest.mark.parametrize("kind", ["ordered", "table"])
def test_chains_go_on_from_their_arrays_whatever_the_threads(kind):
    one, two = Case(kind, 128), Case(kind, 128, threads=2)
    natural = np.random.default_rng(5).normal(0, 0.5, one.layout.n_natural)
    one.ensemble.start(one.some_rows())
    one.ensemble.sweep(2)
    two.ensemble.restore({name: array.copy() for name, array in one.ensemble.arrays().items()})
    for case in (one, two):
        case.ensemble.set_parameters(natural)
        case.ensemble.sweep(3)
    np.testing.assert_array_equal(one.ensemble.rows(), two.ensemble.rows())
    assert (one.ensemble.rows() != one.some_rows()).any()


def test_ordered_variables_of_many_levels_have_tables():
    model = mb.graph([(0, 1)], states=9, coupling="score", fields=True)
    assert isinstance(cell_layout(model), TableLayout)
