"""Several files as one data set, and long tables as wide ones."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest

import mrfbayes as mb

MODEL = mb.graph([("a", "b"), ("b", "c")], fields=True)
X = np.random.default_rng(5).integers(0, 2, size=(30, 3))


@pytest.fixture
def files(tmp_path):
    """Three waves; the second has its columns in another order and one more."""
    parts = np.split(X, 3)
    pd.DataFrame(parts[0], columns=list("abc")).to_csv(tmp_path / "wave1.csv", index=False)
    second = pd.DataFrame(parts[1], columns=list("abc"))[["c", "a", "b"]].assign(note="x")
    second.to_csv(tmp_path / "wave2.csv", index=False)
    pl.DataFrame(dict(zip("abc", parts[2].T, strict=True))).write_parquet(tmp_path / "wave3.parquet")
    return tmp_path


def test_several_files_are_read_as_one_data_set(files):
    listed = [files / "wave1.csv", files / "wave2.csv", files / "wave3.parquet"]
    whole = mb.Data(X).count(MODEL)
    for x in (listed, [str(files / "wave*")], str(files / "wave*")):
        found = mb.Data(x).count(MODEL)
        np.testing.assert_array_equal(found.rows, X)
        np.testing.assert_array_equal(found.counts, whole.counts)
    assert mb.Data(str(files / "wave[12].csv")).n_rows == 20


def test_errors_name_the_file_and_its_own_line(files):
    (files / "wave2.csv").write_text("a,b,c\n0,1,0\n0,7,1\n")
    message = re.escape("wave2.csv:3:b: ")
    with pytest.raises(mb.InputError, match=message):
        mb.Data([files / "wave1.csv", files / "wave2.csv"]).count(MODEL)
    (files / "wave2.csv").write_text("a,b,c\n0,1\n")
    with pytest.raises(mb.InputError, match=r"wave2\.csv:2: 2 columns, the header has 3"):
        mb.Data([files / "wave1.csv", files / "wave2.csv"]).count(MODEL)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a,b,z\n0,1,0\n", r"other\.csv: no column 'c', which .*wave1\.csv has"),
        ("0,1,0\n1,1,1\n", r"other\.csv: no header, but another file of the data set has one"),
    ],
)
def test_files_with_different_columns_raise_input_error(files, content, message):
    (files / "other.csv").write_text(content)
    with pytest.raises(mb.InputError, match=message):
        mb.Data([files / "wave1.csv", files / "other.csv"]).count(MODEL)


def test_missing_file_raises_input_error(files):
    with pytest.raises(mb.InputError, match=r"wave9\*\.csv: no file"):
        mb.Data(str(files / "wave9*.csv")).count(MODEL)
    with pytest.raises(mb.InputError, match=r"nowhere\.csv: no such file"):
        mb.Data([files / "wave1.csv", files / "nowhere.csv"]).count(MODEL)
    np.save(files / "image.npy", X)
    with pytest.raises(mb.InputError, match=r"image\.npy is an image .*tables"):
        mb.Data([files / "wave1.csv", files / "image.npy"]).count(MODEL)


def test_ordered_types_of_all_files_are_used(tmp_path):
    levels = pl.Enum(["low", "middle", "high"])
    model = mb.graph([("a", "b")], states=3, fields=True, coupling="score")
    x = np.random.default_rng(1).integers(0, 3, size=(20, 2))
    for k, part in enumerate(np.split(x, 2)):
        words = {name: pl.Series(np.array(levels.categories)[part[:, j]], dtype=levels) for j, name in enumerate("ab")}
        pl.DataFrame(words).write_parquet(tmp_path / f"{k}.parquet")
    np.testing.assert_array_equal(mb.Data(str(tmp_path / "*.parquet")).count(model).rows, x)


def long_table():
    who, what = np.divmod(np.arange(90), 3)
    return pd.DataFrame({"person": who, "item": np.array(list("abc"))[what], "answer": X.ravel()})


def test_long_table_equals_wide_table(tmp_path):
    table = long_table().sample(frac=1.0, random_state=1)  # in any order
    expected = mb.Data(X).count(MODEL).counts
    table.to_csv(tmp_path / "long.csv", index=False)
    table.to_parquet(tmp_path / "long.parquet")
    for x in (table, pl.from_pandas(table), tmp_path / "long.csv", str(tmp_path / "long.parquet")):
        np.testing.assert_array_equal(mb.Data.from_long(x, "person", "item", "answer").count(MODEL).counts, expected)


@pytest.mark.parametrize(
    ("change", "names", "message"),
    [
        (
            lambda t: t,
            ("who", "item", "answer"),
            "row = 'who': x has no such column; it has 'person'",
        ),
        (lambda t: t, ("item", "item", "answer"), "name three different columns"),
        (lambda t: pd.concat([t, t[:1]]), ("person", "item", "answer"), "0 has two values of 'a'"),
        (lambda t: t.assign(item=None), ("person", "item", "answer"), "no 'person' or no 'item'"),
    ],
)
def test_bad_long_tables_are_refused(change, names, message):
    with pytest.raises(mb.InputError, match=re.escape(message)):
        mb.Data.from_long(change(long_table()), *names)


def test_absent_cells_of_long_table_are_missing(tmp_path):
    names = ("person", "item", "answer")
    data = mb.Data.from_long(long_table()[1:], *names)
    assert data.variables["n_missing"].tolist() == [0, 0, 1]
    with pytest.warns(mb.MRFWarning, match="1 of 30 rows have missing cells"):
        assert mb.Data.from_long(long_table()[1:], *names, missing="drop").count(MODEL).n == 29
    with pytest.raises(mb.InputError, match="no such file"):
        mb.Data.from_long(tmp_path / "no.csv", "a", "b", "c")
    with pytest.raises(mb.InputError, match=r"x is a int.*an array"):
        mb.Data.from_long(7, "a", "b", "c")


def test_a_long_table_keeps_what_its_source_says_of_the_values(tmp_path):
    import pyreadstat

    item = {"who": np.repeat([1.0, 2, 3, 4], 2), "item": ["q1", "q2"] * 4}
    long = pd.DataFrame({**item, "v": [1.0, 2, 4, 3, 2, 1, 3, 4]})
    labels = {"v": {1.0: "low", 2.0: "mid", 3.0: "high", 4.0: "refused"}}
    pyreadstat.write_sav(long, tmp_path / "long.sav", missing_ranges={"v": [4]}, variable_value_labels=labels)
    expected = mb.Data(tmp_path / "long.sav", columns="v").schema["v"]
    assert expected.labels == ("low", "mid", "high")
    data = mb.Data.from_long(tmp_path / "long.sav", "who", "item", "v")
    assert [(one.kind, one.labels) for one in data.schema] == [(expected.kind, expected.labels)] * 2
    assert data.variables["n_missing"].tolist() == [1, 1]
    words = pd.Categorical(["lo", "hi", "mid", "lo", "hi", "mid", "lo", "lo"], ["lo", "mid", "hi"], ordered=True)
    frame = pd.DataFrame({**item, "v": words})
    for one in (frame, pl.from_pandas(frame).with_columns(pl.col("v").cast(pl.Enum(["lo", "mid", "hi"])))):
        schema = mb.Data.from_long(one, "who", "item", "v").schema
        assert [(one.kind, one.labels) for one in schema] == [("ordinal", ("lo", "mid", "hi"))] * 2
