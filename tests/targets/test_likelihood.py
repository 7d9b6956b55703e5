"""`mrfbayes.likelihood` for any method that has one."""

import numpy as np
import pytest

import mrfbayes as mb
from mrfbayes.methods.registry import REGISTRY

MODEL = mb.grid(2, 2)
X = np.random.default_rng(3).integers(0, 2, (30, 4))


def test_exact_is_the_definition():
    lik = mb.likelihood(MODEL, X, "exact")
    agree = np.array([(X[:, u] == X[:, v]).sum() for u, v in MODEL.edges])
    for theta in (np.array([0.6, 0.3, 0.7, 0.45]), np.full(4, 0.5)):
        expected = agree @ np.log(theta) + (30 - agree) @ np.log(1 - theta) - 30 * mb.log_partition(MODEL, theta)
        assert abs(lik.log_likelihood(theta) - expected) < 1e-11
    assert lik.target == "exact"
    assert "Exact-L" in repr(lik)


def test_the_estimate_is_made_where_none_is_given():
    estimate = mb.estimate(MODEL, X, progress=False)
    given = mb.likelihood(MODEL, X, "mle", estimate=estimate)
    made = mb.likelihood(MODEL, X, "mle")
    theta = np.array([0.6, 0.3, 0.7, 0.45])
    assert abs(given.log_likelihood(theta) - made.log_likelihood(theta)) < 1e-9
    np.testing.assert_allclose(made.estimate.theta, estimate.theta)


def test_methods_without_a_likelihood_are_refused():
    for key, row in REGISTRY.items():
        if key in ("exchange", "persistent"):
            with pytest.raises(mb.InputError, match="ratios only"):
                mb.likelihood(MODEL, X, key)
            assert row.target == "approximate"


def test_only_mle_has_marginals():
    with pytest.raises(mb.InputError, match="only 'mle'"):
        mb.likelihood(MODEL, X, "exact").marginal(0)


def test_data_may_be_statistics_or_rows():
    theta = np.array([0.6, 0.3, 0.7, 0.45])
    rows = mb.likelihood(MODEL, X, "exact").log_likelihood(theta)
    assert rows == mb.likelihood(MODEL, mb.Data(X).count(MODEL), "exact").log_likelihood(theta)
    with pytest.raises(mb.InputError, match="model"):
        mb.likelihood(X, "exact", "grid")
