"""The result of an estimate: its trace and tables, and what an algorithm is given."""

import numpy as np
import pytest

import mrfbayes as mb
from estimation.fields import Enumerated
from mrfbayes.base.progress import Progress
from mrfbayes.base.random_streams import seed_sequence
from mrfbayes.estimation.estimate import estimate
from mrfbayes.estimation.result import Recorder, Task
from mrfbayes.model.build import grid
from mrfbayes.priors import Prior


def task_of(model, n=10, prior=None):
    statistics = mb.Statistics.from_counts(model, np.full(model.n_parameters, 0.6 * n), n)
    return Task(model, statistics, prior, seed_sequence(1), 1, Progress("", 1.0, False))


def test_trace_can_be_plotted():
    found = estimate(grid(2, 3), Enumerated.of(grid(2, 3)).draw(np.full(7, 0.4), 200, 1))
    trace = found.trace
    assert trace.iteration.size == trace.seconds.size == trace.residual.size == len(trace.log_odds) > 1
    assert trace.log_odds.shape[1] == trace.tracked.size == 7
    assert trace.residual[-1] < trace.residual[0]


def test_a_long_course_is_thinned_evenly():
    recorder = Recorder(task_of(grid(4, 4)))
    for step in range(3_000):
        recorder.add(step, 1 / (step + 1), np.arange(24.0) + step)
    trace = recorder.finish()
    assert trace.iteration.size < 1_000
    assert set(np.diff(trace.iteration)) == {4}  # halved twice, from the first step to the last
    assert trace.iteration[[0, -1]].tolist() == [0, 2_996]
    np.testing.assert_array_equal(trace.log_odds, trace.iteration[:, None] + trace.tracked)
    assert trace.tracked[[0, -1]].tolist() == [0, 23]


def test_the_gradient_of_the_prior_is_that_of_one_observation():
    """A normal prior of mean 1 and sd 2, at w = 0.2: slope (1 - 0.2) / 4, shared by 10 observations."""
    model = grid(2, 2)
    slope = task_of(model, prior=Prior(model, "normal(1, 2)")).prior_gradient(np.full(4, 0.2))
    np.testing.assert_allclose(slope, 0.2 / 10)
    assert task_of(model).prior_gradient(np.zeros(4)) == 0.0


def test_the_table_has_every_scale():
    """One edge that agrees in 3 of 4 rows: theta 3/4, log-odds log 3, and half of that as an Ising coupling."""
    model = mb.graph([(0, 1)])
    found = estimate(model, mb.Statistics.from_counts(model, [30], 40), progress=False)
    expected = {"theta": 0.75, "log-odds": np.log(3), "ising": np.log(3) / 2}
    for scale, value in expected.items():
        assert found.summary(scale=scale)["estimate"].tolist() == pytest.approx([value])
    assert len(found.edges()) == 1
