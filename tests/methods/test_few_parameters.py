"""The posterior of two and three tied parameters by quadrature, against exact log Z, and where it applies."""

from dataclasses import replace

import numpy as np
import pytest

import mrfbayes as mb
from mrfbayes.data.border import counted
from mrfbayes.exact.quantities import log_partition_w
from mrfbayes.methods import few_parameters
from mrfbayes.methods.problem import Problem
from mrfbayes.priors import Prior


def problem_of(model, w, n, seed=1):
    x = mb.simulate(model, model.chart.theta(np.array(w)), n, rng=seed, progress=False)
    return Problem(model, counted(model, x), Prior(model, "uniform"), np.random.SeedSequence(3), progress=False)


def exact_moments(problem, centre, factor, reach, points):
    """Mean and sd of theta by exact log Z on a grid of its own."""
    axes = [np.linspace(-reach, reach, points)] * centre.size
    y = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, centre.size)
    w = centre + y[(y**2).sum(axis=1) <= reach**2] @ factor.T
    log_z = np.array([log_partition_w(problem.model, at) for at in w])
    prior = np.array([problem.prior.log_density_w(at) for at in w])
    logs = w @ problem.statistics.counts - problem.statistics.n * log_z + prior
    p = np.exp(logs - logs.max())
    p /= p.sum()
    theta = problem.model.chart.theta(w)
    mean = p @ theta
    return mean, np.sqrt(p @ (theta - mean) ** 2)


@pytest.mark.parametrize(
    ("model", "w", "n", "reach", "points"),
    [
        (mb.grid(10, 10, tied=True, fields=True), [0.5, -0.2], 1, 8.0, 33),
        (mb.grid(10, 10, tied=True, fields=True), [0.9, -0.1], 3, 8.0, 33),  # a skewed posterior
        (mb.grid(10, 10, tied="direction", fields=True), [0.4, 0.6, -0.1], 1, 6.5, 19),
        (mb.grid(6, 18, states=3, tied=True, fields=True), [0.6, 0.2, -0.1], 1, 6.0, 17),
    ],
    ids=["two", "two-skewed", "three", "three-states"],
)
def test_sds_are_within_two_percent_of_the_exact_density(model, w, n, reach, points):
    problem = problem_of(model, w, n)
    places, samples, centre, factor = few_parameters._sample(problem)
    posterior = few_parameters._posterior(problem, places, samples, centre, factor)
    mean, sd = exact_moments(problem, centre, factor, reach, points)
    assert (np.abs(posterior.moments()[0] - mean) / sd).max() < 0.1
    assert np.abs(posterior.moments()[1] / sd - 1).max() < 0.02
    draws = posterior.draw(4000, np.random.SeedSequence(1))
    assert (np.abs(draws.mean(axis=0) - mean) / sd).max() < 0.15
    assert np.abs(draws.std(axis=0) / sd - 1).max() < 0.08
    wrong = few_parameters._posterior(problem, places, samples + 2.0, centre, factor)
    assert (np.abs(wrong.moments()[0] - mean) / sd).max() > 0.2


def test_large_tied_fields_with_a_threshold_are_learned_by_quadrature():
    model = mb.grid(24, 24, tied=True, fields=True)
    x = mb.simulate(
        model, model.chart.theta(np.array([0.5, -0.1])), 1, rng=2, progress=False, sampler="gibbs", sweeps=200
    )
    post = mb.sample(model, x, "calibrated", prior="uniform", rng=1, progress=False)
    assert post.details["sd_error"] < 0.05
    assert (np.abs(post.log_odds.mean(axis=(0, 1)) - [0.5, -0.1]) / post.log_odds.std(axis=(0, 1))).max() < 4.5
    small = problem_of(mb.grid(4, 4, tied=True, fields=True), [0.5, -0.1], 5)
    assert few_parameters.prepare_few_parameters(small) is None


def test_a_grid_that_cuts_the_posterior_is_noticed():
    problem = problem_of(mb.grid(10, 10, tied=True, fields=True), [0.5, -0.2], 1)
    places, samples, centre, factor = few_parameters._sample(problem)
    whole = few_parameters._posterior(problem, places, samples, centre, factor)
    assert not whole.goes_on_outside
    assert few_parameters._posterior(problem, places, samples, centre, factor / 10).goes_on_outside
    under_cauchy = replace(problem, prior=Prior(problem.model, "cauchy(0, 0.001)"))
    assert replace(whole, problem=under_cauchy).goes_on_outside


@pytest.mark.filterwarnings("ignore::mrfbayes.MRFWarning")
def test_images_of_one_colour_are_doubtful(monkeypatch):
    monkeypatch.setattr(few_parameters, "MOMENT_CELLS", 0)
    model = mb.grid(10, 10, tied=True, fields=True)
    mixed = np.random.default_rng(1).integers(0, 2, (3, 100))
    by_quadrature = mb.sample(model, mixed, "calibrated", rng=1, progress=False)
    assert "mean_error" in by_quadrature.details
    assert "prior alone" not in " ".join(by_quadrature.warnings)
    by_coins = mb.sample(model, np.ones_like(mixed), "calibrated", rng=1, progress=False)
    assert "never occurs, and the prior alone bounds" in " ".join(by_coins.warnings)
    assert "mean_error" not in by_coins.details


@pytest.mark.filterwarnings("ignore::mrfbayes.MRFWarning")
@pytest.mark.parametrize(
    ("prior", "is_exact"), [("uniform", True), ("normal(0, 10)", False), ("cauchy(0, 2.5)", False)]
)
def test_posteriors_that_go_on_past_the_curve_are_not_cut_and_called_exact(prior, is_exact):
    """All rows agree: the prior alone bounds the coupling from above."""
    model, x = mb.grid(1, 2), np.zeros((20, 2), dtype=int)
    found = mb.sample(model, x, "calibrated", prior=prior, rng=1, progress=False)
    assert (found.target == "exact") is is_exact
    assert is_exact or len(found.warnings) > 1
