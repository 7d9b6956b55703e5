"""A million draws of every exact sampler, and long chains of the others, against enumeration."""

from __future__ import annotations

import numpy as np
import pytest

import mrfbayes as mb
from frequencies import ALPHA, chi_square_p, state_counts
from oracles import binary_probabilities, categorical_log_weights

N = 1_000_000


@pytest.mark.parametrize("sampler", ["exact", "cftp", "gibbs", "swendsen-wang"])
@pytest.mark.parametrize("fields", [False, True])
@pytest.mark.parametrize("low", [0.15, 0.5])
def test_a_million_binary_observations(sampler, fields, low):
    model = mb.grid(3, 3, fields=fields)
    theta = np.random.default_rng(1).uniform(low, low + 0.35, size=model.n_parameters)
    sweeps = {"gibbs": 150, "swendsen-wang": 30}.get(sampler)
    x = mb.simulate(model, theta, N, sampler=sampler, rng=2, sweeps=sweeps, progress=False)

    def law(weights):
        field, coupling = model.lowering.potentials(model.chart.log_odds(weights))
        return binary_probabilities(field, coupling, model.edges)

    assert chi_square_p(state_counts(x), law(theta)) > ALPHA
    theta[5] += 0.02
    assert chi_square_p(state_counts(x), law(theta)) < ALPHA


@pytest.mark.parametrize("sampler", ["exact", "gibbs", "swendsen-wang"])
def test_a_million_potts_observations(sampler):
    model = mb.grid(2, 3, states=3)
    theta = np.random.default_rng(3).uniform(0.15, 0.6, size=model.n_parameters)
    sweeps = None if sampler == "exact" else 40
    x = mb.simulate(model, theta, N, sampler=sampler, rng=4, sweeps=sweeps, progress=False)

    def law(weights):
        coupling = np.log(weights / (1 - weights))
        _, log_weights = categorical_log_weights([np.zeros(3)] * 6, [c * np.eye(3) for c in coupling], model.edges)
        return np.exp(log_weights) / np.exp(log_weights).sum()

    assert chi_square_p(state_counts(x, [3] * 6), law(theta)) > ALPHA
    theta[2] += 0.02
    assert chi_square_p(state_counts(x, [3] * 6), law(theta)) < ALPHA
