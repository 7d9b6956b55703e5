"""Factors: their tables and statistics, by hand, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import mrfbayes as mb
from mrfbayes.model.factors import FactorGroup, unique_pairs


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: mb.Model(5, []), "variables = 5: give a list of names, or a mapping"),
        (lambda: mb.Model("ab", []), "variables = 'ab': give a list of names"),
        (lambda: mb.Model(["a"], None), "factors = None: give a list of mrfbayes.Factor"),
        (lambda: mb.Factor(None, outcomes=[0, 1]), "scope = None: a factor has one or two variables"),
        (lambda: mb.Factor("a", outcomes="xyz"), "its table must hold whole numbers from 0 to 65025"),
        (lambda: mb.Factor(("a", "b"), outcomes=[[0, 1], [1]]), "its table must hold whole numbers"),
        (lambda: mb.Factor("a", outcomes=[0, 10**12]), "whole numbers from 0 to 65025"),
        (lambda: mb.Factor("a", outcomes=[]), "one axis per variable; got []"),
    ],
)
def test_bad_general_models(make, message):
    with pytest.raises(mb.InputError) as caught:
        make()
    assert message in str(caught.value)


def group(table, is_score=False, is_centred=False):
    table = np.array(table)
    return FactorGroup(table, is_score, np.arange(table.ndim)[None], np.array([0]), is_centred)


def test_statistics_are_indicators_of_all_but_the_last_outcome():
    die = group([[0, 1, 2], [2, 2, 0]])
    assert (die.sides, die.tosses, die.arity) == (3, 1, 2)
    np.testing.assert_array_equal(die.statistics, [[[1, 0, 0], [0, 0, 1]], [[0, 1, 0], [0, 0, 0]]])
    score = group([[0, 0, 0], [0, 1, 2]], is_score=True)
    assert (score.sides, score.tosses) == (2, 2)
    np.testing.assert_array_equal(score.statistics, [[[0, 0, 0], [0, 1, 2]]])
    centred = group([[2, 2], [2, 0], [2, 1]], is_centred=True).statistics
    np.testing.assert_allclose(centred.sum(axis=1), 0.0, atol=1e-15)
    np.testing.assert_allclose(centred.sum(axis=2), 0.0, atol=1e-15)
    np.testing.assert_allclose(centred[0, 1], [-1 / 3, 1 / 3])


def test_kinds_follow_the_tables_and_scores_have_the_scale_of_their_levels():
    u, v = np.indices((5, 5))
    assert group(np.where(u == v, 0, 1)).kind.kind == "agreement"
    assert group([[1, 1], [1, 0]]).kind == ("score", 1.0, (1, 1))
    five = group(u * v, is_score=True).kind
    assert (five.kind, five.scale) == ("score", pytest.approx(0.25 / (np.arange(5).std() ** 2)))
    assert group([[2, 2, 2], [2, 0, 1]]).kind == ("table", 1.0, (1, 2))
    assert group([[0, 1], [2, 3]]).kind.kind == "other"
    assert group([2, 0, 1]).kind == ("threshold", 1.0, (2, 1))


def test_pairs_are_listed_once_in_the_direction_of_their_first_appearance():
    scopes = np.array([[2, 0], [0, 1], [0, 2], [1, 0], [1, 2]])
    np.testing.assert_array_equal(unique_pairs(scopes), [[2, 0], [0, 1], [1, 2]])
