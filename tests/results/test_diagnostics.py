"""Diagnostics against arviz_stats on chains from independent to stuck."""

import numpy as np
import pytest

from mrfbayes.results import diagnostics


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
    np.testing.assert_allclose(diagnostics.convergence(draws).r_hat, arviz("rhat", draws), rtol=1e-10)


# The two differ only in where Geyer's sequence is cut, hence the tolerance of 2 %.
def test_effective_sizes(draws):
    np.testing.assert_allclose(diagnostics.convergence(draws).ess_bulk, arviz("ess", draws, method="bulk"), rtol=0.02)
    tail = arviz("ess", draws, method="tail", prob=(0.05, 0.95))
    np.testing.assert_allclose(diagnostics.convergence(draws).ess_tail, tail, rtol=0.02)


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


def test_stuck_chain_is_detected(draws):
    stuck = draws.copy()
    stuck[0] += 30
    assert (diagnostics.convergence(stuck).r_hat > 1.5).all()
    assert (diagnostics.convergence(stuck).ess_bulk < 20).all()


def plain_r_hat(x):
    """Of one parameter (chains, draws), step by step from its definition."""
    from scipy.stats import norm, rankdata

    half = x.shape[1] // 2
    split = np.concatenate([x[:, :half], x[:, -half:]])
    values = []
    for y in (split, np.abs(split - np.median(split))):
        z = norm.ppf((rankdata(y).reshape(y.shape) - 0.375) / (y.size + 0.25))
        within, between = z.var(axis=1, ddof=1).mean(), half * z.mean(axis=1).var(ddof=1)
        values.append(np.sqrt((between / within + half - 1) / half))
    return max(values), split


def plain_ess(chains):
    """Geyer's initial monotone sequence of split chains (m, n), lag by lag."""
    m, n = chains.shape
    centred = chains - chains.mean(axis=1, keepdims=True)
    covariance = [np.mean([c[: n - t] @ c[t:] for c in centred]) / n for t in range(n)]
    total = covariance[0] + chains.mean(axis=1).var(ddof=1)
    if not total > 0:
        return m * n
    rho = [1.0] + [1 - (covariance[0] - c) * n / (n - 1) / total for c in covariance[1:]]
    tau, least = -1.0, np.inf
    for t in range(0, n - 1, 2):
        if rho[t] + rho[t + 1] <= 0:
            break
        least = min(least, rho[t] + rho[t + 1])
        tau += 2 * least
    return m * n / max(tau, 1 / np.log10(m * n))


def awkward_draws():
    rng = np.random.default_rng(8)
    walk = np.cumsum(rng.normal(size=(3, 61, 4)), axis=1)
    return {
        "independent": rng.random((4, 50, 3)),
        "an odd number": rng.random((2, 51, 3)),
        "ties": np.repeat(rng.random((4, 10, 3)), 6, axis=1),
        "a walk": walk,
        "two values": (rng.random((2, 80, 3)) < 0.02).astype(float),
        "a few": rng.random((2, 8, 2)),
        "apart": rng.random((3, 40, 2)) + 5 * np.arange(3)[:, None, None],
    }


@pytest.mark.parametrize("name", awkward_draws())
def test_the_quick_ways_give_what_the_definitions_give(name):
    from scipy.stats import norm, rankdata

    draws = awkward_draws()[name]
    found = diagnostics.convergence(draws)
    for j in range(draws.shape[2]):
        expected, split = plain_r_hat(draws[..., j])
        assert found.r_hat[j] == pytest.approx(expected, rel=1e-9)
        scores = norm.ppf((rankdata(split).reshape(split.shape) - 0.375) / (split.size + 0.25))
        assert found.ess_bulk[j] == pytest.approx(plain_ess(scores), rel=1e-9)
        half = draws.shape[1] // 2
        tails = []
        for q in np.quantile(draws[..., j], (0.05, 0.95)):
            is_low = (draws[..., j] <= q).astype(float)
            tails.append(plain_ess(np.concatenate([is_low[:, :half], is_low[:, -half:]])))
        assert found.ess_tail[j] == pytest.approx(min(tails), rel=1e-9)


def test_blocks_and_fourier_transforms_change_nothing(draws, monkeypatch):
    expected = diagnostics.convergence(draws)
    for name, value in (
        ("LOOKED_AT", 1),
        ("LOOKED_AT", 10**9),
        ("DIRECT_LAGS", 2),
        ("DIRECT_LAGS", 500),
        ("COPIED", 1),
    ):
        with monkeypatch.context() as patched:
            patched.setattr(diagnostics, name, value)
            np.testing.assert_allclose(diagnostics.convergence(draws), expected, rtol=1e-9)


def test_too_few_draws_have_no_diagnostics():
    assert np.isnan(diagnostics.convergence(np.zeros((2, 3, 4)))).all()
    constant = diagnostics.convergence(np.full((2, 100, 1), 0.5))
    assert constant.ess_bulk[0] == constant.ess_tail[0] == 200
    assert np.isnan(constant.r_hat[0])
