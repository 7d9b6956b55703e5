"""Bayes factors of edges: verdicts, their cost, and where they come from."""

from dataclasses import replace

import numpy as np
import pytest

import mrfbayes as mb
from small_posteriors import MODEL, make_posterior


def test_verdicts_follow_the_bayes_factors():
    from mrfbayes.results.bayes_factors import verdicts

    said, fragile = verdicts(np.log([100.0, 11, 9, 1, 0.11, 0.001, np.nan]), np.full(7, 0.1))
    assert said.tolist() == ["present", "present", "undecided", "undecided", "undecided", "absent", "unknown"]
    assert fragile.tolist() == [False, True, True, False, True, False, False]
    assert not verdicts(np.log([11.0]), np.array([0.01]))[1][0]


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


def test_exact_draws_are_preferred_to_weights_that_cannot_be_trusted(monkeypatch):
    from mrfbayes.targets.corrected import Proposal

    monkeypatch.setattr(Proposal, "is_trusted", property(lambda self: False))
    assert make_posterior().edges().attrs["source"] == "density of the draws"
    with pytest.warns(mb.MRFWarning, match="draws are approximate"):
        table = replace(make_posterior(), target="approximate").edges()
    assert (table["log_bf10"].isna() == (table["pareto_k"] > 0.7)).all()


def test_the_probability_of_a_positive_coupling_is_its_share_of_the_draws():
    model = mb.complete(["a", "b", "c"], coupling="both-one")
    posterior = mb.sample(model, mb.simulate(model, [0.9, 0.3, 0.5], 60, rng=1), "exact", progress=False, rng=1)
    positive = posterior.edges(scale="log-odds")["positive"]
    np.testing.assert_allclose(positive, (posterior.log_odds > 0).mean(axis=(0, 1)))
    assert positive["a--b"] > 0.9 > 0.1 > positive["a--c"]


@pytest.mark.filterwarnings("ignore:1 of 2")  # the fit says that its tails are approximate
def test_approximate_draws_that_no_weights_correct_give_no_bayes_factor():
    rng = np.random.default_rng(0)
    a = rng.integers(0, 2, 30)
    x = np.column_stack([a, a, np.where(rng.random(30) < 0.3, 1 - a, a)])
    fit = {"prior": "cauchy(0, 2.5)", "rng": 1, "progress": False, "draws": 2000, "chains": 4}
    posterior = mb.sample(mb.graph([(0, 1), (1, 2)]), x, method="calibrated", **fit)
    with pytest.warns(mb.MRFWarning, match="use method='exact'"):
        table = posterior.edges()
    assert table[["log_bf10", "log_bf10_error"]].isna().all(axis=None)
    assert set(table["verdict"]) == {"unknown"}
    assert (table["pareto_k"] > 0.7).all()
    assert not table["bound"].any()
