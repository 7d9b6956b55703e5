"""Moments of the replicas, and the statement of how far to trust them."""

from types import SimpleNamespace

import numpy as np
import pytest

from mrfbayes.calibration.matching import coin_log_density
from mrfbayes.methods.langevin.moments import WalkMoments, WalkTrust, walk_coins, walk_moments
from mrfbayes.methods.langevin.warp import IDENTITY, Whitening


def test_diagnostics_of_a_langevin_run():
    measured = WalkTrust(0.01, 0.01, 0.02, 0.02, 16)
    assert measured.bounds == pytest.approx((np.hypot(0.02, 0.02),) * 2)
    assert "steps and lag at most 2.0% and 2.0%" in str(measured)
    short = WalkTrust(0.01, 0.01, np.nan, np.nan, 16)
    assert short.bounds == pytest.approx((0.02, 0.02))
    assert "bias of steps not measured" in str(short)
    frozen = WalkTrust(0.26, 0.18, 1.8, 403.0, 16)  # chains never left their phase: 40,300 % would say nothing
    assert str(frozen).startswith("neither means nor sds can be trusted")


def walk_of(draws, control, factor, centre):
    """What a walk leaves after so many steps: sums of powers of replicas and controls (steps, k, p)."""
    sums = np.array([(part**k).sum(axis=0) for part in (draws, control) for k in (1, 2, 3)])
    p = factor.shape[0]
    state = {
        "sums": sums,
        "counters": np.array([len(draws)] * 2),
        "noise_scale": np.ones(p),
        "directions": np.zeros((p, 0)),
    }
    metric = Whitening(factor, np.zeros((p, 0)))
    return SimpleNamespace(state=state, mode=SimpleNamespace(w=centre), warp=IDENTITY, metric=metric)


def test_controls_take_their_own_error_off():
    """Replicas that are their controls, moved by 0.3 and with noise of an sd of 0.1: the rest of the error is known."""
    rng = np.random.default_rng(1)
    factor, centre = np.array([[0.5, 0.2], [0.0, 0.4]]), np.array([1.0, -2.0])
    control = rng.normal(size=(30, 8, 2)) @ factor.T
    draws = control + 0.3 + 0.1 * rng.normal(size=control.shape)
    found = walk_moments(walk_of(draws, control, factor, centre))
    truth = np.sqrt((factor**2).sum(axis=1) + 0.01)
    # Noise of 0.1 in 240 draws; the replicas alone have some five times as much.
    np.testing.assert_allclose(found.mean, centre + 0.3, atol=5.5 * 0.1 / np.sqrt(240))
    np.testing.assert_allclose(found.sd, truth, rtol=0.06)
    np.testing.assert_allclose(found.raw_mean, centre + draws.mean(axis=(0, 1)))
    np.testing.assert_allclose(found.raw_sd, draws.std(axis=(0, 1)))
    means = draws.mean(axis=0) - control.mean(axis=0)
    np.testing.assert_allclose(found.mean_error, means.std(axis=0, ddof=1) / np.sqrt(8) / found.sd, rtol=1e-9)


def test_coins_have_the_moments_of_the_walk():
    """By quadrature of their densities."""
    mean, sd, third = np.array([0.4, -1.0]), np.array([0.3, 0.5]), np.array([0.003, -0.02])
    nothing = np.zeros(2)
    coins = walk_coins(WalkMoments(mean, sd, third, nothing, nothing, mean, sd))
    w, step = np.linspace(-15, 15, 60_001, retstep=True)
    density = np.exp(coin_log_density(coins, w[:, None])) * step
    found = w @ density
    np.testing.assert_allclose(found, mean, atol=1e-7)
    centred = w[:, None] - found
    np.testing.assert_allclose([(centred**k * density).sum(axis=0) for k in (2, 3)], [sd**2, third], rtol=1e-5)
