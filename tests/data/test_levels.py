"""Text labels and their order: what is known, what is asked for, and that the answer is that of the numbers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import xarray as xr

from mrfbayes.base.errors import InputError, MRFWarning
from mrfbayes.data.statistics import Statistics, count
from mrfbayes.model.build import graph
from mrfbayes.model.factors import Factor
from mrfbayes.model.field import Model

OFTEN = ["never", "rarely", "sometimes", "often", "always"]
SCORE = graph([("a", "b"), ("b", "c")], states=5, fields=True, coupling="score")
FIELDS = graph([("a", "b"), ("b", "c")], fields=True)
PLAIN = graph([("a", "b"), ("b", "c")])
FIVE = np.random.default_rng(5).integers(0, 5, size=(300, 3))
TWO = np.random.default_rng(6).integers(0, 2, size=(100, 3))
EXPECTED = count(SCORE, FIVE)


def words(x, labels):
    return pd.DataFrame(np.array(labels, dtype=object)[x], columns=list("abc"))


def refused(*arguments, **options):
    with pytest.raises(InputError) as caught:
        count(*arguments, **options)
    return str(caught.value)


# --- ordinal labels


@pytest.mark.parametrize(
    "levels", [OFTEN, tuple(OFTEN), "never<rarely<sometimes<often<always", dict.fromkeys("abc", OFTEN)]
)
def test_given_levels_are_the_numbers(levels):
    stats = count(SCORE, words(FIVE, OFTEN), levels=levels)
    assert stats.digest == EXPECTED.digest
    assert stats.labels == (tuple(OFTEN),) * 3
    assert not stats.warnings


def test_levels_in_a_file_and_for_one_node(tmp_path):
    words(FIVE, OFTEN).to_csv(tmp_path / "w.csv", index=False)
    assert count(SCORE, tmp_path / "w.csv", levels=OFTEN).digest == EXPECTED.digest
    mixed = words(FIVE, OFTEN)
    mixed["b"] = FIVE[:, 1]
    for levels in (OFTEN, {"a": OFTEN, "c": OFTEN}, ["a=" + "<".join(OFTEN), "c = " + "<".join(OFTEN)]):
        stats = count(SCORE, mixed, levels=levels)
        assert stats.digest == EXPECTED.digest
        assert stats.labels == (tuple(OFTEN), None, tuple(OFTEN))
    assert count(SCORE, FIVE + 1, levels=[1, 2, 3, 4, 5]).digest == EXPECTED.digest
    assert count(SCORE, np.array([8, 6, 4, 2, 0])[FIVE], levels=[8, 6, 4, 2, 0]).digest == EXPECTED.digest


def test_scores_ask_for_an_order():
    text = refused(SCORE, words(FIVE, OFTEN))
    assert (
        "x:0:a: the order of the labels 'always', 'never', 'often', 'rarely', 'sometimes' in columns 'a', 'b', 'c'"
        in text
    )
    assert "by levels=[...] (on the command line --levels 'LOWEST<...<HIGHEST')" in text
    gap = refused(graph([("a", "b"), ("b", "c")], states=3, coupling="score"), words(TWO, ["low", "high"]))
    assert "2 labels ('low', 'high') in columns 'a', 'b', 'c' for 3 states; say which states they are by levels" in gap


@pytest.mark.parametrize(
    "make",
    [
        lambda x: pd.DataFrame(
            {n: pd.Categorical.from_codes(x[:, j], OFTEN, ordered=True) for j, n in enumerate("abc")}
        ),
        lambda x: pl.DataFrame(
            {n: pl.Series([OFTEN[v] for v in x[:, j]], dtype=pl.Enum(OFTEN)) for j, n in enumerate("abc")}
        ),
        lambda x: pl.LazyFrame(
            {n: pl.Series([OFTEN[v] for v in x[:, j]], dtype=pl.Enum(OFTEN)) for j, n in enumerate("abc")}
        ),
        lambda x: pa.table(
            {n: pa.DictionaryArray.from_arrays(pa.array(x[:, j]), OFTEN, ordered=True) for j, n in enumerate("abc")}
        ),
    ],
)
def test_ordered_types_are_taken_as_they_are(make):
    stats = count(SCORE, make(FIVE))
    assert stats.digest == EXPECTED.digest
    assert stats.labels == (tuple(OFTEN),) * 3


def test_ordered_numbers_are_taken_as_they_are():
    sizes = [10, 20, 50, 5, 100]
    table = {n: pd.Categorical.from_codes(FIVE[:, j], sizes, ordered=True) for j, n in enumerate("abc")}
    stats = count(SCORE, pd.DataFrame(table))
    assert stats.digest == EXPECTED.digest
    assert stats.labels == (tuple(sizes),) * 3


def test_categories_without_an_order_have_none():
    table = pd.DataFrame({n: pd.Categorical.from_codes(FIVE[:, j], OFTEN) for j, n in enumerate("abc")})
    assert "the order of the labels 'always', 'never', " in refused(SCORE, table)
    assert count(SCORE, table, levels=OFTEN).digest == EXPECTED.digest


def test_a_level_dropped_in_one_column_is_not_renumbered():
    """The second column never holds 'sometimes', and its type lost it: 'always' is still state 4."""
    x = FIVE.copy()
    x[x[:, 1] == 2, 1] = 4
    table = pd.DataFrame({n: pd.Categorical.from_codes(x[:, j], OFTEN, ordered=True) for j, n in enumerate("abc")})
    table["b"] = table["b"].cat.remove_unused_categories()
    with pytest.warns(MRFWarning, match=r"unused state: 'b' \(state 2 of 'b' never occurs\)"):
        stats = count(SCORE, table)
    np.testing.assert_array_equal(stats.rows, x)
    assert stats.labels == (tuple(OFTEN),) * 3
    table["c"] = table["c"].cat.reorder_categories(OFTEN[::-1])
    assert "columns 'a', 'b', 'c' order their categories differently" in refused(SCORE, table)


def test_orders_that_leave_a_doubt_are_asked_for():
    model = graph([("a", "b")], states=3, coupling="score")
    table = pd.DataFrame(
        {
            "a": pd.Categorical(["low", "mid", "low"], categories=["low", "mid"], ordered=True),
            "b": pd.Categorical(["low", "high", "high"], categories=["low", "high"], ordered=True),
        }
    )
    assert "the order of the labels 'low', 'mid', 'high' in columns 'a', 'b' is not known" in refused(model, table)
    with pytest.warns(MRFWarning, match="2 columns have unused states"):
        stats = count(model, table, levels="low<mid<high")
    assert stats.rows.tolist() == [[0, 0], [1, 2], [0, 2]]


# --- binary pairs


@pytest.mark.parametrize(
    "pair",
    [
        ("no", "yes"),
        ("False", "True"),
        ("ABSENT", "PRESENT"),
        ("low", "high"),
        ("off", "on"),
        ("negative", "positive"),
        ("disagree", "agree"),
        ("n", "y"),
        ("F", "T"),
        ("wrong", "right"),
        (" no", "yes "),
    ],
)
def test_known_pairs_keep_their_order(pair, tmp_path):
    expected = count(FIELDS, TWO)
    for source in (words(TWO, pair), pl.DataFrame(words(TWO, pair).to_dict("list")), words(TWO, pair).to_numpy()):
        stats = count(FIELDS, source)
        assert stats.digest == expected.digest
        assert stats.labels == (pair,) * 3
        assert not stats.warnings
    words(TWO, pair).to_csv(tmp_path / "w.csv", index=False)
    assert count(FIELDS, tmp_path / "w.csv").digest == expected.digest


@pytest.mark.parametrize("word", ["true", "present", "yes", "High", "ON", "positive"])
def test_a_constant_column_of_the_upper_word_is_one(word):
    table = pd.DataFrame({"a": [word] * 4, "b": [0, 1, 1, 0], "c": [1, 1, 0, 0]})
    with pytest.warns(MRFWarning, match="1 column is constant: 'a'"):
        stats = count(FIELDS, table)
    assert stats.rows[:, 0].all()
    assert stats.labels[0][1] == word
    with pytest.warns(MRFWarning, match="every column is constant"):
        assert count(FIELDS, pd.DataFrame({n: [word] * 4 for n in "abc"})).rows.all()


def test_pairs_that_nobody_knows_are_asked_for_where_they_matter():
    table = words(TWO, ["m", "f"])
    text = refused(FIELDS, table)
    assert "x:0:a: the order of the labels 'f', 'm' in columns 'a', 'b', 'c' is not known, and here it matters" in text
    assert "order of the labels 'f', 'm'" in refused(graph([("a", "b"), ("b", "c")], coupling="both-one"), table)
    assert count(FIELDS, table, levels=["m", "f"]).digest == count(FIELDS, TWO).digest
    # Agreement of columns that share their labels is the same in either order.
    with pytest.warns(MRFWarning, match="not known; they were sorted: 'f' = 0, 'm' = 1"):
        stats = count(PLAIN, table)
    np.testing.assert_array_equal(stats.counts, count(PLAIN, TWO).counts)
    # Agreement of columns with different labels is not.
    table["c"] = np.where(TWO[:, 2] == 1, "red", "blue")
    assert "order of the labels 'blue', 'red' in column 'c' is not known" in refused(PLAIN, table)


def test_order_matters_in_tables_of_ones_own():
    same = Factor(("a", "b"), outcomes=[[0, 1, 1], [1, 0, 1], [1, 1, 0]])
    table = pd.DataFrame({"a": ["x", "y", "z"], "b": ["y", "z", "x"]})
    with pytest.warns(MRFWarning, match="'x' = 0, 'y' = 1, 'z' = 2"):
        count(Model({"a": 3, "b": 3}, [same]), table)
    lower = Factor(("a",), outcomes=[0, 1, 1])
    assert "order of the labels 'x', 'y', 'z'" in refused(Model({"a": 3, "b": 3}, [same, lower]), table)


# --- what is wrong with levels


@pytest.mark.parametrize(
    ("levels", "message"),
    [
        (OFTEN[:4], "'always' is not among the levels 'never', 'rarely', 'sometimes', 'often'; add it to levels= (--l"),
        (["never", "rarely", "sometimes", "oftn", "always"], "(did you mean 'oftn'?)"),
        ([*OFTEN, "constantly"], "6 levels are more than the 5 states of the model; set states=6 (on the command line"),
        ([*OFTEN, "often"], "levels: 'often' stands there twice"),
        (["never"], "levels = ['never']: give at least two labels"),
        (["u", "v"], "levels: none of 'u', 'v' occurs in x; check their spelling"),
        ({"d": OFTEN}, "levels: no node is called 'd'"),
        ({"a": 3}, "levels of 'a' = 3: give labels in ascending order"),
        (7, "levels = 7: give labels in ascending order"),
        (["a", None], "levels: None is no label"),
        (["a", ["b"]], "levels: ['b'] is no label"),
        (["u<v", "x<y"], "two orders for the same columns"),
    ],
)
def test_bad_levels(levels, message):
    assert message in refused(SCORE, words(FIVE, OFTEN), levels=levels)


def test_levels_of_counted_data():
    with pytest.raises(InputError, match="levels: x is a Statistics, whose levels are already counted"):
        count(SCORE, EXPECTED, levels=OFTEN)
    assert isinstance(count(SCORE, EXPECTED), Statistics)


def test_labels_together_more_than_the_states():
    table = pd.DataFrame({"a": ["u", "v"], "b": ["v", "w"], "c": ["u", "w"]})
    assert "columns 'a', 'b', 'c' together hold 3 labels ('u', 'v', 'w') for 2 states; set states=3" in refused(
        PLAIN, table
    )
    levels = {"a": ["u", "v"], "b": ["v", "w"], "c": ["u", "w"]}
    assert count(PLAIN, table, levels=levels).labels == (("u", "v"), ("v", "w"), ("u", "w"))


def test_numbers_that_seem_to_count_from_one_are_asked_about():
    """1..4 of 1..5: they are also among 0..4."""
    x = 1 + FIVE % 4
    with pytest.warns(MRFWarning) as caught:
        count(SCORE, x)
    hint = "state 0 occurs in no column: if the values count from 1, say so by levels=[1, 2, 3, 4, 5]"
    assert hint in [str(one.message) for one in caught]
    with pytest.warns(MRFWarning, match="state 4 of 'a' never occurs"):
        np.testing.assert_array_equal(count(SCORE, x, levels=[1, 2, 3, 4, 5]).counts, count(SCORE, x - 1).counts)


# --- named axes


def test_named_axes_are_matched_by_name():
    expected = count(FIELDS, TWO)
    array = xr.DataArray(TWO[:, [2, 0, 1]], dims=("row", "item"), coords={"item": ["c", "a", "b"]})
    structured = np.zeros(len(TWO), dtype=[("c", int), ("b", int), ("a", int)])
    for j, name in enumerate("abc"):
        structured[name] = TWO[:, j]
    columns = {"c": TWO[:, 2], "b": TWO[:, 1].tolist(), "a": TWO[:, 0]}
    dataset = xr.Dataset({name: ("row", np.asarray(column)) for name, column in columns.items()})
    for x in (array, array.T, array.assign_coords(row=np.arange(len(TWO))).T, structured, columns, dataset):
        assert count(FIELDS, x).digest == expected.digest
    assert count(FIELDS, xr.DataArray(TWO)).digest == expected.digest
    assert "no column for 1 of 3 nodes, the first is 'a'" in refused(FIELDS, array.assign_coords(item=["c", "d", "b"]))
    assert "two columns are called 'c'" in refused(FIELDS, array.assign_coords(item=["c", "c", "b"]))
    assert "columns have the shapes 'a' (2,), 'b' (3,)" in refused(FIELDS, {"a": [0, 1], "b": [0, 1, 1], "c": [0, 1]})
    assert "x has shape (5, 2, 3)" in refused(FIELDS, xr.DataArray(np.zeros((5, 2, 3), dtype=int)))


# --- all problems at once


def test_all_problems_of_a_file_are_listed_at_once(tmp_path):
    path = tmp_path / "bad.csv"
    path.write_text('a,b,c\n0,1,x\n0,1\n1,"0,1\n,0.5,1\n0,1,0,1\n0,1,2\n')
    lines = refused(FIELDS, path).replace(f"{path}:", "").split("\n")
    starts = ["3: 2 columns", "4:2: a quote", "6: 4 columns", "5:a: blank cell", "5:b: 0.5 is", "2:c: text 'x' among"]
    assert len(lines) == len(starts)
    for start in starts:
        assert any(line.startswith(start) for line in lines), (start, lines)


def test_very_many_problems_are_cut(tmp_path):
    path = tmp_path / "bad.csv"
    path.write_bytes(b"a,b,c\n" + b"\xe9,0,1\n" * 50)
    lines = refused(FIELDS, path).split("\n")
    assert len(lines) == 21
    assert lines[-1] == "... and 30 more problems of this kind."


def test_all_problems_of_a_table_are_listed_at_once():
    table = pl.DataFrame({"a": [[0], [1]], "b": [0, 1], "c": [b"x", b"y"]})
    assert refused(FIELDS, table).count("\n") == 1
    names = pd.DataFrame([[0, 1, 0, 1]], columns=["a", "", "a", "b"])
    assert refused(FIELDS, names).count("\n") == 1
    values = pd.DataFrame({"a": [0, 7], "b": [0.5, 1], "c": [0, np.nan], "w": [1, -1]})
    lines = refused(FIELDS, values, weights="w").split("\n")
    assert [line.split(":")[1] for line in lines] == ["1", "1", "0"]
    assert "x:0:1: '[1]' is of type list" in refused(FIELDS, np.array([[0, [1], 1], [0, 1, 1]], dtype=object))
