"""Columns and rows of every source: matched by name or position, weighted, dropped, or refused in one clear line."""

from datetime import date

import numpy as np
import pandas as pd
import pytest

import mrfbayes as mb
from data.table_cases import NAMED, NUMBERED, X, frame, same, write
from mrfbayes.base.errors import InputError, MRFWarning
from mrfbayes.data.data import Data
from mrfbayes.data.reading import choose_columns
from mrfbayes.model.build import grid
from mrfbayes.sampling.sample import sample


def test_weights_by_column_name(tmp_path):
    weight = np.arange(len(X)) % 5 / 4
    expected = Data(X, weights=weight).count(NAMED)
    table = pd.DataFrame({**frame(), "w": weight})
    same(Data(table, weights="w").count(NAMED), expected)
    table.to_csv(tmp_path / "w.csv", index=False)
    same(Data(tmp_path / "w.csv", weights="w").count(NAMED), expected)
    whole = pd.DataFrame({"x": X[:, 0], "n": 2, "y": X[:, 1], "z": X[:, 2]})
    same(Data(whole, weights="n").count(NUMBERED), Data(X, weights=np.full(len(X), 2.0)).count(NUMBERED))


def dropped(x, warning, **options):
    with pytest.warns(MRFWarning) as caught:
        stats = Data(x, missing="drop", **options).count(NAMED)
    assert tuple(str(item.message) for item in caught if item.category is MRFWarning) == stats.warnings
    assert any(warning in text for text in stats.warnings)
    return stats


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


def test_columns_by_name_range_and_pattern():
    names = ["id", "q1", "q2", "q10", "age"]
    assert choose_columns(names, ["q*"], ["q10"], "f.csv") == ["q1", "q2"]
    assert choose_columns(names, ["q1:age"], None, "f.csv") == ["q1", "q2", "q10", "age"]
    for wanted, without, words in (
        (["agee"], [], "f.csv has no such column (did you mean 'age'?); it has 'id', 'q1', 'q2', 'q10', 'age'."),
        (["age:id"], [], "'age' comes after 'id'; write id:age"),
        (None, ["*"], "leave no column of f.csv"),
    ):
        with pytest.raises(mb.InputError) as error:
            choose_columns(names, wanted, without, "f.csv")
        assert words in str(error.value)
