"""Prediction of nodes against sums over all configurations."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import mrfbayes as mb
from mrfbayes.model.schema import Schema
from mrfbayes.results.predict import is_exact
from results.conditional_cases import BINARY, ORDINAL, conditional
from small_posteriors import make_posterior


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


def test_wrong_arguments_raise_input_error():
    post = make_posterior(BINARY, draws=3)
    for call, words in (
        (lambda: post.predict([[0]], ["e"]), "no node is called 'e'"),
        (lambda: post.predict([[0] * 4], list("abcd")), "given names every node"),
        (lambda: post.predict([[0, 1, 1]], ["a"]), "data has 3 columns: give one per known node (1)"),
        (lambda: post.predict({"a": 2}, ["a"]), "x:0:a: unknown label 2"),
        (lambda: post.predict(pd.DataFrame({"b": [1]}), ["a"]), "data has no column 'a'"),
        (lambda: post.predict({"a": "yes"}, ["a"]), "x:0:a: unknown label 'yes'"),
        (lambda: mb.prior_sensitivity(BINARY, np.zeros((4, 4), int), scales=[0.0]), "give standard deviations above 0"),
    ):
        with pytest.raises(mb.InputError) as error:
            call()
        assert words in str(error.value)
