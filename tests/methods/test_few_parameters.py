"""The posterior of two and three tied parameters by quadrature, against exact log Z, and where it applies."""

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


@pytest.mark.parametrize(("tied", "fields", "w"), [(True, True, [0.5, -0.2]), ("direction", True, [0.4, 0.6, -0.1])])
def test_moments_are_those_of_the_exact_density(tied, fields, w, monkeypatch):
    monkeypatch.setattr(few_parameters, "SNAPSHOTS", 12)
    problem = problem_of(mb.grid(5, 6, tied=tied, fields=fields), w, 4)
    places, samples, mode, factor = few_parameters._sample(problem)
    found = few_parameters._posterior(problem, places, samples, mode, factor)
    points = mode + found.y @ factor.T
    near = found.log_density > found.log_density.max() - 18
    log_z = np.array([log_partition_w(problem.model, at) for at in points[near]])
    prior = np.array([problem.prior.log_density_w(at) for at in points[near]])
    logs = points[near] @ problem.statistics.counts - problem.statistics.n * log_z + prior
    p = np.exp(logs - logs.max())
    p /= p.sum()
    theta = problem.model.chart.theta(points[near])
    mean = p @ theta
    sd = np.sqrt(p @ (theta - mean) ** 2)
    off = np.abs(found.moments()[0] - mean) / sd
    assert off.max() < 0.1
    assert np.abs(found.moments()[1] / sd - 1).max() < 0.04
    draws = found.draw(4000, np.random.SeedSequence(1))
    assert (np.abs(draws.mean(axis=0) - mean) / sd).max() < 0.15
    assert np.abs(draws.std(axis=0) / sd - 1).max() < 0.08
    wrong = few_parameters._posterior(problem, places, samples + 2.0, mode, factor)
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
