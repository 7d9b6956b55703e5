"""Patterns of neighbours: enough for the pseudolikelihood, and in tables of limited size."""

from itertools import product

import numpy as np
import pytest

from data.statistics_cases import MODELS, draw, unfold
from mrfbayes.base.errors import CostError, InputError
from mrfbayes.data import patterns as patterns_module
from mrfbayes.data import tally as tally_module
from mrfbayes.data.data import Data


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
