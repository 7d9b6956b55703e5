"""`sample` on tables of mixed kinds: methods against each other, Bayes factors of tables, order of labels."""

import numpy as np
import pytest

import mrfbayes as mb
from mrfbayes.model.schema import Schema, Variable
from structure.test_mixed import CELLS, ILL, MIXED, MOOD, labelled, statistics

LOG_ODDS = np.array([0.3, 0.9, -0.6, 0.3, -0.2, 0.1, 0.25, -0.3, 0.2, -0.2, 0.1, 0.4])


@pytest.fixture(scope="module")
def rows():
    p = np.exp(statistics() @ LOG_ODDS)
    return CELLS[np.random.default_rng(11).choice(18, size=200, p=p / p.sum())]


def draw(schema, rows, method, **options):
    return mb.sample(mb.Model.from_data(schema), labelled(rows), method, rng=3, progress=False, **options)


@pytest.fixture(scope="module")
def exact(rows):
    return draw(MIXED, rows, "exact", steps=8000)


def test_calibrated_agrees_with_exact_on_mixed_kinds(rows, exact):
    found = draw(MIXED, rows, "calibrated", steps=4000)
    sd = exact.log_odds.std(axis=(0, 1))
    assert np.abs((found.log_odds.mean(axis=(0, 1)) - exact.log_odds.mean(axis=(0, 1))) / sd).max() < 0.2
    np.testing.assert_allclose(found.log_odds.std(axis=(0, 1)), sd, rtol=0.1)


def test_edges_have_a_norm_and_a_bayes_factor_of_the_block(exact):
    table = exact.edges("log-odds")
    assert table["log_bf10"].notna().all()
    assert (table.loc["mood--town", ["mean", "sd"]] > 0).all()
    assert np.isnan(table.loc["mood--town", "positive"])
    assert "mood--town[high,Oslo]" in exact.summary().index


def test_order_of_labels_changes_neither_factors_nor_predictions(rows, exact):
    town = Variable("town", "nominal", ("Oslo", "Bern", "Lima"))
    again = draw(Schema((ILL, MOOD, town)), rows, "exact", steps=8000)
    one, two = exact.edges("log-odds"), again.edges("log-odds")
    error = np.hypot(one["log_bf10_error"], two["log_bf10_error"])
    assert (np.abs(one["log_bf10"] - two["log_bf10"]) < 5 * error + 0.05).all()
    np.testing.assert_allclose(one["mean"], two["mean"], atol=0.1)
