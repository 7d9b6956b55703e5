"""Counts and patterns against sums written out row by row."""

from collections import Counter
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mrfbayes.base.errors import CostError, InputError, MRFWarning
from mrfbayes.data import patterns as patterns_module
from mrfbayes.data import tally as tally_module
from mrfbayes.data.border import counted
from mrfbayes.data.data import Data
from mrfbayes.data.patterns import column_bytes
from mrfbayes.data.statistics import Statistics
from mrfbayes.model.build import graph, grid
from mrfbayes.model.factors import Factor
from mrfbayes.model.field import Model

MODELS = {
    "paper": grid(2, 3),
    "wide grid": grid(3, 50, fields=True),
    "tied by direction": grid(2, 2, tied="direction", fields=True),
    "both-one": graph([("a", "b"), ("c", "b")], coupling="both-one", fields=True),
    "ordinal": graph([(0, 1), (2, 1)], states=[2, 3, 4], coupling="score", fields=True),
    "tied ordinal": graph([(0, 1), (2, 1)], states=[2, 3, 4], coupling="score", tied=True),
    "tables": graph([(0, 1), (1, 2)], states=3, coupling="table"),
    "binary tables": graph([(0, 1), (1, 2)], coupling="table", fields=True),
    "tied Potts": grid(2, 2, states=3, tied=True),
    "complete": graph(list(combinations(range(9), 2)), coupling="both-one", fields=True),
    "complete, three states": graph(list(combinations(range(5), 2)), states=3),
    "star": graph([(0, k) for k in range(1, 70)]),
    "star, four states": graph([(0, k) for k in range(1, 40)], states=4),
    "isolated": graph([("a", "b")], nodes=["a", "b", "c"], fields=True),
    "several factors a pair, both directions": Model(
        {"a": 2, "b": 3},
        [
            Factor(("b", "a"), outcomes=[[0, 1], [1, 2], [2, 2]]),
            Factor(("a", "b"), scores=[[0, 1, 2], [1, 1, 0]]),
            Factor("a", outcomes=[1, 0]),
        ],
    ),
}


def draw(model, n, seed=0):
    x = np.random.default_rng(seed).integers(0, model.states, size=(n, model.n_nodes))
    x[: model.states.max()] = np.minimum(np.arange(model.states.max())[:, None], model.states - 1)  # every state occurs
    return x.astype(np.uint8)


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


def unfold(model, table):
    degree = np.diff(model.adjacency.offset)
    found = []
    for i in range(model.n_nodes):
        weight = table.weight[table.node_offset[i] : table.node_offset[i + 1]]
        states = table.states[table.states_offset[i] : table.states_offset[i + 1]].reshape(weight.size, degree[i])
        node = {tuple(s.tolist()): w for s, w in zip(states, weight, strict=True)}
        assert len(node) == weight.size  # each pattern once
        found.append(node)
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


# --- patterns are enough for the pseudolikelihood


def log_conditional(model, w, row, node):
    """log p(x_i | rest) by the definition: the field's log weight with x_i varied."""
    last = model.chart.log_last_weight(w)

    def log_weight(x):
        total = 0.0
        for group in model.groups:
            for scope, block in zip(group.scope, group.block, strict=True):
                cell = group.table[tuple(x[scope])]
                at = model.chart.offset[block]
                if group.is_score:
                    total += cell * w[at] + group.table.max() * last[block]
                else:
                    total += last[block] + (w[at + cell] if cell < group.sides - 1 else 0.0)
        return total

    varied = [np.r_[row[:node], s, row[node + 1 :]] for s in range(model.states[node])]
    weights = np.array([log_weight(x) for x in varied])
    return weights[row[node]] - np.logaddexp.reduce(weights)


def log_pseudolikelihood_from_patterns(stats, w):
    """Linear part from the sums (an edge speaks to both ends), normalisers from the patterns."""
    model = stats.model
    node_part, edge_part = model.lowering.potentials(w)
    total = node_part @ stats.node_part + 2 * edge_part @ stats.edge_part
    offset, _, edge = model.adjacency
    table = stats.patterns
    for i in range(model.n_nodes):
        degree = offset[i + 1] - offset[i]
        for k in range(table.node_offset[i], table.node_offset[i + 1]):
            at = table.states_offset[i] + (k - table.node_offset[i]) * degree
            energy = np.zeros(model.states[i])
            for s in range(model.states[i]):
                low = model.lowering.node_offset[i]
                energy[s] = node_part[i] * s if model.is_binary else node_part[low + s]
                for b in range(degree):
                    e, other = edge[offset[i] + b], table.states[at + b]
                    if model.is_binary:
                        energy[s] += edge_part[e] * (s == other)
                        continue
                    u, v = (s, other) if model.edges[e, 0] == i else (other, s)
                    energy[s] += edge_part[model.lowering.edge_offset[e] + u * model.states[model.edges[e, 1]] + v]
            total -= table.weight[k] * np.logaddexp.reduce(energy)
    return total


@pytest.mark.parametrize(
    "name", ["paper", "both-one", "ordinal", "tables", "tied Potts", "binary tables", "tied by direction"]
)
def test_patterns_give_the_pseudolikelihood(name):
    model = MODELS[name]
    x = draw(model, 40)
    weight = np.random.default_rng(3).random(40)
    w = np.random.default_rng(4).normal(size=model.n_parameters)
    expected = sum(
        weight[k] * log_conditional(model, w, x[k].astype(int), i) for k, i in product(range(40), range(model.n_nodes))
    )
    assert log_pseudolikelihood_from_patterns(Data(x, weights=weight).count(model), w) == pytest.approx(
        expected, rel=1e-11
    )


# --- the object


def test_statistics_are_passed_through_for_the_same_model_only():
    stats = Data(draw(grid(2, 3), 20)).count(grid(2, 3))
    assert counted(stats.model, stats) is stats
    assert counted(grid(2, 3), stats) is stats
    with pytest.raises(InputError, match="another model, <Model: 2x3 grid"):
        counted(grid(3, 2), stats)
    with pytest.raises(InputError, match="source is a Statistics"):
        Data(stats, weights=np.ones(20))


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


def test_patterns_without_rows_raise_input_error(monkeypatch):
    model = MODELS["star"]
    monkeypatch.setattr(tally_module, "RETAINED_BYTES", 1000)
    stats = Data(draw(model, 300)).count(model)
    with pytest.raises(InputError, match=r"no rows .*neighbourhood patterns"):
        stats.patterns  # noqa: B018
    monkeypatch.setattr(tally_module, "RETAINED_BYTES", 1 << 20)
    monkeypatch.setattr(patterns_module, "MAX_PATTERN_BYTES", 1000)
    with pytest.raises(CostError, match="distinct neighbourhood patterns of 70 nodes"):
        Data(draw(model, 300)).count(model).patterns  # noqa: B018


def test_lookup_tables_stay_below_their_size_limit(monkeypatch):
    model = MODELS["complete"]
    x = draw(model, 90)
    whole = Data(x).count(model).patterns
    monkeypatch.setattr(patterns_module, "DENSE_TOTAL", 3 * 2**8)
    parts = patterns_module.patterns_of(model, Data(x).count(model).chunks)
    assert [part.used.size for part in parts] == [3, 3, 3]
    assert unfold(model, Data(x).count(model).patterns) == unfold(model, whole)
    monkeypatch.setattr(patterns_module, "DENSE_NODE", 2**7)  # now every node is grouped instead
    assert patterns_module.DenseCells.of_all(model) is None
    assert unfold(model, Data(x).count(model).patterns) == unfold(model, whole)


def test_kept_rows_are_a_fair_sample_in_proportion_to_weight(monkeypatch):
    """Row k spells k; the first half weighs three times the second, and a thousand rows weigh nothing."""
    monkeypatch.setattr(tally_module, "KEPT_ROWS", 400)
    monkeypatch.setattr(tally_module, "CHUNK_ROWS", 640)
    model = grid(1, 13)
    x = (np.arange(8000)[:, None] >> np.arange(13)) & 1
    weight = np.where(np.arange(8000) < 4000, 3.0, 1.0)
    weight[1000:2000] = 0.0
    shares = []
    for seed in range(20):
        monkeypatch.setattr(tally_module, "_ROW_SEED", seed)
        index = Data(x, weights=weight).count(model).rows.astype(int) @ (1 << np.arange(13))
        assert index.size == 400
        assert (np.diff(index) > 0).all()  # distinct, in the order of the data
        assert not ((index >= 1000) & (index < 2000)).any()
        shares.append((index < 4000).mean())
    np.testing.assert_array_equal(index, Data(x, weights=weight).count(model).rows.astype(int) @ (1 << np.arange(13)))
    # Kept up to the time t at which 3000 (1 - exp(-3t)) + 4000 (1 - exp(-t)) = 400: 274.2 of the first half.
    error = np.sqrt(0.68 * 0.32 / 400 / 20)
    assert abs(np.mean(shares) - 0.6855) < 4.9 * error
    assert abs(np.mean(shares) - 3 / 7) > 20 * error  # the negative control: what blindness to the weights would give


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
