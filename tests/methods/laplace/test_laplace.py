"""Laplace-L: a quadratic with the right centre, curvature and coordinate."""

from types import SimpleNamespace

import numpy as np
import pytest

import mrfbayes as mb
import small_fields
from mrfbayes.base.errors import InputError
from mrfbayes.data.statistics import Statistics
from mrfbayes.kernels.base.contracts import log_likelihood
from mrfbayes.methods.laplace.bethe import bethe
from mrfbayes.methods.laplace.laplace import check_positive, half_matrix, log_odds_jacobian
from mrfbayes.methods.problem import Problem
from mrfbayes.methods.registry import method_row
from mrfbayes.priors import Prior
from small_fields import FIELDS

N = 200.0


def problem(model, theta, prior=None, n=N):
    """Data whose maximum likelihood estimate is ``theta`` (exactly: counts need not be whole)."""
    mean, _ = small_fields.moments(model, theta)
    given = SimpleNamespace(theta=theta, log_odds=model.chart.log_odds(theta), prior=prior, warnings=())
    statistics = Statistics.from_counts(model, n * mean, n)
    return Problem(model, statistics, Prior(model, "uniform"), np.random.SeedSequence(1), given)


def dense(matrix):
    return matrix.toarray() if hasattr(matrix, "toarray") else np.asarray(matrix)


@pytest.mark.parametrize("coordinate", ["log-odds", "theta"])
@pytest.mark.parametrize("name", FIELDS)
def test_quadratic(name, coordinate):
    model = FIELDS[name]()
    centre = small_fields.random_theta(model, 1)
    view = method_row("laplace").prepare(problem(model, centre), fisher="bethe", coordinate=coordinate).view
    information = N * dense(bethe(model, model.chart.log_odds(centre)).covariance)
    for seed in (2, 3):
        theta = small_fields.random_theta(model, seed)
        difference = model.chart.log_odds(theta) - model.chart.log_odds(centre)
        if coordinate == "theta":
            difference = log_odds_jacobian(model, centre) @ (theta - centre)
        expected = -0.5 * difference @ information @ difference
        assert log_likelihood(view, theta) == pytest.approx(expected, rel=1e-11)


def test_exact_information_is_the_curvature_of_the_likelihood():
    model = FIELDS["graph, fields"]()
    centre = small_fields.random_theta(model, 1)
    view = method_row("laplace").prepare(problem(model, centre), fisher="exact").view
    w, h = model.chart.log_odds(centre), 1e-3
    counts = N * small_fields.moments(model, centre)[0]

    def exact(w):
        theta = model.chart.theta(w)
        last = np.log(model.chart.last_weight(theta)).sum()
        return counts @ w + N * (last - small_fields.log_z(model, theta))

    direction = np.random.default_rng(2).standard_normal(w.size)
    curvature = (exact(w + h * direction) + exact(w - h * direction) - 2 * exact(w)) / h**2
    assert log_likelihood(view, model.chart.theta(w + h * direction)) == pytest.approx(0.5 * curvature * h**2, rel=1e-4)


PENALTIES = {  # gradients of the log prior in log-odds at theta
    "uniform": lambda theta: 1 - 2 * theta,
    "beta(3, 5)": lambda theta: 3 - 8 * theta,
    "normal(1, 0.5)": lambda theta: -(np.log(theta / (1 - theta)) - 1) / 0.25,
}


@pytest.mark.parametrize("name", PENALTIES)
def test_a_penalised_estimate_is_not_the_maximum(name):
    """The gradient that the penalty balances stays: the quadratic has the likelihood's slope there."""
    model = mb.grid(2, 2)
    centre = small_fields.random_theta(model, 4)
    mean, _ = small_fields.moments(model, centre)
    given = problem(model, centre, prior=Prior(model, name))
    penalty = PENALTIES[name](centre) / N
    # Data for which the penalised estimate is ``centre``: s - n E[s] + penalty = 0.
    data = Statistics.from_counts(model, N * (mean - penalty), N)
    view = method_row("laplace").prepare(Problem(model, data, given.prior, given.seed, given.given_estimate)).view
    w, h = model.chart.log_odds(centre), 1e-6
    for j in range(4):
        step = h * (np.arange(4) == j)
        slope = (
            log_likelihood(view, model.chart.theta(w + step)) - log_likelihood(view, model.chart.theta(w - step))
        ) / (2 * h)
        assert slope == pytest.approx(data.counts[j] - N * mean[j], abs=1e-6)
        assert abs(slope) > 0.1


def test_estimate_states_the_prior_of_its_penalty():
    """End to end: with the prior it was penalised by, Laplace-L's own mode under that prior is the estimate."""
    model = mb.grid(2, 2)
    x = mb.simulate(model, np.full(4, 0.7), 40, rng=1)
    estimate = mb.estimate(model, x, prior="normal(0, 0.3)", progress=False)
    statistics = mb.Data(x).count(model)
    prior = Prior(model, "normal(0, 0.3)")
    view = (
        method_row("laplace")
        .prepare(Problem(model, statistics, prior, np.random.SeedSequence(1), estimate), fisher="exact")
        .view
    )
    np.testing.assert_allclose(view.slope + prior.gradient_w(estimate.log_odds), 0.0, atol=1e-9)
    np.testing.assert_allclose(
        view.slope, statistics.counts - 40 * mb.expected_counts(model, estimate.theta), atol=1e-4
    )
    assert np.abs(view.slope + Prior(model, "uniform").gradient_w(estimate.log_odds)).max() > 1


def test_a_penalised_object_without_a_prior_is_refused():
    model = mb.grid(2, 2)
    given = SimpleNamespace(theta=np.full(4, 0.6), penalised=True)
    with pytest.raises(mb.InputError, match="penalised, but has no prior"):
        mb.sample(model, mb.simulate(model, 0.6, 50), "laplace", estimate=given, draws=100)


def test_centre_of_the_bethe_likelihood():
    model = mb.grid(2, 3)
    given = problem(model, small_fields.random_theta(model, 1))
    view = method_row("laplace").prepare(given, centre="bethe").view
    np.testing.assert_allclose(model.chart.theta(view.centre), given.statistics.mean, atol=1e-9)


def test_half_matrix_keeps_what_is_used():
    start, half = half_matrix(np.array([[2.0, 3.0], [3.0, 8.0]]))
    assert start.tolist() == [0, 2, 3]
    assert half.tolist() == [1.0, 3.0, 4.0]


def test_refusals():
    model = mb.grid(2, 2)
    given = problem(model, small_fields.random_theta(model, 1))
    for option, value in (("fisher", "guess"), ("coordinate", "logit"), ("centre", "mean")):
        with pytest.raises(InputError, match=f"{option} = {value!r}: choose one of"):
            method_row("laplace").prepare(given, **{option: value})
    with pytest.raises(InputError, match="particles = 1: "):
        method_row("laplace").prepare(given, fisher="particles", particles=1)
    with pytest.raises(InputError, match="not positive definite"):
        check_positive(np.diag([1.0, -1e-3]), "bethe")


def test_tied_fields_use_the_exact_information_and_mle_states_its_error():
    model = mb.grid(16, 16, tied=True)
    image = mb.simulate(model, 0.62, 1, rng=1, progress=False)
    true = mb.sample(model, image, "calibrated", prior="uniform", rng=1, progress=False).sd[0]
    post = mb.sample(model, image, "laplace", prior="uniform", rng=1, progress=False, chains=2)
    assert post.details["fisher"] == "exact"
    assert post.sd[0] == pytest.approx(true, rel=0.1)
    bethe = mb.sample(model, image, "laplace", prior="uniform", fisher="bethe", rng=1, progress=False, chains=2)
    assert bethe.sd[0] > 1.2 * true
    with pytest.warns(mb.MRFWarning, match="shared by several factors"):
        induced = mb.sample(model, image, "mle", prior="uniform", rng=1, progress=False, chains=2)
    assert induced.sd[0] > 1.2 * true
    assert any("too large" in note for note in induced.notes)
