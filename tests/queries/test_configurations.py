"""Best configurations and probabilities of rows against enumeration."""

import numpy as np
import pytest

import mrfbayes as mb
import oracles
import small_fields
from queries.query_cases import FIELDS, enumerated, held_sets


@pytest.mark.parametrize("name", FIELDS)
def test_best_configurations_and_rows_equal_enumeration(name):
    model = small_fields.FIELDS[name]()
    theta = small_fields.random_theta(model, 2)
    for given in held_sets(model):
        x, p = enumerated(model, theta, given)
        best = mb.most_probable(model, theta, given=given, k=9)
        expected = np.sort(p[p > 0])[::-1][:9]
        np.testing.assert_allclose(best.table["probability"], expected, rtol=1e-10)
        assert len(np.unique(best.states, axis=0)) == len(expected)
        rows = [np.flatnonzero((x == row).all(axis=1))[0] for row in best.states]
        np.testing.assert_allclose(p[rows], expected, rtol=1e-10)
    x, p = enumerated(model, theta, {})
    np.testing.assert_allclose(mb.log_probability(model, theta, x).table["log_probability"], np.log(p), rtol=1e-10)


def test_most_probable_on_every_small_graph():
    rng = np.random.default_rng(0)
    for d, pairs in oracles.connected_graphs(5):
        model = mb.graph(pairs, nodes=range(d), states=3, fields=True)
        theta = small_fields.random_theta(model, int(rng.integers(1000)))
        p = np.sort(enumerated(model, theta, {})[1])[::-1]
        np.testing.assert_allclose(mb.most_probable(model, theta, k=20).table["probability"], p[:20], rtol=1e-10)


def test_sum_of_all_best_configurations_is_one():
    """A search that lost or repeated a configuration would not sum to one."""
    model = mb.graph(small_fields.SQUARE, states=[2, 3, 2, 3], fields=True, coupling="table")
    best = mb.most_probable(model, small_fields.random_theta(model, 3), k=10**9)
    assert len(best.table) == 36
    assert best.table["probability"].sum() == pytest.approx(1.0, abs=1e-12)
    assert (np.diff(best.table["probability"]) <= 1e-15).all()


def test_rows_with_missing_cells_and_given_are_conditional_sums():
    model = small_fields.FIELDS["ordinal"]()
    theta = small_fields.random_theta(model, 4)
    x, p = enumerated(model, theta, {})
    log_p = mb.log_probability(model, theta, [[2, None, 1]]).table["log_probability"].iloc[0]
    assert log_p == pytest.approx(np.log(p[(x[:, 0] == 2) & (x[:, 2] == 1)].sum()), rel=1e-10)
    log_p = mb.log_probability(model, theta, {"0": 2}, given={"2": 1}).table["log_probability"].iloc[0]
    x, p = enumerated(model, theta, {"2": 1})
    assert log_p == pytest.approx(np.log(p[x[:, 0] == 2].sum()), rel=1e-10)


def test_ferromagnet_of_known_ground_state():
    """On a large strip with positive couplings and one held end, all nodes agree with it."""
    model = mb.grid(4, 200)
    best = mb.most_probable(model, 0.7, given={"0,0": 1})
    assert best.states.all()
    assert mb.most_probable(model, 0.7, given={"0,0": 0}).states.sum() == 0
