"""A rank test with missing cells that are missing at random, but not completely at random."""

import numpy as np
import pytest

import mrfbayes as mb
import oracles

MODEL = mb.graph([(0, 1), (1, 2), (0, 2)], coupling="both-one", fields=True)
RUNS, BINS = 160, 8

pytestmark = pytest.mark.filterwarnings("ignore::mrfbayes.MRFWarning")


def ranks(missing, seed):
    """(runs, p) in which eighth of its posterior each true parameter lies; rows without their first item differ."""
    rng = np.random.default_rng(seed)
    found = []
    for run in range(RUNS):
        theta = rng.uniform(size=len(MODEL.parameters))
        x = mb.simulate(MODEL, theta, 60, rng=run, progress=False).astype(float)
        skipped = rng.random((60, 2)) < np.where(x[:, :1] == 1, 0.7, 0.1)  # whoever says yes to the first skips more
        x[:, 1:][skipped] = np.nan
        post = mb.sample(
            MODEL, mb.Data(x, missing=missing), "exact", draws=500, chains=1, rng=run, prior="uniform", progress=False
        )
        found.append((post.draws[0] < theta).mean(axis=0))
    return np.minimum((BINS * np.array(found)).astype(int), BINS - 1)


def p_values(found):
    return [oracles.chi_square(np.bincount(column, minlength=BINS), np.full(BINS, 1 / BINS)) for column in found.T]


def test_ranks_are_uniform():
    assert min(p_values(ranks("model", 1))) > 1e-6


def test_ranks_see_that_dropping_rows_is_biased():
    assert min(p_values(ranks("drop", 1))) < 1e-6
