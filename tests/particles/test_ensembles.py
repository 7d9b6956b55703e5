"""Particles behind one interface: bits and columns hold the same rows, start at the data, have the field's means."""

import numpy as np
import pytest

import mrfbayes as mb
import small_fields
from mrfbayes.base.random_streams import kernel_state
from mrfbayes.particles.ensembles import BitChains, ColumnChains, make_chains

KINDS = {"grid, fields": BitChains, "graph, both-one": BitChains, "hub": ColumnChains, "Potts": ColumnChains}


def field(name):
    """One of the small fields, or a node with too many neighbours for bits."""
    edges = [(0, k) for k in range(1, 8)]
    return mb.graph(edges, fields=True) if name == "hub" else small_fields.FIELDS[name]()


def chains_of(model, n, seed=1):
    return make_chains(model, n, kernel_state(np.random.SeedSequence(seed)))


@pytest.mark.parametrize("name", KINDS)
def test_rows_come_back_as_they_were_loaded(name):
    """Past the 64 particles of a word, in order and by index."""
    model = field(name)
    rows = small_fields.draw(model, small_fields.random_theta(model, 1), 70, 2).astype(np.uint8)
    chains = chains_of(model, 70)
    assert type(chains) is KINDS[name]
    chains.load(rows)
    np.testing.assert_array_equal(chains.rows(), rows)
    np.testing.assert_array_equal(chains.rows(66), rows[:66])
    index = np.random.default_rng(3).integers(0, 70, 70)
    chains.load(rows, index)
    np.testing.assert_array_equal(chains.rows(), rows[index])


@pytest.mark.parametrize("name", KINDS)
def test_means_are_enumerated_ones(name):
    model = field(name)
    theta = small_fields.random_theta(model, 1)
    mean, covariance = small_fields.moments(model, theta)
    chains, w = chains_of(model, 4_096), model.chart.log_odds(theta)
    chains.start_at_random(np.random.default_rng(4))
    chains.sweep(w, 40)
    found = chains.advance(w, 5)
    error = 5.5 * np.sqrt(np.diag(covariance) / 4_096)  # of one sweep without conditional expectations: an upper bound
    assert (np.abs(found - mean) < error).all()
    assert (np.abs(found - mean[::-1]) > error).any()


@pytest.mark.filterwarnings("ignore::mrfbayes.MRFWarning")
@pytest.mark.parametrize("name", ["grid, fields", "Potts"])
def test_particles_start_at_the_data_in_proportion(name):
    """Twenty-five particles on ten rows: every row twice or three times; weighted rows by their weights."""
    model = field(name)
    rows = small_fields.states(model)[:10].astype(np.uint8)
    chains = chains_of(model, 25)
    chains.start_at_data(mb.Data(rows).count(model), np.random.default_rng(1))
    seen = (chains.rows()[:, None] == rows).all(axis=2).sum(axis=0)
    assert sorted(seen) == [2] * 5 + [3] * 5
    chains.start_at_data(mb.Data(rows[:2], weights=[4, 1]).count(model), np.random.default_rng(1))
    assert (chains.rows()[:, None] == rows[:2]).all(axis=2).sum(axis=0).tolist() == [20, 5]


def test_forked_chains_have_particles_of_their_own():
    model = field("grid, fields")
    chains = chains_of(model, 64)
    other = chains.fork(128, kernel_state(np.random.SeedSequence(2)))
    other.start_at_random(np.random.default_rng(1))
    assert other.rows().shape == (128, 6)
    assert not chains.rows().any()
