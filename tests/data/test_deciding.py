"""The coding of columns: each is decided by itself, once, and nothing is guessed in silence."""

import numpy as np
import pandas as pd
import pytest

import mrfbayes as mb

pytestmark = pytest.mark.filterwarnings("ignore::mrfbayes.MRFWarning")


def coding(values, **options):
    """Kind and values of a column that stands beside another one."""
    data = mb.Data({"x": values, "y": [0, 1] * (len(values) // 2) + [0] * (len(values) % 2)}, **options)
    return data.schema["x"].kind, data.schema["x"].values


@pytest.mark.parametrize(
    ("values", "kind", "states"),
    [
        ([0, 1, 1], "binary", (0, 1)),
        ([True, False, True], "binary", (0, 1)),
        ([1, 2, 2], "binary", (1, 2)),
        ([-1, 1, 1], "binary", (-1, 1)),
        ([0.0, 1.0, None], "binary", (0, 1)),
        ([1, 2, 4, 5], "ordinal", (1, 2, 3, 4, 5)),
        ([0, 3, 6], "ordinal", (0, 1, 2, 3, 4, 5, 6)),
        (["3", "1", "NA", "2"], "ordinal", (1, 2, 3)),
        (["yes", "no", "yes"], "binary", ("no", "yes")),
        (["ja", "nee", "ja"], "binary", ("nee", "ja")),
        (["often", "never", "rarely"], "ordinal", ("never", "rarely", "often")),
        (["Lima", "Bern", "Oslo"], "nominal", ("Bern", "Lima", "Oslo")),
        (["Lima", "Bern", "Lima"], "binary", ("Bern", "Lima")),
        (pd.Categorical(list("cab"), categories=list("cba"), ordered=True), "ordinal", ("c", "b", "a")),
        (pd.Categorical(list("cab"), categories=list("cbad")), "nominal", ("c", "b", "a", "d")),
    ],
)
def test_kinds_follow_the_values(values, kind, states):
    assert coding(values) == (kind, states)


def test_options_override_inferred_kinds():
    assert coding(["b", "a", "c"], levels={"x": ["c", "b", "a"]}) == ("ordinal", ("c", "b", "a"))
    assert coding(["b", "a", "a"], levels="c<b<a") == ("ordinal", ("c", "b", "a"))
    assert coding([3, 7, 40], kinds={"x": "nominal"}) == ("nominal", (3, 7, 40))
    assert coding([1, 2, -99], na_values=[-99]) == ("binary", (1, 2))
    assert coding([1, 2, 9], na_values={"x": 9}) == ("binary", (1, 2))
    assert coding(["a", "b", "refused", "c"], na_values=["refused"]) == ("nominal", ("a", "b", "c"))


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([1, 2, 3, -99], ("x:3:x", "-99", "na_values=[-99]", "--na -99")),
        ([1, 2, 3, 9], ("x:3:x", "na_values=[9]")),
        ([0, 1, 999, 1], ("x:2:x", "na_values=[999]")),
        (list(range(30)), ("30 distinct numbers", "drop=['x']", "--drop x", "covariates=['x']")),
        ([f"p{k}" for k in range(40)], ("40 labels", "--drop x")),
        ([0.5, 1, 2], ("0.5", "not a whole number")),
        ([0, float("inf"), 1], ("inf", "not a whole number")),
        ([1, 2, "many"], ("'many'", "na_values=['many']")),
        (["yes", "Yes ", "no"], ("'Yes '", "differ only in case")),
        ([0, 100, 0], ("0 and 100", "levels=")),
        ([None, None, None], ("no cell", "drop=['x']")),
    ],
)
def test_identifiers_and_measurements_raise_input_error(values, words):
    with pytest.raises(mb.InputError) as caught:
        coding(values)
    for word in words:
        assert word in str(caught.value)


def test_coding_of_a_column_does_not_depend_on_others():
    x = {"mood": [1, 2, 5, 4], "ill": [0, 1, 1, 0], "town": ["Bern", "Lima", "Oslo", "Lima"]}
    alone = [mb.Data({name: values, "z": [0, 1, 0, 1]}).schema[name] for name, values in x.items()]
    assert list(mb.Data(x).schema) == alone
    assert list(mb.Data({**x, "age": range(18, 22)}, kinds={"age": "ordinal"}).schema)[:3] == alone


def test_constant_columns():
    data = mb.Data({"a": [0, 0, 0], "b": ["ja", "ja", "ja"], "c": ["ja", "nee", "ja"]})
    assert data.schema.names == ("a", "c")
    assert data.schema["a"].values == (0, 1)
    assert data.schema["c"].values == ("nee", "ja")
    assert [text.split()[0] for text in data.notes] == ["'a'"]
    assert [text.split()[0] for text in data.warnings] == ["'b'"]  # left out


def test_mixed_levels_keep_their_own_states():
    rng = np.random.default_rng(2)
    x = pd.DataFrame({"a": rng.integers(1, 7, 50), "b": rng.integers(1, 7, 50), "c": rng.integers(0, 2, 50)})
    assert mb.Model.from_data(mb.Data(x)).states.tolist() == [6, 6, 2]
