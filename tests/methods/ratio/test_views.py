"""The one view of all sampling methods: numbers, branches, and potentials at both ends of a step."""

import numpy as np

from mrfbayes.base.random_streams import kernel_state
from mrfbayes.kernels.base.contracts import log_ratio
from mrfbayes.methods.ratio.views import RATIO_MODULES, RATIO_NUMBERS


def test_methods_that_share_a_view_have_numbers_and_ratios_of_their_own():
    assert len(RATIO_MODULES) == len(set(RATIO_NUMBERS.values())) == 7
    ratios = {name: module.ratio for name, module in RATIO_MODULES.items() if name != "moller"}  # `mavm` without levels
    assert len(set(ratios.values())) == 6


def test_potentials_are_those_of_theta_and_of_the_proposal(grid):
    view = grid.view("exchange")
    log_ratio(view, grid.theta, grid.proposal, kernel_state(np.random.SeedSequence(0)))
    model = grid.model
    ends = [np.concatenate(model.lowering.potentials(model.chart.log_odds(t))) for t in (grid.theta, grid.proposal)]
    np.testing.assert_allclose(view.data.current, ends[0], rtol=1e-12)
    np.testing.assert_allclose(view.data.proposed, ends[1], rtol=1e-12)
    np.testing.assert_allclose(view.data.step, ends[0] - ends[1], rtol=1e-12)
    assert np.abs(view.data.step).max() > 0.01


def test_a_step_that_stays_has_ratio_one(grid):
    """Without a difference nothing is estimated: log r is 0, its noise as well, whatever the particles are."""
    view = grid.view("exchange")
    found = log_ratio(view, grid.theta, grid.theta, kernel_state(np.random.SeedSequence(0)))
    np.testing.assert_allclose(found, 0.0, atol=1e-12)
