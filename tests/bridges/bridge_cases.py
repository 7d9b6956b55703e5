"""Fields with parameters, and their distributions by enumeration: for tests of bridges."""

import itertools

import numpy as np
import pytest

import mrfbayes as mb
from mrfbayes.exact.quantities import log_partition_w
from mrfbayes.results.predictability import row_log_weights

RNG = np.random.default_rng(8)
EDGES = [("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")]
FIELDS = {
    "agreement": mb.graph(EDGES, fields=True),
    "without fields": mb.graph(EDGES),
    "both-one": mb.graph(EDGES, fields=True, coupling="both-one"),
    "tied": mb.graph(EDGES, fields=True, tied=True),
    "score": mb.graph(EDGES, states=3, fields=True, coupling="score"),
    "mixed": mb.graph(EDGES, states=[2, 3, 2, 4], fields=True, coupling="table"),
}
THETA = {
    name: RNG.uniform(0.15, 0.85, model.n_parameters) / (1 if model.is_binary else 8) for name, model in FIELDS.items()
}
BINARY = [name for name, model in FIELDS.items() if model.is_binary]


def every_row(model):
    return np.array(list(itertools.product(*(range(int(r)) for r in model.states))))


def log_probabilities(model, theta):
    """By our own sum over all rows."""
    w = model.chart.log_odds(theta)
    found = row_log_weights(model, w, every_row(model)) - log_partition_w(model, w)
    assert np.exp(found).sum() == pytest.approx(1, rel=1e-10)
    return found


def normalised(log_weights):
    top = log_weights.max()
    return log_weights - top - np.log(np.exp(log_weights - top).sum())
