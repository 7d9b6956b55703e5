"""Checks of a report that can fail, and do."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from mrfbayes.report.sentences import CARE, GOOD, _predictive


def predictive(unlike_fitted, unlike_others, fitted=5_050, others=9):
    """The check of a table in which so many statistics of either kind are unlike the data."""
    p = np.full(fitted + others, 0.6)
    p[:unlike_fitted] = p[fitted : fitted + unlike_others] = 0.002
    table = pd.DataFrame({"fitted": np.arange(p.size) < fitted, "p_value": p}, index=[f"s{k}" for k in range(p.size)])
    return _predictive(SimpleNamespace(predictive=SimpleNamespace(table=table)))


@pytest.mark.parametrize(
    ("fitted", "others", "state"), [(0, 0, GOOD), (0, 1, GOOD), (0, 4, CARE), (50, 0, GOOD), (60, 0, CARE)]
)
def test_statistics_that_were_fitted_do_not_hide_the_others(fitted, others, state):
    """A hundred items have 5,050 counts that are fitted and a handful of sums that are not."""
    found = predictive(fitted, others)
    assert found.state == state
    assert f"{fitted} of 5050 that the model was fitted to" in found.text
    assert f"{others} of 9 others, where about 0.1 are expected by chance" in found.text
    assert ("Least like the data: s" in found.text) == (state == CARE)


def test_a_table_of_fitted_statistics_alone():
    assert predictive(0, 0, 30, 0).text.count("0 of 30")


def test_of_few_statistics_none_may_be_unlike_the_data():
    """An image has a coupling, four directions and a mean: one that is far off is the finding."""
    assert predictive(0, 0, 1, 5).state == GOOD
    assert predictive(0, 1, 1, 5).state == CARE
