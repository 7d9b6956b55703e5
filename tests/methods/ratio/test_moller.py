"""The auxiliary variable method: `mavm` without levels."""

import numpy as np

import mrfbayes as mb
from methods.ratio.ratio_cases import check_auxiliary_weights, refused


def test_auxiliary_weights_are_unbiased():
    check_auxiliary_weights("moller")


def test_it_is_mavm_without_levels(grid):
    found = grid.estimates("moller", 20)
    np.testing.assert_array_equal(found, grid.estimates("mavm", 20, levels=0))
    assert (found != grid.estimates("mavm", 20, levels=1)).any()


def test_a_field_that_cannot_be_drawn_exactly_is_refused():
    assert "'moller'" in str(refused("moller", mb.grid(40, 40)))
