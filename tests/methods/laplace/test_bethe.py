"""Bethe covariances: exact on trees, and everywhere the derivative of the Bethe marginals themselves."""

import numpy as np
import pytest

import mrfbayes as mb
import small_fields
from mrfbayes.base.errors import CostError, InputError
from mrfbayes.methods.laplace import bethe as module
from mrfbayes.methods.laplace.bethe import bethe, bethe_mode
from small_fields import FIELDS

TREES = {
    "binary": lambda: mb.graph([(0, 1), (1, 2), (1, 3)], fields=True),
    "tables": lambda: mb.graph([(0, 1), (2, 1), (1, 3)], states=[2, 3, 2, 4], fields=True, coupling="table"),
    "ordinal": lambda: mb.graph([(0, 1), (2, 1)], states=3, fields=True, coupling="score"),
    "tied": lambda: mb.graph([(0, 1), (2, 1)], states=3, fields=True, tied=True),
    "two trees": lambda: mb.graph([(0, 1), (2, 3)], fields=True),
}


def dense(matrix):
    return matrix.toarray() if hasattr(matrix, "toarray") else np.asarray(matrix)


@pytest.mark.parametrize("name", TREES)
def test_exact_on_trees(name):
    model = TREES[name]()
    theta = small_fields.random_theta(model, 2)
    mean, covariance = small_fields.moments(model, theta)
    found = bethe(model, model.chart.log_odds(theta))
    np.testing.assert_allclose(found.expected, mean, atol=1e-13)
    np.testing.assert_allclose(dense(found.covariance), covariance, atol=1e-13)


@pytest.mark.parametrize("name", FIELDS)
def test_covariance_is_the_derivative_of_the_marginals(name):
    model = FIELDS[name]()
    w = model.chart.log_odds(small_fields.random_theta(model, 3))
    covariance = dense(bethe(model, w).covariance)
    h = 1e-5
    for j in range(w.size):
        step = h * (np.arange(w.size) == j)
        slope = (bethe(model, w + step).expected - bethe(model, w - step).expected) / (2 * h)
        np.testing.assert_allclose(covariance[:, j], slope, atol=1e-8)


def test_agreement_coins_at_equal_messages_do_not_see_their_loops():
    model = mb.grid(8, 8)
    theta = np.random.default_rng(1).uniform(0.5, 0.8, 112)
    found = bethe(model, model.chart.log_odds(theta))
    assert found.details["fixed_point"] == "uniform"
    assert found.covariance.nnz == 112  # diagonal, and stored so
    np.testing.assert_allclose(found.covariance.diagonal(), theta * (1 - theta), atol=1e-12)
    np.testing.assert_allclose(found.expected, theta, atol=1e-12)
    exact = small_fields.moments(mb.grid(2, 3), theta[:7])[1]
    assert np.abs(exact - np.diag(theta[:7] * (1 - theta[:7]))).max() > 0.01  # what it misses


def non_backtracking_radius(edges, theta):
    """Spectral radius of the matrix with 2 theta_(u,v) - 1 from (k, u) to (u, v), k != v."""
    arcs = [(u, v, t) for (u, v), t in zip(edges, theta, strict=True)]
    arcs += [(v, u, t) for u, v, t in arcs]
    matrix = [[(2 * t - 1) * (u == b and v != a) for a, b, _ in arcs] for u, v, t in arcs]
    return np.abs(np.linalg.eigvals(np.array(matrix))).max()


@pytest.mark.parametrize(("size", "low", "high"), [(4, 0.5, 0.8), (4, 0.7, 0.9)])
def test_unstable_equal_messages_are_left_with_a_warning(size, low, high):
    model = mb.grid(size, size)
    theta = np.random.default_rng(2).uniform(low, high, model.n_parameters)
    found = bethe(model, model.chart.log_odds(theta))
    radius = non_backtracking_radius(model.edges, theta)
    assert found.details["uniform_radius"] == pytest.approx(radius, rel=1e-8)
    assert found.details["fixed_point"] == ("uniform" if radius < 1 else "iterated")
    assert (radius < 1) == (high == 0.8)  # one case of each kind
    assert found.details["spectral_radius"] < 1
    assert np.linalg.eigvalsh(dense(found.covariance)).min() > 0


def test_large_sparse_radius_agrees_with_all_eigenvalues(monkeypatch):
    model = mb.grid(5, 5)
    theta = np.random.default_rng(3).uniform(0.5, 0.8, 40)
    values = []
    for limit in (10, 1000):
        monkeypatch.setattr(module, "DENSE_RADIUS", limit)
        values.append(bethe(model, model.chart.log_odds(theta)).details["spectral_radius"])
    assert values[0] == pytest.approx(values[1], rel=1e-6)


def test_mode_of_the_bethe_likelihood():
    """Of agreement coins alone it is the observed frequency, as if each edge stood alone."""
    model = mb.grid(3, 3)
    mean = np.random.default_rng(4).uniform(0.4, 0.7, 12)
    np.testing.assert_allclose(model.chart.theta(bethe_mode(model, mean)), mean, atol=1e-9)
    model = mb.graph(small_fields.SQUARE, fields=True)
    theta = small_fields.random_theta(model, 5)
    mean, _ = small_fields.moments(model, theta)
    found = bethe_mode(model, mean)
    np.testing.assert_allclose(bethe(model, found).expected, mean, atol=1e-9)
    assert np.abs(model.chart.theta(found) - theta).max() > 0.01  # loops make it another point


def test_refusals(monkeypatch):
    model = mb.graph(small_fields.SQUARE, fields=True)
    w = model.chart.log_odds(small_fields.random_theta(model, 5))
    monkeypatch.setattr(module, "MOST_MESSAGE_BYTES", 100)
    with pytest.raises(CostError, match="use method='mle'"):
        bethe(model, w)
    monkeypatch.setattr(module, "N_SWEEPS", 2)
    with pytest.raises(InputError, match="did not converge in 6 sweeps"):
        bethe(model, w)
    monkeypatch.undo()
    monkeypatch.setattr(module, "MODE_STEPS", 3)
    with pytest.raises(InputError, match="use centre='mle'"):
        bethe_mode(mb.grid(2, 2), np.array([1.0, 0.5, 0.5, 0.5]))


def test_a_large_field_without_couplings_has_radius_zero():
    """Where the search for the Bethe mode starts; above some hundred messages ARPACK refuses a matrix of zeros."""
    model = mb.grid(8, 8)
    found = bethe(model, np.zeros(model.n_parameters))
    assert found.details["spectral_radius"] == 0.0
    np.testing.assert_allclose(found.expected, 0.5)
