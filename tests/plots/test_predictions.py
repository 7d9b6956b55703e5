"""Predictions against data, methods against the exact posterior: what is drawn is what the tables hold."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot

import mrfbayes as mb


def points_of(container):
    return np.array(container.lines[0].get_data(), dtype=float).T


def test_a_check_is_drawn_observed_against_replicated():
    table = pd.DataFrame(
        {
            "observed": [0.2, 0.5, 0.9],
            "replicated": [0.25, 0.5, 0.4],
            "replicated_sd": [0.1, 0.1, 0.05],
            "fitted": [True, True, False],
            "p_value": [0.6, 0.9, 0.001],
        },
        index=["a--b", "b--c", "sum"],
    )
    ax = mb.plots.predictive(SimpleNamespace(table=table))
    fitted, others = ax.containers
    np.testing.assert_allclose(points_of(fitted), [[0.2, 0.25], [0.5, 0.5]])
    np.testing.assert_allclose(points_of(others), [[0.9, 0.4]])
    np.testing.assert_allclose(others.lines[2][0].get_segments()[0][:, 1], [0.3, 0.5])  # two sds
    assert [text.get_text() for text in ax.texts] == ["sum"]  # the one that does not fit


def made(mean, sd):
    return SimpleNamespace(mean=np.array(mean), sd=np.array(sd), parameters=["a--b", "b--c"])


def test_errors_of_methods_are_in_exact_sds():
    posteriors = {"mle": made([0.6, 0.5], [0.2, 0.1]), "exact": made([0.5, 0.6], [0.1, 0.2])}
    verdicts = pd.DataFrame({"verdict": ["good"]}, index=["mle"])
    figure = mb.plots.comparison(SimpleNamespace(reference="exact", posteriors=posteriors, table=verdicts))
    table = mb.plots.data(figure)
    np.testing.assert_allclose(table["mean_error"], [1.0, -0.5])
    np.testing.assert_allclose(table["sd_ratio"], [2.0, 0.5])
    left, right = figure.axes
    np.testing.assert_allclose(left.lines[0].get_xdata(), [1.0, -0.5])
    np.testing.assert_allclose(right.lines[1].get_xdata(), 1.25)  # the average
    for reference in (None, "mle"):
        alone = SimpleNamespace(reference=reference, posteriors={"mle": posteriors["mle"]}, table=verdicts)
        with pytest.raises(mb.InputError, match="exact posterior"):
            mb.plots.comparison(alone)


def test_correlations_beyond_two_standard_errors_are_counted():
    table = pd.DataFrame(
        {
            "observed": [0.1, 0.3, 0.4, 0.5],
            "observed_error": [0.05, 0.05, 0.01, 0.01],
            "predicted": [0.15, 0.1, 0.2, 0.5],
        },
        index=pd.MultiIndex.from_tuples(
            [(2, "a b"), (2, "b c"), (2, "a c"), (3, "a b c")], names=["order", "variables"]
        ),
    )
    found = SimpleNamespace(table=table)
    ax = mb.plots.correlations(found, 2)
    assert "2 of 3" in ax.get_title(loc="left")
    np.testing.assert_allclose(points_of(ax.containers[0]), [[0.1, 0.15], [0.3, 0.1], [0.4, 0.2]])
    with pytest.raises(mb.InputError, match="order = 4"):
        mb.plots.correlations(found, 4)


def test_the_quantity_that_is_named_is_drawn_over_temperature():
    index = pd.MultiIndex.from_product([["energy", "entropy"], [0.5, 1.0]], names=["quantity", "temperature"])
    table = pd.DataFrame({"value": [3.0, 2.0, 0.1, 0.4], "q5": [2.0, 1.0, 0.0, 0.3], "q95": [4, 3, 0.2, 0.6]}, index)
    ax = mb.plots.temperature_scan(SimpleNamespace(table=table), "entropy", ax=pyplot.subplots()[1])
    np.testing.assert_allclose(ax.lines[0].get_data(), [[0.5, 1.0], [0.1, 0.4]])
    assert ax.collections[0].get_paths()[0].vertices[:, 1].max() == 0.6
    with pytest.raises(mb.InputError, match="quantity = 'mass'"):
        mb.plots.temperature_scan(SimpleNamespace(table=table), "mass")
