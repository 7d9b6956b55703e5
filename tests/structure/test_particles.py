"""The engine on weighted samples against the exact one."""

import numpy as np
import pytest

import mrfbayes as mb
from structure.graph_cases import complete


@pytest.fixture(scope="module")
def field():
    model = complete(9, fields=True, coupling="both-one")
    rng = np.random.default_rng(2)
    w = np.concatenate(
        [rng.normal(0, 0.8, model.n_edges) * (rng.random(model.n_edges) < 0.3), rng.normal(-0.5, 0.5, 9)]
    )
    return model, mb.simulate(model, model.chart.theta(w), 400, rng=3)


def test_weighted_samples_come_close_to_the_exact_engine(field):
    model, x = field
    exact = mb.select(model, x, engine="states", steps=1500, chains=2, progress=False)
    weighted = mb.select(model, x, engine="particles", steps=1500, chains=2, progress=False)
    assert weighted.target == "approximate"
    gap = np.abs(exact.inclusion - weighted.inclusion)
    assert gap.mean() < 0.01  # the bias that is left: about 0.003 here
    assert gap.max() < 0.06
    assert 0 < weighted.details["set_difference_mean"] < 0.02
    assert weighted.details["set_difference_mean"] <= weighted.details["set_difference_max"]
    np.testing.assert_allclose(weighted.mean, exact.mean, atol=0.1)
    again = mb.select(model, x, engine="particles", steps=100, chains=2, workers=2, progress=False)
    first = mb.select(model, x, engine="particles", steps=100, chains=2, progress=False)
    np.testing.assert_array_equal(again.log_odds, first.log_odds)


def test_too_few_particles_are_refused(field):
    model, x = field
    with pytest.raises(mb.InputError, match="particles = 7: give a whole number, at least 100"):
        mb.select(model, x, engine="particles", particles=7, progress=False)


def test_a_dense_field_of_many_nodes_takes_particles():
    from mrfbayes.structure.engines import choose_engine

    assert choose_engine(complete(30), None) == "particles"
    assert choose_engine(complete(16), None) == "states"
    assert choose_engine(complete(18), None) == "states"
    assert choose_engine(mb.grid(8, 8), None) == "recursion"
    assert choose_engine(mb.grid(12, 40), None) == "recursion"
    assert choose_engine(mb.graph([(k, k + 1) for k in range(40)]), None) == "recursion"
