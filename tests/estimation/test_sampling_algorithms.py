"""Estimates by sampling: each reaches the maximum within the error that it states, and says when it has not."""

import numpy as np
import pytest

from estimation.fields import FIELDS, Enumerated, weak
from mrfbayes.base.errors import CostError, InputError, MRFWarning
from mrfbayes.base.progress import Progress
from mrfbayes.base.random_streams import kernel_state, seed_sequence
from mrfbayes.data.data import Data
from mrfbayes.data.statistics import Statistics
from mrfbayes.estimation.check import Candidate, check, threshold
from mrfbayes.estimation.estimate import estimate
from mrfbayes.estimation.result import Task
from mrfbayes.model.build import grid
from mrfbayes.particles.ensembles import make_chains
from mrfbayes.particles.simulate import simulate

N = 200
ERRORS = 6.0  # normal tail 2e-9, and the error itself is estimated: per parameter below 1e-6
SETTINGS = {
    "pcd": {"particles": 1024, "tolerance": 0.03},
    "fpcd": {"particles": 1024, "tolerance": 0.03},
    "cd": {"particles": 1024, "tolerance": 0.03, "sweeps": 10},
    "stochastic": {"particles": 1024, "tolerance": 0.03},
    "mcmc-mle": {"particles": 1024, "tolerance": 0.05},
    "pf-mcmc-mle": {"particles": 1024, "tolerance": 0.05},
}
TRIED = ["2x3 grid", "four nodes with fields", "Potts", "ordinal", "tied by direction"]


@pytest.fixture(scope="module")
def solved():
    """Per field: its data, the maximum, and posterior sds, all by enumeration."""
    found = {}
    for name in TRIED:
        field = Enumerated.of(FIELDS[name])
        x = field.draw(weak(field.model, 5), N, 6)
        best = field.maximum(x)
        sd = np.sqrt(np.diag(np.linalg.inv(N * field.moments(best)[1])))
        found[name] = (field.model, x, best, sd)
    return found


@pytest.mark.parametrize("name", TRIED)
@pytest.mark.parametrize("algorithm", SETTINGS)
def test_reaches_the_maximum_within_the_stated_error(solved, algorithm, name):
    model, x, best, sd = solved[name]
    found = estimate(model, x, algorithm=algorithm, rng=1, **SETTINGS[algorithm])
    assert found.converged
    assert found.warnings == ()
    assert (found.standard_error < 0.12 * sd).all()  # the error that is stated is worth stating
    assert (np.abs(found.log_odds - best) < ERRORS * found.standard_error).all()
    assert found.trace.iteration.size > 0


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


PRIORS = [
    ("2x3 grid", "beta(50, 20)"),  # far stronger than the data: held constant over some steps, it would throw w about
    ("2x3 grid", "normal(0, 0.1)"),
    ("2x3 grid", "cauchy(0, 1)"),
    ("2x3 grid", "logistic(0.5, 0.3)"),
    ("ordinal", {"nodes": "dirichlet(20)", "edges": "beta(30, 20)"}),
]


@pytest.mark.parametrize(("name", "prior"), PRIORS)
@pytest.mark.parametrize("algorithm", ["pcd", "mcmc-mle"])
def test_modes_under_any_prior_agree_with_exact_ones(name, prior, algorithm):
    model = FIELDS[name]
    x = Enumerated.of(model).draw(weak(model, 3), 60, 4)
    exact = estimate(model, x, prior=prior)
    found = estimate(model, x, algorithm=algorithm, prior=prior, rng=2, **SETTINGS[algorithm])
    assert found.converged
    assert (np.abs(found.log_odds - exact.log_odds) < ERRORS * found.standard_error).all()
    without = estimate(model, x)  # the prior has moved it by far more than that
    assert (np.abs(found.log_odds - without.log_odds) > ERRORS * found.standard_error).any()


def test_counts_alone_are_enough():
    model = grid(2, 3)
    counts = np.array([60.0, 55, 70, 65, 50, 62, 58])
    stats = Statistics.from_counts(model, counts, 100)
    found = estimate(model, stats, algorithm="pcd", rng=3)
    assert found.converged
    assert (np.abs(found.log_odds - estimate(model, stats).log_odds) < ERRORS * found.standard_error).all()
    with pytest.raises(InputError, match="counts only"):
        estimate(model, stats, algorithm="pseudo")


def frozen_check(model, x, w, **options):
    stats = Data(x).count(model)
    task = Task(model, stats, None, seed_sequence(5), 1, Progress("", 1.0, False))
    mean = stats.mean
    base = make_chains(model, 64, kernel_state(task.seed, "base"))
    return check(task, Candidate(w, np.maximum(mean * (1 - mean), 1e-3), 0.0), [base], **options)


def test_the_check_passes_the_maximum_and_fails_half_an_sd_off():
    model = grid(2, 3)
    field = Enumerated.of(model)
    x = field.draw(weak(model, 5), N, 6)
    best = field.maximum(x)
    sd = np.sqrt(np.diag(np.linalg.inv(N * field.moments(best)[1])))
    assert frozen_check(model, x, best).passed
    wrong = frozen_check(model, x, best + 0.5 * sd * np.eye(7)[2])
    assert not wrong.passed
    assert "largest moment residual" in wrong.warnings[0]


def test_a_field_that_does_not_mix_is_not_called_converged():
    model = grid(16, 16)
    theta = np.full(model.n_parameters, 0.9)
    x = simulate(model, theta, 64, sampler="exact", rng=1)
    found = frozen_check(model, x, model.chart.log_odds(theta), most_updates=3e8)
    assert not found.passed
    assert "still differ" in found.warnings[0]


def test_threshold_is_four_errors_for_one_parameter_and_many_groups():
    assert threshold(1, 10**6) == pytest.approx(4.0, abs=1e-3)
    assert 4.0 < threshold(1000, 10**6) < 6.0
    assert threshold(30, 16) > threshold(1000, 16)  # variances of many parameters help each other
    assert threshold(1000, 16) > threshold(1000, 64) > threshold(1000, 10**6)


@pytest.mark.parametrize(
    ("algorithm", "options", "text"),
    [
        ("pcd", {"particles": 0}, "particles = 0: give a whole number, at least 1"),
        ("pcd", {"steps": 2.5}, "steps = 2.5: give a whole number, at least 1"),
        ("pcd", {"tolerance": 0}, "tolerance = 0: give a positive number of posterior sds"),
        ("cd", {"sweeps": -1}, "sweeps = -1: give a whole number, at least 1"),
        ("fpcd", {"fast_gain": 0.0}, "fast_gain = 0.0: give a number above 0"),
        ("mcmc-mle", {"sweeps": 0}, "sweeps = 0: give a whole number, at least 1"),
        ("pf-mcmc-mle", {"steps": 0}, "steps = 0: give a whole number, at least 1"),
    ],
)
def test_errors_say_what_to_do(algorithm, options, text):
    x = Enumerated.of(grid(2, 2)).draw(np.full(4, 0.3), 50, 1)
    with pytest.raises(InputError, match=text):
        estimate(grid(2, 2), x, algorithm=algorithm, **options)


@pytest.mark.parametrize("algorithm", ["mcmc-mle", "pf-mcmc-mle"])
def test_algorithms_that_weight_particles_refuse_many_parameters(algorithm):
    x = np.random.default_rng(1).integers(0, 2, (50, 1600))
    with pytest.raises(CostError, match=f"'{algorithm}'.* weights particles by all 3120 statistics"):
        estimate(grid(40, 40), x, algorithm=algorithm)
