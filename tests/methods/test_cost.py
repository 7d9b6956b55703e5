"""Predicted seconds of methods: figures that were measured come back, and what cannot run is infinite."""

import itertools

import numpy as np
import pytest

import mrfbayes as mb
from mrfbayes.exact.choice import exact_cost
from mrfbayes.methods.cost import MEASURED_FACTOR, TABLE_WALK, MethodCosts, is_large_sparse
from mrfbayes.methods.registry import REGISTRY


def costs_of(model):
    costs = MethodCosts(model, exact_cost(model).work)
    costs.factor, costs.measured = MEASURED_FACTOR, 1.0  # the machine of the figures
    return costs


def complete(d, **options):
    return mb.graph(list(itertools.combinations(range(d), 2)), fields=True, **options)


@pytest.mark.parametrize(("d", "mode", "whole"), [(20, 0.11, 1.4), (40, 0.38, 2.5)])
def test_walks_take_what_was_measured(d, mode, whole):
    found = costs_of(complete(d)).langevin
    assert found.preparation == pytest.approx(mode)
    assert sum(found) == pytest.approx(whole)


def test_walks_between_and_beyond_what_was_measured_take_more_with_every_parameter():
    seconds = [sum(costs_of(complete(d)).langevin) for d in (20, 30, 40, 80, 100, 120, 150)]
    assert (np.diff(seconds) > 0).all()
    # Past the last figure as steeply as between the last two: 7.4 and 27.3 s at 2,080 and 5,050 parameters.
    power = np.log(27.3 / 7.4) / np.log(5_050 / 2_080)
    assert seconds[-1] == pytest.approx(27.3 * (150 * 151 / 2 / 5_050) ** power, rel=1e-6)


def test_tables_take_four_times_as_long():
    """Than binary fields of as many parameters."""
    model = mb.graph(list(itertools.combinations(range(10), 2)), states=3, coupling="table")
    binary = mb.graph([(i, i + 1) for i in range(model.n_parameters)])
    assert binary.n_parameters == model.n_parameters
    assert sum(costs_of(model).langevin) == pytest.approx(TABLE_WALK * sum(costs_of(binary).langevin), rel=1e-6)


def test_large_fields_with_few_neighbours_are_not_walked():
    assert not is_large_sparse(mb.grid(20, 20))
    assert is_large_sparse(mb.grid(20, 21))
    assert not is_large_sparse(mb.graph([(0, k) for k in range(1, 421)]))  # a hub
    assert costs_of(mb.grid(20, 21)).langevin.preparation == float("inf")


def test_every_method_has_its_seconds_and_preparation_is_a_part_of_them():
    cost = mb.cost(mb.grid(3, 3))
    assert set(cost.methods) == set(cost.preparation) == set(REGISTRY)
    assert all(0 < cost.preparation[key] <= seconds < np.inf for key, seconds in cost.methods.items())
    assert cost.methods["calibrated"] == cost.preparation["calibrated"]  # independent draws
    wide = mb.cost(mb.grid(60, 60, fields=True))
    assert wide.methods["exact"] == np.inf
    (line,) = (line for line in str(wide).splitlines() if line.startswith("exact  "))
    assert line.split() == ["exact", "refused"]
