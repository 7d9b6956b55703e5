"""Marginals, joint tables, best configurations and row probabilities against enumeration and transfer matrices."""

import itertools

import numpy as np
import pytest

import mrfbayes as mb
import oracles
import small_fields
from mrfbayes.base import checks
from mrfbayes.exact.held import HeldField
from mrfbayes.model.schema import Schema, Variable

FIELDS = sorted(small_fields.FIELDS)


def enumerated(model, theta, given):
    """All states and their probabilities given ``given``."""
    x = small_fields.states(model)
    logs = small_fields.log_weights(model, theta, x)
    p = np.exp(logs - logs.max())
    for name, state in given.items():
        p = p * (x[:, model.nodes.index(name)] == state)
    return x, p / p.sum()


def held_sets(model):
    names = model.nodes
    return ({}, {names[1]: 1}, {names[0]: 0, names[2]: 1}, dict.fromkeys(names[1:], 1))


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


def test_ferromagnet_of_known_ground_state():
    """On a large strip with positive couplings and one held end, all nodes agree with it."""
    model = mb.grid(4, 200)
    best = mb.most_probable(model, 0.7, given={"0,0": 1})
    assert best.states.all()
    assert mb.most_probable(model, 0.7, given={"0,0": 0}).states.sum() == 0


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


def test_labels_of_the_schema_are_taken_and_shown():
    answers = Variable("answer", "ordinal", ("never", "rarely", "often"))
    model = mb.Model.from_data(
        Schema((answers, Variable("sex", "binary", ("f", "m")), Variable("n", "binary", (1, 2))))
    )
    theta = small_fields.random_theta(model, 9)
    by_label = mb.marginals(model, theta, given={"answer": "often", "n": 2})
    assert by_label.table.index.get_level_values("state").tolist() == ["f", "m"]
    _, p = enumerated(model, theta, {"answer": 2, "n": 1})
    x = small_fields.states(model)
    assert by_label.table["probability"].iloc[1] == pytest.approx(p[x[:, 1] == 1].sum(), abs=1e-12)
    assert mb.most_probable(model, theta).table["answer"].iloc[0] in answers.labels
    with pytest.raises(mb.InputError, match="'daily'"):
        mb.marginals(model, theta, given={"answer": "daily"})


WRONG = [
    (lambda m: mb.marginals(m, 0.6, given={"z": 1}), "given", "'z'"),
    (lambda m: mb.marginals(m, 0.6, given={"a": 7}), "given", "7"),
    (lambda m: mb.marginals(m, 0.6, given=[1]), "given", "[1]"),
    (lambda m: mb.marginals(m, 0.6, nodes=["a"], given={"a": 1}), "nodes", "'a'"),
    (lambda m: mb.marginals(m, 0.6, nodes=["a", "a"]), "nodes", "'a'"),
    (lambda m: mb.marginals(m, 0.6, given=dict.fromkeys("abc", 1)), "nodes", "None"),
    (lambda m: mb.joint(m, 0.6, []), "nodes", "[]"),
    (lambda m: mb.marginals(m, 0.6, pairs=["ab"]), "pairs", "'ab'"),
    (lambda m: mb.marginals(m, 0.6, pairs="all"), "pairs", "'all'"),
    (lambda m: mb.marginals(m, 0.6, pairs=[("a", "c")], method="loopy"), "pairs", "'c'"),
    (lambda m: mb.marginals(m, 0.6, method="magic"), "method", "'magic'"),
    (lambda m: mb.marginals(m, 1.6), "theta", "1.6"),
    (lambda m: mb.marginals(m, 0.6, ci_prob=2.0), "ci_prob", "2.0"),
    (lambda m: mb.most_probable(m, 0.6, k=0), "k", "0"),
    (lambda m: mb.log_probability(m, 0.6, [[0, 1]]), "rows", "(1, 2)"),
    (lambda m: mb.log_probability(m, 0.6, {"a": 3}), "rows", "3"),
    (lambda m: mb.log_partition(m, 0.6, convention="maths"), "convention", "'maths'"),
]


@pytest.mark.parametrize(("call", "argument", "value"), WRONG, ids=[f"{w[1]}={w[2]}" for w in WRONG])
def test_wrong_arguments_are_named_with_their_value(call, argument, value):
    with pytest.raises(mb.InputError) as error:
        call(mb.graph([("a", "b"), ("b", "c")]))
    assert argument in str(error.value)
    assert value in str(error.value)
