"""Fields with some nodes held against enumeration of the others."""

import itertools

import numpy as np
import pytest

import mrfbayes as mb
import small_fields
from mrfbayes.exact.choice import takes_planar
from mrfbayes.exact.held import HeldField, held_field

FIELDS = ["grid, fields", "graph, both-one", "ordinal", "table"]


@pytest.fixture(
    params=itertools.product(FIELDS, [(), (1,), (2, 0)]), ids=lambda case: f"{case[0]}, {len(case[1])} held"
)
def case(request):
    """A model, w, held nodes with their states, and all configurations of them with w.s."""
    name, known = request.param
    model = small_fields.FIELDS[name]()
    w = np.random.default_rng(1).normal(size=model.n_parameters)
    pattern = [int(model.states[i]) - 1 for i in known]
    x = small_fields.states(model)
    x = x[(x[:, list(known)] == pattern).all(axis=1)]
    return model, w, known, pattern, x, small_fields.sufficient(model, x) @ w


def test_log_z_and_marginals_are_sums_over_the_free_nodes(case):
    model, w, known, pattern, x, logs = case
    held = HeldField(model, known)
    assert held.is_whole == (not known)
    assert held.log_z(w, pattern) == pytest.approx(np.logaddexp.reduce(logs), rel=1e-12)
    p = np.exp(logs - np.logaddexp.reduce(logs))
    nodes, edges = held.marginals(w, pattern)
    for i, (first, stop) in zip(held.free, itertools.pairwise(held.node_offset), strict=True):
        expected = np.bincount(x[:, i], weights=p, minlength=stop - first)
        np.testing.assert_allclose(nodes[first:stop], expected, atol=1e-12)
    for e, (first, stop) in zip(held.inner, itertools.pairwise(held.edge_offset), strict=True):
        u, v = model.edges[e]
        expected = np.bincount(x[:, u] * model.states[v] + x[:, v], weights=p, minlength=stop - first)
        np.testing.assert_allclose(edges[first:stop], expected, atol=1e-12)


def test_best_configurations_keep_what_is_held(case):
    model, w, known, pattern, x, logs = case
    rows, value = HeldField(model, known).best(w, pattern, k=5)
    np.testing.assert_allclose(value, np.sort(logs)[::-1][:5], atol=1e-12)
    places = [np.flatnonzero((x == row).all(axis=1)).item() for row in rows]
    np.testing.assert_allclose(logs[places], value, atol=1e-12)
    assert len(set(places)) == len(value)


def test_nodes_that_no_path_joins_to_those_wanted_are_left_out():
    model = mb.graph([(i, i + 1) for i in range(6)], fields=True)
    w = np.random.default_rng(2).normal(size=model.n_parameters)
    part, whole = HeldField(model, [3], wanted=[5]), HeldField(model, [3])
    assert part.free.tolist() == [4, 5, 6]
    np.testing.assert_allclose(part.marginals(w, [1])[0], whole.marginals(w, [1])[0][-6:], atol=1e-13)
    assert np.abs(part.marginals(w, [0])[0] - part.marginals(w, [1])[0]).max() > 0.01
    assert held_field(model, [3], [5]) is held_field(model, (3,), (5,))
    assert held_field(model, [3]) is not held_field(model, [3], [5])


def with_one_field(rows, columns):
    """A grid of agreements with a factor of one corner alone."""
    grid = mb.grid(rows, columns)
    pairs = [mb.Factor([grid.nodes[u], grid.nodes[v]], [[0, 1], [1, 0]]) for u, v in grid.edges.tolist()]
    return mb.Model(list(grid.nodes), [*pairs, mb.Factor([grid.nodes[0]], [1, 0])])


def test_nodes_that_the_determinant_does_not_know_come_from_tables():
    model = with_one_field(14, 24)
    assert takes_planar(model, "moments")
    w = np.log(np.full(model.n_parameters, 1.5))
    whole, asked = HeldField(model), HeldField(model, wanted=[0])
    nodes, edges = whole.marginals(w)
    expected = whole.graph.moments(*whole.tables(w)[:2])[1:]
    np.testing.assert_allclose(nodes, expected[0], atol=1e-12)
    np.testing.assert_allclose(edges, expected[1], atol=1e-12)
    assert "graph" in vars(whole)
    np.testing.assert_allclose(asked.marginals(w)[0][:2], expected[0][:2], atol=1e-9)
    assert "graph" not in vars(asked)  # the corner's is known without tables


def test_nodes_that_nothing_knows_are_refused():
    model = with_one_field(45, 45)
    w = np.zeros(model.n_parameters)
    assert np.isfinite(HeldField(model, wanted=[0]).marginals(w)[0][:2]).all()
    with pytest.raises(mb.CostError, match="treewidth"):
        HeldField(model, wanted=[0, 1]).marginals(w)
