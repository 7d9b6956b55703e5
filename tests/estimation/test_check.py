"""The convergence check: numbers that are known by hand, the maximum, a point beside it, and chains that do not mix."""

import numpy as np
import pytest
from scipy import stats

from estimation.fields import Enumerated, weak
from estimation.sampling_cases import N
from mrfbayes.base.progress import Progress
from mrfbayes.base.random_streams import kernel_state, seed_sequence
from mrfbayes.data.data import Data
from mrfbayes.estimation import check
from mrfbayes.estimation.result import Task
from mrfbayes.model.build import grid
from mrfbayes.particles.ensembles import make_chains
from mrfbayes.particles.simulate import simulate


@pytest.mark.parametrize("n_parameters", [1, 5, 20])
def test_the_limit_shares_the_tail_of_four_errors_among_all_parameters(n_parameters):
    limit = check.threshold(n_parameters, 16)
    assert stats.t.sf(limit, 14) == pytest.approx(stats.norm.sf(4) / n_parameters, rel=1e-6)


def test_the_sd_between_groups_is_that_of_groups_with_the_same_start():
    """Two groups of each start, 2 apart: a variance of 2 in each half, whatever lies between the starts."""
    table = np.array([[0.0, 0.0], [2.0, 6.0], [50.0, 80.0], [52.0, 86.0]])
    unit = np.array([1.0, 10.0])
    assert check._group_sd(table, unit) == pytest.approx(np.sqrt([2.0, 18.0]))


def frozen_check(model, x, w, **options):
    stats = Data(x).count(model)
    task = Task(model, stats, None, seed_sequence(5), 1, Progress("", 1.0, False))
    mean = stats.mean
    base = make_chains(model, 64, kernel_state(task.seed, "base"))
    return check.check(task, check.Candidate(w, np.maximum(mean * (1 - mean), 1e-3), 0.0), [base], **options)


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
    assert check.threshold(1, 10**6) == pytest.approx(4.0, abs=1e-3)
    assert 4.0 < check.threshold(1000, 10**6) < 6.0
    assert check.threshold(30, 16) > check.threshold(1000, 16)  # variances of many parameters help each other
    assert check.threshold(1000, 16) > check.threshold(1000, 64) > check.threshold(1000, 10**6)
