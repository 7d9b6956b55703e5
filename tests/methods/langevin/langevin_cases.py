"""A field and data for the tests of the walk."""

import itertools

import numpy as np

import mrfbayes as mb


def field(d=6, states=2, coupling="both-one", n=200):
    model = mb.graph(list(itertools.combinations(range(d), 2)), states=states, fields=True, coupling=coupling)
    rng = np.random.default_rng(4)
    w = 0.5 * rng.normal(size=model.n_parameters) / (np.max(states) - 1)
    return model, mb.simulate(model, model.chart.theta(w), n, rng=2)
