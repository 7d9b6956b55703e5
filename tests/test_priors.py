"""Priors: the kernel, the derivatives in log-odds, and the texts of their errors."""

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


def test_kernels_of_exchangeable_blocks_agree_with_the_class():
    prior = Prior(TABLES, {"edges": Exchangeable(0.8), "nodes": Exchangeable(3.0)})
    w = np.random.default_rng(7).normal(size=TABLES.n_parameters)
    gradient = np.zeros(w.size)
    value = kernel_prior.log_prior_gradient(prior.view, w, gradient)
    assert value == pytest.approx(prior.log_density_w(w), rel=1e-12)
    np.testing.assert_allclose(gradient, prior.gradient_w(w), atol=1e-12)


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
