"""The walk of fields with covariates: its gradient against that of the exact target, and what it costs."""

import numpy as np
import pytest

import mrfbayes as mb
import small_fields
from mrfbayes.data.border import counted
from mrfbayes.methods.covariates import ExactRows, statistics_of
from mrfbayes.methods.langevin.covariates import MAX_SECONDS, RowsPosterior, prepare_rows, walk_seconds
from mrfbayes.methods.problem import Problem
from mrfbayes.priors import Prior


def made(x, age):
    """A model of three binary variables whose thresholds depend on age, its data, and the problem."""
    data = mb.Data({f"q{i}": x[:, i] for i in range(3)} | {"age": age}, covariates=["age"])
    model = mb.Model.from_data(data, covariates="thresholds")
    problem = Problem(
        model, counted(model, data), Prior(model, "normal(0, 2)"), np.random.SeedSequence(1), progress=False
    )
    return model, data, problem


@pytest.fixture
def rows():
    rng = np.random.default_rng(2)
    return rng.integers(0, 2, (60, 3)).astype(float), rng.choice([20.0, 35.0, 60.0], 60)


def test_the_gradient_is_that_of_the_exact_target(rows):
    """With enumerated moments of the field at every distinct age in the place of chains."""
    model, data, problem = made(*rows)
    exact = ExactRows(statistics_of(problem))
    posterior = RowsPosterior(statistics_of(problem), problem.prior, exact.counts, exact.n)
    assert sorted(exact.n) == sorted(np.unique(rows[1], return_counts=True)[1])
    w = np.random.default_rng(3).normal(0, 0.5, model.n_parameters)
    base = model.base
    moments = np.array([small_fields.moments(base, base.chart.theta(each))[0] for each in posterior.natural(w)])
    found = posterior.likelihood_gradient(moments, posterior.counts) + posterior.prior_gradient(w)
    expected = mb.target(model, data, prior="normal(0, 2)").value_and_gradient(w)[1]
    np.testing.assert_allclose(found, expected, atol=1e-8)


def test_chains_have_a_row_each_and_the_moments_of_their_covariates(rows):
    model, _, problem = made(*rows)
    exact = ExactRows(statistics_of(problem))
    posterior = RowsPosterior(statistics_of(problem), problem.prior, exact.counts, exact.n)
    w = np.random.default_rng(3).normal(0, 0.5, model.n_parameters)
    chains = posterior.ensemble(None, 1, 40, 1, np.random.SeedSequence(4))
    chains.set_parameters(posterior.natural(w[None]))
    found = chains.moments(20, 20)[0].mean(axis=0)  # of both halves
    base = model.base
    for each, n, mean in zip(posterior.natural(w), exact.n, found, strict=True):
        expected, covariance = small_fields.moments(base, base.chart.theta(each))
        assert (np.abs(mean - expected) < 5.5 * np.sqrt(np.diag(covariance) / (2 * 40 * n))).all()


def test_incomplete_rows_are_refused(rows):
    x, age = rows
    x[4, 1] = np.nan
    with pytest.raises(mb.InputError, match="complete rows"):
        prepare_rows(made(x, age)[2], 4, None, 0.3, 3)


def test_seconds_grow_with_rows_replicas_sweeps_and_states():
    binary, potts = mb.grid(3, 3), mb.grid(3, 3, states=3)
    one = walk_seconds(binary, 100, 16, 3)
    assert one == pytest.approx(1_000 * 16 * 2 * 100 * 3 * (2 * 12 + 9) * 4e-9)
    assert walk_seconds(potts, 100, 16, 3) == pytest.approx(3 * one)
    assert walk_seconds(binary, 10**6) > MAX_SECONDS
