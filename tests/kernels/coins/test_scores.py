"""Tables of normal scores and of draws keep the errors that they state."""

import numpy as np
import pytest

from kernels.coins.coin_cases import EXTREME, FORMS, make
from mrfbayes.kernels.coins import coin as kernels
from mrfbayes.kernels.coins import scores


@pytest.mark.parametrize(("alpha", "n", "h"), [case for case in EXTREME if case[:2] != (1, 1) or case[2] > 0])
def test_score_tables_keep_their_error(alpha, n, h):
    row = make(alpha, n, h, "printed")
    cells, rows, error = scores.all_tables(row[None, :], scores.SCORES)
    first, count, low, per_unit = rows[0, :4]
    assert error <= scores.SCORE_ERROR
    assert first == 0
    assert low <= max(-scores.LOG_ODDS_LIMIT, kernels.quantile(row, -scores.SCORE_LIMIT))
    x = np.random.default_rng(3).uniform(0, count, 200)
    k = x.astype(int)
    c, f = cells[k], x - k
    found = c[:, 0] + f * (c[:, 1] + f * (c[:, 2] + f * c[:, 3]))
    exact = np.array([kernels.normal_score(row, low + v / per_unit) for v in x])
    assert np.abs(found - exact).max() < 1.5 * scores.SCORE_ERROR


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("alpha", "n", "h"), EXTREME)
def test_draw_tables_keep_their_error(alpha, n, h, form):
    row = make(alpha, n, h, form)
    coins = row[None, :]
    cells, rows, error = scores.all_tables(coins, scores.DRAWS)
    assert error <= scores.DRAW_ERROR
    z = np.concatenate([np.linspace(-9, 9, 181), np.random.default_rng(4).normal(size=100)])
    values = z.reshape(-1, 1).copy()
    scores.thetas_of_normals(coins, cells, rows, values)
    w = np.array([kernels.quantile(row, v) for v in z])
    exact = np.where(w < 0, np.exp(np.minimum(w, 0)), 1) / (1 + np.exp(-np.abs(w)))
    found = values[:, 0]
    assert np.abs(found - exact).max() < 1e-9
    # and small values are right relative to themselves
    assert np.abs(found / exact - 1).max() < 2 * scores.RELATIVE_ERROR
    assert ((found > 0) & (found <= 1)).all()
