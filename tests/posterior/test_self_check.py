"""Where log Z is hidden, the statement of trust covers the true error, and a planted failure is flagged."""

import numpy as np
import pytest

import mrfbayes as mb
from mrfbayes.base.random_streams import seed_sequence
from mrfbayes.calibration import dense
from mrfbayes.calibration.copula import theta_moments
from mrfbayes.exact.quantities import sample_exact
from mrfbayes.methods.problem import Problem
from mrfbayes.posterior.self_check import assess
from mrfbayes.priors import Prior

MODEL = mb.grid(4, 4)


@pytest.fixture(scope="module")
def problem():
    theta = np.random.default_rng(1).uniform(0.6, 0.9, 24)
    x = sample_exact(MODEL, MODEL.chart.log_odds(theta), 300, seed_sequence(3))
    return Problem(MODEL, mb.count(MODEL, x), Prior(MODEL, "uniform"), seed_sequence(1), progress=False)


@pytest.fixture(scope="module")
def exact(problem):
    return theta_moments(dense.calibrate(problem).coins)  # within 0.2 % of the exact posterior on this field


def true_errors(found, exact):
    mean, sd = theta_moments(found.coins)
    return np.abs((mean - exact[0]) / exact[1]).mean(), np.abs(sd / exact[1] - 1).mean()


def test_the_statement_covers_the_error(problem, exact):
    found = dense.calibrate(problem, moments="particles")
    trust = assess(problem, found.accuracy)
    mean_error, sd_error = true_errors(found, exact)
    assert mean_error < trust.mean_error < 0.1
    assert sd_error < trust.sd_error < 0.1
    assert not trust.is_doubtful
    assert trust.sub_fields == 4
    assert not found.warnings


def test_a_wrong_mode_is_flagged(problem, exact, monkeypatch):
    from dataclasses import replace

    honest = dense.make_estimate

    def wrong(*arguments, **settings):
        found = honest(*arguments, **settings)
        return replace(found, log_odds=found.log_odds + 0.06)

    monkeypatch.setattr(dense, "make_estimate", wrong)
    found = dense.calibrate(problem, moments="particles")
    trust = assess(problem, found.accuracy)
    assert true_errors(found, exact)[0] > 0.1
    assert trust.is_doubtful
    assert any("the mode is off by about" in text for text in found.warnings)


def test_too_few_sweeps_are_flagged(problem, monkeypatch):
    monkeypatch.setattr(dense, "SWEEPS", 1)
    found = dense.calibrate(problem, moments="particles")
    assert any("still disagree after 1 sweeps" in text for text in found.warnings)


def test_sample_states_its_trust(problem):
    with pytest.warns(mb.MRFWarning, match="the mode is off by about 0.10"):
        posterior = mb.sample(MODEL, problem.statistics, "calibrated", moments="particles", steps=100, progress=False)
    assert posterior.details["trust"].startswith("means within")
    assert posterior.details["trust_sd"] < 0.1
