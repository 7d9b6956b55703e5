"""Samples that move with the parameters: their statistics, and the means of the field that they come to."""

import numpy as np
import pytest

import mrfbayes as mb
from mrfbayes.base.random_streams import seed_sequence
from mrfbayes.particles.moments import row_statistics
from mrfbayes.structure.moving_samples import ColumnSamples, LaneSamples, sample_source
from structure.graph_cases import complete

FIELDS = {
    "both-one": complete(5, fields=True, coupling="both-one"),
    "agreement, no fields": complete(5, coupling="agreement"),
    "score": complete(4, states=(3, 2, 3, 4), fields=True, coupling="score"),
    "agreement of three": complete(4, states=3, fields=True, coupling="agreement"),
    "agreement of mixed": complete(3, states=(2, 3, 2), fields=True, coupling="agreement"),
}


@pytest.mark.parametrize("name", FIELDS)
def test_samples_have_the_statistics_of_their_rows_and_the_means_of_the_field(name):
    model = FIELDS[name]
    rng = np.random.default_rng(1)
    w = rng.normal(0.1, 0.5, model.n_parameters)
    data = mb.Data(rng.integers(model.states, size=(50, model.n_nodes))).count(model)
    source = sample_source(model, (data,))
    assert (source.layout is None) == (name == "agreement of mixed")
    n = source.round_up(5_000)
    samples, stream = source.open(0, n), source.stream(seed_sequence(3))
    assert isinstance(samples, ColumnSamples if source.layout is None else LaneSamples)
    rows = rng.integers(model.states, size=(n, model.n_nodes)).astype(np.uint8)
    values = row_statistics(model, rows)
    np.testing.assert_allclose(samples.statistics(rows[:99]), values[:99], atol=1e-5)
    np.testing.assert_allclose(samples.mean(rows), values.mean(axis=0), atol=1e-6)
    samples.move(w, rows, stream, 30)
    expected = mb.expected_counts(model, model.chart.theta(w))
    variance = np.diag(mb.fisher_information(model, model.chart.theta(w)))
    z = (samples.mean(rows) - expected) / np.sqrt(variance / n)
    assert np.abs(z).max() < 5
    near = (samples.average(w, rows, stream, 50) - expected) / np.sqrt(variance / n)
    assert np.abs(near).max() < 2  # fifty sweeps, correlated
    assert np.abs((values.mean(axis=0) - expected) / np.sqrt(variance / n)).max() > 5  # where they started
