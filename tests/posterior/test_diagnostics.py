"""Diagnostics against arviz_stats on chains from independent to stuck."""

import numpy as np
import pytest

from mrfbayes.posterior import diagnostics


@pytest.fixture(scope="module")
def draws():
    rng = np.random.default_rng(5)
    x = np.zeros((4, 1001, 5))
    z = rng.normal(size=x.shape)
    for t in range(1, x.shape[1]):
        x[:, t] = np.array([0.0, 0.5, 0.9, 0.99, -0.4]) * x[:, t - 1] + z[:, t]
    x[:, :, 1] = np.exp(x[:, :, 1])
    return x


def arviz(name, draws, **options):
    from arviz_stats.base import array_stats

    return getattr(array_stats, name)(draws, chain_axis=0, draw_axis=1, **options)


def test_r_hat(draws):
    np.testing.assert_allclose(diagnostics.r_hat(draws), arviz("rhat", draws), rtol=1e-10)


# The two differ only in where Geyer's sequence is cut, hence the tolerance of 2 %.
def test_effective_sizes(draws):
    np.testing.assert_allclose(diagnostics.ess_bulk(draws), arviz("ess", draws, method="bulk"), rtol=0.02)
    tail = arviz("ess", draws, method="tail", prob=(0.05, 0.95))
    np.testing.assert_allclose(diagnostics.ess_tail(draws), tail, rtol=0.02)


def test_standard_error_of_the_mean(draws):
    np.testing.assert_allclose(diagnostics.mcse_mean(draws), arviz("mcse", draws, method="mean"), rtol=0.02)


def test_standard_error_of_the_sd_of_an_autoregression():
    """For a normal AR(1) with coefficient r the squares have coefficient r^2, so the error of the sd is known."""
    r, chains, n = 0.8, 50, 2000
    rng = np.random.default_rng(6)
    x = np.zeros((chains, n, 1))
    x[:, 0, 0] = rng.normal(size=chains) / np.sqrt(1 - r * r)
    for t in range(1, n):
        x[:, t, 0] = r * x[:, t - 1, 0] + rng.normal(size=chains)
    sd = 1 / np.sqrt(1 - r * r)
    expected = sd * np.sqrt((1 + r * r) / (1 - r * r) / (2 * chains * n))
    assert diagnostics.mcse_sd(x)[0] == pytest.approx(expected, rel=0.1)


def test_a_stuck_chain_is_seen(draws):
    stuck = draws.copy()
    stuck[0] += 30
    assert (diagnostics.r_hat(stuck) > 1.5).all()
    assert (diagnostics.ess_bulk(stuck) < 20).all()
