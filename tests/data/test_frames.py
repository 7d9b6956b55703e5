"""Arrays, data frames and Parquet files give the same counts; damaged ones and other types are refused."""

from datetime import date
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import mrfbayes as mb
from data.table_cases import NAMED, X, frame, same, values, write
from mrfbayes.base.errors import CostError, InputError
from mrfbayes.data import frames as tables
from mrfbayes.data.data import Data


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


def test_parquet_file_gives_the_same_counts(tmp_path):
    path = tmp_path / "data.parquet"
    pl.DataFrame(frame()).write_parquet(path)
    same(Data(path).count(NAMED))


def test_order_of_categories_is_kept():
    kinds = pd.Categorical(np.where(X[:, 0] == 1, "high", "low"), categories=["low", "high"], ordered=True)
    table = pd.DataFrame({"a": kinds, "b": X[:, 1], "c": X[:, 2]})
    stats = same(Data(table).count(NAMED))
    assert values(stats) == (("low", "high"), (0, 1), (0, 1))
    enum = pl.Enum(["low", "high"])
    same(Data(pl.DataFrame({"a": pl.Series(list(kinds), dtype=enum), "b": X[:, 1], "c": X[:, 2]})).count(NAMED))


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


def test_every_row_of_a_workbook_says_what_its_columns_hold(tmp_path):
    rows = [(i % 3, i % 2) for i in range(1500)] + [("never", 0)] * 300
    pd.DataFrame(rows, columns=["a", "b"]).to_excel(tmp_path / "d.xlsx", index=False)
    with pytest.raises(InputError, match="'never' among numbers"):
        _ = mb.Data(tmp_path / "d.xlsx").schema


@pytest.mark.parametrize(
    ("names", "message"), [(["a", "a"], r"d\.xlsx:1:2: .*'a'"), (["a", None], r"d\.xlsx:1:2: .*empty")]
)
def test_names_of_columns_in_a_workbook_are_those_of_its_first_row(tmp_path, names, message):
    pd.DataFrame([names, [1, 0], [0, 1]]).to_excel(tmp_path / "d.xlsx", index=False, header=False)
    with pytest.raises(InputError, match=message):
        mb.Data(tmp_path / "d.xlsx")
    pd.DataFrame([["a", 2019], [1, 0], [0, 1]]).to_excel(tmp_path / "d.xlsx", index=False, header=False)
    assert mb.Data(tmp_path / "d.xlsx").schema.names == ("a", "2019")
