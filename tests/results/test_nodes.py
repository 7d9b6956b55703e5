"""Predictability, centrality and prediction against sums over all configurations."""

import itertools
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import mrfbayes as mb
from mrfbayes.model.scales import edge_strengths
from mrfbayes.model.schema import Schema, Variable
from mrfbayes.results.predict import is_exact
from small_posteriors import make_posterior

BINARY = mb.graph([("a", "b"), ("b", "c"), ("c", "d"), ("a", "d")], fields=True, coupling="both-one")
ORDINAL = mb.graph([("a", "b"), ("b", "c"), ("a", "c")], states=[3, 2, 3], fields=True, coupling="score")


def log_weight(model, theta, x):
    """The factors as they are defined, one by one."""
    total = 0.0
    for group in model.groups:
        for scope, block in zip(group.scope, group.block, strict=True):
            first, last = model.chart.offset[block], model.chart.offset[block + 1]
            cell = group.table[tuple(x[i] for i in scope)]
            if group.is_score:
                total += cell * np.log(theta[first]) + (group.tosses - cell) * np.log(1 - theta[first])
            else:
                total += np.log([*theta[first:last], 1 - theta[first:last].sum()][cell])
    return total


def conditional(model, theta, known):
    """P(x_a = k | known) for the other nodes, by the definition."""
    rest = [i for i in range(model.n_nodes) if i not in known]
    out = {(model.nodes[i], k): 0.0 for i in rest for k in range(model.states[i])}
    for x in itertools.product(*(range(r) for r in model.states)):
        if all(x[i] == value for i, value in known.items()):
            weight = np.exp(log_weight(model, theta, x))
            for i in rest:
                out[model.nodes[i], x[i]] += weight
    total = sum(out[model.nodes[rest[0]], k] for k in range(model.states[rest[0]]))
    return {key: value / total for key, value in out.items()}


@pytest.mark.parametrize("model", [BINARY, ORDINAL], ids=["binary", "ordinal"])
@pytest.mark.parametrize("given", [[], ["b"], ["c", "a"]])
def test_predictions_are_conditional_probabilities(model, given):
    post = make_posterior(model, draws=4)
    x = pd.DataFrame([{name: model.states[model.nodes.index(name)] - 1 for name in given}], index=["row 7"])
    table = post.predict(x, given, progress=False)
    known = {model.nodes.index(name): int(x[name].iloc[0]) for name in given}
    expected = [conditional(model, theta, known) for theta in post.draws.reshape(-1, model.n_parameters)]
    for key, value in table.loc["row 7"].items():
        assert value == pytest.approx(np.mean([each[key] for each in expected]), abs=1e-12)
    assert table.attrs["algorithm"] == "exact"
    if given:  # another value of what is known gives another answer
        other = post.predict(0 * x, given, progress=False)
        assert np.abs(other.to_numpy() - table.to_numpy()).max() > 1e-3


@pytest.mark.parametrize("model", [BINARY, ORDINAL], ids=["binary", "ordinal"])
def test_gibbs_predictions_agree_with_exact_ones(model, monkeypatch):
    post = make_posterior(model, draws=2)
    exact = post.predict([[1]], ["b"], progress=False).to_numpy()
    monkeypatch.setattr("mrfbayes.results.predict.is_exact", lambda *arguments: False)
    found = post.predict([[1]], ["b"], rng=1, progress=False)
    assert found.attrs["algorithm"] == "gibbs"
    error = np.sqrt(0.25 / (4 * 1_000))  # at most, of four draws
    assert np.abs(found.to_numpy() - exact).max() < 5.5 * error
    other = post.predict([[0]], ["b"], rng=1, progress=False).to_numpy()
    assert np.abs(other - exact).max() > 5.5 * error


def test_dense_fields_are_predicted_by_gibbs():
    model = mb.complete([str(i) for i in range(80)], fields=True, coupling="both-one")
    assert not is_exact(model, [0], np.zeros(model.n_parameters))
    assert is_exact(model, range(1, 80), np.zeros(model.n_parameters))


@pytest.mark.parametrize("model", [BINARY, ORDINAL], ids=["binary", "ordinal"])
def test_predictability_counts_what_the_conditionals_get_right(model):
    rows = np.array([[0, 1, 1, 0], [1, 1, 0, 1], [0, 0, 1, 0], [1, 1, 1, 1]])[:, : model.n_nodes]
    known = SimpleNamespace(rows=rows, row_weights=np.ones(len(rows)), incomplete=None)
    post = make_posterior(model, draws=3, problem=SimpleNamespace(statistics=known))
    table = post.predictability()
    theta = post.draws.reshape(-1, model.n_parameters)
    for i, name in enumerate(model.nodes):
        right, score = [], []
        for each in theta:
            hits = logs = 0.0
            for row in rows:
                probability = conditional(model, each, {j: row[j] for j in range(model.n_nodes) if j != i})
                own = [probability[name, k] for k in range(model.states[i])]
                hits += float(np.argmax(own) == row[i])
                logs += np.log(own[row[i]])
            right.append(hits / len(rows))
            score.append(logs / len(rows))
        share = np.bincount(rows[:, i]) / len(rows)
        entropy = sum(p * np.log(p) for p in share if p > 0)
        assert table.loc[name, "accuracy"] == pytest.approx(np.mean(right))
        assert table.loc[name, "accuracy_gain"] == pytest.approx(np.mean(right) - share.max())
        assert table.loc[name, "log_score_gain"] == pytest.approx(np.mean(score) - entropy)


def test_labels_are_those_of_the_data():
    plain = make_posterior(BINARY, draws=3)
    labels = {"a": ("no", "yes"), "d": ("low", "high")}
    schema = Schema(tuple(replace(v, values=labels.get(v.name, v.values)) for v in plain.schema))
    named = replace(plain, settings={**plain.settings, "schema": schema.to_dict()})
    table = named.predict({"a": "yes", "b": 1.0}, ["a", "b"], progress=False)
    np.testing.assert_array_equal(table, plain.predict({"a": 1, "b": True}, ["a", "b"], progress=False))
    assert list(table.columns) == [("c", 0), ("c", 1), ("d", "low"), ("d", "high")]
    with pytest.raises(mb.InputError, match=r"unknown label 'maybe'.*'no', 'yes'"):
        named.predict({"a": "maybe"}, ["a"], progress=False)


def test_rows_to_predict_come_in_every_form():
    post = make_posterior(BINARY, draws=3)
    table = post.predict(pd.DataFrame({"a": [1, 0], "b": [0, 0]}), ["a", "b"], progress=False)
    for given in (
        {"b": [0, 0], "a": np.array([1, 0])},
        [{"b": 0, "a": 1}, {"a": 0, "b": 0}],
        np.ma.array([[1, 0], [0, 0]]),
    ):
        np.testing.assert_array_equal(post.predict(given, ["a", "b"], progress=False), table)
    for masked in (np.ma.array([[1, 0]], mask=[[True, False]]), {"a": np.ma.array([1], mask=[True]), "b": [0]}):
        with pytest.raises(mb.InputError, match="row 0, 'a' is missing"):
            post.predict(masked, ["a", "b"], progress=False)


def test_centrality_adds_couplings():
    post = make_posterior(BINARY, draws=30)
    w = np.log(post.draws / (1 - post.draws)).reshape(-1, BINARY.n_parameters)
    table = post.centrality()
    of_b = w[:, 0] + w[:, 1]
    assert table.loc["b", "expected_influence"] == pytest.approx(of_b.mean())
    assert table.loc["b", "strength_q95"] == pytest.approx(np.quantile(np.abs(w[:, :2]).sum(axis=1), 0.95))
    np.testing.assert_allclose(post.centrality(scale="ising")["strength"], table["strength"] / 4)


def test_centrality_of_tables_adds_their_norms():
    kinds = (("a", "nominal", "x y z"), ("b", "binary", "0 1"), ("c", "ordinal", "0 1 2"))
    schema = Schema(tuple(Variable(name, kind, tuple(labels.split())) for name, kind, labels in kinds))
    post = make_posterior(mb.Model.from_data(schema), draws=30)
    w = post.log_odds.reshape(-1, post.model.n_parameters)
    table, edges = post.centrality(), edge_strengths(post.model, w)
    assert table.loc["a", "strength"] == pytest.approx(edges[:, :2].sum(axis=1).mean())  # a--b and a--c, both tables
    assert table.loc["c", "expected_influence"] == pytest.approx(edges[:, 1:].sum(axis=1).mean())
    with pytest.raises(mb.InputError, match="ising"):
        post.centrality(scale="ising")


def test_wrong_arguments_raise_input_error():
    post = make_posterior(BINARY, draws=3)
    for call, words in (
        (lambda: post.predict([[0]], ["e"]), "no node is called 'e'"),
        (lambda: post.predict([[0] * 4], list("abcd")), "given names every node"),
        (lambda: post.predict([[0, 1, 1]], ["a"]), "data has 3 columns: give one per known node (1)"),
        (lambda: post.predict({"a": 2}, ["a"]), "x:0:a: unknown label 2"),
        (lambda: post.predict(pd.DataFrame({"b": [1]}), ["a"]), "data has no column 'a'"),
        (lambda: post.predict({"a": "yes"}, ["a"]), "x:0:a: unknown label 'yes'"),
        (lambda: post.predictability(), "pass them as data="),
        (lambda: post.centrality(scale="theta"), "choose 'log-odds' or 'ising'"),
        (lambda: mb.prior_sensitivity(BINARY, np.zeros((4, 4), int), scales=[0.0]), "give standard deviations above 0"),
    ):
        with pytest.raises(mb.InputError) as error:
            call()
        assert words in str(error.value)
