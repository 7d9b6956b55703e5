"""Which recursion does which work: bytes are those of the arrays, refusals come at once, the cheaper way is taken."""

from __future__ import annotations

import time
import tracemalloc

import networkx as nx
import numpy as np
import pytest

import mrfbayes as mb
import oracles_planar
from mrfbayes.base.checks import describe_bytes, memory_limit
from mrfbayes.exact import choice, recursions
from mrfbayes.exact.choice import (
    chosen,
    covariance_by_columns,
    describe_seconds,
    is_feasible,
    least_width,
    machine_factor,
    planar_size,
    predicted_seconds,
    recursion,
    takes_planar,
    weighs_by_planar,
)
from mrfbayes.exact.planar import PlanarRecursion
from mrfbayes.exact.planar_drawing import draw
from mrfbayes.exact.quantities import covariance_w, moments_w, sample_exact, third_order_w
from mrfbayes.exact.recursions import WORKS, GridRecursion
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
    assert model.n_edges < 100_000 or "lowering" not in vars(model)  # it takes longer than all the rest
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


def test_sizes_for_people():
    assert describe_bytes(1536) == "1.5 KiB"
    assert describe_bytes(3 * 2**30) == "3.0 GiB"
    assert describe_bytes(12) == "12 bytes"
    assert describe_bytes(2**1004) == "2^1004 bytes"
    assert [describe_seconds(s) for s in (3e-6, 4e-3, 5.0, 600.0, 36000.0)] == ["3 us", "4 ms", "5 s", "10 min", "10 h"]


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


def test_the_cheaper_recursion_does_the_work():
    """Small grids stay with tables; derivatives of wider ones, and all of wide ones, take the determinant."""
    small, middle, wide = mb.grid(4, 4), mb.grid(13, 13), mb.grid(40, 40)
    works = [work for work in WORKS if work != "maximum"]  # which tables of any graph do alone
    assert not any(takes_planar(small, work) for work in works)
    assert [work for work in works if takes_planar(middle, work)] == ["log_z", "moments", "series"]
    assert all(takes_planar(wide, work) for work in works)
    assert covariance_by_columns(small) is None
    assert isinstance(covariance_by_columns(middle), PlanarRecursion)
    with pytest.raises(mb.CostError):
        chosen(mb.grid(40, 40, fields=True), "log_z")
    triangles = mb.graph(oracles_planar.delaunay_pairs(300, 1.0, np.random.default_rng(1))[1])
    assert isinstance(chosen(triangles, "moments"), PlanarRecursion)


def test_cost_of_wide_planar_fields_needs_no_model():
    cost = mb.cost(mb.grid(1000, 1000))
    assert cost.feasible
    assert cost.recursion == "planar determinant"
    assert cost.work["log_partition"].n_bytes < 2**30
    assert not cost.work["fisher_information"].feasible
    assert np.isfinite(cost.methods["exact"])  # hours, by trajectories
    assert np.isinf(cost.methods["exchange"])  # its particles come from tables
    made = PlanarRecursion(draw(mb.grid(20, 30))).size
    guessed = planar_size(mb.grid(20, 30))
    assert guessed.n_products == pytest.approx(made.n_products, rel=0.5)
    assert guessed.n_kept == pytest.approx(made.n_kept, rel=0.5)


def test_seconds_are_those_of_the_recursion_that_does_the_work():
    """Of the moments of a wide grid by the determinant, of its samples by tables; nothing does what fits nowhere."""
    model = mb.grid(13, 13)
    assert predicted_seconds(model, "moments", 3) == planar_size(model).seconds("moments", 3)
    assert predicted_seconds(model, "sample", 5) == GridRecursion(model).seconds("sample", 5)
    assert predicted_seconds(mb.grid(60, 60, fields=True), "moments") == np.inf
    assert not weighs_by_planar(model)  # faster, but not by enough for a chain
    assert weighs_by_planar(mb.grid(60, 60))
