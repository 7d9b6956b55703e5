"""Missing cells are drawn given what is seen of their row: against sums over all configurations."""

import itertools

import numpy as np
import pytest

import mrfbayes as mb
from frequencies import ALPHA, chi_square_p, state_counts
from mrfbayes.data.coding import MISSING_CODE
from mrfbayes.results.imputation import Completion
from results.conditional_cases import ORDINAL, log_weight
from small_posteriors import make_posterior


def conditional_table(model, theta, row):
    """Probabilities of all configurations that agree with what is seen of a row."""
    seen = row != MISSING_CODE
    logs = [
        log_weight(model, theta, x) if (np.array(x)[seen] == row[seen]).all() else -np.inf
        for x in itertools.product(*map(range, model.states))
    ]
    p = np.exp(np.array(logs) - max(logs))
    return p / p.sum()


@pytest.mark.parametrize("row", [[2, MISSING_CODE, MISSING_CODE], [MISSING_CODE, 1, MISSING_CODE], [MISSING_CODE] * 3])
def test_cells_are_drawn_together_given_what_is_seen(row):
    rows = np.repeat(np.array([row], dtype=np.uint8), 3_000, axis=0)
    w = np.linspace(-1.3, 1.1, ORDINAL.n_parameters)
    drawn = Completion(ORDINAL, rows, np.ones(len(rows))).at(w, np.random.SeedSequence(2))
    counts = state_counts(drawn, ORDINAL.states)
    p, other = (conditional_table(ORDINAL, ORDINAL.chart.theta(v), rows[0]) for v in (w, -w))
    assert counts[p == 0].sum() == 0  # what is seen stays
    assert chi_square_p(counts[p > 0], p[p > 0]) > ALPHA
    assert chi_square_p(counts[p > 0], other[p > 0]) < ALPHA


def test_complete_rows_are_left_alone():
    rows = np.random.default_rng(1).integers(ORDINAL.states, size=(40, 3)).astype(np.uint8)
    completion = Completion(ORDINAL, rows, np.ones(40))
    assert completion.is_whole
    np.testing.assert_array_equal(completion.at(np.zeros(ORDINAL.n_parameters), np.random.SeedSequence(1)), rows)
    with pytest.raises(mb.InputError, match="nothing to fill in"):
        make_posterior(ORDINAL, draws=3).impute(2, rows)


def test_no_information_is_missing_where_no_cell_is():
    assert (make_posterior(ORDINAL, draws=3).missing_information() == 0).all()
