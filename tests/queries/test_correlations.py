"""Correlations and population counts against enumeration and closed forms."""

import itertools

import numpy as np
import pandas as pd
import pytest

import mrfbayes as mb
import small_fields
from mrfbayes.exact.clamped import Enumerated

BINARY = ["grid", "grid, fields", "graph, fields", "graph, both-one", "star", "isolated"]


@pytest.mark.parametrize("name", BINARY)
def test_correlations_and_counts_equal_enumeration(name):
    model = small_fields.FIELDS[name]()
    theta = small_fields.random_theta(model, 3)
    x = small_fields.states(model)
    p = np.exp(small_fields.log_weights(model, theta, x) - small_fields.log_z(model, theta))
    rows = small_fields.draw(model, theta, 200, 4)
    table = mb.correlations(model, theta, rows).table
    centred, observed = x - p @ x, rows - rows.mean(axis=0)
    for order in (2, 3):
        for group in itertools.combinations(range(model.n_nodes), order):
            row = table.loc[order, "--".join(model.nodes[i] for i in group)]
            assert row["predicted"] == pytest.approx(p @ np.prod(centred[:, group], axis=1), abs=1e-12)
            product = np.prod(observed[:, group], axis=1)
            assert row["observed"] == pytest.approx(product.mean(), abs=1e-12)
            assert row["observed_error"] == pytest.approx(product.std() / np.sqrt(200), abs=1e-12)
    counts = mb.population_counts(model, theta, rows).table
    np.testing.assert_allclose(counts["predicted"], np.bincount(x.sum(axis=1), p), atol=1e-13)
    np.testing.assert_allclose(counts["observed"] * 200, np.bincount(rows.sum(axis=1), minlength=len(counts)))


def test_simulated_correlations_are_those_of_a_large_field():
    """A chain of 30 nodes has too many configurations; covariances of neighbours are tanh(w / 2) / 4."""
    model = mb.graph([(i, i + 1) for i in range(29)])
    assert not Enumerated.is_feasible(model)
    theta = 0.7
    found = mb.correlations(model, theta, np.eye(30, dtype=int), third=False, samples=20_000)
    assert not found.is_exact
    assert found.notes
    near = found.table.loc[2].loc[[f"{i}--{i + 1}" for i in range(29)], "predicted"]
    expected = 0.25 * (2 * theta - 1)
    assert np.abs(near - expected).max() < 4.9 * 0.25 / np.sqrt(20_000)
    counts = mb.population_counts(model, theta, samples=20_000).table["predicted"]
    assert counts.sum() == pytest.approx(1.0)
    assert counts @ counts.index == pytest.approx(15.0, abs=4.9 * np.sqrt(30 * 0.25 * 7 / 3) / np.sqrt(20_000) * 1.5)


def test_too_many_triplets_are_refused():
    with pytest.raises(mb.CostError, match="third"):
        mb.correlations(mb.graph([(i, i + 1) for i in range(200)]), 0.6, np.zeros((2, 201), dtype=int))


WRONG = [
    (lambda m: mb.correlations(m, 0.6, [[0, 1, None]]), "data", "1"),
    (lambda m: mb.correlations(m, 0.6, [[0, 1]]), "data", "(1, 2)"),
    (lambda m: mb.population_counts(mb.graph([(0, 1)], states=3), 0.4), "model", "3"),
]


@pytest.mark.parametrize(("call", "argument", "value"), WRONG, ids=[f"{w[1]}={w[2]}" for w in WRONG])
def test_wrong_arguments_are_named_with_their_value(call, argument, value):
    with pytest.raises(mb.InputError) as error:
        call(mb.graph([("a", "b"), ("b", "c")]))
    assert argument in str(error.value)
    assert value in str(error.value)


def test_weights_count_as_repeated_rows():
    rng = np.random.default_rng(5)
    model = mb.complete(list("abcd"), fields=True, coupling="both-one")
    table = pd.DataFrame(rng.integers(0, 2, (60, 4)), columns=list("abcd"))
    weights = rng.integers(1, 5, 60)
    repeated = table.loc[np.repeat(np.arange(60), weights)]
    for ask in (mb.correlations, mb.population_counts):
        expected = ask(model, 0.6, repeated).table
        pd.testing.assert_frame_equal(ask(model, 0.6, mb.Data(table, weights=weights)).table, expected)
        assert np.abs(ask(model, 0.6, table).table["observed"] - expected["observed"]).max() > 0.01
