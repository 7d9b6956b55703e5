"""A posterior made by hand: draws of any shape, for tables that are functions of them."""

import numpy as np

import mrfbayes as mb
from mrfbayes.methods.problem import Problem
from mrfbayes.priors import Prior
from mrfbayes.results.posterior import Posterior

NAMES = ("tired", "worried", "sad")
MODEL = mb.graph([("tired", "worried"), ("worried", "sad")], nodes=NAMES, fields=True, coupling="both-one")


def make_posterior(model=MODEL, draws=400, problem=None):
    """A posterior of 2 chains whose draws are normal in the log-odds."""
    if problem is None:
        counts = mb.Statistics.from_counts(model, np.full(model.n_parameters, 30), 100)
        problem = Problem(model, counts, Prior(model), np.random.SeedSequence(0))
    rng = np.random.default_rng(5)
    theta = model.chart.theta(0.3 * rng.standard_normal((2, draws, model.n_parameters)) + 0.5)
    return Posterior(
        model=model,
        n=100.0,
        method="exact",
        label="Exact-L",
        target="exact",
        engine="mh",
        settings={"prior": "uniform"},
        timings={"prepare": 0.0, "compile": 0.0, "run": 1.0},
        draws=theta,
        mean=theta.mean(axis=(0, 1)),
        sd=theta.std(axis=(0, 1), ddof=1),
        log_likelihood=np.zeros((2, draws)),
        acceptance=np.full(2, 0.3),
        steps=draws,
        _problem=problem,
    )
