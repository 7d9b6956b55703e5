"""Centrality, communities and tests of order against networkx and by hand."""

import networkx as nx
import numpy as np
import pytest

import mrfbayes as mb
from mrfbayes.model.scales import edge_strengths
from mrfbayes.model.schema import Schema, Variable
from mrfbayes.results.centrality import communities, coupling_draws, global_strength, node_measures, order_table
from results.conditional_cases import BINARY
from small_posteriors import make_posterior

MODEL = mb.complete(list("abcdefgh"), fields=True, coupling="both-one")


def draws(seed=0, count=6):
    """Couplings (draws, m) of which a third are absent."""
    rng = np.random.default_rng(seed)
    values = rng.normal(0.3, 0.5, (count, MODEL.n_edges))
    return np.where(rng.random(values.shape) < 1 / 3, 0.0, values)


@pytest.mark.parametrize("row", range(4))
def test_paths_agree_with_networkx(row):
    couplings = draws()
    couplings[3, MODEL.edges[:, 0] == 0] = 0.0  # a node without edges
    found = node_measures(MODEL, couplings)
    graph = nx.Graph()
    graph.add_nodes_from(range(MODEL.n_nodes))
    ends = MODEL.edges[couplings[row] != 0].tolist()
    sizes = np.abs(couplings[row][couplings[row] != 0])
    graph.add_weighted_edges_from((u, v, 1 / size) for (u, v), size in zip(ends, sizes, strict=True))
    between = nx.betweenness_centrality(graph, weight="weight", normalized=False)
    close = nx.closeness_centrality(graph, distance="weight")
    np.testing.assert_allclose(found["betweenness"][row], [between[k] for k in range(8)], atol=1e-12)
    np.testing.assert_allclose(found["closeness"][row], [close[k] for k in range(8)], atol=1e-12)
    influence = [couplings[row][(MODEL.edges == k).any(axis=1)].sum() for k in range(8)]
    np.testing.assert_allclose(found["expected_influence"][row], influence, atol=1e-12)


@pytest.mark.parametrize("pairs", [mb.grid(3, 3).edges, mb.grid(4, 5).edges, [(0, 1), (1, 2), (2, 3), (0, 3)]])
@pytest.mark.parametrize("lengths", [1.0, 1 / 3])
def test_paths_of_the_same_length_share_what_goes_through(pairs, lengths):
    model = mb.graph([(int(u), int(v)) for u, v in pairs], tied=True)
    graph = nx.Graph(model.edges.tolist())
    between = nx.betweenness_centrality(graph, normalized=False)
    found = node_measures(model, np.full((2, model.n_edges), lengths))["betweenness"]
    np.testing.assert_allclose(found, [[between[k] for k in range(model.n_nodes)]] * 2, atol=1e-12)


def test_nodes_that_lead_together_share_a_draw():
    model = mb.graph([(0, 1), (1, 2), (2, 3), (3, 0)], tied=True)
    post = mb.sample(model, mb.simulate(model, 0.8, 100, rng=1), rng=1, progress=False, draws=200, chains=2)
    table = post.centrality()
    np.testing.assert_allclose(table["betweenness"], 0.5)
    firsts = ["betweenness_first", "strength_first", "closeness_first", "expected_influence_first"]
    np.testing.assert_allclose(table[firsts], 0.25)


def test_two_communities_are_found_and_bridges_join_them():
    half = MODEL.edges < 4
    inside = half[:, 0] == half[:, 1]
    couplings = np.where(inside, 1.0, 0.05) + np.random.default_rng(1).normal(0, 0.02, (20, MODEL.n_edges))
    found = communities(MODEL, couplings)
    assert found.label.tolist() == [0, 0, 0, 0, 1, 1, 1, 1]
    assert found.together[0, 1] == pytest.approx(1)
    assert found.together[0, 5] == pytest.approx(0)
    assert found.certainty == pytest.approx(np.ones(8))
    bridge = node_measures(MODEL, couplings, found.label)["bridge"]
    np.testing.assert_allclose(bridge[:, 0], np.abs(couplings[:, (MODEL.edges == 0).any(axis=1) & ~inside]).sum(axis=1))


def test_tables_have_centrality_by_their_norms():
    model = mb.graph([("a", "b"), ("b", "c"), ("a", "c")], states=3, coupling="table", fields=True)
    x = np.random.default_rng(0).integers(0, 3, (80, 3))
    table = mb.sample(model, x, "pseudo", draws=200, progress=False).centrality()
    assert (table["strength"] > 0).all()
    np.testing.assert_allclose(table["strength"], table["expected_influence"])


def test_order_and_global_strength():
    values = np.array([[3.0, 1, 1], [2, 3, 3]])
    table = order_table(values, ["a", "b", "c"])
    assert table.loc["a", "b"] == 0.5
    assert table.loc["b", "c"] == 0.5  # equal throughout
    nothing = order_table(np.zeros((4, 0)), [])
    assert nothing.shape == (0, 0)
    assert nothing.index.name == "above"
    found = global_strength(np.array([[1.0, -1], [2, 2]]))
    assert found["global_strength"] == 3
    assert 2 <= found["global_strength_q5"] < found["global_strength_q95"] <= 4


def test_first_is_the_share_of_draws_in_which_a_node_leads():
    x = np.random.default_rng(3).integers(0, 2, (200, 8))
    x[:, 1] = x[:, 0]
    post = mb.sample(MODEL, x, "pseudo", draws=300, progress=False)
    table = post.centrality()
    assert table["strength_first"].sum() == pytest.approx(1)
    couplings = coupling_draws(MODEL, post.log_odds)
    leads = node_measures(MODEL, couplings)["strength"].argmax(axis=1) == 0
    assert table.loc["a", "strength_first"] == pytest.approx(leads.mean())
    with pytest.raises(mb.InputError, match="theta"):
        post.centrality(scale="theta")


def test_centrality_adds_couplings():
    post = make_posterior(BINARY, draws=30)
    w = np.log(post.draws / (1 - post.draws)).reshape(-1, BINARY.n_parameters)
    table = post.centrality()
    of_b = w[:, 0] + w[:, 1]
    assert table.loc["b", "expected_influence"] == pytest.approx(of_b.mean())
    assert table.loc["b", "strength_q95"] == pytest.approx(np.quantile(np.abs(w[:, :2]).sum(axis=1), 0.95))
    np.testing.assert_allclose(post.centrality(scale="ising")["strength"], table["strength"] / 4)


def test_centrality_of_tables_adds_their_norms():
    kinds = (("a", "nominal", "x y z"), ("b", "binary", "0 1"), ("c", "ordinal", "0 1 2"))
    schema = Schema(tuple(Variable(name, kind, tuple(labels.split())) for name, kind, labels in kinds))
    post = make_posterior(mb.Model.from_data(schema), draws=30)
    w = post.log_odds.reshape(-1, post.model.n_parameters)
    table, edges = post.centrality(), edge_strengths(post.model, w)
    assert table.loc["a", "strength"] == pytest.approx(edges[:, :2].sum(axis=1).mean())  # a--b and a--c, both tables
    assert table.loc["c", "expected_influence"] == pytest.approx(edges[:, 1:].sum(axis=1).mean())
    with pytest.raises(mb.InputError, match="ising"):
        post.centrality(scale="ising")


def test_probabilities_have_no_centrality():
    with pytest.raises(mb.InputError, match="choose 'log-odds' or 'ising'"):
        make_posterior(BINARY, draws=3).centrality(scale="theta")


def test_moderated_edges_count_with_their_couplings_at_the_centre_or_at_the_values_that_are_asked_for():
    x = np.random.default_rng(2).integers(0, 2, (60, 2)).T
    data = mb.Data({"a": x[0], "b": x[1], "age": np.arange(60)}, covariates=["age"])
    model = mb.Model.from_data(data, covariates="couplings")
    posterior = mb.sample(model, data, draws=200, rng=1, progress=False)
    w, (z,) = posterior.log_odds, model.scale({"age": 50})
    at = posterior.at(age=50)
    for one, coupling in ((posterior, w[..., 0]), (at, w[..., 0] + z * w[..., model.parameters.index("a--b:age")])):
        np.testing.assert_allclose(one.centrality()["expected_influence"], coupling.mean(), rtol=1e-6)
