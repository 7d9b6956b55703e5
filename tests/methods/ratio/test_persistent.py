"""PersistMC: ratios from particles that stay from step to step."""

import numpy as np
import pytest

from methods.ratio.ratio_cases import LIMIT, Case, check_noise, check_ratio, deviation, refused
from mrfbayes.base.random_streams import kernel_state
from mrfbayes.kernels.base.contracts import log_ratio, on_accept


@pytest.mark.parametrize("options", [{}, {"k": 3, "restore": True}], ids=str)
def test_ratio_is_that_of_enumeration_and_its_noise_is_known(grid, options):
    check_ratio(grid, "persistent", **options)


@pytest.mark.parametrize("name", ["grid, fields", "grid, tied", "graph, both-one", "star", "hub", "Potts", "ordinal"])
def test_every_kind_of_field(name):
    case = Case(name)
    found = case.estimates("persistent", 100, source="gibbs", sweeps=40)
    assert abs(deviation(found, case.exact)) < LIMIT


def test_noise_falls_as_one_over_the_root_of_particles(grid):
    check_noise(grid, "persistent")


@pytest.mark.parametrize("restore", [False, True])
def test_particles_stay_or_go_back(grid, restore):
    view = grid.view("persistent", restore=restore, particles=128)
    state = kernel_state(np.random.SeedSequence(1))
    log_ratio(view, grid.theta, grid.proposal, state)
    on_accept(view, True)
    before = view.particles.copy()
    log_ratio(view, grid.theta, grid.proposal, state)
    assert not np.array_equal(view.particles, before)
    on_accept(view, False)
    assert np.array_equal(view.particles, before) == restore


@pytest.mark.parametrize(("option", "value"), [("k", 0), ("restore", "yes")])
def test_options_that_cannot_be_are_refused(option, value):
    assert f"{option} = {value!r}" in str(refused("persistent", **{option: value}))
