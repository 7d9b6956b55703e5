"""What tests of pictures share: data, and their posterior."""

import matplotlib as mpl
import numpy as np
import pytest

import mrfbayes as mb
from plots.plot_cases import MODEL

mpl.use("Agg")


@pytest.fixture(scope="session")
def data():
    w = np.concatenate([[1.5, -1.2, 0, 0, 0, 1.0, 0, 0, 0, 0.2], np.full(5, -0.4)])
    return mb.simulate(MODEL, MODEL.chart.theta(w), 300, sampler="exact", rng=1)


@pytest.fixture(scope="session")
def posterior(data):
    return mb.sample(MODEL, data, prior="normal(0, 1)", draws=1_000, progress=False)
