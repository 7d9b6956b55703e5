"""Where log Z is hidden, the statement of trust covers the true error, and a planted failure is flagged."""

import numpy as np
import pytest

import mrfbayes as mb
from mrfbayes.base.random_streams import seed_sequence
from mrfbayes.calibration import full as dense
from mrfbayes.calibration.copula import theta_moments
from mrfbayes.exact.quantities import sample_exact
from mrfbayes.methods.problem import Problem
from mrfbayes.model.subfields import sub_field
from mrfbayes.priors import Prior
from mrfbayes.targets import self_check
from mrfbayes.targets.self_check import assess

MODEL = mb.grid(4, 4)


@pytest.fixture(scope="module")
def problem():
    theta = np.random.default_rng(1).uniform(0.6, 0.9, 24)
    x = sample_exact(MODEL, MODEL.chart.log_odds(theta), 300, seed_sequence(3))
    return Problem(MODEL, mb.Data(x).count(MODEL), Prior(MODEL, "uniform"), seed_sequence(1), progress=False)


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
    with pytest.warns(mb.MRFWarning):  # the mode is off by a tenth of an sd, and that is said
        posterior = mb.sample(MODEL, problem.statistics, "calibrated", moments="particles", draws=100, progress=False)
    assert posterior.details["trust"].startswith("means within")
    assert posterior.details["trust_sd"] < 0.1


def test_pieces_have_the_prior_that_was_asked_for(problem):
    """The edge with a prior of its own has it in the piece too, and the others have theirs."""
    prior = Prior(MODEL, {"edges": "beta(2, 3)", MODEL.blocks[1]: "normal(0, 0.5)"})
    own = Problem(MODEL, problem.statistics, prior, seed_sequence(1), progress=False)
    nodes = np.arange(8)
    piece = self_check._piece(own, np.zeros(24), nodes, np.random.default_rng(0), seed_sequence(2))
    _, blocks = sub_field(MODEL, nodes)
    assert blocks.tolist() == [b for b in range(24) if MODEL.edges[b].max() < 8]
    expected = ["normal(0, 0.5)" if b == 1 else "beta(2, 3)" for b in blocks]
    assert [str(distribution) for distribution in piece.prior.per_block] == expected
    np.testing.assert_array_equal(piece.statistics.counts, problem.statistics.counts[blocks])


def test_pieces_of_a_tied_field_say_as_much_as_the_field():
    model = mb.grid(12, 12, tied=True)
    x = mb.simulate(model, 0.6, 1, rng=1)
    own = Problem(model, mb.Data(x).count(model), Prior(model, "beta(2, 2)"), seed_sequence(1), progress=False)
    nodes = np.array([0, 1, 2, 12, 13, 14])
    piece = self_check._piece(own, np.array([0.4]), nodes, np.random.default_rng(0), seed_sequence(2))
    assert piece.model.n_parameters == 1
    assert piece.statistics.n == round(264 / 7)
    assert str(piece.prior) == "beta(2, 2)"
    assert piece.statistics.counts[0] / (7 * piece.statistics.n) == pytest.approx(0.6, abs=0.12)
