"""Weights of samples: they are multiplied and summed, and never all of them zero."""

import numpy as np

from mrfbayes.kernels.structure.weighted import _multiply


def test_weights_are_multiplied_by_the_factor_of_their_cell():
    weight = np.array([0.5, 0.25, 0.25])
    total = _multiply(weight, np.array([0, 1, 1], dtype=np.uint16), np.array([1.0, 0.5]))
    np.testing.assert_allclose(weight, [0.5, 0.125, 0.125])
    assert total == 0.75


def test_weights_that_all_round_to_zero_keep_a_sum_that_can_be_divided_by():
    """Groups of very different sizes with rare answers: a table in which every sample lies in an impossible cell."""
    weight = np.full(4, 0.25)
    total = _multiply(weight, np.zeros(4, dtype=np.uint16), np.array([0.0, 1.0]))
    assert np.isfinite(1.0 / total)
    assert (weight > 0.0).all()
