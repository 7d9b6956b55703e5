"""Small fields of every kind, and their distribution by enumeration straight from the definition of their factors."""

from __future__ import annotations

import itertools
import warnings

import numpy as np

import mrfbayes as mb

SQUARE = [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)]  # four nodes, two triangles
FIELDS = {
    "grid": lambda: mb.grid(2, 3),
    "grid, fields": lambda: mb.grid(2, 3, fields=True),
    "grid, tied": lambda: mb.grid(2, 3, tied="direction"),
    "graph, fields": lambda: mb.graph(SQUARE, fields=True),
    "graph, both-one": lambda: mb.graph(SQUARE, fields=True, coupling="both-one"),
    "star": lambda: mb.graph([(0, k) for k in range(1, 7)]),
    "Potts": lambda: mb.graph([(0, 1), (1, 2), (2, 0)], states=3, fields=True),
    "ordinal": lambda: mb.graph([(0, 1), (2, 1), (2, 0)], states=[3, 2, 3], fields=True, coupling="score"),
    "table": lambda: mb.graph([(0, 1), (2, 1)], states=[2, 3, 2], coupling="table"),
    "isolated": lambda: mb.graph([(0, 1), (1, 2), (2, 0)], nodes=[0, 1, 2, 3]),
}


def count(model, x):
    """Statistics, without what small data give reason to warn about."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mb.MRFWarning)
        return mb.Data(x).count(model)


def states(model):
    """All states (S, d)."""
    return np.array(list(itertools.product(*(range(r) for r in model.states))), dtype=np.int64)


def log_weights(model, theta, x):
    """Log of the product of all factors' weights for the rows of ``x``: theta_k, or theta^s (1-theta)^(S-s)."""
    total = np.zeros(len(x))
    for group in model.groups:
        for scope, block in zip(group.scope, group.block, strict=True):
            cells = group.table[tuple(x[:, i] for i in scope)]
            first = theta[model.chart.offset[block] : model.chart.offset[block + 1]]
            weights = np.append(first, 1.0 - first.sum())
            if group.is_score:
                total += cells * np.log(weights[0]) + (group.table.max() - cells) * np.log(weights[1])
            else:
                total += np.log(weights)[cells]
    return total


def log_z(model, theta):
    """Log partition function of the weights above."""
    values = log_weights(model, theta, states(model))
    return values.max() + np.log(np.exp(values - values.max()).sum())


def log_likelihood(model, theta, x):
    """Log-likelihood of the rows of ``x``."""
    return log_weights(model, theta, x).sum() - len(x) * log_z(model, theta)


def draw(model, theta, n, seed):
    """``n`` independent rows."""
    every = states(model)
    probability = np.exp(log_weights(model, theta, every) - log_z(model, theta))
    return every[np.random.default_rng(seed).choice(len(every), size=n, p=probability / probability.sum())]


def random_theta(model, seed, low=0.3, high=0.85):
    """A point well inside the parameter space, unequal everywhere."""
    rng = np.random.default_rng(seed)
    theta = rng.uniform(low, high, model.n_parameters)
    return theta / np.where(model.chart.all_coins, 1.0, model.chart.sides[model.chart.block_of] - 1.0)


def sufficient(model, x):
    """s of every row, (n, p), from the factors' tables."""
    s = np.zeros((len(x), model.n_parameters))
    for group in model.groups:
        for scope, block in zip(group.scope, group.block, strict=True):
            cells = group.table[tuple(x[:, i] for i in scope)]
            first = model.chart.offset[block]
            if group.is_score:
                s[:, first] += cells
            else:
                for k in range(group.sides - 1):
                    s[:, first + k] += cells == k
    return s


def moments(model, theta):
    """Mean and covariance of s for one observation."""
    x = states(model)
    probability = np.exp(log_weights(model, theta, x) - log_z(model, theta))
    s = sufficient(model, x)
    mean = probability @ s
    return mean, (s - mean).T @ ((s - mean) * probability[:, None])
