"""Predicted seconds of methods: figures that were measured come back, and what cannot run is infinite."""

import itertools

import numpy as np
import pytest

import mrfbayes as mb
from mrfbayes.exact.choice import exact_cost, machine_factor
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


def test_calibrated_and_what_auto_may_choose_are_covered():
    small, wide = mb.cost(mb.grid(4, 4)), mb.cost(mb.grid(200, 200, fields=True))
    for found, best in ((small, "exact"), (wide, "calibrated")):
        assert np.isfinite(found.methods[best])
        assert "calibrated" in str(found)
    assert np.isinf(wide.methods["exact"])
    assert 60 < wide.methods["calibrated"] / machine_factor() < 180  # 119,600 parameters, between 32,512 and 130,560
    assert mb.cost(mb.grid(8, 8)).methods["calibrated"] > small.methods["calibrated"]
    dense = mb.cost(mb.complete(range(200)))
    assert np.isinf(dense.methods["calibrated"])
    assert np.isinf(dense.methods["langevin"])  # 19,900 parameters, past its limit
    forty, hundred = (mb.cost(mb.complete(range(d), fields=True)).methods["langevin"] for d in (40, 100))
    assert forty / machine_factor() == pytest.approx(2.5 / MEASURED_FACTOR)  # as measured
    assert hundred > forty
    assert set(small.methods) == set(REGISTRY)
    assert all(np.isfinite(list(small.methods.values())))
    wide_and_planar = mb.cost(mb.grid(100, 100))
    assert np.isfinite(wide_and_planar.methods["exact"])  # by determinants
    assert np.isinf(wide_and_planar.methods["mavm"])  # needs exact draws
    assert np.isfinite(mb.cost(mb.complete(range(40))).methods["calibrated"])


def test_calibrating_a_dense_graph_of_many_parameters_is_refused():
    x = np.random.default_rng(1).integers(0, 2, size=(30, 80))
    with pytest.raises(mb.CostError, match=r"3,160 parameters .*79 neighbours"):
        mb.sample(mb.complete(range(80)), x, "calibrated", moments="particles", progress=False)


def test_pseudolikelihoods_of_ordered_items_cost_what_rows_do():
    """Patterns that could occur are far more than rows: 17 items with 5 levels took 0.6 s at 1,000 rows."""
    items = (
        mb.cost(mb.complete(range(17), states=5, fields=True, coupling="score")).methods["pseudo"] / machine_factor()
    )
    assert 0.2 < items < 2
    assert mb.cost(mb.grid(4, 4)).methods["pseudo"] / machine_factor() < 0.05


def test_costs_include_preparation_and_langevin_refuses_large_sparse_fields():
    many = mb.cost(mb.grid(24, 24, states=4, tied=True))
    assert many.methods["mle"] > 2
    assert many.methods["calibrated"] > 0.3
    assert np.isinf(many.methods["langevin"])
    assert "Compilation" in str(many)
    small = mb.cost(mb.grid(4, 4))
    assert 0 < small.methods["mle"] < 0.5
    assert np.isfinite(small.methods["langevin"])
    with pytest.raises(mb.CostError, match="8,064 edges"):
        mb.sample(mb.grid(64, 64), np.zeros((3, 4096), int), "langevin", progress=False)


@pytest.mark.parametrize(
    ("model", "low", "high"),  # half and twice the processor seconds of benchmarks/results/cost.md
    [
        (mb.grid(64, 64, tied=True), 0.16, 0.64),
        (mb.grid(48, 48, states=4, tied=True), 0.6, 2.4),
        (mb.grid(24, 24, states=4, tied=True), 0.28, 1.12),
        (mb.grid(24, 24, fields=True, tied=True), 1.0, 4.0),
    ],
)
def test_quadrature_costs_preparation_only(model, low, high):
    cost = mb.cost(model)
    seconds = cost.methods["calibrated"]
    assert low < seconds / machine_factor() * MEASURED_FACTOR < high
    assert cost.preparation["calibrated"] == seconds
    assert cost.preparation["mle"] < cost.methods["mle"]
    (line,) = [line for line in str(cost).splitlines() if line.startswith("calibrated")]
    assert line.endswith("no cost")


def test_planar_proposals_cost_less_than_calibrated_coins():
    cost = mb.cost(mb.grid(20, 20))  # 1.8 and 16 s were measured
    assert 0.9 < cost.methods["exact"] / machine_factor() * MEASURED_FACTOR < 3.6
    assert 8 < cost.methods["calibrated"] / machine_factor() * MEASURED_FACTOR < 32


@pytest.mark.parametrize(
    ("model", "low", "high"),  # half and twice the processor seconds that were measured: 59 and 24
    [
        (mb.grid(20, 20, fields=True, tied=True), 30.0, 118.0),
        (mb.grid(20, 20, tied="direction"), 12.0, 48.0),
    ],
)
def test_samples_for_loops_are_counted_where_parameters_are_tied(model, low, high):
    assert low < mb.cost(model).methods["calibrated"] / machine_factor() * MEASURED_FACTOR < high
    assert costs_of(mb.grid(20, 20)).loops == costs_of(mb.grid(3, 3, fields=True, tied=True)).loops == 0.0
