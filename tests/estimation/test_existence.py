"""Existence of the MLE against exact rational arithmetic over all configurations."""

import numpy as np
import pytest

import oracles_existence as oracle
from estimation.existence_cases import KINDS, agreement, cases
from mrfbayes.data.data import Data
from mrfbayes.data.statistics import Statistics
from mrfbayes.datasets import load_digits
from mrfbayes.estimation import cycles, polytope
from mrfbayes.estimation.existence import basis_matrix, existence
from mrfbayes.exact.ordering import find_order
from mrfbayes.model.build import graph, grid
from mrfbayes.model.factors import Factor
from mrfbayes.model.field import Model

pytestmark = pytest.mark.filterwarnings("ignore::mrfbayes.base.errors.MRFWarning")


def test_verdicts_and_names_agree_with_the_oracle():
    """Eleven kinds of fields, each with five data sets on the boundary and five inside; ``make slow`` has many."""
    totals = {True: 0, False: 0}
    for kind in KINDS:
        for case in cases(kind, seed=1, wanted=5):
            agreement(case)
            totals[case.exists] += 1
    assert totals[True] >= 50
    assert totals[False] >= 50


def test_the_triangle_facet_names_all_three_edges():
    model = graph([("a", "b"), ("b", "c"), ("a", "c")])
    x = np.array([[0, 0, 0], [1, 1, 1], [0, 0, 1], [1, 1, 0], [0, 1, 1], [1, 0, 0]])  # 010 and 101 never occur
    found = existence(model, Data(x).count(model))
    assert (found.verdict, found.factors) == ("boundary", ("a--b", "b--c", "a--c"))
    more = np.concatenate([x, [[0, 1, 0]]])
    assert existence(model, Data(more).count(model)).verdict == "exists"


def test_oracle_sees_the_triangle_facet():
    points = [(int(a == b), int(b == c), int(a == c)) for a, b, c in oracle.configurations([2, 2, 2])]
    rows = [(1, 1, 1), (1, 0, 0), (0, 1, 0)]
    assert oracle.verdict(points, rows) == (False, (0, 1, 2))
    assert oracle.verdict(points, [*rows, (0, 0, 1)]) == (True, ())
    with pytest.raises(AssertionError, match="outside the hull"):
        oracle.face([(0, 0), (1, 0)], [0, 1])


def small_tree(model):
    return polytope.junction_tree(model.edges, model.n_nodes, find_order(model.edges, model.states))


def test_cycles_and_linear_programme_agree_on_grids():
    model = grid(4, 4)
    rng = np.random.default_rng(3)
    seen = set()
    for _ in range(12):
        pattern = rng.integers(0, 2, (6, 16))
        x = pattern[rng.integers(0, 6, 40)] ^ (rng.random((40, 16)) < rng.choice([0.0, 0.05, 0.2]))
        stats = Data(x).count(model)
        touched = cycles.touched_edges(model.edges, 16, stats.counts, stats.n)
        face = polytope.smallest_face(model, stats.mean, small_tree(model))
        assert face is not None
        assert face.interior == (not touched.any())
        if not face.interior:
            np.testing.assert_array_equal(face.direction != 0, touched)
        seen.add(face.interior)
    assert seen == {True, False}


def test_junction_tree_covers_all_edges_and_runs_as_a_tree():
    model = grid(4, 5)
    tree = small_tree(model)
    for u, v in model.edges.tolist():
        assert any({u, v} <= set(clique) for clique in tree.cliques)
    assert len(tree.links) == len(tree.cliques) - len(tree.roots)
    for node in range(model.n_nodes):  # running intersection: cliques with a node are joined
        members = {k for k, clique in enumerate(tree.cliques) if node in clique}
        inside = [link for link in tree.links if set(link) <= members]
        assert len(inside) == len(members) - 1


def test_non_planar_graphs_are_decided_by_the_tree_and_cycles_alone_are_half_an_answer():
    complete = graph([(i, j) for i in range(6) for j in range(i)])
    assert not cycles.is_planar(complete)
    assert cycles.is_planar(graph([(0, 1), (1, 2), (2, 0), (2, 3)]))
    x = np.random.default_rng(2).integers(0, 2, (12, 6))
    assert existence(complete, Data(x).count(complete)).reason.startswith("linear programme")


def test_not_decided_is_said():
    model = grid(30, 30, fields=True)
    x = np.random.default_rng(4).integers(0, 2, (200, 900))
    found = existence(model, Data(x).count(model))
    assert found.verdict == "not decided"
    assert "too wide" in found.reason


def test_on_wide_fields_an_empty_pair_cell_and_a_constant_column_are_seen():
    model = grid(30, 30, fields=True)
    x = np.random.default_rng(4).integers(0, 2, (200, 900))
    both = x.copy()
    both[:, 1] = np.where(both[:, 0] == 1, 0, both[:, 1])  # never both one
    found = existence(model, Data(both).count(model))
    assert (found.verdict, found.complete) == ("boundary", False)
    assert set(found.factors) == {"0,0--0,1", "0,0", "0,1"}
    x[:, 5] = 0
    found = existence(model, Data(x).count(model))
    assert (found.verdict, found.factors, found.complete) == ("boundary", ("0,5",), False)


def test_large_planar_fields_are_decided():
    model = grid(60, 60)
    x = np.random.default_rng(5).integers(0, 2, (100, 3600))
    assert existence(model, Data(x).count(model)).verdict == "exists"
    x[:, 61] = x[:, 60]
    found = existence(model, Data(x).count(model))
    assert (found.verdict, found.complete) == ("boundary", True)
    assert "1,0--1,1" in found.factors


def test_large_tied_fields_are_decided_by_an_inside_point():
    model = grid(60, 60, tied="direction")
    x = np.random.default_rng(6).integers(0, 2, (1, 3600))
    stats = Data(x).count(model)
    assert existence(model, stats).verdict == "exists"
    constant = Data(np.zeros((1, 3600), dtype=int)).count(model)
    assert existence(model, constant).factors == ("horizontal", "vertical")


def test_weights_need_not_be_whole_numbers():
    model = graph([("a", "b"), ("b", "c"), ("a", "c")])
    x = np.array([[0, 0, 0], [0, 0, 1], [0, 1, 1], [0, 1, 0]])
    third = [1 / 3, 0.7, 0.1, 0.0]
    assert existence(model, Data(x, weights=third).count(model)).factors == ("a--b", "b--c", "a--c")
    assert existence(model, Data(x, weights=[1 / 3, 0.7, 0.1, 0.01]).count(model)).verdict == "exists"


def test_counts_alone():
    model = grid(2, 2)
    assert existence(model, Statistics.from_counts(model, [50, 50, 50, 50], 100)).verdict == "exists"
    assert existence(model, Statistics.from_counts(model, [100, 50, 50, 50], 100)).verdict == "boundary"


def test_basis_matrix_knows_what_cannot_be_identified():
    full = [[3, 0], [1, 2]]  # an outcome for every pair of states, of which nodes can take over two
    factors = [Factor(tuple(pair), outcomes=full) for pair in ("ab", "bc")] + [
        Factor((i,), outcomes=[1, 0]) for i in "abc"
    ]
    tables = Model(["a", "b", "c"], factors)
    matrix = basis_matrix(tables).toarray()
    assert matrix.shape == (3 + 2, tables.n_parameters)
    assert np.linalg.matrix_rank(matrix) == 5 < tables.n_parameters
    plain = grid(2, 3)
    assert np.linalg.matrix_rank(basis_matrix(plain).toarray()) == plain.n_parameters


def test_digits_get_their_boundary_named():
    model = grid(8, 8)
    x = load_digits().x
    found = existence(model, Data(x).count(model))
    assert found.verdict == "boundary"
    u, v = model.edges.T
    always = [model.blocks[e] for e in np.flatnonzero((x[:, u] == x[:, v]).all(axis=0))]
    assert always
    assert set(always) <= set(found.factors)
