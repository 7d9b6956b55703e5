"""Values as states: by the states of a model, by the labels, or by a schema."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import mrfbayes as mb
from data.table_cases import NAMED, X, coded, same, values, write
from mrfbayes.base.errors import InputError
from mrfbayes.data.data import Data
from mrfbayes.model.build import graph


def test_minus_and_plus_one_are_states_0_and_1(tmp_path):
    stats = same(Data(2 * X - 1).count(NAMED))
    assert values(stats) == ((-1, 1),) * 3
    lines = "\n".join(",".join(map(str, row)) for row in (2 * X - 1).tolist())
    same(Data(write(tmp_path, "a,b,c\n" + lines)).count(NAMED))


def test_values_counted_from_one_are_states_from_zero():
    stats = same(Data(X + 1).count(NAMED))
    assert values(stats) == ((1, 2),) * 3
    ordinal = graph([(0, 1)], states=[3, 4], coupling="score")
    x = np.array([[1, 1], [2, 2], [3, 3], [1, 4]])
    np.testing.assert_array_equal(Data(x).count(ordinal).counts, Data(x - 1).count(ordinal).counts)


def test_ambiguous_first_value_is_decided_by_other_columns_or_refused():
    model = graph([("a", "b")], states=4, coupling="score")
    from_one = np.array([[1, 1], [2, 4], [3, 2]])  # column a never reaches 4
    np.testing.assert_array_equal(Data(from_one).count(model).rows, from_one - 1)
    mixed = np.array([[1, 0, 4], [2, 3, 1], [3, 2, 2]])
    with pytest.raises(InputError, match=r"x:2:0: .*levels=\{'0'"):
        Data(mixed).count(graph([("a", "b"), ("b", "c")], states=4, coupling="score"))


def test_schema_codes_later_rows():
    words = np.where(X == 1, "yes", "no")
    stats = same(Data(words).count(NAMED))
    assert values(stats) == (("no", "yes"),) * 3
    again = coded(words[:50][words[:50, 0] == "yes"], "1 column is constant: 'a'", schema=stats.schema)
    assert again.rows[:, 0].all()
    words = words.astype(object)
    words[7, 1] = "maybe"
    with pytest.raises(InputError, match=r"x:7:1: unknown label 'maybe'.*'no', 'yes'\."):
        Data(words, schema=stats.schema).count(NAMED)
    with pytest.raises(InputError, match=r"x:0:0: unknown label 5.*0, 1"):
        Data(np.full((2, 3), 5), schema=Data(X).count(NAMED).schema).count(NAMED)


def test_constant_text_column_needs_levels():
    x = np.array([["ja", "nee", "nee"], ["ja", "ja", "nee"], ["ja", "nee", "ja"]])
    with pytest.raises(InputError, match=r"'ja'.*levels=\{'0'"):
        Data(x).count(NAMED)
    stats = coded(x, "1 column is constant: 'a'", levels=["nee", "ja"])
    assert values(stats) == (("nee", "ja"),) * 3
    different = np.array([["off", "yes", "hi"], ["on", "no", "lo"]])
    assert values(Data(different).count(NAMED)) == (("off", "on"), ("no", "yes"), ("hi", "lo"))


def test_unused_categories_are_kept_with_a_note():
    model = graph([("a", "b")], states=3, fields=True, coupling="table")
    kinds = pd.Categorical(["lo", "hi", "hi"], categories=["hi", "lo", "mid"])
    frame = pd.DataFrame({"a": kinds, "b": [0, 1, 2]})
    stats = coded(frame, "1 column has an unused state: 'a' (label 'mid'", model=model)
    assert values(stats) == (("hi", "lo", "mid"), (0, 1, 2))
    stats = coded(np.array([[0, 2], [1, 0], [0, 1]]), "state 2 of 'a' never occurs", model=model)
    five = Data({"a": [1, 2, 3, 4, 5], "b": [1, 2, 3, 4, 4]}, levels=[1, 2, 3, 4, 5])
    assert "(label 5 of 'b' never occurs)" in five.count(mb.Model.from_data(five)).notes[0]
    text = pd.DataFrame({"a": ["u", "v", "v"], "b": [0, 1, 2]})
    with pytest.raises(InputError, match=r"x:.*a: 2 labels \('u', 'v'\) for 3 states"):
        Data(text).count(model)


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


@pytest.mark.filterwarnings("ignore::mrfbayes.MRFWarning")
def test_booleans_and_the_words_for_them_are_coded_alike(tmp_path):
    truth = pd.DataFrame(X.astype(bool), columns=["a", "b", "c"])
    sources = {"pandas": truth, "nullable": truth.astype("boolean"), "polars": pl.from_pandas(truth)}
    sources["numpy"] = {name: truth[name].to_numpy() for name in truth}
    for write_word in (str, lambda value: str(value).upper(), lambda value: str(value).lower()):
        name = f"{write_word(True)}.csv"
        truth.map(write_word).to_csv(tmp_path / name, index=False)
        sources[name] = tmp_path / name
    made = {name: Data(source) for name, source in sources.items()}
    assert {data.schema for data in made.values()} == {made["pandas"].schema}
    sources["category"] = truth.map(str).astype("category")  # which keeps its words
    words, turned = Data(sources["category"]), Data(sources["TRUE.csv"], levels="TRUE<FALSE")
    assert words.schema["a"].labels == ("False", "True")
    for source in sources.values():
        for data, expected in ((made["pandas"], X), (made["TRUE.csv"], X), (words, X), (turned, 1 - X)):
            later = Data(source, schema=data.schema)
            np.testing.assert_array_equal(later.rows(), expected)
            np.testing.assert_array_equal(np.stack(later.variables["n"])[:, 1], expected.sum(axis=0))
        np.testing.assert_array_equal(Data(source).count(NAMED).rows, X)
    groups = {"x": truth, "y": tmp_path / "TRUE.csv"}
    compared = mb.compare_groups(NAMED, groups, draws=5, chains=1, warmup=5, progress=False)
    assert compared.schema == made["pandas"].schema


def test_true_and_false_among_other_labels_stay_words():
    mixed = Data({"a": ["True", "False", "maybe", "True"], "b": ["True", "false", "True", "false"]}).schema
    assert mixed["a"].labels == ("False", "True", "maybe")
    assert mixed["b"].labels == ("false", "True")
    with pytest.raises(InputError, match="unknown label 'maybe'"):
        Data({"a": ["maybe", "True"], "b": [True, False]}, schema=Data({"a": [True, False], "b": [0, 1]}).schema).rows()
