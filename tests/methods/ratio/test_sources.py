"""Where particles come from: their number, their arrays, exact draws where feasible, and what is refused."""

import numpy as np
import pytest

import mrfbayes as mb
from methods.ratio.ratio_cases import refused
from mrfbayes.base.errors import CostError, InputError
from mrfbayes.data.statistics import Statistics
from mrfbayes.methods.problem import Problem
from mrfbayes.methods.ratio.sources import AUTO_WIDTH, auxiliary_data, make_particles
from mrfbayes.methods.registry import method_row
from mrfbayes.priors import Prior


def problem_of(model, counts, n):
    return Problem(model, Statistics.from_counts(model, counts, n), Prior(model), np.random.SeedSequence(0))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"particles": 1}, "particles = 1: give a whole number, at least 2"),
        ({"sweeps": 0}, "sweeps = 0"),
        ({"source": "cftp"}, "source = 'cftp': choose one of 'auto', 'exact', 'gibbs'"),
    ],
)
def test_options_that_cannot_be_are_refused(options, words):
    assert words in str(refused("exchange", **options))


def test_data_that_no_auxiliary_set_can_have_the_size_of_are_refused():
    model = mb.grid(2, 2)
    weighted = refused("exchange-exact", model, Statistics.from_counts(model, [3.0, 4.0, 5.0, 6.0], 10.5))
    assert isinstance(weighted, InputError)
    assert "n = 10.5" in str(weighted)
    huge = refused("exchange-exact", model, Statistics.from_counts(model, [3e9, 4e9, 5e9, 6e9], 10**10))
    assert isinstance(huge, CostError)
    assert "method='exact'" in str(huge)


def test_wide_fields_fall_back_on_sweeps_or_are_refused():
    model = mb.grid(40, 40)
    found = method_row("exchange").prepare(problem_of(model, np.full(model.n_parameters, 6.0), 10))
    assert found.details == {"particles": 1000, "source": "gibbs", "sweeps": 1000}
    assert "source='gibbs'" in str(refused("exchange", model, source="exact"))


def test_grids_are_drawn_exactly_up_to_a_width_unless_sweeps_are_asked_for():
    for width, is_exact in ((AUTO_WIDTH, True), (AUTO_WIDTH + 1, False)):
        assert (make_particles(mb.grid(width, width), 64).sweeps is None) == is_exact
    assert make_particles(mb.grid(2, 2), 64, "gibbs", 7).details == {"particles": 64, "source": "gibbs", "sweeps": 7}


@pytest.mark.parametrize(("n", "words"), [(64, 1), (65, 2)])
def test_an_auxiliary_data_set_has_a_particle_per_observation(n, words):
    """Bits of words for binary fields, a column each for others."""
    binary = auxiliary_data(problem_of(mb.grid(2, 2), np.full(4, 6.0), n), "moller")
    assert (binary.n, binary.array.shape, binary.n_weights) == (n, (4, words), 64 * words)
    model = mb.graph([(0, 1)], states=3)
    columns = auxiliary_data(problem_of(model, np.full(model.n_parameters, 6.0), n), "moller")
    assert (columns.n, columns.array.shape, columns.n_weights) == (n, (2, n), n)
