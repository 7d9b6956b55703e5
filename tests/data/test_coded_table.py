"""A table with its coding: which column is which variable, and which value is which state."""

import numpy as np
import pandas as pd
import pytest

import mrfbayes as mb

SCHEMA_TABLE = {"mood": ["low", "mid", "high"], "ill": ["no", "yes", "no"]}


@pytest.fixture
def schema():
    return mb.Data(SCHEMA_TABLE, levels={"mood": ["low", "mid", "high"]}).schema


def test_columns_are_found_by_name_and_without_names_by_position(schema):
    named = pd.DataFrame({"ill": ["yes", "no"], "other": ["x", "y"], "mood": ["high", "low"]})
    model = mb.Model.from_data(schema)
    np.testing.assert_array_equal(mb.Data(named).count(model).rows, [[2, 1], [0, 0]])
    unnamed = np.array([["high", "yes"], ["low", "no"]])
    np.testing.assert_array_equal(mb.Data(unnamed).count(model).rows, [[2, 1], [0, 0]])
    with pytest.raises(mb.InputError, match="'mood'"):
        mb.Data(named[["ill", "other"]]).count(model)


def test_marks_of_the_data_and_of_the_schema_are_both_missing():
    coding = mb.Data({"a": [1, 2, 3, 9], "b": [0, 1, 0, 1]}, na_values={"a": 9}).schema
    later = mb.Data({"a": [9, 8, 3], "b": [0, 1, 1]}, schema=coding, na_values=[8])
    np.testing.assert_array_equal(later.rows(), [[255, 0], [255, 1], [2, 1]])


def test_greys_of_images_are_states_in_ascending_order_for_all_pixels():
    images = np.array([[[7, 3], [3, 3]], [[5, 3], [7, 3]]])  # the last column of pixels holds one grey
    data = mb.Data(images)
    assert {variable.values for variable in data.schema} == {(3, 5, 7)}
    np.testing.assert_array_equal(data.rows(), [[2, 0, 0, 0], [1, 0, 2, 0]])
    with pytest.raises(mb.InputError, match="16 greys"):
        mb.Data(np.arange(16).reshape(1, 4, 4)).schema  # noqa: B018


def test_levels_that_contradict_the_coding_of_a_model_are_refused(schema):
    model = mb.Model.from_data(schema)
    with pytest.raises(mb.InputError, match=r"'mood'.*'high', 'mid', 'low'"):
        mb.Data(SCHEMA_TABLE, levels={"mood": ["high", "mid", "low"]}).count(model)
    same = mb.Data(SCHEMA_TABLE, levels={"mood": ["low", "mid", "high"]})
    np.testing.assert_array_equal(same.count(model).rows[:, 0], [0, 1, 2])
