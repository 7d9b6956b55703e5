"""What `Data` says of its source: weights, groups, covariates, and how it is shown."""

import numpy as np
import pandas as pd
import pytest

import mrfbayes as mb


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


def test_names_of_covariates_and_tables_without_columns_are_refused_for_what_they_are():
    with pytest.raises(mb.InputError, match="covariates = 'zz': x has no such column"):
        mb.Data({"a": [0, 1], "z": [1, 2]}, covariates=["zz"])
    with pytest.raises(mb.InputError, match=r"no column is left as a variable;.* no columns"):
        mb.Data(pd.DataFrame())
