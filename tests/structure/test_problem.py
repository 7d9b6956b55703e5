"""The parts of a search: factors of edges, blocks of nodes, and the prior over graphs."""

import itertools

import numpy as np
import pytest

import mrfbayes as mb
from mrfbayes.structure.problem import graph_prior
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
