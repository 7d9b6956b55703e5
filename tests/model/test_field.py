"""Fields: their names, hashes and parameters, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import mrfbayes as mb
from mrfbayes.model.build import complete

PAIR = [("a", "b")]


def test_no_two_parameters_are_called_alike():
    with pytest.raises(mb.InputError, match=r"node 'a--b' .*edge between 'a' and 'b'"):
        mb.graph(PAIR, nodes=["a", "b", "a--b"], fields=True)
    with pytest.raises(mb.InputError, match="node 'b--a' is called like the edge"):
        mb.graph(PAIR, nodes=["a", "b", "b--a"])
    with pytest.raises(mb.InputError, match="two parameters would be called 'a--b--c'"):
        mb.graph([("a--b", "c"), ("a", "b--c")])
    with pytest.raises(mb.InputError, match=r"two parameters would be called 'a\[1\]'"):
        mb.graph([("a", "a[1]")], states=[3, 2], fields=True)
    with pytest.raises(mb.InputError, match="node 'a--b' is called like the edge"):
        complete(["a", "b", "a--b"])
    assert mb.graph([("pre--test", "post")]).parameters == ("pre--test--post",)


def test_a_field_without_parameters_has_nothing_to_learn():
    model = mb.graph([], nodes=["a"])
    x = np.array([[0], [1], [1]])
    for learn in (mb.sample, mb.evidence, lambda model, x: mb.sample(model, x, "calibrated")):
        with pytest.raises(mb.InputError, match=r"no parameters .*add edges, or fields=True"):
            learn(model, x)


def test_an_offset_goes_with_covariates():
    data = mb.Data({"a": [0, 1, 1, 0], "b": [1, 0, 1, 0], "age": [1, 2, 3, 4]}, covariates=["age"])
    with pytest.raises(mb.InputError, match=r"offset = 'age' is for fields with covariates"):
        mb.Model.from_data(data, offset="age")
