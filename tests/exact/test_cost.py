"""Cost: bytes are those of the arrays, refusals come at once and say what to do, and predictions add up."""

from __future__ import annotations

import numpy as np
import pytest

import mrfbayes as mb
from mrfbayes.exact.choice import machine_factor
from mrfbayes.methods.cost import MEASURED_FACTOR
from mrfbayes.methods.registry import REGISTRY
from mrfbayes.model.build import complete


def test_calibrated_and_what_auto_may_choose_are_covered():
    small, wide = mb.cost(mb.grid(4, 4)), mb.cost(mb.grid(200, 200, fields=True))
    for found, best in ((small, "exact"), (wide, "calibrated")):
        assert np.isfinite(found.methods[best])
        assert "calibrated" in str(found)
    assert np.isinf(wide.methods["exact"])
    assert 60 < wide.methods["calibrated"] / machine_factor() < 180  # 119,600 parameters, between 32,512 and 130,560
    assert mb.cost(mb.grid(8, 8)).methods["calibrated"] > small.methods["calibrated"]
    dense = mb.cost(complete(range(200)))
    assert np.isinf(dense.methods["calibrated"])
    assert np.isinf(dense.methods["langevin"])  # 19,900 parameters, past its limit
    forty, hundred = (mb.cost(complete(range(d), fields=True)).methods["langevin"] for d in (40, 100))
    assert forty / machine_factor() == pytest.approx(2.5 / MEASURED_FACTOR)  # as measured
    assert hundred > forty
    assert set(small.methods) == set(REGISTRY)
    assert all(np.isfinite(list(small.methods.values())))
    wide_and_planar = mb.cost(mb.grid(100, 100))
    assert np.isfinite(wide_and_planar.methods["exact"])  # by determinants
    assert np.isinf(wide_and_planar.methods["mavm"])  # needs exact draws
    assert np.isfinite(mb.cost(complete(range(40))).methods["calibrated"])


def test_what_is_large_is_refused_before_it_is_made():
    with pytest.raises(mb.CostError, match=r"a covariance of \d[\d,]* parameters would take"):
        mb.fisher_information(mb.grid(2, 10**5), 0.6)
    with pytest.raises(mb.CostError, match=r"1,000,000,000,000 observations of 4 nodes .*7\.3 TiB"):
        mb.simulate(mb.grid(2, 2), 0.6, 10**12, sampler="gibbs")


def test_calibrating_a_dense_graph_of_many_parameters_is_refused():
    x = np.random.default_rng(1).integers(0, 2, size=(30, 80))
    with pytest.raises(mb.CostError, match=r"3,160 parameters .*79 neighbours"):
        mb.sample(complete(range(80)), x, "calibrated", moments="particles", progress=False)


def test_pseudolikelihoods_of_ordered_items_cost_what_rows_do():
    """Patterns that could occur are far more than rows: 17 items with 5 levels took 0.6 s at 1,000 rows."""
    items = mb.cost(complete(range(17), states=5, fields=True, coupling="score")).methods["pseudo"] / machine_factor()
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
