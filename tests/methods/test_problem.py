"""What a method is given and gives back: arrays of one kind, and an estimate that is made once, when asked for."""

import numpy as np
import pytest

import mrfbayes as mb
from mrfbayes.methods.problem import Problem, writable
from mrfbayes.priors import Prior

EDGE = mb.graph([(0, 1)])


def problem_of(estimate=None):
    """One edge that agrees in 30 of 40 rows."""
    statistics = mb.Statistics.from_counts(EDGE, [30], 40)
    return Problem(EDGE, statistics, Prior(EDGE), np.random.SeedSequence(1), estimate, progress=False)


def test_arrays_are_copied_to_the_one_kind_that_kernels_know():
    given = np.arange(6, dtype=np.int32).reshape(2, 3).T
    given.flags.writeable = False
    found = writable(given)
    np.testing.assert_array_equal(found, [[0, 3], [1, 4], [2, 5]])
    assert (found.dtype, found.flags.c_contiguous, found.flags.writeable) == (np.float64, True, True)
    found = np.zeros(2)
    writable(found)[:] = 1.0
    assert not found.any()  # a copy even of an array of the right kind


def test_the_estimate_is_made_when_it_is_asked_for():
    problem = problem_of()
    assert not problem.has_estimate
    np.testing.assert_allclose(problem.estimate.theta, [0.75], rtol=1e-6)
    assert problem.has_estimate
    assert problem.estimate is problem.estimate


def test_an_estimate_that_is_given_is_taken_as_it_is():
    problem = problem_of(np.array([0.2]))
    assert problem.has_estimate
    np.testing.assert_allclose(problem.estimate.log_odds, [np.log(0.25)])


@pytest.mark.filterwarnings("ignore::mrfbayes.MRFWarning")
def test_a_field_without_parameters_is_refused():
    model = mb.graph([], nodes=["a", "b"])
    statistics = mb.Data(np.array([[0, 1], [1, 1]])).count(model)
    with pytest.raises(mb.InputError, match=r"2 nodes, no edges.*fields=True"):
        Problem(model, statistics, Prior(model), np.random.SeedSequence(1))
