"""Cells as numbers, text or missing, and what a column holds."""

import numpy as np
import pandas as pd
import pytest

from data.table_cases import write
from mrfbayes.data.data import Data
from mrfbayes.data.values import in_proportion
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
