"""Coordinates of the walk: turned towards the noise, and bent where the posterior is skewed."""

import numpy as np
import pytest
from scipy import sparse

from mrfbayes.methods.langevin.walk import noisy_directions
from mrfbayes.methods.langevin.warp import MAX_TABLE_SDS, WARP_CELLS, Warp, Whitening


@pytest.mark.parametrize("block", [7, 512])
def test_turned_coordinates_are_orthogonal_and_begin_with_the_noise(monkeypatch, block):
    monkeypatch.setattr("mrfbayes.methods.langevin.warp.PANEL", block)
    rng = np.random.default_rng(6)
    true = np.linalg.qr(rng.normal(size=(30, 3)))[0]
    for n in (20, 400):  # fewer samples than parameters, and more
        noise = rng.normal(size=(n, 3)) * [3.0, 2.0, 1.0] @ true.T + 0.01 * rng.normal(size=(n, 30))
        directions = noisy_directions(noise)
        assert directions.shape == (30, 3)
        factor = np.triu(rng.normal(size=(30, 30)))
        metric = Whitening(factor, directions)
        matrix = metric.turn(np.eye(30))
        np.testing.assert_allclose(matrix.T @ matrix, np.eye(30), atol=1e-10)
        np.testing.assert_allclose(matrix[:, :3], directions, atol=1e-12)
        np.testing.assert_allclose(metric.turn_back(np.eye(30)), matrix.T, atol=1e-10)
        whole, y = factor @ matrix, rng.normal(size=(4, 30))
        np.testing.assert_allclose(metric.forward(y), y @ whole.T, atol=1e-4)
        np.testing.assert_allclose(metric.back(y), y @ whole, atol=1e-4)
        np.testing.assert_allclose(metric.back_first(y), (y @ whole)[:, :3], atol=1e-4)
        np.testing.assert_allclose(metric.variances(np.arange(30.0)), whole**2 @ np.arange(30.0), rtol=1e-4)
        np.testing.assert_allclose(np.abs(np.linalg.svd(true.T @ directions)[1]), 1.0, atol=1e-3)
    assert noisy_directions(1e-3 * rng.normal(size=(50, 30))).shape == (30, 0)


def test_gradients_in_warped_coordinates_are_those_of_the_density():
    """By differences of a normal density in w, with the Jacobian of the map."""
    z = np.linspace(-MAX_TABLE_SDS, MAX_TABLE_SDS, WARP_CELLS + 1)
    phi = z + 0.2 * np.tanh(z)
    slope = 1 + 0.2 / np.cosh(z) ** 2
    bend = -0.4 * np.tanh(z) / np.cosh(z) ** 2 / slope
    form = np.array([[0.8, 1.0]])
    bent = Warp(np.array([1]), sparse.csr_array(form), np.array([1.7]), np.stack([phi, slope, bend])[:, None])

    def log_density(u):
        return -(bent.offsets(u) ** 2).sum(axis=1) / 2 + np.log(bent.evaluate(u @ form.T)[1][:, 0])

    u = np.array([[0.3, -1.1], [2.0, 0.4], [0.0, 2.2]])
    np.testing.assert_array_equal(bent.offsets(u)[:, 0], u[:, 0])
    np.testing.assert_allclose(bent.offsets(u) @ form[0], bent.evaluate(u @ form.T)[0][:, 0])
    gradient = -bent.offsets(u)
    bent.gradients(u, gradient)
    for k, step in enumerate(1e-2 * np.eye(2)):
        expected = (log_density(u + step) - log_density(u - step)) / 2e-2
        np.testing.assert_allclose(gradient[:, k], expected, atol=3e-3)


def test_moments_of_a_normal_in_warped_coordinates():
    """Against a sample, where the form has other parameters in it and the metric is turned."""
    z = np.linspace(-MAX_TABLE_SDS, MAX_TABLE_SDS, WARP_CELLS + 1)
    phi = z + 0.5 * np.log(np.cosh(z))
    rng = np.random.default_rng(3)
    form = np.array([[0.7, 0.0, 1.0, 0.4]])
    bent = Warp(np.array([2]), sparse.csr_array(form), np.array([0.8]), np.stack([phi, phi, phi])[:, None])
    metric = Whitening(np.triu(rng.normal(size=(4, 4))) + np.eye(4), np.linalg.qr(rng.normal(size=(4, 1)))[0])
    spread = np.array([0.8, 1.0, 0.9, 1.0])
    moved = bent.offsets(metric.forward(rng.normal(size=(400_000, 4)) * np.sqrt(spread)))
    for power, expected in enumerate(bent.normal_moments(metric, spread), start=1):
        sample = moved**power
        error = sample.std(axis=0) / np.sqrt(len(sample))
        assert (np.abs(sample.mean(axis=0) - expected) < 4 * error).all()
    assert np.abs(moved[:, 2].mean()) > 0.1  # phi has a mean of its own
