"""Calibration with a full covariance: fields whose coins are known, its options, and what it costs."""

import numpy as np
import pytest

import mrfbayes as mb
from mrfbayes.calibration.full import LEAST_EXTRA, MOMENT_CELLS, calibrate, moments_cost, start_log_odds
from mrfbayes.estimation.estimate import Problem
from mrfbayes.priors import Prior

TREE = mb.graph([(0, 1), (1, 2), (1, 3)])


def problem_of(model, counts, n, estimate=None):
    statistics = mb.Statistics.from_counts(model, counts, n)
    return Problem(model, statistics, Prior(model, "uniform"), np.random.SeedSequence(1), estimate, progress=False)


@pytest.mark.parametrize("variance", ["relative", "order"])
def test_a_tree_has_independent_beta_coins(variance):
    counts = np.array([13.0, 4.0, 9.0])
    found = calibrate(problem_of(TREE, counts, 20), variance=variance)
    np.testing.assert_allclose(found.coins.a, counts + 1, rtol=1e-6)
    np.testing.assert_allclose(found.coins.b, 21 - counts, rtol=1e-6)
    np.testing.assert_allclose(found.joint.correlation, np.eye(3), atol=1e-8)
    mean, sd = found.joint.moments()
    np.testing.assert_allclose(mean, (counts + 1) / 22, rtol=1e-6)
    np.testing.assert_allclose(sd, np.sqrt((counts + 1) * (21 - counts) / 22**2 / 23), rtol=1e-5)
    assert found.source == "exact"


def test_correlations_of_a_triangle_are_those_of_the_curvature():
    """The Newton mode of the uniform prior, and the inverse of n Cov[s] + diag(2 theta (1 - theta)) there."""
    import small_fields

    model = mb.graph([(0, 1), (1, 2), (0, 2)])
    found = calibrate(problem_of(model, [120.0, 130.0, 90.0], 200), variance="order")
    theta = model.chart.theta(found.joint.mode.w)
    mean, covariance = small_fields.moments(model, theta)
    np.testing.assert_allclose(np.array([120.0, 130.0, 90.0]) - 200 * mean + 1 - 2 * theta, 0, atol=1e-6)
    inverse = np.linalg.inv(200 * covariance + np.diag(2 * theta * (1 - theta)))
    sd = np.sqrt(np.diag(inverse))
    np.testing.assert_allclose(found.joint.correlation, inverse / np.outer(sd, sd), atol=1e-8)
    assert np.abs(found.joint.correlation - np.eye(3)).max() > 0.1


def test_the_mode_is_searched_for_from_the_estimate_where_there_is_one():
    theta = np.array([0.2, 0.9, 0.5])
    assert start_log_odds(problem_of(TREE, [13.0, 4.0, 9.0], 20, theta)) == pytest.approx(np.log(theta / (1 - theta)))
    shrunken = (np.array([13.0, 4.0, 9.0]) + 1) / 22
    np.testing.assert_allclose(
        start_log_odds(problem_of(TREE, [13.0, 4.0, 9.0], 20)), 0.5 * np.log(shrunken / (1 - shrunken))
    )


@pytest.mark.parametrize(
    ("option", "value"), [("variance", "second"), ("moments", "gibbs"), ("particles", 3 + LEAST_EXTRA - 1)]
)
def test_options_that_cannot_be_are_refused(option, value):
    with pytest.raises(mb.InputError, match=f"{option} = {value!r}"):
        calibrate(problem_of(TREE, [13.0, 4.0, 9.0], 20), **{option: value})


def test_samples_of_a_tied_image_are_part_of_the_cost():
    """Loops need samples: one parameter of 28 x 28 pixels took ten minutes, though its derivatives are quick."""
    assert moments_cost(mb.grid(28, 28, tied=True)) > MOMENT_CELLS > moments_cost(mb.grid(20, 20, tied=True))
