"""Exch: averaged ratios from particles of the proposal, against enumerated ones in units of their standard error."""

import numpy as np
import pytest

from methods.ratio.ratio_cases import LIMIT, Case, check_noise, check_ratio, deviation


@pytest.mark.parametrize("options", [{}, {"source": "gibbs", "sweeps": 40}], ids=str)
def test_ratio_is_that_of_enumeration_and_its_noise_is_known(grid, options):
    check_ratio(grid, "exchange", **options)


@pytest.mark.parametrize("source", ["exact", "gibbs"])
@pytest.mark.parametrize("name", ["grid, fields", "grid, tied", "graph, both-one", "star", "hub", "Potts", "ordinal"])
def test_every_kind_of_field(name, source):
    case = Case(name)
    found = case.estimates("exchange", 100, source=source, sweeps=40)
    assert abs(deviation(found, case.exact)) < LIMIT


def test_wrong_ends_are_detected(grid):
    assert abs(deviation(grid.estimates("exchange"), -grid.exact)) > 10 * LIMIT


def test_too_few_sweeps_are_noticed():
    """Negative control: particles that still remember their random start bias the ratio."""
    strong = Case("grid", distance=0.0)
    strong.theta, strong.proposal = np.full(7, 0.9), np.full(7, 0.92)
    strong.exact = strong.likelihood_ratio()
    assert abs(deviation(strong.estimates("exchange", source="gibbs", sweeps=300), strong.exact)) < LIMIT
    assert abs(deviation(strong.estimates("exchange", source="gibbs", sweeps=2), strong.exact)) > LIMIT


def test_noise_falls_as_one_over_the_root_of_particles(grid):
    check_noise(grid, "exchange")
