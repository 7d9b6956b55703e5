"""Every kind of source gives the same counts; every bad input gets one clear line."""

import gzip
from datetime import date
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from mrfbayes.base.errors import CostError, InputError, MRFWarning
from mrfbayes.data import delimited
from mrfbayes.data import frames as tables
from mrfbayes.data.data import Data
from mrfbayes.model.build import graph, grid
from mrfbayes.sampling.sample import sample

NAMED = graph([("a", "b"), ("b", "c")], fields=True)
NUMBERED = graph([(0, 1), (1, 2)], fields=True)
X = np.random.default_rng(3).integers(0, 2, size=(200, 3))
LINES = "\n".join(",".join(map(str, row)) for row in X.tolist()) + "\n"


def write(folder, content, name="data.csv"):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def same(stats, expected=None):
    expected = expected or Data(X).count(NAMED)
    np.testing.assert_array_equal(stats.counts, expected.counts)
    assert (stats.n, stats.n_rows, stats.digest) == (expected.n, expected.n_rows, expected.digest)
    np.testing.assert_array_equal(stats.rows, expected.rows)
    return stats


# --- the same data in every form


def frame():
    return {"c": X[:, 2], "note": ["any"] * len(X), "a": X[:, 0], "b": X[:, 1]}


@pytest.mark.parametrize(
    "make",
    [
        pd.DataFrame,
        pl.DataFrame,
        pl.LazyFrame,
        pa.table,
        lambda data: pd.DataFrame(data).astype({"a": bool, "b": float}),
        lambda data: pd.DataFrame(data).astype({"a": "Int64", "b": "category"}),
        lambda data: pl.DataFrame(data).with_columns(pl.col("a").cast(pl.String), pl.col("b").cast(pl.Boolean)),
    ],
)
def test_tables_match_by_name(make):
    same(Data(make(frame())).count(NAMED))


def test_array_types_give_the_same_counts():
    for x in (X.astype(bool), X.astype(float), X.astype(np.int8), X.astype(str), X.astype(object), X.tolist()):
        same(Data(x).count(NAMED))
    same(Data(np.asfortranarray(X)).count(NAMED))
    same(Data(np.repeat(X, 2, axis=1)[:, ::2]).count(NAMED))


@pytest.mark.parametrize(
    ("name", "content", "model"),
    [
        ("plain.csv", "a,b,c\n" + LINES, NAMED),
        ("no_last_newline.csv", "a,b,c\n" + LINES.rstrip(), NAMED),
        ("windows.csv", "a,b,c\r\n" + LINES.replace("\n", "\r\n"), NAMED),
        ("mark.csv", "\ufeffa,b,c\n" + LINES, NAMED),
        ("quoted.csv", '"a","b","c"\n' + LINES.replace("1", '"1"'), NAMED),
        ("floats.csv", "a,b,c\n" + LINES.replace("1", "1.0"), NAMED),
        ("blank_lines.csv", "a,b,c\n" + LINES.replace("\n", "\n\n", 5) + "\n\n", NAMED),
        ("tabs.tsv", "a\tb\tc\n" + LINES.replace(",", "\t"), NAMED),
        ("tabs.csv", "a\tb\tc\n" + LINES.replace(",", "\t"), NAMED),
        ("semicolons.csv", "a;b;c\n" + LINES.replace(",", ";"), NAMED),
        ("bars.csv", "a|b|c\n" + LINES.replace(",", "|"), NAMED),
        ("quoted_semicolons.csv", '"a";"b";"c"\n' + LINES.replace(",", ";"), NAMED),
        ("decimal_commas.csv", "a;b;c\n" + LINES.replace(",", ";").replace("1", "1,0"), NAMED),
        ("decimal_commas_no_header.csv", "\n".join(";".join(f"{v},0" for v in row) for row in X), NUMBERED),
        ("other.csv", 'x,"é,""1""",y\n' + LINES, NUMBERED),
        ("no_header.csv", LINES, NUMBERED),
        ("mark_no_header.csv", "\ufeff" + LINES, NUMBERED),
        ("packed.csv.gz", gzip.compress(("a,b,c\n" + LINES).encode()), NAMED),
    ],
)
def test_text_formats_give_the_same_counts(tmp_path, name, content, model):
    same(Data(write(tmp_path, content, name)).count(model))
    same(Data(str(tmp_path / name)).count(model))


def test_a_first_line_that_counts_the_columns_is_a_header(tmp_path):
    model = graph([(k, k + 1) for k in range(13)], fields=True)
    x = np.random.default_rng(4).integers(0, 2, size=(30, 14))
    content = ",".join(map(str, range(14))) + "\n" + "\n".join(",".join(map(str, row)) for row in x.tolist())
    same(Data(write(tmp_path, content)).count(model), Data(x).count(model))


def test_delimiter_argument_is_used(tmp_path):
    same(Data(write(tmp_path, "a b c\n" + LINES.replace(",", " ")), delimiter=" ").count(NAMED))


def test_unused_columns_may_hold_anything(tmp_path):
    rows = [f'{a},"x,""{k}",{b},,{c},é {k}' for k, (a, b, c) in enumerate(X.tolist())]
    same(Data(write(tmp_path, "a,id,b,gap,c,text\n" + "\n".join(rows))).count(NAMED))


def test_parquet_file_gives_the_same_counts(tmp_path):
    path = tmp_path / "data.parquet"
    pl.DataFrame(frame()).write_parquet(path)
    same(Data(path).count(NAMED))


def test_small_blocks_and_batches_change_nothing(tmp_path, monkeypatch):
    path, table = write(tmp_path, "a,b,c\n" + LINES), tmp_path / "data.parquet"
    words = write(tmp_path, "a,b,c\n" + LINES.replace("0", "no").replace("1", "yes"), "words.csv")
    pl.DataFrame(frame()).write_parquet(table, row_group_size=32)
    monkeypatch.setattr(delimited, "BLOCK_BYTES", 17)
    monkeypatch.setattr(delimited, "TEXT_BYTES", 0)
    monkeypatch.setattr(delimited, "TEXT_LINES", 3)
    monkeypatch.setattr(tables, "FRAME_CELLS", 40)
    for source in (path, table, X, pd.DataFrame(frame()), words):
        same(Data(source).count(NAMED))


def test_weights_by_column_name(tmp_path):
    weight = np.arange(len(X)) % 5 / 4
    expected = Data(X, weights=weight).count(NAMED)
    table = pd.DataFrame({**frame(), "w": weight})
    same(Data(table, weights="w").count(NAMED), expected)
    table.to_csv(tmp_path / "w.csv", index=False)
    same(Data(tmp_path / "w.csv", weights="w").count(NAMED), expected)
    whole = pd.DataFrame({"x": X[:, 0], "n": 2, "y": X[:, 1], "z": X[:, 2]})
    same(Data(whole, weights="n").count(NUMBERED), Data(X, weights=np.full(len(X), 2.0)).count(NUMBERED))


# --- values that are coded


def coded(x, note, model=NAMED, **options):
    stats = Data(x, **options).count(model)
    assert any(note in text for text in stats.notes)
    return stats


def dropped(x, warning, **options):
    with pytest.warns(MRFWarning) as caught:
        stats = Data(x, missing="drop", **options).count(NAMED)
    assert tuple(str(item.message) for item in caught if item.category is MRFWarning) == stats.warnings
    assert any(warning in text for text in stats.warnings)
    return stats


def values(stats):
    return tuple(variable.values for variable in stats.schema)


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


def test_order_of_categories_is_kept():
    kinds = pd.Categorical(np.where(X[:, 0] == 1, "high", "low"), categories=["low", "high"], ordered=True)
    table = pd.DataFrame({"a": kinds, "b": X[:, 1], "c": X[:, 2]})
    stats = same(Data(table).count(NAMED))
    assert values(stats) == (("low", "high"), (0, 1), (0, 1))
    enum = pl.Enum(["low", "high"])
    same(Data(pl.DataFrame({"a": pl.Series(list(kinds), dtype=enum), "b": X[:, 1], "c": X[:, 2]})).count(NAMED))


def test_unused_categories_are_kept_with_a_note():
    model = graph([("a", "b")], states=3, fields=True, coupling="table")
    kinds = pd.Categorical(["lo", "hi", "hi"], categories=["hi", "lo", "mid"])
    stats = coded(pd.DataFrame({"a": kinds, "b": [0, 1, 2]}), "1 column has an unused state: 'a' (state 2", model=model)
    assert values(stats) == (("hi", "lo", "mid"), (0, 1, 2))
    stats = coded(np.array([[0, 2], [1, 0], [0, 1]]), "state 2 of 'a' never occurs", model=model)
    text = pd.DataFrame({"a": ["u", "v", "v"], "b": [0, 1, 2]})
    with pytest.raises(InputError, match=r"x:.*a: 2 labels \('u', 'v'\) for 3 states"):
        Data(text).count(model)


def test_rows_with_missing_values_are_dropped_on_request(tmp_path):
    with_missing = X.astype(float)
    with_missing[[3, 3, 9], [0, 1, 2]] = np.nan
    kept = np.delete(X, [3, 9], axis=0)
    expected = Data(kept).count(NAMED)
    for x in (with_missing, pd.DataFrame(with_missing, columns=list("abc")), np.ma.masked_invalid(with_missing)):
        same(dropped(x, "x: 2 of 200 rows have missing cells and were dropped"), expected)
    lines = [",".join(map(str, row)) for row in X.tolist()]
    lines[3], lines[9] = ",NA,1", '0,1,"?"'
    same(dropped(write(tmp_path, "a,b,c\n" + "\n".join(lines)), "2 of 200 rows"), expected)
    weight = np.arange(200.0)
    same(
        dropped(with_missing, "2 of 200", weights=weight),
        Data(kept, weights=np.delete(weight, [3, 9])).count(NAMED),
    )


@pytest.mark.parametrize(
    ("x", "warning"),
    [
        (X[:1], "only one observation (n = 1)"),
        (X * 0, "every column is constant"),
    ],
)
def test_single_row_and_constant_columns_emit_warnings(x, warning):
    with pytest.warns(MRFWarning):
        stats = Data(x).count(NAMED)
    assert any(warning in text for text in stats.warnings)


def test_constant_columns_and_unused_states_are_notes():
    statistics = Data(X * [1, 0, 1]).count(NAMED)
    assert not statistics.warnings
    assert "'b'" in statistics.notes[0]
    posterior = sample(NAMED, statistics, rng=1, progress=False)
    assert statistics.notes[0] in posterior.notes
    assert not posterior.warnings


# --- values that are refused

BAD_CSV = {
    "empty": ("", "data.csv: the file is empty; expected a header line"),
    "header only": ("a,b,c\n", "data.csv: no rows below the column names; give at least one"),
    "header only, no newline": ("a,b,c", "data.csv: no rows below the column names"),
    "blank first line": ("\n\n", "data.csv:1: the first line is blank"),
    "no header": ("0,1,1\n", "data.csv:1: no header, but the nodes have names ('a', 'b', 'c')"),
    "0.5": ("a,b,c\n0,1,0\n1,0.5,1\n", "data.csv:3:b: 0.5 is not a whole number"),
    "inf": ("a,b,c\n0,1,0\n1,inf,1\n", "data.csv:3:b: inf is not a whole number"),
    "similar labels": ("a,b,c\nyes,no,no\nYes ,yes,yes\n", "data.csv:3:a: labels 'Yes ' and 'yes' differ only in case"),
    "text among numbers": ("a,b,c\n0,1,0\n1,x,1\n", "data.csv:3:b: text 'x' among numbers"),
    "three states": ("a,b,c\n0,1,0\n1,2,1\n0,0,0\n", "data.csv:3:b: 3 distinct values (0, 1, 2) for 2 states"),
    "three labels": ("a,b,c\n0,u,0\n1,v,1\n0,w,0\n", "data.csv:4:b: 3 labels ('u', 'v', 'w') for 2 states"),
    "code for missing": ("a,b,c\n0,1,0\n0,99,1\n", "data.csv:3:b: 99 lies beyond the other values (1 to 1)"),
    "minus 99": ("a,b,c\n0,1,0\n0,-99,1\n1,0,1\n", "na_values=[-99] (on the command line --na -99)"),
    "large number": ("a,b,c\n0,123456,0\n", "data.csv:2:b: value 123456 is not among the states 0..1"),
    "identifier": ("a,b,c\n" + "".join(f"id{k},0,1\n" for k in range(40)), "data.csv:41:a: 40 labels"),
    "measurement": ("a,b,c\n" + "".join(f"{k},0,1\n" for k in range(400)), "data.csv:2:a: more than 300 distinct"),
    "short row": ("a,b,c\n0,1,0\n0,1\n", "data.csv:3: 2 columns, the header has 3; check delimiters"),
    "long row": ("a,b,c\n0,1,0,1\n", "data.csv:2: 4 columns, the header has 3"),
    "duplicate column": ("a,b,a\n0,1,0\n", "data.csv:1:3: two columns are called 'a'"),
    "empty column name": ("a,,c\n0,1,0\n", "data.csv:1:2: column 2 has an empty name; name it"),
    "wrong column": ("a,bb,c\n0,1,0\n", "nodes, 'b' (did you mean 'bb'?)"),
    "UTF-16": ("a,b,c\n0,1,0\n".encode("utf-16"), "data.csv: byte 0 is 0xff, the mark of UTF-16; save the file"),
    "UTF-16, no mark": ("a,b,c\n0,1,0\n".encode("utf-16-le"), "data.csv:1: NUL byte at position 2"),
    "Latin-1": ("a,b,c\nné,0,1\n".encode("latin-1"), "data.csv:2: byte 2 of the line is 0xe9, which is not UTF-8"),
    "Latin-1 header": ("a,b,é\n0,0,1\n".encode("latin-1"), "data.csv:1: byte 5 of the line is 0xe9"),
    "NUL": ("a,b,c\n0,1,0\n0,1\0,0\n", "data.csv:3: NUL byte at position 4"),
    "blanks": ("a b c\n0 1 0\n", "data.csv:1: one column, but the line holds blanks; is the delimiter ' '? Pass "),
    "unclosed quote": ('a,b,c\n0,1,0\n0,"1,0\n1,1,1\n', "data.csv:3:2: a quote is not closed in this line"),
    "zip": (b"PK\x03\x04" + bytes(20), "data.csv: this is zip (an Excel file?), not text"),
    "Parquet": (b"PAR1" + bytes(20), "data.csv: this is Parquet: call it .parquet"),
}


@pytest.mark.parametrize("name", BAD_CSV)
def test_bad_text_file_error_names_line_and_column(tmp_path, name):
    content, message = BAD_CSV[name]
    with pytest.raises(InputError) as caught:
        Data(write(tmp_path, content)).count(NAMED)
    assert message in str(caught.value)
    assert len(str(caught.value).split("\n")) == 1


@pytest.mark.parametrize(
    "mark", ["", " ", "NA", "na", "N/A", "#N/A", "<NA>", "NaN", "nan", "null", "NULL", "?", "-", "."]
)
def test_marks_of_missing_cells_are_the_same_in_all_columns(tmp_path, mark):
    table = f"a,b,c\n0,yes,3\n{mark},no,1\n1,{mark},2\n0,yes,{mark}\n"
    data = Data(write(tmp_path, table))
    assert [variable.kind for variable in data.schema] == ["binary", "binary", "ordinal"]
    np.testing.assert_array_equal(data.rows(), [[0, 1, 2], [255, 0, 0], [1, 255, 1], [0, 1, 255]])
    assert data.variables["n_missing"].tolist() == [1, 1, 1]


def test_all_problems_of_a_file_are_listed_at_once(tmp_path):
    path = write(tmp_path, "a,b,c\n0,1,0\n1,0.5,1\n1,1,-99\n0,0,1\n")
    with pytest.raises(InputError) as caught:
        Data(path).schema  # noqa: B018
    assert [line.split(": ")[0] for line in str(caught.value).splitlines()] == [f"{path}:3:b", f"{path}:4:c"]


def test_compressed_bomb_is_refused(tmp_path, monkeypatch):
    bomb = write(tmp_path, gzip.compress(b"a,b,c\n" + b"0,1,0\n" * 100_000), "bomb.csv.gz")
    cut = write(tmp_path, bomb.read_bytes()[:-9], "cut.csv.gz")
    with pytest.raises(InputError, match="damaged gzip file"):
        Data(cut).count(NAMED)
    monkeypatch.setattr(delimited, "UNPACKED_FREE", 1 << 12)
    with pytest.raises(InputError, match=r"bomb\.csv\.gz: [\d,]+ bytes .*more than [\d,]+"):
        Data(bomb).count(NAMED)


def test_damaged_parquet_raises_input_error(tmp_path, monkeypatch):
    whole = tmp_path / "whole.parquet"
    pl.DataFrame(frame()).write_parquet(whole)
    content = whole.read_bytes()
    for name, damaged, message in (
        ("cut", content[:-30], "cut.parquet: the mark at the end of the file is missing, so it is truncated"),
        ("middle", content[:60] + content[-40:], "middle.parquet: cannot be read"),
        ("noise", content[:40] + bytes(len(content) - 400) + content[-360:], "noise.parquet: "),
        ("text", b"a,b,c\n", "text.parquet: starts with b'a,b,', not with the mark of Parquet"),
        ("empty", b"", "empty.parquet: the file is empty"),
    ):
        with pytest.raises(InputError) as caught:
            Data(write(tmp_path, damaged, f"{name}.parquet")).count(NAMED)
        assert message in str(caught.value)
    monkeypatch.setattr(tables, "BOMB_CELLS", 10)
    monkeypatch.setattr(tables, "BOMB_CELLS_PER_BYTE", 0)
    with pytest.raises(CostError, match=r"whole\.parquet: [\d,]+ bytes hold 800 values, .* as a compressed bomb"):
        Data(whole).count(NAMED)


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ([[0], [1]], "column of type List(Int64)"),
        ([{"u": 0}, {"u": 1}], "column of type Struct"),
        ([date(2020, 1, 1)] * 2, "column of type Date"),
        ([Decimal("1.0")] * 2, "column of type Decimal"),
        ([b"x", b"y"], "of type "),
        ([None, None], "1 variable has no observed cell"),
    ],
)
def test_columns_of_other_types_raise_input_error(tmp_path, column, message):
    table = pl.DataFrame({"a": column, "b": [0, 1], "c": [1, 0]})
    path = tmp_path / "t.parquet"
    table.write_parquet(path)
    for x in (table, path, table.to_arrow()):
        with pytest.raises(InputError) as caught:
            Data(x).count(NAMED)
        assert message in str(caught.value)


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (np.zeros((0, 3)), "x: no rows; give at least one observation"),
        (np.zeros((4, 2)), "x has 2 columns, the model has 3 nodes: give one column per node"),
        (np.zeros(3), "pass x.reshape(1, -1) if it is one observation"),
        (np.zeros((2, 2, 3)), "no column for 3 of 3 nodes"),
        ([[0, 1, 0], [0, 1]], "x: its rows differ in length"),
        (7, "x is a int; expected an array, a data frame, or the path"),
        (None, "x is a NoneType; expected an array"),
        (np.zeros((2, 3), dtype=complex), "x holds complex128; expected whole numbers"),
        (np.zeros((2, 3), dtype="datetime64[s]"), "x holds datetime64[s]; expected whole numbers"),
        (np.array([[0, 1, np.inf]]), "x:0:2: inf is not a whole number"),
        (
            np.array([[0, 1, date(2020, 1, 1)]]),
            "x:0:2: '2020-01-01' is of type date; expected whole numbers",
        ),
        (pd.DataFrame([[0, 1, 0]], columns=["a", "a", "b"]), "x:2: two columns are called 'a'"),
        (pd.Series([0, 1, 0]), "x has shape (3,)"),
    ],
)
def test_bad_arrays_raise_input_error(x, message):
    with pytest.raises(InputError) as caught:
        Data(x).count(NAMED)
    assert message in str(caught.value)


def test_wrong_grid_shape_error_shows_how_to_reshape():
    with pytest.raises(InputError, match=r"\(3, 4\) of the grid.* x\[None\]"):
        Data(np.zeros((3, 4))).count(grid(3, 4))
    with pytest.raises(InputError, match=r"4 x 3 pixels, the grid has 3 x 4"):
        Data(np.zeros((5, 4, 3))).count(grid(3, 4))
    with pytest.raises(InputError, match="11 columns, the 3 x 4 grid has 12 nodes"):
        Data(np.zeros((5, 11))).count(grid(3, 4))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"weights": [1.0] * 199}, "weights has 199 entries, x has 200 rows"),
        ({"weights": [1.0] * 201}, "weights has 201 entries, x has 200 rows"),
        ({"weights": np.ones((200, 1))}, "weights has shape (200, 1)"),
        ({"weights": np.r_[1.0, -1.0, np.ones(198)]}, "weights[1] = -1: a weight is a finite number >= 0"),
        ({"weights": np.r_[np.nan, np.ones(199)]}, "weights[0] = nan"),
        ({"weights": np.zeros(200)}, "weights are all zero"),
        ({"weights": "w"}, "weights = 'w': x has no such column"),
        ({"weights": [object()] * 200}, "weights: expected numbers, got list"),
        ({"missing": "ignore"}, "missing = 'ignore': choose 'model' or 'drop'"),
    ],
)
def test_bad_options_raise_input_error(options, message):
    with pytest.raises(InputError) as caught:
        Data(X, **options).count(NAMED)
    assert message in str(caught.value)


def test_bad_options_of_tables_raise_input_error(tmp_path):
    table = pd.DataFrame({**frame(), "w": -1.0})
    with pytest.raises(InputError, match=r"x:0: weight -1\.0; a weight is a finite number"):
        Data(table, weights="w").count(NAMED)
    with pytest.raises(InputError, match=r"weights = 'v': .*'c', 'note', 'a', 'b', 'w'"):
        Data(table, weights="v").count(NAMED)
    with pytest.raises(InputError, match="1 of 3 nodes, 'a'"):
        Data(table, weights="a").count(NAMED)
    with pytest.raises(InputError, match="delimiter = 'ab'"):
        Data(write(tmp_path, "a,b,c\n"), delimiter="ab").count(NAMED)
    with pytest.raises(InputError, match="every row has a missing cell"):
        Data(np.full((2, 3), np.nan), missing="drop").count(NAMED)
    with pytest.raises(InputError, match=r"nowhere\.csv: no such file"):
        Data(tmp_path / "nowhere.csv").count(NAMED)
    with pytest.raises(InputError, match="this folder holds no Parquet files"):
        Data(tmp_path).count(NAMED)
    with pytest.raises(InputError, match="model: got str, expected a mrfbayes Model"):
        Data(X).count("grid")


ALIKE = {
    "digits": "a,b\n0,1\n1,0\n",
    "labels": "a,b\nno,low\nyes,high\n",
    "quotes": 'a,b\n"no","low"\n"yes","high"\n',
    "delimiter in quotes": 'a,b\n"no, never",0\n"yes",1\n',
    "doubled quotes": 'a,b\n"a ""b""",0\nc,1\n',
    "open quote": 'a,b,c\n"x,y,"z"\nx,y,z\n',
    "quote inside": 'a,b\nx"y,0\nz,1\n',
    "windows": "a,b\r\n0,x\r\n1,y\r\n",
    "lone return": "a,b\n0,x\ry\n1,z\n",
    "short and long line": "a,b,c\n0,1\n1,0,1,1\n0,0,1\n",
    "empty cells in a short line": "a,b,c\n1,,,0\n1,0,1\n",
    "blank line": "a,b\n0,1\n\n1,0\n",
    "empty cell": "a,b\n0,\n1,2\n,1\n",
    "numbers as text": "a,b\n+1,1.0\n 2,2.0\n03,1e0\n",
    "large numbers": "a,b\n40000,1\n40001,0\n",
    "decimal commas": "a;b\n1,0;0\n2,0;1\n",
    "zero byte": "a,b\nx\0,0\ny,1\n",
    "not ASCII": "a,b\nnão,0\nsim,1\n",
    "one column": "a\n0\n1\n\n1\n",
    "one column of labels": "a\nno\nyes\n\nno\n",
}


@pytest.mark.parametrize("name", ALIKE)
def test_blocks_and_lines_are_read_alike(name, tmp_path, monkeypatch):
    """Whether a file is large enough for the parser of whole blocks does not matter."""
    path = tmp_path / "table.csv"
    path.write_bytes(ALIKE[name].encode())
    answers = []
    for text_bytes in (0, 1 << 16):
        monkeypatch.setattr(delimited, "TEXT_BYTES", text_bytes)
        try:
            data = Data(path)
            answers.append((data.schema, data.rows().tolist(), data.notes, data.n_rows))
        except InputError as error:
            answers.append(str(error))
    assert answers[0] == answers[1]


@pytest.mark.parametrize("dtype", [object, "category"])
@pytest.mark.filterwarnings("ignore::mrfbayes.MRFWarning")
def test_a_mark_for_missing_values_counts_as_an_empty_cell(dtype):
    def counts(cell, **options):
        table = pd.DataFrame({"a": pd.Series(["yes", "no", cell, "yes"], dtype=dtype), "b": [0, 1, 1, 0]})
        return Data(table, **options).count(graph([("a", "b")]))

    marked, empty = counts("gone", na_values=["gone"]), counts(None)
    np.testing.assert_array_equal(marked.counts, empty.counts)
    assert marked.n == empty.n
