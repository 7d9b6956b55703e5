"""Stochastic ascent: each algorithm reaches the maximum within the error that it states, and says when it has not."""

import numpy as np
import pytest

from estimation.fields import FIELDS, Enumerated, weak
from estimation.sampling_cases import ERRORS, PRIORS, TRIED, check_maximum, check_mode
from mrfbayes.base.errors import InputError, MRFWarning
from mrfbayes.data.statistics import Statistics
from mrfbayes.estimation.estimate import estimate
from mrfbayes.model.build import grid

SETTINGS = {
    "pcd": {"particles": 1024, "tolerance": 0.03},
    "fpcd": {"particles": 1024, "tolerance": 0.03},
    "cd": {"particles": 1024, "tolerance": 0.03, "sweeps": 10},
    "stochastic": {"particles": 1024, "tolerance": 0.03},
}


@pytest.mark.parametrize("name", TRIED)
@pytest.mark.parametrize("algorithm", SETTINGS)
def test_reaches_the_maximum_within_the_stated_error(solved, algorithm, name):
    check_maximum(solved[name], algorithm, **SETTINGS[algorithm])


def test_same_seed_same_estimate_whatever_the_threads():
    model = FIELDS["four nodes with fields"]
    x = Enumerated.of(model).draw(weak(model, 2), 100, 3)
    settings = {"particles": 1024, "steps": 200}
    one = estimate(model, x, algorithm="pcd", rng=7, threads=1, **settings)
    two = estimate(model, x, algorithm="pcd", rng=7, threads=2, **settings)
    other = estimate(model, x, algorithm="pcd", rng=8, threads=1, **settings)
    np.testing.assert_array_equal(one.log_odds, two.log_odds)
    assert (one.log_odds != other.log_odds).all()


def test_penalised_estimates_agree_with_exact_ones():
    model = grid(2, 3)
    x = Enumerated.of(model).draw(weak(model, 3), 60, 4)
    x[:, 1] = x[:, 0]
    exact = estimate(model, x, prior="uniform")
    with pytest.warns(MRFWarning, match="no finite maximum likelihood estimate"):
        found = estimate(model, x, algorithm="pcd", rng=2)
    assert found.penalised
    assert found.converged
    assert (np.abs(found.log_odds - exact.log_odds) < ERRORS * found.standard_error).all()
    other = estimate(model, x, algorithm="pcd", prior="normal(0, 0.5)", rng=2)
    assert np.abs(other.log_odds - found.log_odds).max() > 1


@pytest.mark.parametrize(("name", "prior"), PRIORS)
def test_modes_under_any_prior_agree_with_exact_ones(name, prior):
    check_mode(name, prior, "pcd", **SETTINGS["pcd"])


def test_counts_alone_are_enough():
    model = grid(2, 3)
    counts = np.array([60.0, 55, 70, 65, 50, 62, 58])
    stats = Statistics.from_counts(model, counts, 100)
    found = estimate(model, stats, algorithm="pcd", rng=3)
    assert found.converged
    assert (np.abs(found.log_odds - estimate(model, stats).log_odds) < ERRORS * found.standard_error).all()
    with pytest.raises(InputError, match="counts only"):
        estimate(model, stats, algorithm="pseudo")


@pytest.mark.parametrize(
    ("algorithm", "options", "text"),
    [
        ("pcd", {"particles": 0}, "particles = 0: give a whole number, at least 1"),
        ("pcd", {"steps": 2.5}, "steps = 2.5: give a whole number, at least 1"),
        ("pcd", {"tolerance": 0}, "tolerance = 0: give a positive number of posterior sds"),
        ("cd", {"sweeps": -1}, "sweeps = -1: give a whole number, at least 1"),
        ("fpcd", {"fast_gain": 0.0}, "fast_gain = 0.0: give a number above 0"),
    ],
)
def test_errors_say_what_to_do(algorithm, options, text):
    x = Enumerated.of(grid(2, 2)).draw(np.full(4, 0.3), 50, 1)
    with pytest.raises(InputError, match=text):
        estimate(grid(2, 2), x, algorithm=algorithm, **options)
