"""Rank tests over graphs, differences and parameters; `benchmarks/results/graph_ranks.md` has what they gave."""

import pytest

from structure.rank_cases import graph_ranks, group_ranks, p_values

LEVEL = 1e-6
pytestmark = pytest.mark.filterwarnings("ignore::mrfbayes.MRFWarning")


@pytest.mark.parametrize(("edges", "size_prior"), [("bernoulli(0.5)", "bernoulli"), ("beta-bernoulli(1, 1)", "beta")])
def test_ranks_are_uniform(edges, size_prior):
    assert p_values(graph_ranks("normal(0, 1)", edges, size_prior, seed=1)).min() > LEVEL


def test_ranks_are_uniform_where_cells_are_missing():
    assert p_values(graph_ranks("normal(0, 1)", "bernoulli(0.5)", "bernoulli", seed=3, hidden=0.2)).min() > LEVEL


def test_ranks_see_a_wrong_prior():
    assert p_values(graph_ranks("normal(0, 1)", "bernoulli(0.8)", "bernoulli", seed=2)).min() < LEVEL


@pytest.mark.parametrize("n_groups", [2, 3])
def test_ranks_of_differences_are_uniform(n_groups):
    assert p_values(group_ranks("bernoulli(0.5)", n_groups, seed=1)).min() > LEVEL


def test_ranks_of_differences_see_a_wrong_prior():
    assert p_values(group_ranks("bernoulli(0.85)", 2, seed=2)).min() < LEVEL
