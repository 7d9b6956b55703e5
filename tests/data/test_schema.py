"""The coding of columns: each is decided by itself, once, and nothing is guessed in silence."""

import numpy as np
import pandas as pd
import pytest

import mrfbayes as mb
from mrfbayes.model.schema import Schema

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


def test_schemas_are_equal_for_equal_codings_and_survive_a_file():
    x = pd.DataFrame({"a": [1, 2, 3, -99], "b": ["u", "v", "w", "u"]})
    schema = mb.Data(x, na_values=[-99]).schema
    assert schema == mb.Data(x[::-1], na_values=[-99]).schema
    assert schema == Schema.from_dict(schema.to_dict())
    later = mb.Data(x[:1], schema=schema)
    assert later.schema == schema
    np.testing.assert_array_equal(later.rows(), [[0, 0]])
    np.testing.assert_array_equal(mb.Data(x, schema=schema).rows()[:, 0], [0, 1, 2, 255])


def test_labels_without_an_order_get_no_agreement_between_positions():
    rng = np.random.default_rng(1)
    towns, colours = np.array(["Lima", "Oslo", "Bern"]), np.array(["blue", "red", "green"])
    k = rng.integers(0, 3, 200)
    x = pd.DataFrame({"town": towns[k], "colour": colours[np.where(rng.random(200) < 0.8, k, rng.integers(0, 3, 200))]})
    with pytest.raises(mb.InputError, match="agreement of different labels"):
        mb.Data(x).count(mb.complete(["town", "colour"], states=3))
    with pytest.raises(mb.InputError, match="coupling 'score' needs"):
        mb.Data(x).count(mb.complete(["town", "colour"], states=3, coupling="score"))
    same = pd.DataFrame({"first": towns[k], "second": towns[k]})
    agree = mb.Data(same).count(mb.complete(["first", "second"], states=3))
    assert agree.counts[0] == 200
    model = mb.Model.from_data(mb.Data(x))
    assert model.chart.sides.max() == 5  # a table with a reference category


def test_mixed_levels_keep_their_own_states():
    rng = np.random.default_rng(2)
    x = pd.DataFrame({"a": rng.integers(1, 7, 50), "b": rng.integers(1, 7, 50), "c": rng.integers(0, 2, 50)})
    assert mb.Model.from_data(mb.Data(x)).states.tolist() == [6, 6, 2]


def test_weights_may_be_fractions_and_n_is_their_sum():
    data = mb.Data({"a": [0, 1, 1], "b": [1, 0, 1], "w": [0.5, 2.0, 0.25]}, weights="w")
    assert (data.n, data.n_rows, data.schema.names) == (2.75, 3, ("a", "b"))


def test_groups_and_covariates_have_roles():
    table = {"a": [0, 1, 1, 0], "b": [1, 0, 1, 0], "who": ["x", "y", "x", "y"], "age": [20.5, 31, 44, 52]}
    data = mb.Data(table, group="who", covariates=["age"])
    assert data.schema.names == ("a", "b")
    assert data.group_labels == ("x", "y")
    np.testing.assert_array_equal(data.covariates[:, 0], table["age"])
    assert [part.n for part in data.parts().values()] == [2, 2]
    model = mb.Model.from_data(data)
    with pytest.raises(mb.InputError, match="covariates = 'age'"):
        mb.estimate(model, data)
    with pytest.warns(mb.MRFWarning, match=r"groups .*not used"):
        mb.estimate(model, mb.Data(table, group="who", drop=["age"]), progress=False)


def test_repr_shows_variables_and_missing_cells():
    data = mb.Data({"<b>": ["no", "yes", ""], "q": [1, 2, 5]})
    assert "3 rows of 2 variables" in repr(data)
    assert "1 missing cell" in repr(data)
    page = data._repr_html_()
    assert "&lt;b&gt;" in page
    assert "<b>" not in page
    assert data.variables.loc["q", "n"] == [1, 1, 0, 0, 1]


def test_value_labels_and_missing_codes_of_spss_files(tmp_path):
    import pyreadstat

    x = pd.DataFrame({"item": [1.0, 2.0, 5.0, 9.0], "sex": [1.0, 2.0, 1.0, 2.0], "region": [3.0, 1.0, 7.0, 3.0]})
    labels = {"item": {1: "never", 5: "always"}, "sex": {1: "male", 2: "female"}, "region": {1: "N", 3: "S", 7: "W"}}
    pyreadstat.write_sav(
        x,
        str(tmp_path / "d.sav"),
        variable_value_labels=labels,
        missing_ranges={"item": [9]},
        variable_measure={"item": "ordinal", "sex": "nominal", "region": "nominal"},
    )
    data = mb.Data(tmp_path / "d.sav")
    assert data.schema["item"].labels == ("never", "2", "3", "4", "always")
    assert (data.schema["item"].kind, data.schema["sex"].labels) == ("ordinal", ("male", "female"))
    assert (data.schema["region"].kind, data.schema["region"].labels) == ("nominal", ("N", "S", "W"))
    np.testing.assert_array_equal(data.rows()[:, 0], [0, 1, 4, 255])
