"""The engine on frontiers, and which engine a field takes."""

import numpy as np
import pytest

import mrfbayes as mb
from mrfbayes.structure.recursion import best_order, choose_engine, recursion_engine
from structure.graph_cases import assert_agrees, complete

FAST = {"draws": 1_500, "thin": 2, "chains": 2, "progress": False}


def test_a_dense_field_of_many_nodes_takes_particles():
    assert choose_engine(complete(30), None) == "particles"
    assert choose_engine(complete(16), None) == "states"
    assert choose_engine(complete(18), None) == "states"
    assert choose_engine(mb.grid(8, 8), None) == "recursion"
    assert choose_engine(mb.grid(12, 40), None) == "recursion"
    assert choose_engine(mb.graph([(k, k + 1) for k in range(40)]), None) == "recursion"


@pytest.mark.parametrize("fields", [True, False])
def test_recursion_and_all_states_agree(fields):
    model = mb.grid(3, 4, fields=fields, coupling="both-one" if fields else "agreement")
    rng = np.random.default_rng(5)
    w = rng.normal(0, 0.8, model.n_parameters) * (rng.random(model.n_parameters) < 0.6)
    x = mb.simulate(model, model.chart.theta(w), 300, rng=6)
    by_states = mb.select(model, x, engine="states", **FAST)  # 4,096 configurations: three groups of nodes
    by_recursion = mb.select(model, x, engine="recursion", rng=1, **FAST)
    assert by_recursion.engine == "recursion"
    assert by_recursion.target == "exact"
    assert_agrees(by_states.inclusion, by_states.inclusion_error, by_recursion.inclusion, by_recursion.inclusion_error)
    for sel in (by_states, by_recursion):  # both say the likelihood of their draws, which is known
        w = sel.log_odds[0, -1]
        log_z = mb.log_partition(model, model.chart.theta(w)) - model.chart.log_last_weight(w).sum()
        assert sel.log_likelihood[0, -1] == pytest.approx(w @ mb.Data(x).count(model).counts - 300 * log_z, abs=1e-6)


def test_the_frontier_of_a_grid_is_its_shorter_side():
    """Across the grid: what has entered and still has a neighbour to come."""
    for shape in ((3, 9), (9, 3)):
        order = best_order(mb.grid(*shape))
        assert sorted(order.nodes) == list(range(27))
        assert max(order.sizes) == 2**4  # three of the frontier and the node that enters
        neighbours = {frozenset(pair) for pair in mb.grid(*shape).edges.tolist()}
        for step, frontier in enumerate(order.frontiers):
            entered, rest = order.nodes[:step], order.nodes[step:]
            assert set(frontier) == {u for u in entered if any(frozenset((u, v)) in neighbours for v in rest)}


def test_a_wide_field_is_refused_with_another_engine():
    with pytest.raises(mb.CostError, match="engine='particles'"):
        recursion_engine(complete(20))
