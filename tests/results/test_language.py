"""Tables in the scale that the reader quotes, with verdicts: against the draws themselves."""

from dataclasses import replace

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


def test_verdicts_follow_the_bayes_factors():
    from mrfbayes.results.bayes_factors import verdicts

    said, fragile = verdicts(np.log([100.0, 11, 9, 1, 0.11, 0.001, np.nan]), np.full(7, 0.1))
    assert said.tolist() == ["present", "present", "undecided", "undecided", "undecided", "absent", "unknown"]
    assert fragile.tolist() == [False, True, True, False, True, False, False]
    assert not verdicts(np.log([11.0]), np.array([0.01]))[1][0]


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


def test_expensive_likelihoods_are_not_correctable(monkeypatch):
    from mrfbayes.results.bayes_factors import is_correctable

    assert is_correctable(MODEL)
    seven_levels = mb.graph([(u, v) for u in range(8) for v in range(u)], states=7, fields=True, coupling="score")
    assert not is_correctable(seven_levels)
    monkeypatch.setattr("mrfbayes.results.bayes_factors.EDGE_SECONDS", 0.0)
    assert not is_correctable(MODEL)


def test_larger_questionnaires_get_fewer_draws_per_edge_and_then_coins():
    from mrfbayes.results.bayes_factors import factor_draws

    draws = [
        factor_draws(mb.complete([f"q{k}" for k in range(d)], fields=True, coupling="both-one")) for d in (9, 17, 18)
    ]
    assert draws[0] == 1_000 > draws[1] > 250
    assert draws[2] == 0


def test_bayes_factors_keep_to_the_time_budget_and_say_so():
    from mrfbayes.base.budget import Budget
    from mrfbayes.report.findings import Findings

    found = Findings(make_posterior(), check=False)
    with Budget(1e-9).as_current():
        edges = found.edges
    assert edges.attrs["source"] == "density of the draws"
    assert len(found.doubts) == 1
    assert "time budget" in found.doubts[0]


def test_exact_draws_are_preferred_to_weights_that_cannot_be_trusted(monkeypatch):
    from mrfbayes.targets.corrected import Proposal

    monkeypatch.setattr(Proposal, "is_trusted", property(lambda self: False))
    assert make_posterior().edges().attrs["source"] == "density of the draws"
    approximate = replace(make_posterior(), target="approximate")
    table = approximate.edges()  # whose own draws stand in for weights that cannot be trusted
    assert (table["pareto_k"].isna() | (table["pareto_k"] <= 0.7)).all()


def test_a_result_without_bayes_factors_still_has_findings():
    from mrfbayes.report.findings import Findings
    from mrfbayes.report.sentences import brief

    found = Findings(replace(make_posterior(), _problem=None), check=False)
    assert set(found.edges["verdict"]) == {"unknown"}
    assert "Bayes factors" in found.missing
    assert any(sentence.startswith("Posterior mean of the log odds ratio") for sentence in brief(found))
