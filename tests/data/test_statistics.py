"""Counts and patterns against sums written out row by row."""

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data.statistics_cases import MODELS, draw, unfold
from mrfbayes.base.errors import InputError, MRFWarning
from mrfbayes.data import tally as tally_module
from mrfbayes.data.border import counted
from mrfbayes.data.data import Data
from mrfbayes.data.patterns import column_bytes
from mrfbayes.data.statistics import Statistics
from mrfbayes.model.build import graph, grid
from mrfbayes.model.field import Model


def outcomes_by_definition(model, x, weight):
    """All outcome counts per block, factor by factor and row by row."""
    totals = [np.zeros(k) for k in model.chart.sides]
    for group in model.groups:
        for scope, block in zip(group.scope, group.block, strict=True):
            for row, amount in zip(x, weight, strict=True):
                cell = group.table[tuple(row[scope])]
                if group.is_score:
                    totals[block] += amount * np.array([cell, group.table.max() - cell])
                else:
                    totals[block][cell] += amount
    return totals


def patterns_by_definition(model, x, weight):
    offset, neighbour, _ = model.adjacency
    found = []
    for i in range(model.n_nodes):
        table = Counter()
        for row, amount in zip(x, weight, strict=True):
            if amount:
                table[tuple(row[neighbour[offset[i] : offset[i + 1]]].tolist())] += amount
        found.append(dict(table))
    return found


def check(model, x, weight=None):
    stats = Data(x, weights=weight).count(model)
    ones = np.ones(len(x)) if weight is None else weight
    expected = outcomes_by_definition(model, x, ones)
    np.testing.assert_allclose(stats.outcome_counts, np.concatenate([[], *expected]), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(stats.counts, np.concatenate([[], *(t[:-1] for t in expected)]), rtol=1e-12, atol=1e-12)
    assert stats.n == pytest.approx(ones.sum(), rel=1e-12)
    assert stats.n_rows == len(x)
    np.testing.assert_allclose(stats.mean * stats.n, stats.counts)
    for found, wanted in zip(unfold(model, stats.patterns), patterns_by_definition(model, x, ones), strict=True):
        assert found.keys() == wanted.keys()
        assert all(found[key] == pytest.approx(wanted[key], rel=1e-12) for key in wanted)
    return stats


@pytest.mark.filterwarnings("ignore:1 node has no edges")
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("n", [4, 64, 131])
def test_counts_and_patterns_are_those_of_the_definition(name, n):
    check(MODELS[name], draw(MODELS[name], n))


@pytest.mark.filterwarnings("ignore:1 node has no edges")
@pytest.mark.parametrize("name", MODELS)
def test_weights_count_rows_so_many_times(name):
    model = MODELS[name]
    x = draw(model, 70)
    whole = np.random.default_rng(1).integers(0, 4, size=70)
    whole[:4] = 1
    stats = check(model, x, whole.astype(float))
    repeated = Data(np.repeat(x, whole, axis=0)).count(model)
    np.testing.assert_array_equal(stats.counts, repeated.counts)
    assert stats.digest != repeated.digest
    check(model, x, np.random.default_rng(2).random(70))


@pytest.mark.filterwarnings("ignore::mrfbayes.base.errors.MRFWarning")
@settings(max_examples=60, deadline=None)
@given(
    n_nodes=st.integers(1, 7),
    states=st.sampled_from([2, 3]),
    coupling=st.sampled_from(["agreement", "score", "table"]),
    n=st.integers(1, 150),
    weighted=st.booleans(),
    seed=st.integers(0, 2**31),
)
def test_random_graphs(n_nodes, states, coupling, n, weighted, seed):
    random = np.random.default_rng(seed)
    edges = [pair for pair in combinations(range(n_nodes), 2) if random.random() < 0.6]
    model = graph(
        edges, nodes=range(n_nodes), states=states, coupling=coupling, fields=n_nodes == 1 or bool(random.integers(2))
    )
    x = random.integers(0, states, size=(n, n_nodes)).astype(np.uint8)
    check(model, x, random.random(n) + 0.01 if weighted else None)


def test_statistics_are_passed_through_for_the_same_model_only():
    stats = Data(draw(grid(2, 3), 20)).count(grid(2, 3))
    assert counted(stats.model, stats) is stats
    assert counted(grid(2, 3), stats) is stats
    with pytest.raises(InputError, match="another model, <Model: 2x3 grid"):
        counted(grid(3, 2), stats)
    with pytest.raises(InputError, match="source is a Statistics"):
        Data(stats, weights=np.ones(20))


def test_tables_that_edges_share_count_the_cells_of_every_edge():
    x = np.random.default_rng(3).integers(0, 3, (40, 3))
    data = Data(x, kinds="nominal")
    model = Model.from_data(data, tied=True)
    expected = outcomes_by_definition(model, x, np.ones(len(x)))
    np.testing.assert_array_equal(data.count(model).outcome_counts, np.concatenate(expected))


def test_counts_alone_serve_any_number_of_observations():
    model = graph([(0, 1), (1, 2)], states=3, fields=True)
    counts = np.arange(1, model.n_parameters + 1) * 1e7
    stats = Statistics.from_counts(model, counts, 10**9)
    assert (stats.n, stats.n_rows, stats.rows.shape) == (1e9, 0, (0, 3))
    np.testing.assert_array_equal(stats.outcome_counts[:2], [1e7, 1e9 - 1e7])
    np.testing.assert_array_equal(stats.outcome_counts[4:7], [3e7, 4e7, 1e9 - 7e7])
    np.testing.assert_allclose(stats.mean, counts / 1e9)
    assert counted(model, stats) is stats
    with pytest.raises(InputError, match=r"counts only.*neighbourhood patterns"):
        stats.patterns  # noqa: B018
    x = draw(model, 50)
    full = Data(x).count(model)
    again = Statistics.from_counts(model, full.counts, full.n)
    np.testing.assert_array_equal(again.outcome_counts, full.outcome_counts)


@pytest.mark.parametrize(
    ("counts", "n", "message"),
    [
        ([1, 2], 5, "counts has shape (2,): expected (7,)"),
        ([1] * 6 + [np.nan], 5, "counts[6] = nan (1,1--1,2): a count is a finite number >= 0"),
        ([-1] + [1] * 6, 5, "counts[0] = -1 (0,0--0,1)"),
        ([6] + [1] * 6, 5, "counts of 0,0--0,1 sum to 6, more than the 5 possible in n = 5 observations"),
        (["a"] * 7, 5, "counts: expected numbers, got list"),
        ([1] * 7, 0, "n = 0: give the number of observations"),
        ([1] * 7, np.inf, "n = inf"),
        ([1] * 7, "5", "n = '5'"),
        ([1] * 7, True, "n = True"),
    ],
)
def test_bad_counts_raise_input_error(counts, n, message):
    with pytest.raises(InputError) as caught:
        Statistics.from_counts(grid(2, 3), counts, n)
    assert message in str(caught.value)


def test_isolated_nodes_and_missing_edges_are_reported():
    with pytest.warns(MRFWarning, match="2 nodes have no edges: 'c', 'd'"):
        Data(draw(grid(2, 2), 9)).count(graph([("a", "b")], nodes=list("abcd")))
    with pytest.warns(MRFWarning, match="the field has no edges"):
        Data(draw(grid(2, 2), 9)).count(graph([], nodes=list("abcd"), fields=True))
    Data(draw(grid(1, 1), 9)).count(graph([], nodes=list("a"), fields=True))  # a single coin is what it is


def test_mixed_counting_of_nodes_gets_a_hint():
    model = graph([(0, 1), (2, 3)])
    with pytest.raises(InputError, match=r"3 columns, the model has 4 nodes.*counted from 0 and some from 1"):
        Data(np.zeros((5, 3))).count(model)


def test_arrays_are_read_only_and_the_hash_is_of_the_data():
    model = MODELS["paper"]
    x = draw(model, 100)
    stats = Data(x).count(model)
    for array in (stats.counts, stats.rows, stats.node_part, stats.edge_part, *stats.patterns):
        assert not array.flags.writeable
    assert stats.digest == Data(x.astype(float)).count(model).digest
    assert stats.digest != Data(x[::-1]).count(model).digest
    assert stats.digest != Data(x, weights=np.full(100, 2.0)).count(model).digest
    x[5, 3] ^= 1
    assert stats.digest != Data(x).count(model).digest


@pytest.mark.parametrize("name", ["wide grid", "tables", "complete"])
@pytest.mark.parametrize("weighted", [False, True])
def test_chunks_change_nothing_but_the_hash(name, weighted, monkeypatch):
    model = MODELS[name]
    x = draw(model, 1000)
    weight = np.random.default_rng(6).integers(0, 3, size=1000) / 4 if weighted else None
    whole = Data(x, weights=weight).count(model)
    monkeypatch.setattr(tally_module, "CHUNK_ROWS", 128)
    parts = Data(x, weights=weight).count(model)
    np.testing.assert_array_equal(parts.counts, whole.counts)
    np.testing.assert_array_equal(parts.rows, whole.rows)
    for one, other in zip(parts.patterns, whole.patterns, strict=True):
        np.testing.assert_array_equal(one, other)
    states = np.concatenate([column_bytes(chunk, np.arange(model.n_nodes)) for chunk in parts.chunks], axis=1).T
    np.testing.assert_array_equal(states, x)
    if model.is_binary:
        bits = np.unpackbits(parts.planes.view(np.uint8), axis=1, bitorder="little")
        np.testing.assert_array_equal(bits[:, :1000].T, x)
        assert not bits[:, 1000:].any()
    else:
        assert parts.planes is None
    # Without room for the rows, patterns are counted as the rows pass by.
    monkeypatch.setattr(tally_module, "RETAINED_BYTES", 1000)
    passing = Data(x, weights=weight).count(model)
    assert passing.chunks is None
    for one, other in zip(passing.patterns, whole.patterns, strict=True):
        np.testing.assert_array_equal(one, other)


def test_all_rows_of_small_data_are_kept():
    model = grid(2, 2)
    x = draw(model, 500)
    np.testing.assert_array_equal(Data(x).count(model).rows, x)


def test_data_are_not_aliased():
    model = MODELS["tables"]
    for order in "CF":
        x = np.array(draw(model, 50), order=order)
        stats = Data(x).count(model)
        before = unfold(model, stats.patterns), stats.rows.copy()
        stats = Data(x).count(model)
        x[:] = 0
        assert unfold(model, stats.patterns) == before[0]
        np.testing.assert_array_equal(stats.rows, before[1])
