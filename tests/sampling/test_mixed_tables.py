"""`sample` on tables of mixed kinds: against integration, Bayes factors of tables, predictions, order of labels."""

import numpy as np
import pandas as pd
import pytest

import mrfbayes as mb
from mrfbayes.model.schema import Schema, Variable
from oracles_mixed import CELLS, ILL, MIXED, MOOD, graph_evidence, labelled, statistics, with_holes

LOG_ODDS = np.array([0.3, 0.9, -0.6, 0.3, -0.2, 0.1, 0.25, -0.3, 0.2, -0.2, 0.1, 0.4])


@pytest.fixture(scope="module")
def rows():
    p = np.exp(statistics() @ LOG_ODDS)
    return CELLS[np.random.default_rng(11).choice(18, size=200, p=p / p.sum())]


def draw(schema, rows, method, **options):
    table = rows if isinstance(rows, pd.DataFrame) else labelled(rows)
    return mb.sample(mb.Model.from_data(schema), table, method, rng=3, progress=False, **options)


@pytest.fixture(scope="module")
def exact(rows):
    return draw(MIXED, rows, "exact", draws=2_000, thin=4)


def test_calibrated_agrees_with_exact_on_mixed_kinds(rows, exact):
    found = draw(MIXED, rows, "calibrated", draws=2_000, thin=2)
    sd = exact.log_odds.std(axis=(0, 1))
    assert np.abs((found.log_odds.mean(axis=(0, 1)) - exact.log_odds.mean(axis=(0, 1))) / sd).max() < 0.2
    np.testing.assert_allclose(found.log_odds.std(axis=(0, 1)), sd, rtol=0.1)


def distance_to_integral(found, table):
    """Largest distance of a posterior mean to that by importance sampling, in standard errors."""
    _, _, w, weight = graph_evidence(table, np.ones(3, dtype=bool), np.random.default_rng(16))
    mean = weight @ w
    error = np.sqrt(weight**2 @ (w - mean) ** 2)
    draws = found.log_odds
    own = draws.std(axis=(0, 1)) / np.sqrt(found.summary()["ess_bulk"].to_numpy())
    return np.abs((draws.mean(axis=(0, 1)) - mean) / np.hypot(error, own)).max()


def test_exact_has_the_mean_of_the_integral(rows, exact):
    assert distance_to_integral(exact, labelled(rows)) < 5
    assert distance_to_integral(exact, labelled(rows[:150])) > 5


@pytest.mark.filterwarnings("ignore:.* missing at random")
def test_missing_cells_are_summed_out(rows, exact):
    table = with_holes(rows)
    found = draw(MIXED, table, "exact", draws=2_000, thin=4)
    assert distance_to_integral(found, table) < 5
    assert distance_to_integral(exact, table) > 5


def conditional(log_odds, rows, node):
    """(draws, n, r) probabilities of the states of a node given the others, by enumeration."""
    p = np.exp(log_odds @ statistics().T)
    rest = np.delete(np.arange(3), node)
    own = (rows[:, None, rest] == CELLS[None, :, rest]).all(axis=2)  # (n, 18)
    states = np.arange(CELLS[:, node].max() + 1)
    out = np.stack([(p[:, None] * (own & (CELLS[:, node] == s))).sum(axis=2) for s in states], axis=2)
    return out / out.sum(axis=2, keepdims=True)


def test_predictions_are_those_of_enumeration(rows, exact):
    used = exact.log_odds.reshape(-1, 12)[np.linspace(0, exact.log_odds.size // 12 - 1, 50).astype(int)]
    for node, name in enumerate(MIXED.names):
        given = [other for other in MIXED.names if other != name]
        found = exact.predict(labelled(rows[:30])[given], given, draws=50, progress=False)
        np.testing.assert_allclose(found.to_numpy(), conditional(used, rows[:30], node).mean(axis=0), rtol=1e-9)
    found = exact.predict({"mood": "high"}, ["mood"], draws=50, progress=False)
    p = np.exp(used @ statistics().T) * (CELLS[:, 1] == 2)
    p /= p.sum(axis=1, keepdims=True)
    expected = [(p * (CELLS[:, node] == s)).sum(axis=1).mean() for node, s in ((0, 0), (0, 1), (2, 0), (2, 1), (2, 2))]
    np.testing.assert_allclose(found.to_numpy()[0], expected, rtol=1e-9)


def test_predictability_is_that_of_enumeration(rows, exact):
    used = exact.log_odds.reshape(-1, 12)[np.linspace(0, exact.log_odds.size // 12 - 1, 50).astype(int)]
    table = exact.predictability(labelled(rows), draws=50)
    for node, name in enumerate(MIXED.names):
        p = conditional(used, rows, node)
        share = np.bincount(rows[:, node]) / len(rows)
        score = np.log(p[:, np.arange(len(rows)), rows[:, node]]).mean() - share @ np.log(share)
        accuracy = (p.argmax(axis=2) == rows[:, node]).mean()
        np.testing.assert_allclose(table.loc[name, ["log_score_gain", "accuracy"]], [score, accuracy], rtol=1e-9)


def test_renaming_labels_changes_nothing(rows, exact):
    towns = {"Bern": "z", "Lima": "y", "Oslo": "x"}
    schema = Schema((ILL, MOOD, Variable("town", "nominal", tuple(towns.values()))))
    again = draw(schema, labelled(rows).replace({"town": towns}), "exact", draws=2_000, thin=4)
    np.testing.assert_array_equal(again.log_odds, exact.log_odds)
    np.testing.assert_array_equal(again.edges(scale="log-odds")["log_bf10"], exact.edges(scale="log-odds")["log_bf10"])


def test_edges_have_a_norm_and_a_bayes_factor_of_the_block(exact):
    table = exact.edges(scale="log-odds")
    assert table["log_bf10"].notna().all()
    assert (table.loc["mood--town", ["mean", "sd"]] > 0).all()
    assert np.isnan(table.loc["mood--town", "positive"])
    assert "mood--town[high,Oslo]" in exact.summary().index


def test_order_of_labels_changes_neither_factors_nor_predictions(rows, exact):
    town = Variable("town", "nominal", ("Oslo", "Bern", "Lima"))
    again = draw(Schema((ILL, MOOD, town)), rows, "exact", draws=2_000, thin=4)
    one, two = exact.edges(scale="log-odds"), again.edges(scale="log-odds")
    error = np.hypot(one["log_bf10_error"], two["log_bf10_error"])
    assert (np.abs(one["log_bf10"] - two["log_bf10"]) < 5 * error + 0.05).all()
    np.testing.assert_allclose(one["mean"], two["mean"], atol=0.1)
    given = labelled(rows[:20])[["ill", "mood"]]
    before, after = (found.predict(given, ["ill", "mood"], draws=2000, progress=False) for found in (exact, again))
    np.testing.assert_allclose(after[before.columns], before, atol=0.02)
