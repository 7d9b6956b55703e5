"""What rows with holes are expected to have in full: clamped chains and exact sums against all completions."""

import itertools

import numpy as np
import pytest

import mrfbayes as mb
import oracles_missing as brute
from mrfbayes.base.random_streams import seed_sequence
from mrfbayes.exact.clamped import observed
from mrfbayes.model.natural_form import dense_layout
from mrfbayes.particles import completions
from mrfbayes.particles.completions import Completions, SampledCompletions, make_completions, typical_rows

PAIRS = list(itertools.combinations(range(4), 2))
FIELDS = {
    "both-one": (mb.graph(PAIRS, coupling="both-one", fields=True), [2] * 4),
    "score": (mb.graph(PAIRS, states=3, coupling="score", fields=True), [3] * 4),
    "agreement": (mb.graph(PAIRS, states=3, fields=True), [3] * 4),
}


@pytest.fixture(params=FIELDS)
def field(request):
    model, states = FIELDS[request.param]
    rng = np.random.default_rng(3)
    everything = brute.configurations(states)
    rows = brute.hide(everything[rng.integers(len(everything), size=30)], 0.4, rng)
    s = brute.statistics(everything, PAIRS, request.param, states)
    counted = mb.Data(np.where(rows == brute.HOLE, np.nan, rows)).count(model)
    w = rng.normal(0, 0.5, s.shape[1])
    mean, covariance = np.zeros(w.size), np.zeros((w.size, w.size))
    for row in rows:
        kept = brute.completions(row, everything)
        p = np.exp(s[kept] @ w)
        p /= p.sum()
        mean += p @ s[kept]
        covariance += (s[kept] * p[:, None]).T @ s[kept] - np.outer(p @ s[kept], p @ s[kept])
    return model, counted, w, mean, covariance


def test_both_kinds_give_what_all_completions_do(field):
    model, counted, w, mean, covariance = field
    summed = Completions(observed(counted))
    assert summed.at(w, 1) == pytest.approx(mean, abs=1e-10)
    assert summed.covariance(w) == pytest.approx(covariance, abs=1e-10)
    chains = SampledCompletions(dense_layout(model), counted, 8, seed_sequence(4))
    chains.at(w, 30)
    found = np.concatenate([chains.at(w, 50) for _ in range(4)])
    error = found.std(axis=0, ddof=1) / np.sqrt(len(found))
    known = error < 1e-12  # nothing of it is missing
    assert found.mean(axis=0)[known] == pytest.approx(mean[known], abs=1e-9)
    assert np.abs((found.mean(axis=0) - mean)[~known] / error[~known]).max() < 6.5  # level 1e-6, 63 degrees of freedom
    sampled = np.mean([chains.covariance(w) for _ in range(10)], axis=0)
    scale = np.sqrt(np.diag(covariance)) + 1e-9
    assert np.abs((sampled - covariance) / np.outer(scale, scale)).max() < 0.25
    # Negative control: at other parameters the expectation is another one.
    other = chains.at(w + 0.5, 50)
    assert np.abs((other.mean(axis=0) - mean)[~known] / error[~known]).max() > 6.5


def test_chains_go_on_from_where_they_were(field):
    model, counted, w, *_ = field
    first, second = (SampledCompletions(dense_layout(model), counted, 2, seed_sequence(s)) for s in (4, 5))
    first.at(w, 3)
    second.restore({name: array.copy() for name, array in first.arrays().items()})
    assert np.array_equal(first.at(w, 2), second.at(w, 2))


def test_the_kind_follows_from_how_many_completions_there_are(field, monkeypatch):
    model, counted, *_ = field
    assert type(make_completions(dense_layout(model), counted, 2, seed_sequence(1))) is Completions
    monkeypatch.setattr(completions, "SUMMED", 10)
    assert isinstance(make_completions(dense_layout(model), counted, 2, seed_sequence(1)), SampledCompletions)


def test_rows_to_start_from_are_whole_and_keep_what_is_seen(field):
    _, counted, *_ = field
    rows = typical_rows(counted, np.random.default_rng(1))
    assert (rows < 255).all()
    filled = completions.fill(counted, np.random.default_rng(1))
    assert np.array_equal(filled[counted.incomplete.seen], counted.incomplete.rows[counted.incomplete.seen])
