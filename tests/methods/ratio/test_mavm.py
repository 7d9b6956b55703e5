"""MAVM: annealed auxiliary weights, unbiased and less noisy than one ratio."""

import numpy as np
import pytest

from methods.ratio.ratio_cases import Case, check_auxiliary_weights, refused
from mrfbayes.base.random_streams import kernel_state
from mrfbayes.kernels.base.contracts import log_ratio, on_accept


def test_auxiliary_weights_are_unbiased():
    check_auxiliary_weights("mavm", levels=4, k=2)


def test_annealing_makes_weights_less_noisy():
    case = Case("grid", distance=0.05)
    one, many = (case.estimates("mavm", 400, levels=k)[:, 0].std() for k in (0, 20))
    assert many < 0.6 * one


@pytest.mark.parametrize("accepted", [False, True])
def test_the_weight_of_what_was_accepted_is_kept(grid, accepted):
    view, state = grid.view("mavm", levels=2), kernel_state(np.random.SeedSequence(3))
    log_ratio(view, grid.theta, grid.proposal, state)
    current, proposed = view.log_weight
    assert current != proposed
    on_accept(view, accepted)
    assert view.log_weight[0] == (proposed if accepted else current)


def test_a_negative_number_of_levels_is_refused():
    assert "levels = -1" in str(refused("mavm", levels=-1))
