"""Draws of emission parameters against their conditional distributions, and likelihoods of labels against SciPy."""

import numpy as np
import pytest
from scipy import stats

from mrfbayes.base.random_streams import kernel_state, seed_sequence
from mrfbayes.kernels.hidden.emissions import (
    GAUSSIAN,
    IMPOSSIBLE,
    MISCLASSIFICATION,
    NOISELESS,
    draw_confusion,
    draw_gaussian,
    fill_log_likelihood,
    gamma,
)

LEVEL = 1e-6
OBSERVED = np.array([True, True, True, False, True, True])


@pytest.fixture
def state():
    return kernel_state(seed_sequence(5), "emissions")


@pytest.mark.parametrize("shape", [1.0, 7.5])
def test_gamma_draws_have_the_gamma_distribution(state, shape):
    draws = np.array([gamma(state, shape) for _ in range(4000)])
    assert stats.kstest(draws, stats.gamma(shape).cdf).pvalue > LEVEL
    assert stats.kstest(draws, stats.gamma(1.15 * shape).cdf).pvalue < LEVEL  # the negative control


def test_log_likelihoods_are_those_of_each_label():
    emission, out = np.array([0.0, 2.0, 0.5, 1.5]), np.full((6, 2), 9.0)
    greys = np.array([0.1, 1.8, -0.4, 99.0, 2.5, 0.0])
    fill_log_likelihood(GAUSSIAN, greys, OBSERVED, emission, out)
    expected = stats.norm.logpdf(greys[:, None], emission[:2], emission[2:]) + 0.5 * np.log(2 * np.pi)
    np.testing.assert_allclose(out, np.where(OBSERVED[:, None], expected, 0.0), atol=1e-12)
    labels = np.array([0.0, 1.0, 1.0, 0.0, 0.0, 1.0])
    confusion = np.array([[0.9, 0.1], [0.25, 0.75]])  # rows: the true label
    fill_log_likelihood(MISCLASSIFICATION, labels, OBSERVED, confusion.ravel(), out)
    expected = np.log(confusion[:, labels.astype(int)].T)
    np.testing.assert_allclose(out, np.where(OBSERVED[:, None], expected, 0.0))
    fill_log_likelihood(NOISELESS, labels, OBSERVED, np.zeros(0), out)
    expected = np.where(labels[:, None] == [0, 1], 0.0, IMPOSSIBLE)
    np.testing.assert_allclose(out, np.where(OBSERVED[:, None], expected, 0.0))


def test_means_and_variances_are_drawn_from_their_conditionals(state):
    """The means are so far apart that the order of the labels never changes."""
    greys = np.array([0.1, -0.3, 50.2, 77.0, 49.1, 0.5])
    labels, sds, prior = np.array([0, 0, 1, 1, 1, 0], np.uint8), np.array([0.8, 1.3]), np.array([20.0, 30.0, 3.0, 2.0])
    means, scaled = [], []
    for _ in range(3000):
        emission = np.concatenate([[0.0, 50.0], sds])
        x = labels.copy()
        draw_gaussian(greys, OBSERVED, x, prior, emission, np.empty((3, 2)), state)
        means.append(emission[:2])
        seen = OBSERVED & (labels == 1)
        rate = prior[3] + 0.5 * ((greys[seen] - emission[1]) ** 2).sum()
        scaled.append(rate / emission[3] ** 2)  # gamma, whatever the mean that was drawn
    for s in range(2):
        seen = OBSERVED & (labels == s)
        precision = seen.sum() / sds[s] ** 2 + 1 / prior[1] ** 2
        mean = (greys[seen].sum() / sds[s] ** 2 + prior[0] / prior[1] ** 2) / precision
        drawn = np.array(means)[:, s]
        assert stats.kstest(drawn, stats.norm(mean, precision**-0.5).cdf).pvalue > LEVEL
    assert stats.kstest(scaled, stats.gamma(prior[2] + 0.5 * 2).cdf).pvalue > LEVEL
    assert stats.kstest(scaled, stats.gamma(prior[2] + 0.5 * 3).cdf).pvalue < LEVEL  # with the missing pixel


def test_labels_are_numbered_by_their_means(state):
    greys = np.repeat([5.0, -5.0, 0.0], 20)
    x, emission = np.repeat([0, 1, 2], 20).astype(np.uint8), np.array([5.0, -5.0, 0.0, 0.1, 0.1, 0.1])
    draw_gaussian(greys, np.ones(60, bool), x, np.array([0.0, 10.0, 2.0, 0.01]), emission, np.empty((3, 3)), state)
    np.testing.assert_allclose(emission[:3], [-5, 0, 5], atol=0.5)
    np.testing.assert_array_equal(x, np.repeat([2, 0, 1], 20))


def test_rates_of_errors_have_the_truncated_beta_distribution(state):
    """The rows of a confusion matrix of two labels: rate^wrong (1 - rate)^right on (0, 1/2)."""
    labels = np.repeat([0, 1], 30).astype(np.uint8)
    image = labels.astype(float)
    image[:4] = 1.0  # four of thirty zeros are seen as one, three of thirty ones as zero
    image[30:33] = 0.0
    emission, rates = np.array([0.9, 0.1, 0.1, 0.9]), []
    for sweep in range(30_000):
        draw_confusion(image, np.ones(60, bool), labels, emission, np.empty((2, 2)), state)
        if sweep % 10 == 0:
            rates.append(emission[[1, 2]])
    np.testing.assert_allclose(emission.reshape(2, 2).sum(axis=1), 1.0)
    for row, wrong in enumerate((4, 3)):
        beta = stats.beta(wrong + 1, 30 - wrong + 1)
        drawn = np.array(rates)[:, row]
        assert drawn.max() < 0.5
        assert stats.kstest(drawn, lambda r, beta=beta: beta.cdf(r) / beta.cdf(0.5)).pvalue > LEVEL
