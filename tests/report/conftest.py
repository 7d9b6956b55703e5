"""The posterior that tests of reports share."""

import matplotlib as mpl
import numpy as np
import pytest

import mrfbayes as mb
from report.page_cases import HOSTILE

mpl.use("Agg")


@pytest.fixture(scope="session")
def posterior():
    pairs = [(u, v) for i, u in enumerate(HOSTILE) for v in HOSTILE[i + 1 :]]
    model = mb.graph(pairs, nodes=HOSTILE, fields=True, coupling="both-one")
    w = np.concatenate([[1.8, -1.5], np.zeros(8), np.full(5, -0.3)])
    x = mb.simulate(model, model.chart.theta(w), 300, sampler="exact", rng=1)
    return mb.sample(model, x, prior="normal(0, 1)", draws=1_000, progress=False)
