"""The statistics of configurations, and particles brought to a w, against enumeration."""

import numpy as np
import pytest

from estimation.fields import FIELDS, Enumerated, weak
from mrfbayes.base.random_streams import seed_sequence
from mrfbayes.particles import moments


@pytest.fixture(scope="module", params=FIELDS)
def field(request):
    return Enumerated.of(FIELDS[request.param])


def test_row_statistics_follow_the_definition(field):
    np.testing.assert_array_equal(moments.row_statistics(field.model, field.points), field.statistics)


def test_particles_are_brought_to_the_w_that_is_asked_for():
    field = Enumerated.of(FIELDS["2x3 grid"])
    w = weak(field.model, 2)
    chains = moments.particles_at(field.model, w, 1 << 14, 60, seed_sequence(3))
    table = moments.row_statistics(field.model, chains.rows())
    error = table.std(axis=0) / np.sqrt(len(table))
    assert np.abs((table.mean(axis=0) - field.moments(w)[0]) / error).max() < 5.5
    assert np.abs((table.mean(axis=0) - field.moments(w + 0.3)[0]) / error).max() > 10  # small enough to tell
