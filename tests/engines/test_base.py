"""What engines share: starts of chains, checkpoints that belong to one target, and the log-likelihood of draws."""

import warnings
from types import SimpleNamespace

import numpy as np
import pytest

import mrfbayes as mb
from mrfbayes.engines.base import chain_starts, typical_log_odds
from mrfbayes.methods.problem import Problem
from mrfbayes.priors import Prior

MODEL = mb.grid(2, 2)
DATA = np.random.default_rng(3).integers(0, 2, (400, 4))


def test_a_checkpoint_of_another_target_is_refused(tmp_path):
    """By what differs: the estimate, a prior moved to another block, a long array among the options."""
    settings = {"draws": 200, "warmup": 100, "thin": 2, "chains": 1, "progress": False, "engine": "mh"}
    calls = {
        "estimate": ("laplace", {"estimate": np.full(4, 0.55)}, {"estimate": np.full(4, 0.9)}),
        "prior": (
            "exact",
            {"prior": {"edges": "normal(0, 1)", MODEL.blocks[1]: "normal(3, 0.1)"}},
            {"prior": {"edges": "normal(0, 1)", MODEL.blocks[2]: "normal(3, 0.1)"}},
        ),
        "options": ("mle", {"rho": 0.1 * np.ones((4, 4)) + 0.9 * np.eye(4)}, {"rho": np.eye(4) * 0.8 + 0.2}),
    }
    for what, (method, first, second) in calls.items():
        path = tmp_path / what
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", mb.MRFWarning)  # short chains say that they are
            mb.sample(MODEL, DATA, method, checkpoint=path, **first, **settings)
            mb.sample(MODEL, DATA, method, checkpoint=path, **first, **{**settings, "draws": 400})
        with pytest.raises(mb.InputError, match=f"its {what} differs"):
            mb.sample(MODEL, DATA, method, checkpoint=path, **second, **settings)


def test_log_likelihood_is_computed_or_absent():
    direct = mb.sample(MODEL, DATA, "calibrated", draws=100, progress=False)
    assert direct.log_likelihood is None
    assert not {"log_likelihood", "sample_stats"} & set(direct.to_arviz().children)
    chain = mb.sample(MODEL, DATA, "exact", progress=False)
    value = mb.likelihood(MODEL, DATA, "exact").log_likelihood(chain.draws[0, 0])
    assert chain.log_likelihood[0, 0] == pytest.approx(value, rel=1e-10)


def problem_of(estimate=None):
    """Four edges that agree in 30, 60, 90 and 50 of 100 rows."""
    statistics = mb.Statistics.from_counts(MODEL, [30, 60, 90, 50], 100)
    return Problem(MODEL, statistics, Prior(MODEL), np.random.SeedSequence(5), estimate)


def test_typical_log_odds_are_those_of_factors_that_stand_alone():
    """Of frequencies with one more of either outcome; at the estimate where there is one."""
    centre, sd = typical_log_odds(problem_of())
    agree = np.array([31, 61, 91, 51])
    np.testing.assert_allclose(centre, np.log(agree / (102 - agree)))
    np.testing.assert_allclose(sd, np.sqrt(1 / agree + 1 / (102 - agree)))
    theta = np.array([0.2, 0.5, 0.7, 0.9])
    np.testing.assert_allclose(typical_log_odds(problem_of(theta))[0], np.log(theta / (1 - theta)))


def test_chains_start_where_they_are_told_to():
    theta = np.array([0.2, 0.5, 0.7, 0.9])
    problem = problem_of(theta)
    for start in (theta, "mle"):
        for found in chain_starts(problem, SimpleNamespace(start=start, chains=2)):
            np.testing.assert_allclose(found, np.log(theta / (1 - theta)))
    assert not np.any(chain_starts(problem, SimpleNamespace(start="half", chains=2)))


def test_dispersed_starts_scatter_by_half_more_than_the_posterior():
    """Each chain has a start of its own, which does not depend on how many there are."""
    problem = problem_of()
    starts = np.array(chain_starts(problem, SimpleNamespace(start="dispersed", chains=400)))
    centre, sd = typical_log_odds(problem)
    ratio = starts.std(axis=0) / sd  # each with a relative error of 3.5 %
    np.testing.assert_allclose(ratio, 1.5, rtol=0.18)
    np.testing.assert_allclose(starts.mean(axis=0), centre, atol=5 * 1.5 * sd.max() / 20)
    np.testing.assert_array_equal(chain_starts(problem, SimpleNamespace(start="dispersed", chains=2)), starts[:2])
