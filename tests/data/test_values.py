"""Cells as numbers, text or missing, and what a column holds."""

import numpy as np
import pandas as pd
import pytest

from data.table_cases import write
from mrfbayes.data.data import Data
from mrfbayes.data.values import Batch, Column, in_proportion
from mrfbayes.model.build import graph


@pytest.mark.parametrize(
    "mark", ["", " ", "NA", "na", "N/A", "#N/A", "<NA>", "NaN", "nan", "null", "NULL", "?", "-", "."]
)
def test_marks_of_missing_cells_are_the_same_in_all_columns(tmp_path, mark):
    table = f"a,b,c\n0,yes,3\n{mark},no,1\n1,{mark},2\n0,yes,{mark}\n"
    data = Data(write(tmp_path, table))
    assert [variable.kind for variable in data.schema] == ["binary", "binary", "ordinal"]
    np.testing.assert_array_equal(data.rows(), [[0, 1, 2], [255, 0, 0], [1, 255, 1], [0, 1, 255]])
    assert data.variables["n_missing"].tolist() == [1, 1, 1]


@pytest.mark.parametrize("dtype", [object, "category"])
@pytest.mark.filterwarnings("ignore::mrfbayes.MRFWarning")
def test_a_mark_for_missing_values_counts_as_an_empty_cell(dtype):
    def counts(cell, **options):
        table = pd.DataFrame({"a": pd.Series(["yes", "no", cell, "yes"], dtype=dtype), "b": [0, 1, 1, 0]})
        return Data(table, **options).count(graph([("a", "b")]))

    marked, empty = counts("gone", na_values=["gone"]), counts(None)
    np.testing.assert_array_equal(marked.counts, empty.counts)
    assert marked.n == empty.n


def test_in_proportion_rounds_up_or_down():
    weights = np.array([0.0, 3.0, 1.0, 0.0, 6.0, 0.0])
    for seed in range(20):
        index = in_proportion(weights, 25, np.random.default_rng(seed))
        times = np.bincount(index, minlength=6)
        assert (np.abs(times - 2.5 * weights) < 1).all()


def test_parts_of_a_column_are_joined_as_if_they_were_read_at_once():
    cells = np.array(["yes", "NA", "no", "gone", "no", None, "maybe"], dtype=object)

    def seen(*parts):
        column = Column("mood", "data.csv", marks=frozenset({"gone"}))
        for part in parts:
            column.see(Batch([cells[part]], np.arange(len(cells))[part] + 2), 0)
        return column

    whole = seen(slice(None))
    assert whole.counts == {"yes": 1, "no": 2, "maybe": 1}
    assert whole.n_missing == 3
    assert whole.place("no") == "data.csv:4:mood"
    for both in (seen(slice(3), slice(3, None)), seen(slice(3)).joined(seen(slice(3, None)))):
        assert (both.counts, both.n_missing) == (whole.counts, whole.n_missing)
        assert {value: both.place(value) for value in both.first} == {v: whole.place(v) for v in whole.first}


def test_more_values_than_any_variable_has_are_not_all_kept():
    column, other = Column("x", "x"), Column("x", "x")
    column.see(Batch(np.arange(200.0)[:, None], np.arange(200)), 0)
    other.see(Batch(np.arange(150.0, 350.0)[:, None], np.arange(200)), 0)
    assert not column.overflow
    assert column.joined(other).overflow
    assert not column.joined(column).overflow
