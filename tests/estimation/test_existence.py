"""Existence of the MLE against exact rational arithmetic over all configurations."""

import numpy as np
import pytest

import oracles_existence as oracle
from estimation.existence_cases import KINDS, agreement, cases
from mrfbayes.data.data import Data
from mrfbayes.data.statistics import Statistics
from mrfbayes.datasets import load_digits
from mrfbayes.estimation.estimate import estimate
from mrfbayes.estimation.existence import basis_matrix, existence, existence_at
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


def verdict(model, x, **options):
    return estimate(model, Data(x, **options), algorithm="exact", progress=False).existence


def test_the_triangle_facet_names_all_three_edges():
    model = graph([("a", "b"), ("b", "c"), ("a", "c")])
    x = np.array([[0, 0, 0], [1, 1, 1], [0, 0, 1], [1, 1, 0], [0, 1, 1], [1, 0, 0]])  # 010 and 101 never occur
    found = verdict(model, x)
    assert (found.verdict, found.factors) == ("boundary", ("a--b", "b--c", "a--c"))
    more = np.concatenate([x, [[0, 1, 0]]])
    assert verdict(model, more).verdict == "exists"


def test_oracle_sees_the_triangle_facet():
    points = [(int(a == b), int(b == c), int(a == c)) for a, b, c in oracle.configurations([2, 2, 2])]
    rows = [(1, 1, 1), (1, 0, 0), (0, 1, 0)]
    assert oracle.verdict(points, rows) == (False, (0, 1, 2))
    assert oracle.verdict(points, [*rows, (0, 0, 1)]) == (True, ())
    with pytest.raises(AssertionError, match="outside the hull"):
        oracle.face([(0, 0), (1, 0)], [0, 1])


def test_wide_fields_are_not_decided_before_the_ascent():
    model = grid(30, 30, fields=True)
    x = np.random.default_rng(4).integers(0, 2, (200, 900))
    assert existence(model, Data(x).count(model)).verdict == "not decided"


def test_log_odds_that_run_away_are_named():
    model = grid(30, 30)
    stats = Statistics.from_counts(model, np.full(model.n_parameters, 50.0), 100)
    w = np.zeros(model.n_parameters)
    assert existence_at(model, stats, w, is_exact=False) is None
    w[3], w[7] = 16.0, -np.inf
    found = existence_at(model, stats, w, is_exact=False)
    assert (found.verdict, found.complete) == ("boundary", False)
    assert found.factors == (model.blocks[3], model.blocks[7])


def test_wide_fields_detect_empty_pair_cells_and_constant_columns():
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


def test_weights_need_not_be_whole_numbers():
    model = graph([("a", "b"), ("b", "c"), ("a", "c")])
    x = np.array([[0, 0, 0], [0, 0, 1], [0, 1, 1], [0, 1, 0]])
    assert verdict(model, x, weights=[1 / 3, 0.7, 0.1, 0.0]).factors == ("a--b", "b--c", "a--c")
    assert verdict(model, x, weights=[1 / 3, 0.7, 0.1, 0.01]).verdict == "exists"


def test_counts_alone():
    model = grid(2, 2)
    for counts, expected in (([50, 50, 50, 50], "exists"), ([100, 50, 50, 50], "boundary")):
        assert (
            estimate(model, Statistics.from_counts(model, counts, 100), algorithm="exact").existence.verdict == expected
        )


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
