"""The scikit-learn estimator: its contract, and what its numbers mean."""

import itertools
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer
from sklearn.utils.estimator_checks import check_estimator

import mrfbayes as mb
from mrfbayes.priors import Prior
from mrfbayes.results import predictability as scores
from mrfbayes.sklearn import MarkovField
from mrfbayes.sklearn.markov_field import classes, quantile_cuts

pytestmark = pytest.mark.filterwarnings("ignore::mrfbayes.base.errors.MRFWarning")
QUICK = {"method": "mle", "draws": 100, "chains": 2, "prediction_draws": 20, "random_state": 0}
RNG = np.random.default_rng(4)
FIRST = RNG.integers(0, 2, 200)
X = np.stack([FIRST, FIRST ^ (RNG.random(200) < 0.2), RNG.integers(0, 2, 200)], axis=1)

# What scikit-learn asks of every estimator and this one does not give, with the reason.
EXPECTED_FAILURES = {
    "check_positive_only_tag_during_fit": "states are labels or whole numbers from 0 or 1: other negative numbers are "
    "refused, and it is not positive numbers alone that are accepted, as text is, too"
}


@pytest.mark.parametrize("bins", [None, 2])
@pytest.mark.filterwarnings("ignore")
def test_check_estimator_passes(bins):
    found = check_estimator(
        MarkovField(bins=bins, **QUICK),
        expected_failed_checks={} if bins else EXPECTED_FAILURES,
        on_skip=None,
        on_fail=None,
    )
    failed = {check["check_name"]: str(check["exception"]) for check in found if check["status"] == "failed"}
    assert failed == {}
    assert {check["check_name"] for check in found if check["status"] == "xfail"} == set(
        () if bins else EXPECTED_FAILURES
    )
    assert sum(check["status"] == "passed" for check in found) > 35


@pytest.fixture(scope="module")
def fitted():
    return MarkovField(**QUICK).fit(pd.DataFrame(X, columns=["a", "b", "c"]))


def enumerated(field):
    """Log-probabilities of all rows by the slow, obvious sum, averaged over the same draws."""
    rows = np.array(list(itertools.product([0, 1], repeat=3)))
    total = np.zeros(8)
    for w in field._draws():
        weight = np.zeros(8)
        for k, (u, v) in enumerate(field.model_.edges.tolist()):
            weight += w[k] * rows[:, u] * rows[:, v]
        for i in range(3):
            weight += w[3 + i] * rows[:, i]
        total += np.exp(weight) / np.exp(weight).sum()
    return rows, total / len(field._draws())


def test_scores_are_log_probabilities(fitted):
    rows, probability = enumerated(fitted)
    frame = pd.DataFrame(rows, columns=["a", "b", "c"])
    assert fitted.score_kind_ == "log-likelihood"
    assert fitted.score_samples(frame) == pytest.approx(np.log(probability), rel=1e-10)
    assert fitted.score(frame) == pytest.approx(np.log(probability).mean(), rel=1e-10)


def test_score_is_pseudolikelihood_where_log_z_is_infeasible(fitted, monkeypatch):
    rows, _ = enumerated(fitted)
    total = np.zeros(8)
    for w in fitted._draws():
        logits = np.array([[w[3 + i] for i in range(3)]] * 8)
        for k, (u, v) in enumerate(fitted.model_.edges.tolist()):
            logits[:, u] += w[k] * rows[:, v]
            logits[:, v] += w[k] * rows[:, u]
        total += np.exp((rows * logits - np.log1p(np.exp(logits))).sum(axis=1))
    monkeypatch.setattr(scores, "is_feasible", lambda model: False)
    again = clone(fitted).fit(pd.DataFrame(X, columns=["a", "b", "c"]))
    assert again.score_kind_ == "pseudo-log-likelihood"
    assert again.score_samples(pd.DataFrame(rows, columns=["a", "b", "c"])) == pytest.approx(
        np.log(total / len(fitted._draws())), rel=1e-10
    )


def test_more_states_than_two_are_scored_by_tables():
    x = RNG.integers(1, 4, (60, 2))
    field = MarkovField(**QUICK).fit(x)
    assert [int(r) for r in field.model_.states] == [3, 3]
    every = np.array(list(itertools.product([1, 2, 3], repeat=2)))
    assert np.exp(field.score_samples(every)).sum() == pytest.approx(1, rel=1e-10)


def test_masked_columns_are_predicted_from_the_others(fitted):
    rows, probability = enumerated(fitted)
    field = clone(fitted).set_params(masked=["b"]).fit(pd.DataFrame(X, columns=["a", "b", "c"]))
    assert list(field.get_feature_names_out()) == ["b=0", "b=1"]
    assert list(field.classes_) == [0, 1]
    asked = pd.DataFrame({"a": [0.0, 1.0], "b": [np.nan, np.nan], "c": [1.0, 1.0]})
    found = field.predict_proba(asked)
    for k, a in enumerate((0, 1)):
        conditional = []
        for w in field._draws():
            logit = w[4] + w[0] * a + w[2] * 1  # edges a-b, a-c, b-c, then nodes
            conditional.append(1 / (1 + np.exp(-logit)))
        assert found[k] == pytest.approx([1 - np.mean(conditional), np.mean(conditional)], rel=1e-6)
    every = fitted.predict_proba(pd.DataFrame(rows, columns=["a", "b", "c"]))
    assert list(fitted.get_feature_names_out()) == ["a=0", "a=1", "b=0", "b=1", "c=0", "c=1"]
    assert every.shape == (8, 6)
    assert every.reshape(8, 3, 2).sum(axis=2) == pytest.approx(np.ones((8, 3)))
    assert every[5, 3] == pytest.approx(found[1, 1], rel=1e-6)
    assert probability.sum() == pytest.approx(1)


def test_new_rows_are_like_the_old_ones(fitted):
    new = fitted.sample(4_000, random_state=1)
    assert np.array_equal(new, fitted.sample(4_000, random_state=1))
    assert new.mean(axis=0) == pytest.approx(X.mean(axis=0), abs=0.1)
    assert (new[:, 0] == new[:, 1]).mean() == pytest.approx((X[:, 0] == X[:, 1]).mean(), abs=0.1)


def test_labels_come_back_as_they_were():
    words = np.array(["no", "yes"], dtype=object)[X]
    field = MarkovField(**QUICK, masked=[1]).fit(words)
    assert list(field.get_feature_names_out()) == ["x1=no", "x1=yes"]
    assert set(field.sample(20).ravel()) == {"no", "yes"}
    assert field.score(words) == pytest.approx(MarkovField(**QUICK).fit(X).score(X))
    with pytest.raises(mb.InputError, match=r"x0: unknown label 'maybe'.*'no', 'yes'"):
        field.score_samples([["maybe", "no", "no"]])


def test_given_model_is_used():
    chain = mb.graph([("a", "b"), ("b", "c")], fields=True)
    field = MarkovField(chain, **QUICK).fit(pd.DataFrame(X[:, [2, 0, 1]], columns=["c", "a", "b"]))
    assert field.posterior_.draws.shape[-1] == 5
    assert np.array_equal(
        field.posterior_.mean, MarkovField(chain, **QUICK).fit(pd.DataFrame(X, columns=["a", "b", "c"])).posterior_.mean
    )


def test_the_default_prior_is_that_of_sample():
    field = MarkovField(**QUICK).fit(pd.DataFrame(X, columns=["a", "b", "c"]))
    prior = field.posterior_._problem.prior
    assert prior.digest == Prior(field.model_, "default").digest != Prior(field.model_, "uniform").digest


def test_a_pipeline_and_a_grid_search_over_the_prior():
    numbers = RNG.standard_normal((120, 3))
    cut = KBinsDiscretizer(2, encode="ordinal", quantile_method="linear")
    priors = ["normal(0, 0.01)", "normal(0, 1)"]
    search = GridSearchCV(make_pipeline(cut, MarkovField(**QUICK)), {"markovfield__prior": priors}, cv=2)
    search.fit(numbers + numbers[:, :1])
    scored = search.cv_results_["mean_test_score"]
    assert np.isfinite(scored).all()
    assert scored[0] != scored[1]
    assert search.best_params_ == {"markovfield__prior": "normal(0, 1)"}  # the columns share their first part


@pytest.mark.parametrize(
    ("changes", "x", "message"),
    [
        ({}, RNG.standard_normal((20, 2)), r"(?s)X: .*x0.*bins=2.*KBinsDiscretizer"),
        ({}, np.arange(20).reshape(10, 2), "(?s)X: .*x0: 10 distinct numbers"),
        ({"bins": 1}, X, "bins = 1"),
        ({"bins": 50}, X, "bins = 50: give at most 12"),
        ({"bins": 2}, np.array([["a", "b"], ["b", "a"]], dtype=object), "X holds text, and bins= cuts numbers"),
        ({"masked": ["z"]}, X, "masked: no column is called 'z'"),
        ({"masked": [0, 1, 2]}, X, "masked names every column"),
        ({"model": "grid"}, X, "model: got str"),
        ({"prediction_draws": 0}, X, "prediction_draws = 0"),
    ],
)
def test_bad_input_raises_input_error(changes, x, message):
    with pytest.raises(mb.InputError, match=message):
        MarkovField(**{**QUICK, **changes}).fit(x)


def test_unfitted_field_raises_not_fitted_error():
    for ask in ("score_samples", "predict_proba", "score"):
        with pytest.raises(NotFittedError):
            getattr(MarkovField(), ask)(X)
    with pytest.raises(NotFittedError):
        MarkovField().sample()


def test_the_package_does_not_load_scikit_learn():
    code = "import sys, mrfbayes, mrfbayes.sampling.sample; assert 'sklearn' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_numbers_are_cut_at_quantiles_into_ordered_classes():
    numbers = np.array([[1.0], [2.0], [3.0], [40.0], [50.0], [60.0]])
    cuts = quantile_cuts(numbers, 3)
    assert cuts.ravel() == pytest.approx([np.quantile(numbers, 1 / 3), np.quantile(numbers, 2 / 3)])
    assert classes(numbers, cuts).ravel().tolist() == [0, 0, 1, 1, 2, 2]


def test_classes_are_those_of_the_masked_column():
    table = pd.DataFrame({"a": np.array(["no", "yes"])[X[:, 0]], "b": np.array(["low", "high"])[X[:, 1]], "c": X[:, 2]})
    assert set(MarkovField(**QUICK, masked=["b"]).fit(table).classes_) == {"low", "high"}


def test_the_random_state_decides_the_draws():
    draws = [MarkovField(**{**QUICK, "random_state": seed}).fit(X).posterior_.draws for seed in (0, 0, 1)]
    assert np.array_equal(draws[0], draws[1])
    assert not np.array_equal(draws[0], draws[2])


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_categories_of_a_data_frame_are_kept(kind):
    words = ["lo", "mid", "hi"]
    rows = np.array(words)[RNG.integers(0, 3, (60, 2))]
    if kind == "pandas":
        table = pd.DataFrame({"a": pd.Categorical(rows[:, 0], words, ordered=True), "b": pd.Categorical(rows[:, 1])})
    else:
        table = pl.DataFrame({"a": rows[:, 0], "b": rows[:, 1]}, schema_overrides={"a": pl.Enum(words)})
    field = MarkovField(**QUICK, masked=["a"]).fit(table)
    assert field.schema_ == mb.Data(table).schema
    assert (field.schema_["a"].kind, field.labels_[0]) == ("ordinal", words)
    assert field.classes_.tolist() == words
    assert field.predict_proba(table).shape == (60, 3)
    np.testing.assert_allclose(field.score_samples(table), field.score_samples(pd.DataFrame(rows, columns=["a", "b"])))
    with pytest.raises(ValueError, match="feature names"):
        field.score_samples(table[["b", "a"]])
