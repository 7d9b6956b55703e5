"""Cumulants of a field's statistics: exact, of data with missing cells, and from particles, against enumeration."""

import itertools

import numpy as np
import pytest

import mrfbayes as mb
import small_fields
from mrfbayes.calibration.cumulants import ExactCumulants, ObservedCumulants, ParticleCumulants, indicators
from mrfbayes.exact.clamped import observed
from oracles import cumulants

SEED = np.random.SeedSequence(3)


def enumerated(model, theta):
    """Statistics and probabilities of all states."""
    x = small_fields.states(model)
    return small_fields.sufficient(model, x), np.exp(
        small_fields.log_weights(model, theta, x) - small_fields.log_z(model, theta)
    )


@pytest.mark.parametrize("name", ["grid, tied", "graph, fields", "Potts", "ordinal"])
def test_exact_cumulants_are_enumerated_ones(name):
    model = small_fields.FIELDS[name]()
    theta = small_fields.random_theta(model, 1)
    statistics, probabilities = enumerated(model, theta)
    mean, covariance, third = cumulants(statistics, probabilities)
    found = ExactCumulants(model, model.chart.log_odds(theta))
    np.testing.assert_allclose(found.mean, mean, atol=1e-10)
    np.testing.assert_allclose(found.covariance, covariance, atol=1e-10)
    directions = np.random.default_rng(2).normal(size=(3, model.n_parameters))
    expected = np.einsum("abc,kb,kc->ka", third, directions, directions)
    np.testing.assert_allclose(found.contract_third(directions), expected, atol=1e-8)
    values, weights = found.states()
    np.testing.assert_allclose(weights @ values, mean, atol=1e-12)


def test_indicators_are_statistics_that_are_0_or_1():
    """Not the score of an ordinal pair, nor the sum over factors that share a block."""
    for name in ("grid, tied", "ordinal", "Potts"):
        model = small_fields.FIELDS[name]()
        top = small_fields.sufficient(model, small_fields.states(model)).max(axis=0)
        np.testing.assert_array_equal(indicators(model), top == 1)


@pytest.mark.filterwarnings("ignore::mrfbayes.MRFWarning")
def test_missing_cells_take_their_conditional_cumulants_off():
    """Of the field less the mean over rows of those of all completions; rows without missing cells have none."""
    model = small_fields.FIELDS["graph, fields"]()
    theta = small_fields.random_theta(model, 1)
    x = small_fields.draw(model, theta, 12, 4).astype(float)
    x[0, 1] = x[3, 0] = x[3, 2] = x[7, 3] = np.nan
    data = observed(mb.Data(x).count(model))
    found = ObservedCumulants(model, model.chart.log_odds(theta), data)
    statistics, probabilities = enumerated(model, theta)
    states = small_fields.states(model)
    means, covariances = [], []
    for row in x:
        fits = ((states == row) | np.isnan(row)).all(axis=1)
        mean, covariance, _ = cumulants(statistics[fits], probabilities[fits] / probabilities[fits].sum())
        means.append(mean)
        covariances.append(covariance)
    free_mean, free_covariance, _ = cumulants(statistics, probabilities)
    np.testing.assert_allclose(found.covariance, free_covariance - np.mean(covariances, axis=0), atol=1e-10)
    # The gradient of the log-likelihood of what is seen: E[s | seen] of all rows less n E[s].
    gradient = np.sum(means, axis=0) - 12 * free_mean
    np.testing.assert_allclose(data.counts - 12 * found.mean, gradient, atol=1e-9)


def test_particles_have_the_moments_of_what_they_visit():
    model = mb.grid(2, 3)
    theta = small_fields.random_theta(model, 1, 0.4, 0.7)
    statistics = small_fields.count(model, small_fields.draw(model, theta, 40, 2))
    found = ParticleCumulants(model, model.chart.log_odds(theta), 4_096, 40, statistics, SEED)
    values = found.draw(found.n, SEED)
    np.testing.assert_allclose(found.mean, values.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(found.covariance, np.cov(values, rowvar=False), atol=1e-12)
    direction = np.array([[1.0, -1, 0.5, 0, 0, 2, 0]])
    centred = values - values.mean(axis=0)
    np.testing.assert_allclose(found.contract_third(direction)[0], centred.T @ (centred @ direction[0]) ** 2 / found.n)
    mean, covariance = small_fields.moments(model, theta)
    assert (np.abs(found.mean - mean) < 5.5 * np.sqrt(np.diag(covariance) / found.n)).all()
    assert found.disagreement < 3  # about 1 where both starts are forgotten
    strong = np.full(7, 0.95)
    statistics = small_fields.count(model, small_fields.draw(model, strong, 40, 2))
    early = ParticleCumulants(model, model.chart.log_odds(strong), 4_096, 1, statistics, SEED)
    assert early.disagreement > 3  # particles from random starts have not ordered yet


def test_draws_are_the_particles_in_turn():
    """Draws go on from where the last ones ended, and begin again at the end."""
    model = mb.grid(2, 2)
    statistics = small_fields.count(model, small_fields.draw(model, np.full(4, 0.6), 10, 2))
    found = ParticleCumulants(model, np.zeros(4), 128, 3, statistics, SEED)
    parts = list(itertools.chain(*(found.draw(n, SEED) for n in (50, 78, 128))))
    np.testing.assert_array_equal(parts[:128], parts[128:])
