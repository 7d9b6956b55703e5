"""Factors: their tables and statistics, by hand, and what is refused."""

from __future__ import annotations

import pytest

import mrfbayes as mb


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
