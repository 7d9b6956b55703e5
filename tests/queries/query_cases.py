"""Distributions given some nodes, by enumeration: for tests of queries."""

import numpy as np

import small_fields

FIELDS = sorted(small_fields.FIELDS)


def enumerated(model, theta, given):
    """All states and their probabilities given ``given``."""
    x = small_fields.states(model)
    logs = small_fields.log_weights(model, theta, x)
    p = np.exp(logs - logs.max())
    for name, state in given.items():
        p = p * (x[:, model.nodes.index(name)] == state)
    return x, p / p.sum()


def held_sets(model):
    names = model.nodes
    return ({}, {names[1]: 1}, {names[0]: 0, names[2]: 1}, dict.fromkeys(names[1:], 1))
