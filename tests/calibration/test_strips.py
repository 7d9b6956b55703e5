"""Long strips calibrated in bands against the full matrices of the same field."""

from dataclasses import replace

import numpy as np
import pytest

import mrfbayes as mb
from mrfbayes.base.random_streams import seed_sequence
from mrfbayes.calibration.copula import theta_moments
from mrfbayes.calibration.full import calibrate
from mrfbayes.calibration.strips import calibrate_strip, is_strip, strip_mode
from mrfbayes.exact.quantities import sample_exact
from mrfbayes.methods import calibrated
from mrfbayes.methods.problem import Problem
from mrfbayes.priors import Prior

MODEL = mb.grid(24, 3)


@pytest.fixture(scope="module")
def problem():
    theta = np.random.default_rng(1).uniform(0.5, 0.85, MODEL.n_parameters)
    x = sample_exact(MODEL, MODEL.chart.log_odds(theta), 300, seed_sequence(2))
    return Problem(MODEL, mb.Data(x).count(MODEL), Prior(MODEL, "uniform"), seed_sequence(1), progress=False)


@pytest.fixture(scope="module")
def dense(problem):
    return calibrate(problem, "order")


def test_means_and_sds_are_those_of_full_matrices(problem, dense):
    mean, sd = theta_moments(dense.coins)
    own_mean, own_sd = calibrate_strip(problem, "order").joint.moments()
    assert np.abs((own_mean - mean) / sd).max() < 1e-3
    assert np.abs(own_sd / sd - 1).max() < 1e-3
    elsewhere = 1 / np.sqrt(np.diag(np.linalg.inv(dense.joint.mode.covariance)))  # the spread given all others
    assert np.abs(elsewhere / np.sqrt(np.diag(dense.joint.mode.covariance)) - 1).max() > 0.01


def test_loops_are_taken_window_by_window_where_they_are_worth_it(problem):
    theta = np.random.default_rng(2).uniform(0.6, 0.9, MODEL.n_parameters)
    x = sample_exact(MODEL, MODEL.chart.log_odds(theta), 60, seed_sequence(3))
    strong = Problem(MODEL, mb.Data(x).count(MODEL), Prior(MODEL, "uniform"), seed_sequence(1), progress=False)
    sds = {name: theta_moments(calibrate(strong, name).coins)[1] for name in ("order", "relative")}
    found = calibrate_strip(strong)
    assert found.details["calibration"] == "relative"
    assert found.details["loop_gain"] > 0.005
    added, missing = sds["relative"] / sds["order"] - 1, found.joint.moments()[1] / sds["relative"] - 1
    assert np.abs(missing).mean() < 0.2 * np.abs(added).mean()
    plain = calibrate_strip(strong, "order")
    assert (plain.details["calibration"], plain.details["loop_gain"]) == ("order", 0.0)


def test_the_banded_inverse_is_the_inverse(problem, dense):
    inverse = strip_mode(problem, 1e-9).inverse
    v, u = np.random.default_rng(3).normal(size=(2, MODEL.n_parameters))
    np.testing.assert_allclose(inverse.solve(v), dense.joint.mode.covariance @ v, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(inverse.half_solve(inverse.half_solve_transposed(v)), inverse.solve(v), rtol=1e-9)
    assert inverse.half_solve(v) @ u == pytest.approx(v @ inverse.half_solve_transposed(u)[np.argsort(inverse.order)])


def test_sample_takes_the_strip_where_a_full_matrix_would_be_too_large(problem, dense, monkeypatch):
    monkeypatch.setattr(calibrated, "DENSE_PARAMETERS", 50)
    assert is_strip(MODEL)
    assert not is_strip(mb.grid(6, 6, tied=True))
    posterior = mb.sample(MODEL, problem.statistics, "calibrated", draws=50, chains=1, progress=False)
    assert posterior.details["moments"] == "exact"
    mean, sd = theta_moments(dense.coins)
    low, high = (posterior.quantile(q) for q in (0.05, 0.95))
    table = posterior.summary(scale="theta")
    np.testing.assert_allclose(table["q5"], low)
    assert np.abs((high - low) / (2 * 1.645 * sd) - 1).max() < 0.05
    streamed = np.array(list(posterior.stream(4_000, rng=5)))
    assert np.abs((streamed.mean(axis=0) - mean) / sd).max() * np.sqrt(4_000) < 5.5
    assert np.abs(streamed.std(axis=0) / sd - 1).max() < 0.08
    with pytest.raises(mb.InputError, match="no independent draws to stream"):
        next(replace(posterior, draw=None).stream(1))
