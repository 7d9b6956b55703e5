"""Fields from graphs, grids and data: the coupling that fits each pair of kinds, names, and what is refused."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import networkx as nx
import numpy as np
import pandas as pd
import pytest

import mrfbayes as mb
from mrfbayes.base import checks
from mrfbayes.data.statistics import count_states
from mrfbayes.model.build import complete
from mrfbayes.model.schema import Schema, Variable

SMOKES = Variable("smokes", "binary", ("no", "yes"))
MOOD = Variable("mood", "ordinal", (0.0, 1.0, 2.0, 3.0))
SLEEP = Variable("sleep", "ordinal", ("bad", "fair", "good"))
TOWN = Variable("town", "nominal", ("Bern", "Lima", "Oslo"))
ILL = Variable("ill", "binary", (0.0, 1.0))
MIXED = Schema((SMOKES, MOOD, TOWN, SLEEP, ILL))


def log_weights(model, w):
    """Log weight of every configuration, and the configurations; tables are double-centred."""
    x = np.array(list(itertools.product(*(range(r) for r in model.states))))
    total = np.zeros(len(x))
    for group in model.groups:
        for scope, block in zip(group.scope, group.block, strict=True):
            own = w[model.chart.offset[block] : model.chart.offset[block + 1]]
            table = own[0] * group.table if group.is_score else np.append(own, 0.0)[group.table]
            if table.size > 4 and table.ndim == 2 and not group.is_score:
                table = table - table.mean(axis=0) - table.mean(axis=1, keepdims=True) + table.mean()
            total += table[tuple(x[:, scope].T)]
    return x, total


def test_coupling_follows_the_kinds_of_each_pair():
    model = mb.Model.from_data(MIXED)
    sizes = {name: int(model.chart.sides[k]) - 1 for k, name in enumerate(model.blocks)}
    assert sizes["smokes--mood"] == sizes["mood--sleep"] == sizes["smokes--ill"] == 1
    assert (sizes["mood--town"], sizes["smokes--town"], sizes["town--sleep"]) == (6, 2, 4)
    assert [sizes[name] for name in MIXED.names] == [1, 3, 2, 2, 1]
    is_score = {model.blocks[b]: g.is_score for g in model.groups for b in g.block}
    assert is_score["mood--sleep"]
    assert is_score["smokes--mood"]
    assert not is_score["smokes--ill"]
    assert not is_score["mood--town"]
    assert model.nodes == MIXED.names
    assert model.n_edges == 10


def centred(u, v, value):
    """The double-centred table of two variables, from their log-odds against the reference categories."""
    table = np.zeros((u.n_states, v.n_states))
    for a, b in itertools.product(range(1, u.n_states), range(1, v.n_states)):
        table[a, b] = value[f"{u.name}--{v.name}[{u.labels[a]},{v.labels[b]}]"]
    return table - table.mean(axis=0) - table.mean(axis=1, keepdims=True) + table.mean()


def test_log_weights_are_products_of_scores_and_centred_tables():
    model = mb.Model.from_data(MIXED)
    w = np.random.default_rng(1).normal(size=model.n_parameters)
    x, total = log_weights(model, w)
    value = dict(zip(model.parameters, w, strict=True))
    expected = np.zeros(len(x))
    for k, row in enumerate(x):
        for i, u in enumerate(MIXED):
            if row[i]:
                name = u.name if u.n_states == 2 else f"{u.name}[{u.labels[row[i]]}]"
                expected[k] += value[name]
            for j in range(i + 1, len(MIXED)):
                v = MIXED.variables[j]
                if "nominal" not in (u.kind, v.kind):
                    expected[k] += row[i] * row[j] * value[f"{u.name}--{v.name}"]
                else:
                    expected[k] += centred(u, v, value)[row[i], row[j]]
    np.testing.assert_allclose(total, expected, rtol=0, atol=1e-12)
    chart = model.chart
    log_z = mb.log_partition(model, chart.theta(w)) - chart.tosses @ chart.log_last_weight(w)  # weights over the last
    assert log_z == pytest.approx(np.logaddexp.reduce(total), abs=1e-9)


def test_table_of_two_binary_variables_is_the_both_one_coin():
    table = mb.complete(["a", "b"], coupling="table", fields=True)
    both = mb.complete(["a", "b"], coupling="both-one", fields=True)
    assert table.fingerprint == both.fingerprint
    assert mb.Model.from_data(Schema((SMOKES, ILL))).fingerprint == both.fingerprint


def test_data_is_anything_with_a_schema():
    model = mb.Model.from_data(SimpleNamespace(schema=MIXED))
    assert model.schema is MIXED
    assert mb.complete(["a", "b"]).schema is None
    with pytest.raises(mb.InputError, match="data: a DataFrame"):
        mb.Model.from_data(pd.DataFrame({"a": [0, 1]}))


def test_repr_counts_kinds():
    model = mb.Model.from_data(MIXED)
    assert "2 binary, 2 ordinal, 1 nominal" in repr(model)
    assert "2 binary, 2 ordinal, 1 nominal" in model._repr_html_()


NAMES = list(MIXED.names)
PAIRS = [("smokes", "town"), ("sleep", "ill")]
MATRIX = np.zeros((5, 5), dtype=int)
for _u, _v in PAIRS:
    MATRIX[NAMES.index(_u), NAMES.index(_v)] = MATRIX[NAMES.index(_v), NAMES.index(_u)] = 1


@pytest.mark.parametrize("form", ["pairs", "networkx", "matrix", "sparse", "table", "reordered table", "file"])
def test_graph_in_every_form(form, tmp_path):
    from scipy.sparse import csr_array

    (tmp_path / "edges.csv").write_text("smokes,town\nsleep,ill\n")
    frame = pd.DataFrame(MATRIX, index=NAMES, columns=NAMES)
    graph = {
        "pairs": PAIRS,
        "networkx": nx.Graph(PAIRS),
        "matrix": MATRIX,
        "sparse": csr_array(MATRIX),
        "table": frame,
        "reordered table": frame.loc[NAMES[::-1], NAMES[2:] + NAMES[:2]],
        "file": tmp_path / "edges.csv",
    }[form]
    model = mb.Model.from_data(MIXED, graph)
    found = {frozenset((NAMES[u], NAMES[v])) for u, v in model.edges.tolist()}
    assert found == {frozenset(pair) for pair in PAIRS}
    assert model.nodes == MIXED.names


@pytest.mark.parametrize(
    ("graph", "match"),
    [
        ([("smokes", "drinks")], "'drinks'"),
        (nx.Graph([("smokes", "drinks")]), "'drinks'"),
        (np.zeros((4, 4)), r"graph.*\(4, 4\)"),
        (np.triu(np.ones((5, 5)), 1), "graph.*symmetric"),
    ],
)
def test_wrong_graph_is_refused(graph, match):
    with pytest.raises(mb.InputError, match=match):
        mb.Model.from_data(MIXED, graph)


@pytest.mark.parametrize(
    ("schema", "options", "match"),
    [
        (MIXED, {"coupling": "score"}, "coupling = 'score'.*'town'"),
        (MIXED, {"coupling": "agreement"}, "coupling = 'agreement'.*'smokes'.*'mood'"),
        (MIXED, {"coupling": "best"}, "coupling = 'best'"),
        (MIXED, {"coupling": "both-one"}, "coupling = 'both-one'"),
        (MIXED, {"tied": True}, "tied = True"),
        (MIXED, {"tied": "direction"}, "tied = 'direction'"),
        (MIXED, {"fields": 1}, "fields = 1"),
        (Schema((ILL, Variable("one", "nominal", ("yes",)))), {}, "'one' has 1 label"),
        (Schema(()), {}, "no variables"),
    ],
)
def test_what_does_not_fit_is_refused(schema, options, match):
    with pytest.raises(mb.InputError, match=match):
        mb.Model.from_data(schema, **options)


def test_agreement_only_where_asked_for():
    other = Variable("birth", "nominal", TOWN.values)
    model = mb.Model.from_data(Schema((TOWN, other)), coupling="agreement")
    assert model.blocks[0] == "town--birth"
    assert model.chart.sides[0] == 2


def test_labels_that_give_one_name_twice_are_replaced_by_states():
    odd = Variable("u", "nominal", ("0", "a", "a,b"))
    even = Variable("v", "nominal", ("0", "b,c", "c"))
    model = mb.Model.from_data(Schema((odd, even)))
    assert "u--v[1,2]" in model.parameters
    assert len(set(model.parameters)) == model.n_parameters


def test_schema_survives_saving(tmp_path):
    model = mb.Model.from_data(MIXED)
    x = mb.simulate(model, model.no_interaction, 50, rng=1)
    with pytest.warns(mb.MRFWarning, match="run longer"):
        posterior = mb.sample(model, count_states(model, x), "exact", draws=200, chains=2, progress=False, rng=1)
    posterior.save(tmp_path / "p.nc")
    loaded = mb.load(tmp_path / "p.nc")
    assert loaded.model.schema == MIXED
    assert loaded.model.parameters == model.parameters


def test_names_of_factors_are_compared_a_linear_number_of_times():
    n, compared = 2_000, 0

    class Name(str):
        __slots__ = ()
        __hash__ = str.__hash__

        def __eq__(self, other):
            nonlocal compared
            compared += 1
            return str.__eq__(self, other)

        def __str__(self):
            return self

    factors = [mb.Factor((f"v{i}",), outcomes=[1, 0], block=Name(f"b{i}")) for i in range(n)]
    mb.Model([f"v{i}" for i in range(n)], factors)
    assert compared < 20 * n  # a search of the whole list for each: 2,000,000
    names = [Name(f"b{i}") for i in range(100)]
    compared = 0
    assert all(names.count(name) == 1 for name in names)
    assert compared > 20 * 100  # the negative control


PAIR = [("a", "b")]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"states": 2.5}, "states = 2.5: a number of states is a whole number from 2 to 255"),
        ({"states": "3"}, "states = '3': a number of states"),
        ({"states": None}, "states = None: a number of states"),
        ({"states": [2, 2.5]}, "states[1] = 2.5"),
        ({"states": {"a": 2}}, "states: node 'b' has none; give one number per node"),
        ({"states": {"a": 2, "c": 2}}, "states: no node is called 'c'"),
        ({"nodes": "ab"}, "nodes = 'ab': give a list of names"),
        ({"nodes": 7}, "nodes = 7: give a list of names"),
        ({"nodes": ["a", "b", ["c"]]}, "nodes[2]: ['c'] is a list"),
        ({"nodes": ["a", "c"]}, "edges: node 'b' is not among nodes="),
        ({"tied": "direction"}, "tied = 'direction': choose True or False"),
        ({"tied": np.array([True, False])}, "tied = array([ True, False]): choose True or False"),
        ({"fields": 2}, "fields = 2: choose True or False"),
        ({"coupling": np.array(["a", "b"])}, "choose one of 'agreement', 'both-one', 'score', 'table'"),
        ({"merge_edges": "yes"}, "merge_edges = 'yes': choose True or False"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(mb.InputError) as caught:
        mb.graph(PAIR, **options)
    assert message in str(caught.value)


def test_states_by_name():
    assert mb.graph(PAIR, states={"b": 3, "a": 2}).states.tolist() == [2, 3]
    with pytest.raises(mb.InputError, match="the nodes of a grid are numbered"):
        mb.grid(1, 2, states={"a": 2, "b": 2})


def test_complete_graphs_have_every_edge():
    model = complete(["u", "v", "w"], fields=True, coupling="both-one")
    assert model.parameters == ("u--v", "u--w", "v--w", "u", "v", "w")
    assert (
        model.fingerprint
        == mb.graph([("u", "v"), ("u", "w"), ("v", "w")], fields=True, coupling="both-one").fingerprint
    )
    for nodes, message in (([], "nodes is empty"), (["a", "a"], "two nodes are called 'a'"), ("ab", "give a list")):
        with pytest.raises(mb.InputError, match=message):
            complete(nodes)


def test_what_does_not_fit_is_refused_before_it_is_made(monkeypatch):
    with pytest.raises(mb.CostError, match=r"100,000 x 100,000 nodes .*9\.1 TiB .*limit"):
        mb.grid(10**5, 10**5)
    with pytest.raises(mb.CostError, match=r"2\^\d+ bytes of memory.*use a smaller grid"):
        mb.grid(10**30, 3)
    with pytest.raises(mb.CostError, match=r"1,000,000 variables .*499,999,500,000 edges"):
        complete(range(10**6))
    monkeypatch.setattr(checks, "memory_limit", lambda: 10_000)
    with pytest.raises(mb.CostError, match="a graph of 100 edges would take"):
        mb.graph(np.stack([np.arange(100), np.arange(100) + 1], axis=1))
