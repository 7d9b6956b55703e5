"""`calibrated` on everything a field can be made of: dice, scores, ties, fields, any prior, no finite MLE."""

import numpy as np
import pytest

import mrfbayes as mb

rng = np.random.default_rng(8)
BINARY = rng.integers(0, 2, (60, 4)).astype(np.uint8)
BINARY[:35, 1] = BINARY[:35, 0]
TERNARY = rng.integers(0, 3, (60, 3)).astype(np.uint8)
TERNARY[:30, 1] = TERNARY[:30, 0]
SQUARE = [(0, 1), (1, 2), (2, 3), (0, 3)]
ALWAYS = BINARY.copy()
ALWAYS[:, 3] = ALWAYS[:, 2]  # no finite MLE

CASES = {
    "fields": (mb.graph(SQUARE, fields=True), BINARY, "uniform"),
    "both one, normal": (mb.graph(SQUARE, fields=True, coupling="both-one"), BINARY, "normal(0, 1)"),
    "tied, Cauchy": (mb.graph(SQUARE, tied=True), BINARY, "cauchy(0, 2.5)"),
    "no finite MLE, beta": (mb.graph(SQUARE), ALWAYS, "beta(0.5, 0.5)"),
    "Potts with dice": (mb.graph([(0, 1), (1, 2), (0, 2)], states=3, fields=True), TERNARY, "uniform"),
    "score, logistic": (mb.graph([(0, 1), (1, 2)], states=3, coupling="score", fields=True), TERNARY, "logistic(0, 1)"),
}


@pytest.mark.parametrize("case", CASES)
def test_calibrated_is_close_to_exact(case):
    model, data, prior = CASES[case]
    settings = {"prior": prior, "progress": False, "rng": 3}
    exact = mb.sample(model, data, "exact", draws=2_000, thin=10, **settings)
    own = mb.sample(model, data, "calibrated", draws=2_000, thin=10, **settings)
    assert exact.engine == "independence"
    assert exact.details["efficiency"] > 0.3
    assert np.abs((own.mean - exact.mean) / exact.sd).max() < 0.08
    assert np.abs(own.sd / exact.sd - 1).max() < 0.08
