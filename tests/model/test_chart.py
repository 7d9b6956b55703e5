"""Theta, log-odds and free dimension, outcome by outcome."""

import numpy as np
import pytest

import mrfbayes as mb


@pytest.fixture
def dice():
    """A table of 3 x 2 states, and thresholds of three and two states."""
    return mb.graph([("a", "b")], states=[3, 2], coupling="table", fields=True)


def test_log_odds_are_against_the_last_outcome_of_each_block(dice):
    chart = dice.chart
    assert chart.sides.tolist() == [3, 3, 2]
    theta = np.array([0.5, 0.2, 0.1, 0.6, 0.7])
    last = np.array([0.3, 0.3, 0.3])
    np.testing.assert_allclose(chart.last_weight(theta), last)
    w = chart.log_odds(theta)
    np.testing.assert_allclose(w, np.log(theta) - np.log(last)[[0, 0, 1, 1, 2]])
    np.testing.assert_allclose(chart.theta(w), theta)
    np.testing.assert_allclose(chart.log_last_weight(w), np.log(last))
    many = np.stack([w, -w])
    np.testing.assert_allclose(chart.theta(many), [chart.theta(w), chart.theta(-w)])


@pytest.mark.parametrize("coupling", ["agreement", "table"])
def test_large_log_odds_do_not_overflow(coupling):
    """exp(-900) is smaller than any float; the log weight of the last outcome is still there."""
    chart = mb.graph([("a", "b")], states=3, coupling=coupling, fields=True).chart
    w = np.zeros(chart.n_parameters)
    w[0] = 900.0
    assert chart.theta(w)[0] == 1.0
    assert chart.log_last_weight(w)[0] == -900.0
    w[0] = -900.0
    assert chart.theta(w)[0] == 0.0
    np.testing.assert_allclose(chart.log_last_weight(w)[0], -np.log(chart.sides[0] - 1))


def test_equal_weights_are_log_odds_of_zero(dice):
    np.testing.assert_allclose(dice.chart.uniform(), [1 / 3, 1 / 3, 1 / 3, 1 / 3, 1 / 2])
    np.testing.assert_allclose(dice.chart.log_odds(dice.chart.uniform()), 0.0, atol=1e-15)


def test_theta_outside_its_space_is_refused_by_place(dice):
    for theta, words in (
        ([0.5, 0.2, 1.2, 0.1, 0.7], "theta[2] = 1.2"),
        ([0.5, 0.5, 0.1, 0.1, 0.7], "block a--b"),
        ([0.5, 0.2], "(2,), expected (5,)"),
    ):
        with pytest.raises(mb.InputError) as caught:
            dice.chart.check(theta, dice, "theta")
        assert words in str(caught.value)
