"""The parts of a search: factors of edges, blocks of nodes, and the prior over graphs."""

import itertools

import numpy as np
import pytest

import mrfbayes as mb
from mrfbayes.structure.problem import GROUP_CELLS, edge_factors, graph_prior, pair_blocks
from structure.result_cases import MODEL


def test_sizes_have_the_prior_of_each_kind():
    model = mb.graph([(0, 1), (1, 2), (0, 2)])
    np.testing.assert_allclose(graph_prior(model, "beta-bernoulli(1, 1)").size_probability(), 0.25)
    each = graph_prior(model, [0.5, 1.0, 0.2]).size_probability()
    np.testing.assert_allclose(each, [0, 0.4, 0.5, 0.1], atol=1e-12)


@pytest.mark.parametrize("given", ["bernoulli(0.2)", "beta-bernoulli(1, 4)", [0.1, 0.7]])
def test_prior_probabilities_of_graphs_add_up(given):
    prior = graph_prior(MODEL, given)
    graphs = np.array(list(itertools.product([False, True], repeat=2)))
    probability = np.exp(prior.log_probability(graphs))
    assert probability.sum() == pytest.approx(1)
    expected = graphs.T @ probability
    np.testing.assert_allclose(expected, prior.probability)
    np.testing.assert_allclose(prior.log_odds, np.log(expected / (1 - expected)))
    sizes = [probability[graphs.sum(axis=1) == k].sum() for k in range(3)]
    np.testing.assert_allclose(prior.size_probability(), sizes)
    assert expected[0] < 0.5  # a prior that is not symmetric can tell an edge from its absence


def test_every_edge_and_node_is_updated_by_one_block():
    model = mb.complete(range(11))
    blocks, groups, pairs = pair_blocks(model)
    assert len(groups) == 3
    assert len(blocks.nodes) == len(pairs) == 3
    assert sorted(edge for some in blocks.edges for edge in some) == list(range(model.n_edges))
    assert sorted(node for some in blocks.updated for node in some) == list(range(11))
    for nodes, edges in zip(blocks.nodes, blocks.edges, strict=True):
        assert {int(node) for edge in edges for node in model.edges[edge]} <= set(nodes)
    assert max(blocks.n_cells) <= GROUP_CELLS**2


def test_the_place_of_two_nodes_is_that_in_the_table_of_the_block():
    model = mb.graph([(0, 1), (1, 2), (2, 3)], states=(3, 2, 4, 2), coupling="score")
    blocks = pair_blocks(model)[0]
    assert blocks.nodes == ((0, 1, 2, 3),)
    assert blocks.place(0, 1, 3) == [3, 4, 1]
    assert blocks.place(0, 2) == [6, 1, 2]


def test_tables_of_edges_point_as_the_edges_do():
    table = np.array([[0, 1, 2], [0, 2, 1]])
    turned = mb.Factor(("b", "a"), scores=table.T)
    model = mb.Model({"a": 2, "b": 3}, [turned])
    [found] = edge_factors(model).edges
    assert found[0].shape == tuple(model.states[model.edges[0]])
    np.testing.assert_array_equal(found[0], table.T)
    twice = mb.Model({"a": 2, "b": 3}, [turned, mb.Factor(("a", "b"), scores=table)])
    with pytest.raises(mb.InputError, match="two factors"):
        edge_factors(twice)


def test_frequencies_are_smoothed_counts_of_states():
    model = mb.graph([(0, 1)], states=(3, 2), fields=True, coupling="score")
    rows = np.array([[0, 1], [2, 1], [2, 0], [1, 1]])
    counts = mb.Data(rows).count(model).counts
    first, second = edge_factors(model).frequencies(counts, 4.0)
    np.testing.assert_allclose(first, (np.array([1, 1, 2]) + 0.5) / 5.5)
    np.testing.assert_allclose(second, (np.array([1, 3]) + 0.5) / 5)


def test_a_model_with_covariates_is_refused_by_that():
    data = mb.Data({"a": [0, 1, 1, 0], "b": [1, 0, 1, 0], "age": [1, 2, 3, 4]}, covariates=["age"])
    for effects in ("thresholds", "couplings"):
        with pytest.raises(mb.InputError, match=r"model has covariates.*select_effects"):
            mb.select(mb.Model.from_data(data, covariates=effects), data)
