"""Fields, data and prior as groups of a file: they come back as they were, and what cannot be is refused."""

import numpy as np
import pandas as pd
import pytest

import mrfbayes as mb
from mrfbayes.data.coding import MISSING_CODE
from mrfbayes.data.statistics import Statistics
from mrfbayes.data.tally import IncompleteRows
from mrfbayes.methods.problem import Problem
from mrfbayes.model.covariates import Covariate, CovariateModel
from mrfbayes.model.schema import Schema, Variable
from mrfbayes.priors import Prior
from mrfbayes.results.stored import (
    Group,
    _saved_quantile,
    model_to_dataset,
    problem_to_dataset,
    read_model,
    read_problem,
)
from results.conditional_cases import ORDINAL

MIXED = Schema((Variable("ill", "binary", ("no", "yes")), Variable("town", "nominal", ("Bern", "Lima", "Oslo"))))


def group_of(dataset, **changes):
    """What a file gives back, with changes of its arrays."""
    arrays = {name: array.to_numpy() for name, array in dataset.data_vars.items()}
    return Group({**arrays, **changes}, dict(dataset.attrs))


@pytest.mark.parametrize(
    "model",
    [
        ORDINAL,
        mb.grid(3, 4, tied="direction", fields=True),
        mb.Model.from_data(MIXED),
        CovariateModel.of(ORDINAL, [Covariate("age", 40.0, 20.0)], "couplings", None, 3),
    ],
    ids=["ordinal", "tied grid", "mixed", "covariates"],
)
def test_a_field_comes_back(model):
    again = read_model(group_of(model_to_dataset(model)))
    assert again.fingerprint == model.fingerprint
    assert (again.parameters, again.nodes, again.schema) == (model.parameters, model.nodes, model.schema)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("edges", lambda edges: edges + 1),  # a node that is not there
        ("edges", lambda edges: edges[:, [0, 0]]),  # of a node with itself
        ("states", lambda states: states - 2),
        ("states", lambda states: states.astype(float)),
        ("group0_block", lambda block: block + 1),
        ("group0_table", lambda table: -table),
    ],
)
def test_arrays_of_no_field_are_refused(name, change):
    group = group_of(model_to_dataset(ORDINAL))
    with pytest.raises(mb.InputError):
        read_model(group_of(model_to_dataset(ORDINAL), **{name: change(group.arrays[name])}))


def test_counts_prior_and_rows_with_missing_cells_come_back():
    rows = np.array([[0, MISSING_CODE, 2], [MISSING_CODE, 1, 0]], dtype=np.uint8)
    counts = np.linspace(10, 30, ORDINAL.n_parameters)
    statistics = Statistics.from_counts(ORDINAL, counts, 90, IncompleteRows(rows, np.array([2.0, 1.0]), 3, 4))
    problem = Problem(ORDINAL, statistics, Prior(ORDINAL, "normal(0, 2)"), np.random.SeedSequence(3))
    group = group_of(problem_to_dataset(problem))
    again = read_problem(group, ORDINAL, ["3", []], "digest")
    np.testing.assert_array_equal(again.statistics.counts, counts)
    assert (again.statistics.n, again.statistics.digest) == (90, "digest")
    assert again.prior.digest == problem.prior.digest
    np.testing.assert_array_equal(again.statistics.incomplete.rows, rows)
    assert again.statistics.incomplete.weight.tolist() == [2.0, 1.0]
    assert (again.statistics.incomplete.n_rows, again.statistics.incomplete.n_empty) == (3, 4)
    wrong = group_of(problem_to_dataset(problem), incomplete=rows + np.uint8(3))
    with pytest.raises(mb.InputError, match="missing cells"):
        read_problem(wrong, ORDINAL, ["3", []], "digest")


def test_quantiles_in_closed_form_are_preferred_to_those_of_draws():
    at, values, draws = np.array([0.05, 0.95]), np.array([[0.1], [0.9]]), np.linspace(0, 1, 11).reshape(1, 11, 1)
    assert _saved_quantile(at, values, draws, 1 - 0.05) == 0.9
    with pytest.warns(mb.MRFWarning, match="25 % quantiles"):
        assert _saved_quantile(at, values, draws, 0.25) == pytest.approx(0.25)


def test_weighted_log_odds_past_the_digits_of_theta_come_back(tmp_path):
    model = mb.graph([("a", "b"), ("b", "c")])
    with pytest.warns(mb.MRFWarning):
        live = mb.sample(model, [[1, 1, 1]], "exact", prior="logistic(0, 10)", rng=1, progress=False)
    table = live.summary(scale="log-odds")
    assert live._weighted.log_odds is not None
    assert table["q95"].max() > 36.5  # where theta is 1 but for a few units of its last digit
    live.save(tmp_path / "r.nc")
    pd.testing.assert_frame_equal(mb.load(tmp_path / "r.nc").summary(scale="log-odds"), table, check_exact=True)
