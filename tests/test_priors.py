"""Priors: the kernel, the derivatives in log-odds, and the texts of their errors."""

import math

import numba
import numpy as np
import pytest
from scipy import stats

from mrfbayes.base.errors import InputError
from mrfbayes.kernels import priors as kernel_prior
from mrfbayes.model import distributions
from mrfbayes.model.build import graph, grid
from mrfbayes.priors import Beta, Cauchy, Dirichlet, Exchangeable, Logistic, Normal, Prior, Uniform
from mrfbayes.targets.evidence import log_prior_at_no_interaction

COINS = grid(2, 2)
DICE = graph([(0, 1), (1, 2)], states=[3, 2, 4], fields=True)
TABLES = graph([(0, 1), (1, 2), (0, 2)], states=[3, 2, 4], fields=True, coupling="table")
CASES = [
    (COINS, "uniform"),
    (COINS, Beta(2.0, 3.5)),
    (COINS, "normal(0.3, 1.5)"),
    (COINS, Cauchy(-0.2, 2.5)),
    (COINS, Logistic(0.1, 0.7)),
    (DICE, Uniform()),
    (DICE, {"edges": Beta(2, 2), "nodes": Dirichlet(1.7)}),
    (TABLES, "default"),
    (TABLES, {"edges": "normal(0, 0.7)", "nodes": "normal(0, 3)"}),
    (TABLES, {"edges": Exchangeable(1.3), "nodes": Exchangeable(2.0)}),
    (DICE, {"edges": Normal(0, 1), "0": Dirichlet((1.0, 2.0, 3.0)), "2": Cauchy(0.0, 1.0)}),
]


def test_codes_agree_with_the_kernels():
    names = ("UNIFORM", "DIRICHLET", "NORMAL", "CAUCHY", "LOGISTIC", "EXCHANGEABLE")
    assert [getattr(kernel_prior, n) for n in names] == [getattr(distributions, n) for n in names]


@pytest.mark.parametrize(("model", "given"), CASES, ids=lambda v: str(v))
def test_density_of_log_odds_is_density_of_theta_times_jacobian(model, given):
    prior = Prior(model, given)
    rng = np.random.default_rng(3)
    differences = []
    for _ in range(5):
        w = rng.normal(size=model.n_parameters)
        theta = model.chart.theta(w)
        jacobian = np.log(theta).sum() + np.log(model.chart.last_weight(theta)).sum()
        differences.append(prior.log_density_w(w) - prior.log_density(theta) - jacobian)
    np.testing.assert_allclose(differences, differences[0], atol=1e-11)  # equal up to a constant


@pytest.mark.parametrize(("model", "given"), CASES, ids=lambda v: str(v))
def test_derivatives_by_differences(model, given):
    prior = Prior(model, given)
    w = np.random.default_rng(4).normal(size=model.n_parameters)
    h = 1e-5
    hessian = prior.hessian_w(w)
    for j in range(w.size):
        e = np.zeros(w.size)
        e[j] = h
        slope = (prior.log_density_w(w + e) - prior.log_density_w(w - e)) / (2 * h)
        assert prior.gradient_w(w)[j] == pytest.approx(slope, abs=1e-8)
        column = (prior.gradient_w(w + e) - prior.gradient_w(w - e)) / (2 * h)
        expected = hessian[j] if hessian.ndim == 2 else np.where(np.arange(w.size) == j, hessian[j], 0.0)
        np.testing.assert_allclose(column, expected, atol=1e-8)
        if model.chart.all_coins:
            third = (prior.hessian_w(w + e) - prior.hessian_w(w - e))[j] / (2 * h)
            assert prior.third_w(w)[j] == pytest.approx(third, abs=1e-8)
            fourth = (prior.third_w(w + e) - prior.third_w(w - e))[j] / (2 * h)
            assert prior.fourth_w(w)[j] == pytest.approx(fourth, abs=1e-8)


def test_normal_prior_is_the_normal_density_of_log_odds():
    model = grid(1, 2)
    prior = Prior(model, Normal(0.5, 2.0))
    theta = np.array([0.2, 0.9])

    def expected(t):
        return stats.norm.logpdf(math.log(t / (1 - t)), 0.5, 2.0) - math.log(t * (1 - t))

    got = prior.log_density(theta[:1]) - prior.log_density(theta[1:])
    assert got == pytest.approx(expected(0.2) - expected(0.9), rel=1e-12)


def test_a_custom_prior_is_called():
    @numba.cfunc("float64(CPointer(float64), int64)")
    def density(theta, size):
        total = 0.0
        for i in range(size):
            total += (i + 1) * theta[i]
        return total

    prior = Prior(COINS, density)
    theta = np.array([0.1, 0.2, 0.3, 0.4])
    assert prior.log_density(theta) == pytest.approx(0.1 + 0.4 + 0.9 + 1.6)
    with pytest.raises(InputError, match="no derivatives"):
        prior.gradient_w(np.zeros(4))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("gamma(1)", "expected one of"),
        ("normal(0, x)", "cannot be read"),
        (Normal(0, 0), "scale = 0"),
        (Beta(-1, 2), "a = -1"),
        ({"0,0--9,9": "uniform"}, "no block is called"),
        (3, "prior = 3"),
    ],
)
def test_errors_say_what_to_do(given, message):
    with pytest.raises(InputError, match=message.replace("(", r"\(")):
        Prior(COINS, given)


def test_gradients_of_many_points_at_once_are_those_of_each():
    """Also on dice with more outcomes than a normal prior has parameters."""
    model = graph([(0, 1), (1, 2)], states=5, fields=True, coupling="score")
    w = np.random.default_rng(3).normal(size=(4, model.n_parameters))
    for given in ("uniform", "normal(0, 1.5)", {"edges": "cauchy(0, 1)", "nodes": "logistic(0, 2)"}):
        prior = Prior(model, given)
        np.testing.assert_allclose(prior.gradient_w(w), [prior.gradient_w(row) for row in w])
        step = np.zeros(model.n_parameters)
        step[5] = 1e-6
        slope = (prior.log_density_w(w[0] + step) - prior.log_density_w(w[0] - step)) / 2e-6
        assert abs(slope - prior.gradient_w(w[0])[5]) < 1e-5


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


def test_kernels_of_exchangeable_blocks_agree_with_the_class():
    prior = Prior(TABLES, {"edges": Exchangeable(0.8), "nodes": Exchangeable(3.0)})
    w = np.random.default_rng(7).normal(size=TABLES.n_parameters)
    gradient = np.zeros(w.size)
    value = kernel_prior.log_prior_gradient(prior.view, w, gradient)
    assert value == pytest.approx(prior.log_density_w(w), rel=1e-12)
    np.testing.assert_allclose(gradient, prior.gradient_w(w), atol=1e-12)


@pytest.mark.parametrize(("levels", "scale"), [((2, 2), 1.0), ((5, 5), 1 / 8), ((7, 7), 1 / 16), ((2, 5), 8**-0.5)])
def test_prior_of_score_couplings_follows_the_levels(levels, scale):
    model = graph([("a", "b")], states=list(levels), coupling="score", fields=True)
    for given, expected in (
        ("default", Normal(0.0, scale)),
        ("cauchy(0, 2.5)", Cauchy(0.0, 2.5 * scale)),
        ({"edges": "logistic(1, 2)"}, Logistic(scale, 2 * scale)),
        ({"a--b": "normal(0, 1)"}, Normal(0.0, 1.0)),  # of one block: as it is
        ("uniform", Uniform()),
    ):
        found = Prior(model, given).per_block[0]
        assert type(found) is type(expected)
        assert vars(found) == pytest.approx(vars(expected))


def test_a_name_is_the_prior_of_the_couplings_and_leaves_thresholds_alone():
    model = graph([("a", "b")], states=3, fields=True, coupling="score")
    prior = Prior(model, "normal(0, 1)")
    assert prior.per_block[1:] == [Exchangeable(10.0), Exchangeable(10.0)]
    assert Prior(model, "uniform").is_uniform
    both = Prior(model, {"edges": "normal(0, 1)", "nodes": "normal(0, 5)"})
    assert both.per_block[1:] == [Exchangeable(5.0), Exchangeable(5.0)]
    assert Prior(model, {"nodes": "normal(0, 5)"}).per_block[0] == Prior(model, "default").per_block[0]


def test_agreement_couplings_are_uniform_by_default():
    assert Prior(grid(2, 2, fields=True), "default").is_uniform
    assert Prior(grid(2, 2, fields=True), "normal(0, 1)").per_block[-1] == Uniform()
    kinds = [group.kind.kind for group in TABLES.groups]
    assert sorted(set(kinds)) == ["table", "threshold"]


def test_the_constant_of_a_die_is_that_of_its_dirichlet_distribution():
    """At equal outcomes: the Dirichlet density of theta times the Jacobian, the product of all theta."""
    model = grid(1, 2, states=3, fields=True)
    theta = np.full(3, 1 / 3)
    expected = stats.dirichlet([1, 1, 1]).logpdf(theta) + np.log(theta).sum()
    np.testing.assert_allclose(log_prior_at_no_interaction(Prior(model))[1:], expected)
