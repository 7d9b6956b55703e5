"""Weights of samples: they are multiplied by the factors of their cells, and never all of them zero."""

import numpy as np

from mrfbayes.kernels.structure.table_weights import WeightsView, multiply_weights


def multiplied(weight, code, table):
    """The weights after one block."""
    none, made = np.zeros((1, 1)), np.array([weight])
    code = np.array([[code]], dtype=np.uint16)
    view = WeightsView(np.array([[1, len(table), 1, 1, 1]]), code, none, made, none, none, none)
    multiply_weights(view, 0, 0, np.array(table))
    return made[0]


def test_weights_are_multiplied_by_the_factor_of_their_cell():
    np.testing.assert_allclose(multiplied([0.5, 0.25, 0.25], [0, 1, 1], [1.0, 0.5]), [0.5, 0.125, 0.125])


def test_all_configurations_are_multiplied_by_their_digits():
    np.testing.assert_allclose(multiplied([0.5, 0.25, 0.25], [], [1.0, 0.5, 2.0]), [0.5, 0.125, 0.5])


def test_weights_that_all_round_to_zero_keep_a_sum_that_can_be_divided_by():
    """Groups of very different sizes with rare answers: a table in which every sample lies in an impossible cell."""
    weight = multiplied([0.25] * 4, [0] * 4, [0.0, 1.0])
    assert np.isfinite(1.0 / weight.sum())
    assert (weight > 0.0).all()
