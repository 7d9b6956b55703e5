"""Distributions of parameters against SciPy and by definition; absurd ones are refused by argument and value."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

import mrfbayes as mb
from mrfbayes.model.build import graph, grid
from mrfbayes.priors import Exchangeable, Normal, Prior
from mrfbayes.targets.evidence import log_prior_at_no_interaction

PAIR = [("a", "b")]


@pytest.mark.parametrize(
    ("prior", "message"),
    [
        ("beta(1e308, 1e308)", "beta: a = 1e+308: must be a positive number, from 1e-06 to 1e+09"),
        ("beta(1, 0)", "beta: b = 0: must be a positive number"),
        ("normal(0, 1e-300)", "normal: scale = 1e-300: must be a positive number, from 1e-06 to 1e+06"),
        ("normal(1e300, 1)", "normal: location = 1e+300: must be a number, from -30 to 30"),
        ("cauchy(0, 1e99)", "cauchy: scale = 1e+99"),
        ("normal(" + "(" * 5000, "...: expected a name with arguments"),
        (mb.priors.Beta("a", 2), "beta: a = 'a': must be a positive number"),
        (mb.priors.Dirichlet(None), "dirichlet: concentration = None"),
        ({"edges": 5}, "prior['edges'] = 5: give 'default', a name such as 'normal(0, 1)', or a distribution"),
        ({5: "uniform"}, "prior: no block is called '5'"),
        ([], "prior: a list of 0 distributions for 3 blocks"),
        (5, "prior = 5: give 'default', a name such as"),
    ],
)
def test_absurd_priors(prior, message):
    with pytest.raises(mb.InputError) as caught:
        mb.priors.Prior(mb.graph(PAIR, fields=True), prior)
    assert message in str(caught.value)


def test_normal_prior_is_the_normal_density_of_log_odds():
    model = grid(1, 2)
    prior = Prior(model, Normal(0.5, 2.0))
    theta = np.array([0.2, 0.9])

    def expected(t):
        return stats.norm.logpdf(math.log(t / (1 - t)), 0.5, 2.0) - math.log(t * (1 - t))

    got = prior.log_density(theta[:1]) - prior.log_density(theta[1:])
    assert got == pytest.approx(expected(0.2) - expected(0.9), rel=1e-12)


def double_centred(cells):
    return cells - cells.mean(axis=0) - cells.mean(axis=1, keepdims=True) + cells.mean()


def reference_coded(cells):
    """Log odds ratios against the first row and column, flat."""
    return (cells - cells[:1] - cells[:, :1] + cells[0, 0])[1:, 1:].ravel()


@pytest.mark.parametrize("shape", [(2, 2), (3, 2), (3, 4), (5, 3)])
def test_exchangeable_is_the_distribution_of_double_centred_normal_cells(shape):
    """Covariance of w = A cells is A A' s^2, and the quadratic form is the sum of squares of the centred table."""
    model = graph([(0, 1)], states=list(shape), coupling="table")
    basis = np.array([reference_coded(np.eye(shape[0] * shape[1])[k].reshape(shape)) for k in range(np.prod(shape))]).T
    cell_sd = 1.3 / 2  # an odds ratio has four cells
    covariance = cell_sd**2 * basis @ basis.T
    prior = Prior(model, Exchangeable(1.3))
    np.testing.assert_allclose(np.sqrt(np.diag(covariance)), 1.3)
    hessian = prior.hessian_w(np.zeros(model.n_parameters))
    np.testing.assert_allclose(-np.atleast_2d(hessian), np.linalg.inv(covariance), atol=1e-10)
    padded = np.zeros(shape)
    padded[1:, 1:] = np.random.default_rng(5).normal(size=(shape[0] - 1, shape[1] - 1))
    expected = -0.5 * (double_centred(padded) ** 2).sum() / cell_sd**2
    assert prior.log_density_w(padded[1:, 1:].ravel()) == pytest.approx(expected, rel=1e-12)
    density = stats.multivariate_normal(np.zeros(len(covariance)), covariance)
    assert log_prior_at_no_interaction(prior)[0] == pytest.approx(density.logpdf(np.zeros(len(covariance))), rel=1e-10)


def test_exchangeable_density_does_not_change_when_categories_are_reordered():
    model = graph([(0, 1)], states=[4, 3], coupling="table", fields=True)
    rng = np.random.default_rng(6)
    cells, u, v = rng.normal(size=(4, 3)), rng.normal(size=4), rng.normal(size=3)

    def density(prior, order_u, order_v):
        w = reference_coded(cells[np.ix_(order_u, order_v)])
        thresholds = (u[order_u][1:] - u[order_u][0], v[order_v][1:] - v[order_v][0])
        return prior.log_density_w(np.concatenate([w, *thresholds]))

    def differs(given):
        prior = Prior(model, given)
        base = density(prior, np.arange(4), np.arange(3))
        return max(abs(density(prior, rng.permutation(4), rng.permutation(3)) - base) for _ in range(10))

    assert differs("default") < 1e-12
    assert differs({"edges": "normal(0, 2)", "nodes": "normal(0, 3)"}) < 1e-12
    assert differs([Normal(0, 2), Normal(0, 3), Normal(0, 3)]) > 0.1  # independent normals depend on the reference
