"""The engine on frontiers, and which engine a field takes."""

import numpy as np
import pytest

import mrfbayes as mb
from structure.graph_cases import complete

FAST = {"draws": 1_500, "thin": 2, "chains": 2, "progress": False}


def assert_agrees(found, errors, truth, truth_errors, most=5.0):
    """Within five Monte-Carlo errors, which exclude all but one in a million; errors are not below 1e-4."""
    z = np.abs(found - truth) / np.sqrt(np.maximum(errors, 1e-4) ** 2 + truth_errors**2)
    assert z.max() < most, z


def test_a_dense_field_of_many_nodes_takes_particles():
    from mrfbayes.structure.recursion import choose_engine

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
