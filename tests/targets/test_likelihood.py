"""`mrfbayes.likelihood` for any method that has one."""

import numpy as np
import pytest

import mrfbayes as mb
from mrfbayes.methods.registry import REGISTRY

MODEL = mb.grid(2, 2)
X = np.random.default_rng(3).integers(0, 2, (30, 4))


def test_exact_is_the_definition():
    lik = mb.likelihood("exact", MODEL, X)
    agree = np.array([(X[:, u] == X[:, v]).sum() for u, v in MODEL.edges])
    for theta in (np.array([0.6, 0.3, 0.7, 0.45]), np.full(4, 0.5)):
        expected = agree @ np.log(theta) + (30 - agree) @ np.log(1 - theta) - 30 * mb.log_partition(MODEL, theta)
        assert abs(lik.log_likelihood(theta) - expected) < 1e-11
    assert lik.target == "exact"
    assert "Exact-L" in repr(lik)


def test_the_estimate_is_made_where_none_is_given():
    estimate = mb.estimate(MODEL, X, progress=False)
    given = mb.likelihood("mle", MODEL, X, estimate=estimate)
    made = mb.likelihood("mle", MODEL, X)
    theta = np.array([0.6, 0.3, 0.7, 0.45])
    assert abs(given.log_likelihood(theta) - made.log_likelihood(theta)) < 1e-9
    np.testing.assert_allclose(made.estimate.theta, estimate.theta)


def test_methods_without_a_likelihood_are_refused():
    for key, row in REGISTRY.items():
        if key in ("exchange", "persistent"):
            with pytest.raises(mb.InputError, match="ratios only"):
                mb.likelihood(key, MODEL, X)
            assert row.target == "approximate"


def test_only_mle_has_marginals():
    with pytest.raises(mb.InputError, match="only 'mle'"):
        mb.likelihood("exact", MODEL, X).marginal(0)


def test_data_may_be_statistics_or_rows():
    theta = np.array([0.6, 0.3, 0.7, 0.45])
    rows = mb.likelihood("exact", MODEL, X).log_likelihood(theta)
    assert rows == mb.likelihood("exact", MODEL, mb.Data(X).count(MODEL)).log_likelihood(theta)
    with pytest.raises(mb.InputError, match="model"):
        mb.likelihood("exact", "grid", X)


def test_the_order_of_sample_is_understood_too():
    model = mb.grid(2, 3)
    x = mb.simulate(model, 0.6, 50, rng=1)
    theta = np.full(model.n_parameters, 0.55)
    expected = mb.likelihood("mle", model, x).log_likelihood(theta)
    assert mb.likelihood(model, x, "mle").log_likelihood(theta) == expected
    assert mb.likelihood(model=model, x=x, method="mle").log_likelihood(theta) == expected
