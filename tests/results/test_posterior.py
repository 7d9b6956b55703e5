"""Tables of a posterior in the scale that the reader quotes: against the draws themselves."""

import numpy as np
import pytest

import mrfbayes as mb
from small_posteriors import MODEL, NAMES, make_posterior


def test_log_odds_of_the_draws():
    post = make_posterior()
    table = post.summary(scale="log-odds")
    w = np.log(post.draws / (1 - post.draws)).reshape(-1, 5)
    np.testing.assert_allclose(table["mean"], w.mean(axis=0))
    np.testing.assert_allclose(table["sd"], w.std(axis=0, ddof=1))
    np.testing.assert_allclose(table[["q5", "q95"]].T, np.quantile(w, (0.05, 0.95), axis=0))
    assert list(table.index) == list(MODEL.parameters)
    assert table.attrs["scale"] == "log-odds"
    assert "odds ratio" in table.attrs["meaning"]
    np.testing.assert_array_equal(post.summary(scale="theta")["mean"], post.mean)


def test_spins_have_their_own_rows():
    post = make_posterior()
    table = post.summary(scale="ising")
    w = np.log(post.draws / (1 - post.draws)).reshape(-1, 5).mean(axis=0)
    assert list(table.index) == ["tired--worried", "worried--sad", *NAMES]
    expected = [w[0] / 4, w[1] / 4, w[2] / 2 + w[0] / 4, w[3] / 2 + (w[0] + w[1]) / 4, w[4] / 2 + w[1] / 4]
    np.testing.assert_allclose(table["mean"], expected)
    assert np.isfinite(table.to_numpy()).all()
    edges = post.edges(scale="ising")
    np.testing.assert_allclose(edges["mean"], table["mean"].iloc[:2])


def test_edges_keep_order_and_say_their_scale():
    post = make_posterior()
    table = post.edges(scale="log-odds")
    assert list(table.columns[:4]) == ["mean", "sd", "q5", "q95"]
    assert list(table.index) == ["tired--worried", "worried--sad"]
    assert table.attrs["scale"] == "log-odds"
    assert set(table["verdict"]) <= {"present", "absent", "undecided"}
    np.testing.assert_array_equal(table["log_bf10"], post.edges()["log_bf10"])


def test_wrong_arguments_raise_input_error():
    post = make_posterior()
    with pytest.raises(mb.InputError, match="scale = 'probit': choose one of"):
        post.summary(scale="probit")
    with pytest.raises(mb.InputError, match=r"ci_prob = 90: give a probability between 0 and 1"):
        post.summary(ci_prob=90)


def test_notebooks_show_tables_and_obey_no_name():
    hostile = mb.graph([("<img onerror=x>", "b"), ("b", "c")], fields=True)
    post = make_posterior(hostile)
    for shown in (post._repr_html_(), hostile._repr_html_()):
        assert "<img" not in shown
        assert "&lt;img onerror=x&gt;" in shown
    assert "Exact-L (exact target)" in post._repr_html_()
    statistics = mb.Statistics.from_counts(MODEL, [60.0, 50, 70, 80, 60], 200)
    estimate = mb.estimate(MODEL, statistics, progress=False)
    assert "Estimate" in estimate._repr_html_()
    from mrfbayes.sampling.compare import Comparison, comparison_table

    named = {"exact": make_posterior(), "<b>other": make_posterior()}
    shown = Comparison(named, "exact", comparison_table(named, "exact"))._repr_html_()
    assert "&lt;b&gt;other" in shown
    assert "mean error sd" in shown
