"""Cost: bytes are those of the arrays, refusals come at once and say what to do, and predictions add up."""

from __future__ import annotations

import copy
import time
import tracemalloc

import networkx as nx
import numpy as np
import pytest

import mrfbayes as mb
from mrfbayes.base.checks import describe_bytes, memory_limit
from mrfbayes.exact import choice, recursions
from mrfbayes.exact.choice import describe_seconds, is_feasible, least_width, machine_factor, recursion
from mrfbayes.exact.quantities import covariance_w, moments_w, sample_exact, third_order_w
from mrfbayes.exact.recursions import TooLarge
from mrfbayes.methods.cost import MEASURED_FACTOR
from mrfbayes.methods.registry import REGISTRY
from mrfbayes.model.build import complete

MODELS = {
    "grid": lambda: mb.grid(9, 9),
    "strip": lambda: mb.grid(100, 5, fields=True),
    "graph": lambda: mb.graph(list(nx.random_regular_graph(3, 40, seed=1).edges)),
    "complete": lambda: mb.graph(list(nx.complete_graph(11).edges), fields=True),
    "Potts": lambda: mb.grid(5, 5, states=3, fields=True),
}
CALLS = {
    "log_partition": mb.log_partition,
    "expected_counts": lambda model, theta: moments_w(model, model.chart.log_odds(theta)),
    "fisher_information": lambda model, theta: covariance_w(model, model.chart.log_odds(theta)),
    "third_order": lambda model, theta: third_order_w(model, model.chart.log_odds(theta), np.eye(model.n_parameters)),
    "sample": lambda model, theta: sample_exact(model, model.chart.log_odds(theta), 1000, np.random.SeedSequence(1)),
}


@pytest.mark.parametrize("name", MODELS)
def test_predicted_bytes_are_within_a_factor_of_two(name):
    model = MODELS[name]()
    predicted = mb.cost(model)
    assert predicted.feasible
    theta = model.no_interaction
    kinds = ("log_partition", "expected_counts", "sample") if name == "strip" else CALLS
    for kind in kinds:
        CALLS[kind](model, theta)  # compiled, and all that the model keeps is made
        fresh = MODELS[name]()
        fresh.lowering.potentials(np.zeros(fresh.n_parameters))
        tracemalloc.start()
        recursion(fresh).n_bytes("log_z")
        tracemalloc.reset_peak()
        CALLS[kind](fresh, theta)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert 0.5 <= predicted.work[kind].n_bytes / peak <= 2.0, (kind, predicted.work[kind].n_bytes, peak)


REFUSED = {
    "complete graph on 60 nodes": (lambda: mb.graph(list(nx.complete_graph(60).edges)), 59),
    "wide grid": (lambda: mb.grid(1000, 1000, fields=True), 1000),
    "wide Potts grid": (lambda: mb.grid(200, 200, states=3), 200),
    "wide graph": (lambda: mb.graph(list(nx.random_regular_graph(4, 400, seed=1).edges)), 40),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals_are_immediate_and_name_a_remedy(name):
    make, width = REFUSED[name]
    model = make()
    theta = model.no_interaction
    start = time.thread_time()
    cost = mb.cost(model)
    with pytest.raises(mb.CostError, match=r"width .*limit .*: use method='calibrated' or 'persistent'"):
        recursion(model)
    assert time.thread_time() - start < 1.0
    assert not cost.feasible
    assert cost.treewidth >= width
    assert cost.work["log_partition"].n_bytes > memory_limit()
    assert np.isinf(cost.methods["exact"])
    assert np.isfinite(cost.methods["mle"])
    assert "refused" in str(cost)
    with pytest.raises(mb.CostError):
        mb.log_partition(model, theta)


def test_what_fits_for_log_z_may_not_for_its_derivatives(monkeypatch):
    model = mb.graph(list(nx.complete_graph(12).edges))
    found = recursion(model)
    between = (found.n_bytes("log_z") + found.n_bytes("moments")) // 2
    for module in (recursions, choice):
        monkeypatch.setattr(module, "memory_limit", lambda: between)
    assert is_feasible(model)
    assert not is_feasible(model, "moments")
    mb.log_partition(model, model.no_interaction)
    with pytest.raises(mb.CostError, match="exact expected counts needs"):
        mb.expected_counts(model, model.no_interaction)


def test_seconds_grow_with_the_field_and_print():
    small, large = mb.cost(mb.grid(4, 4)), mb.cost(mb.grid(16, 16))
    for name in small.work:
        assert 0 < small.work[name].seconds < large.work[name].seconds
    assert 0.1 <= machine_factor() <= 10.0
    text = str(large)
    assert "treewidth 16" in text
    assert "fisher information" in text
    assert repr(large) == text


def test_a_refusal_survives_the_way_between_processes():
    error = copy.copy(TooLarge("log_z", 40, 2**44, complete=False))  # by the same protocol
    assert isinstance(error, mb.CostError)
    assert (error.width, error.n_bytes, error.complete) == (40, 2**44, False)
    assert "width 40 or more in every order tried" in str(error)


def test_sizes_for_people():
    assert describe_bytes(1536) == "1.5 KiB"
    assert describe_bytes(3 * 2**30) == "3.0 GiB"
    assert describe_bytes(12) == "12 bytes"
    assert describe_bytes(2**1004) == "2^1004 bytes"
    assert [describe_seconds(s) for s in (3e-6, 4e-3, 5.0, 600.0, 36000.0)] == ["3 us", "4 ms", "5 s", "10 min", "10 h"]


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


def test_dense_graphs_are_refused_without_a_search():
    """A graph of treewidth k has at most k d - k (k + 1) / 2 edges, and k-trees have as many."""
    for d, k in ((5, 2), (9, 3), (40, 39), (2000, 1999)):
        edges = k * d - k * (k + 1) // 2
        assert least_width(d, edges) == k
        assert least_width(d, edges + 1) == k + 1 or k == d - 1
    assert least_width(10, 9) == 1
    assert least_width(10, 0) == 0
    model = complete(range(2000))
    start = time.thread_time()
    assert not mb.cost(model).feasible
    with pytest.raises(mb.CostError, match=r"width 1999 .*limit"):
        recursion(model)
    assert time.thread_time() - start < 2.0


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
