"""Marginals and joint tables against enumeration and transfer matrices."""

import itertools

import numpy as np
import pytest

import mrfbayes as mb
import oracles
import small_fields
from mrfbayes.base import checks
from mrfbayes.exact.held import HeldField
from queries.query_cases import FIELDS, enumerated, held_sets


@pytest.mark.parametrize("name", FIELDS)
def test_marginals_of_nodes_and_all_pairs_equal_enumeration(name):
    model = small_fields.FIELDS[name]()
    theta = small_fields.random_theta(model, 1)
    place = {node: i for i, node in enumerate(model.nodes)}
    for given in held_sets(model):
        x, p = enumerated(model, theta, given)
        free = [node for node in model.nodes if node not in given]
        answer = mb.marginals(model, theta, given=given, pairs=list(itertools.permutations(free, 2)))
        assert answer.is_exact
        assert set(answer.table.index.get_level_values("node")) == set(free)
        for (node, state), value in answer.table["probability"].items():
            assert value == pytest.approx(p[x[:, place[node]] == state].sum(), abs=1e-12)
        for (node, other, state, of_other), value in answer.pairs["probability"].items():
            cell = (x[:, place[node]] == state) & (x[:, place[other]] == of_other)
            assert value == pytest.approx(p[cell].sum(), abs=1e-12)


def test_grid_of_width_ten_equals_transfer_matrix():
    model = mb.grid(6, 10, fields=True)
    rng = np.random.default_rng(5)
    w = rng.normal(0, 0.6, model.n_parameters)
    field, coupling = model.lowering.potentials(w)

    def log_z(changed):
        return oracles.grid_log_z_dense(6, 10, changed, coupling)

    node = model.nodes.index("3,4")
    up = field.copy()
    up[node] += 1e-4
    down = field.copy()
    down[node] -= 1e-4
    expected = (log_z(up) - log_z(down)) / 2e-4
    answer = mb.marginals(model, model.chart.theta(w), nodes=["3,4"])
    assert answer.table["probability"].iloc[1] == pytest.approx(expected, abs=1e-7)
    # A held node is a field that forces it.
    forced = field.copy()
    forced[0] = 60.0
    forced_up, forced_down = forced.copy(), forced.copy()
    forced_up[node] += 1e-4
    forced_down[node] -= 1e-4
    expected = (log_z(forced_up) - log_z(forced_down)) / 2e-4
    answer = mb.marginals(model, model.chart.theta(w), nodes=["3,4"], given={"0,0": 1})
    assert answer.table["probability"].iloc[1] == pytest.approx(expected, abs=1e-7)


def test_joint_of_distant_nodes_equals_enumeration_and_its_margins():
    model = small_fields.FIELDS["star"]()
    theta = small_fields.random_theta(model, 6)
    x, p = enumerated(model, theta, {"0": 1})
    answer = mb.joint(model, theta, ["5", "1", "3"], given={"0": 1})
    for states, value in answer.table["probability"].items():
        assert value == pytest.approx(p[(x[:, [5, 1, 3]] == states).all(axis=1)].sum(), abs=1e-12)


def test_nodes_cut_off_by_held_ones_are_left_out():
    """A wide grid is out of reach, but a node whose neighbours are all held is not."""
    model = mb.grid(60, 60, fields=True)
    around = {"9,10": 1, "11,10": 1, "10,9": 0, "10,11": 1}
    answer = mb.marginals(model, 0.6, nodes=["10,10"], given=around)
    w = np.log(0.6 / 0.4)
    _, field_parts = model.n_nodes, model.lowering.potentials(np.full(model.n_parameters, w))[0]
    log_odds = field_parts[model.nodes.index("10,10")] + 2 * w  # three neighbours are one, one is zero
    assert answer.table["probability"].iloc[1] == pytest.approx(1 / (1 + np.exp(-log_odds)), rel=1e-12)
    assert HeldField(model, [model.nodes.index(n) for n in around], [model.nodes.index("10,10")]).free.size == 1
    with pytest.raises(mb.CostError, match="loopy"):
        mb.marginals(model, 0.6)
    with pytest.raises(mb.CostError, match="simulate"):
        mb.most_probable(model, 0.6)
    with pytest.raises(mb.CostError, match="annealed_log_partition"):
        mb.log_probability(model, 0.6, np.zeros((1, 3600), dtype=int))


def test_cost_is_refused_before_memory_is_taken(monkeypatch):
    model = mb.complete(list("abcdefghijklmn"))
    with pytest.raises(mb.CostError, match="configurations"):
        mb.joint(mb.graph([(i, i + 1) for i in range(20)]), 0.6, map(str, range(20)))
    limit = checks.memory_limit()
    monkeypatch.setattr("mrfbayes.exact.recursions.memory_limit", lambda: 1000)
    with pytest.raises(mb.CostError, match="simulate"):
        mb.most_probable(model, 0.6)
    assert limit > 1000


def test_loopy_is_exact_on_a_tree_and_too_sure_on_a_cycle():
    tree = mb.graph([(0, 1), (1, 2), (1, 3), (3, 4)], states=[2, 3, 2, 3, 2], fields=True, coupling="table")
    theta = small_fields.random_theta(tree, 7)
    exact = mb.marginals(tree, theta, pairs="edges", given={"0": 1})
    loopy = mb.marginals(tree, theta, pairs="edges", given={"0": 1}, method="loopy")
    assert loopy.is_exact
    np.testing.assert_allclose(loopy.table, exact.table, atol=1e-8)
    np.testing.assert_allclose(loopy.pairs, exact.pairs, atol=1e-8)
    cycle = mb.complete(list("abcd"), fields=True)
    theta = np.full(cycle.n_parameters, 0.62)
    exact, loopy = mb.marginals(cycle, theta), mb.marginals(cycle, theta, method="loopy")
    assert not loopy.is_exact
    assert loopy.notes
    surer = np.abs(loopy.table["probability"] - 0.5) - np.abs(exact.table["probability"] - 0.5)
    assert (surer > 1e-3).all()


def test_posterior_gives_intervals_around_the_answers_of_its_draws():
    model = mb.graph([("a", "b"), ("b", "c")], fields=True)
    theta = np.array([0.7, 0.6, 0.45, 0.5, 0.55])
    x = small_fields.draw(model, theta, 300, 8)
    post = mb.sample(model, x, "exact", rng=1, progress=False)
    answer = mb.marginals(model, post, given={"a": 1}, draws=50)
    assert {"probability", "sd", "q5", "q95"} <= set(answer.table.columns)
    draws = post.draws.reshape(-1, 5)
    at = draws[np.linspace(0, len(draws) - 1, 50).astype(int)]
    one = [mb.marginals(model, t, given={"a": 1}).table["probability"].to_numpy() for t in at]
    np.testing.assert_allclose(answer.table["probability"], np.mean(one, axis=0), rtol=1e-10)
    np.testing.assert_allclose(answer.table["q5"], np.quantile(one, 0.05, axis=0), rtol=1e-10)
    best = mb.most_probable(model, post, k=3, draws=50)
    assert best.table["best"].max() > 0
    assert "q95" in mb.log_probability(model, post, x[:3], draws=20).table
    assert "sd" in mb.joint(model, post, ["a", "c"], draws=20).table
