"""Theta lowered to potentials, and the likelihood of rows with missing cells, against enumeration."""

import itertools

import numpy as np
import pytest

import mrfbayes as mb
import small_fields
from mrfbayes.exact.clamped import observed
from mrfbayes.kernels.base.contracts import log_likelihood
from mrfbayes.methods.lowered import lower_theta, lowered_data, node_and_edge
from mrfbayes.methods.problem import Problem
from mrfbayes.methods.registry import method_row
from mrfbayes.priors import Prior


@pytest.mark.parametrize("name", ["grid, tied", "graph, fields", "Potts", "ordinal", "table"])
def test_the_linear_part_is_what_data_of_one_size_differ_in(name):
    """log Z is the same for both, so that the rest of the log-likelihood is what is left of their difference."""
    model = small_fields.FIELDS[name]()
    theta = small_fields.random_theta(model, 1)
    rows = [small_fields.draw(model, small_fields.random_theta(model, seed), 30, seed) for seed in (2, 3)]
    lowered = [lowered_data(model, observed(small_fields.count(model, x))) for x in rows]
    found = np.subtract(*(lower_theta(each, theta) for each in lowered))
    expected = np.subtract(*(small_fields.log_likelihood(model, theta, x) for x in rows))
    assert found == pytest.approx(expected, rel=1e-9)
    assert abs(expected) > 0.1
    nodes, edges = node_and_edge(lowered[0], lowered[0].potentials)
    expected_nodes, expected_edges = model.lowering.potentials(model.chart.log_odds(theta))
    np.testing.assert_allclose(nodes, expected_nodes.ravel(), atol=1e-12)
    np.testing.assert_allclose(edges, expected_edges.ravel(), atol=1e-12)


def observed_log_likelihood(model, theta, x):
    """Log of the sum over all completions of every row."""
    every = small_fields.states(model)
    logs = small_fields.log_weights(model, theta, every) - small_fields.log_z(model, theta)
    fits = [((every == row) | np.isnan(row)).all(axis=1) for row in x]
    return sum(np.logaddexp.reduce(logs[fit]) for fit in fits)


@pytest.mark.filterwarnings("ignore::mrfbayes.MRFWarning")
@pytest.mark.parametrize("name", ["graph, both-one", "Potts"])  # the first has a constant beside its potentials
def test_missing_cells_are_summed_over(name):
    model = small_fields.FIELDS[name]()
    x = small_fields.draw(model, small_fields.random_theta(model, 1), 12, 4).astype(float)
    x[0, 1] = x[3, 0] = x[3, 2] = x[7, 2] = np.nan
    problem = Problem(model, mb.Data(x).count(model), Prior(model), np.random.SeedSequence(0))
    view = method_row("exact").prepare(problem).view
    points = [small_fields.random_theta(model, seed) for seed in (2, 3, 4)]
    for one, other in itertools.combinations(points, 2):
        found = log_likelihood(view, one) - log_likelihood(view, other)
        expected = np.subtract(*(observed_log_likelihood(model, theta, x) for theta in (one, other)))
        assert found == pytest.approx(expected, rel=1e-8)
