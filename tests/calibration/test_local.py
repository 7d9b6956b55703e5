"""Calibration block by block against full matrices; Vecchia's draws against the correlations behind them."""

import numpy as np
import pytest

import mrfbayes as mb
from mrfbayes.base.random_streams import seed_sequence
from mrfbayes.calibration.blocks import LocalInformation, row_planes
from mrfbayes.calibration.copula import coin_quantiles, theta_moments
from mrfbayes.calibration.full import calibrate
from mrfbayes.calibration.local import Expansion, calibrate_locally, choose_distance
from mrfbayes.calibration.matching import Coins
from mrfbayes.exact.quantities import moments_w, sample_exact
from mrfbayes.methods import calibrated
from mrfbayes.methods.problem import Problem
from mrfbayes.particles.moments import row_statistics
from mrfbayes.priors import Prior

MODEL = mb.grid(6, 6)


@pytest.fixture(scope="module")
def statistics():
    theta = np.random.default_rng(1).uniform(0.5, 0.8, MODEL.n_parameters)
    return mb.Data(sample_exact(MODEL, MODEL.chart.log_odds(theta), 400, seed_sequence(3))).count(MODEL)


@pytest.fixture(scope="module")
def full(statistics):
    problem = Problem(MODEL, statistics, Prior(MODEL, "uniform"), seed_sequence(1), progress=False)
    return calibrate(problem)


@pytest.fixture(scope="module")
def local(statistics):
    problem = Problem(MODEL, statistics, Prior(MODEL, "uniform"), seed_sequence(2), progress=False)
    return calibrate_locally(problem, "particles", 16_384)


def test_means_and_sds_are_those_of_the_full_matrices(local, full):
    mean, sd = theta_moments(full.coins)
    own_mean, own_sd = local.joint.moments()
    assert np.abs((own_mean - mean) / sd).mean() < 0.03
    assert np.abs(own_sd / sd - 1).mean() < 0.01
    assert local.details["cut_regressions"] == 0
    assert local.details["indefinite_blocks"] == 0


def test_draws_have_the_moments_and_correlations(local, full):
    draws = local.joint.draw(20_000, seed_sequence(5))
    mean, sd = local.joint.moments()
    assert np.abs((draws.mean(axis=0) - mean) / sd).max() * np.sqrt(len(draws)) < 5.5
    assert np.abs(draws.std(axis=0) / sd - 1).max() < 0.03
    correlation = np.corrcoef(MODEL.chart.log_odds(draws), rowvar=False)
    strong = (np.abs(full.joint.correlation) > 0.1) & (full.joint.correlation < 1)
    assert strong.sum() > 20
    assert np.abs(correlation - full.joint.correlation)[strong].mean() < 0.03
    assert np.abs(full.joint.correlation)[strong].mean() > 0.1


def test_expansion_has_the_quantiles_of_the_coin():
    coins = Coins(np.array([80.0, 300.0]), np.array([400.0, 20.0]), np.array([0.3, -1.0]), 0)
    expansion = Expansion.of(coins)
    for z in (-3.0, -1.0, 0.0, 2.0, 3.0):
        exact = coin_quantiles(coins, np.array([z]))[0][:, 0]
        np.testing.assert_allclose((expansion.quantiles(z) - exact) / expansion.sd, 0, atol=5e-3)


def test_large_fields_are_calibrated_block_by_block(statistics, monkeypatch):
    monkeypatch.setattr(calibrated, "DENSE_PARAMETERS", 30)
    posterior = mb.sample(MODEL, statistics, "calibrated", moments="particles", draws=50, progress=False)
    assert posterior.details["moments"] == "local"
    assert posterior.details["trust_sd"] < 0.1
    assert posterior.details["distance"] == 2
    table = posterior.summary(scale="theta")
    assert (table["mcse_sd"] / table["sd"]).between(1e-4, 0.02).all()
    monkeypatch.setattr(calibrated, "DENSE_PARAMETERS", 5)
    dice = mb.graph([(0, 1), (1, 2)], states=3, fields=True, coupling="table")
    data = np.random.default_rng(0).integers(0, 3, (50, 3))
    with pytest.raises(mb.CostError, match=r"block by block, .*dice.*method='mle'"):
        mb.sample(dice, data, "calibrated", progress=False)
    variables = {f"v{i}": 2 for i in range(8)}
    tied = [mb.Factor((f"v{i}", f"v{i + 1}"), [[0, 1], [1, 0]], block=f"b{i % 6}") for i in range(7)]
    with pytest.raises(mb.CostError, match=r"block by block, .*tied factors or scores"):
        mb.sample(
            mb.Model(variables, tied), np.random.default_rng(1).integers(0, 2, (50, 8)), "calibrated", progress=False
        )


def test_blocks_reach_further_where_that_changes_the_spreads():
    model = mb.grid(7, 7)
    for level, expected in ((0.6, 2), (0.8, 3)):
        w = model.chart.log_odds(np.full(model.n_parameters, level))
        planes = row_planes(row_statistics(model, sample_exact(model, w, 32_768, seed_sequence(1))))
        mean = moments_w(model, w)[1]
        distance, gain = choose_distance(model, LocalInformation(planes, 500, mean * (1 - mean), 0.3))
        assert distance == expected, gain


def test_full_matrices_from_particles_have_a_limit_of_their_own():
    assert calibrated.is_local(mb.grid(32, 32), "particles")
    assert not calibrated.is_local(mb.grid(32, 32), "auto")  # planar: no particles are needed
    assert not calibrated.is_local(mb.grid(32, 32, tied=True), "auto")
    assert not calibrated.is_local(mb.grid(80, 6), "auto")  # exact moments are cheap there
    assert calibrated.is_local(mb.grid(80, 6), "particles")
    assert not calibrated.is_local(mb.grid(12, 12), "particles")
    assert calibrated.is_local(mb.grid(40, 40), "exact")
