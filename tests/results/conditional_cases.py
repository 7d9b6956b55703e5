"""Two small fields, and conditional probabilities of their nodes by sums over all configurations."""

import itertools

import numpy as np

import mrfbayes as mb

BINARY = mb.graph([("a", "b"), ("b", "c"), ("c", "d"), ("a", "d")], fields=True, coupling="both-one")
ORDINAL = mb.graph([("a", "b"), ("b", "c"), ("a", "c")], states=[3, 2, 3], fields=True, coupling="score")


def log_weight(model, theta, x):
    """The factors as they are defined, one by one."""
    total = 0.0
    for group in model.groups:
        for scope, block in zip(group.scope, group.block, strict=True):
            first, last = model.chart.offset[block], model.chart.offset[block + 1]
            cell = group.table[tuple(x[i] for i in scope)]
            if group.is_score:
                total += cell * np.log(theta[first]) + (group.tosses - cell) * np.log(1 - theta[first])
            else:
                total += np.log([*theta[first:last], 1 - theta[first:last].sum()][cell])
    return total


def conditional(model, theta, known):
    """P(x_a = k | known) for the other nodes, by the definition."""
    rest = [i for i in range(model.n_nodes) if i not in known]
    out = {(model.nodes[i], k): 0.0 for i in rest for k in range(model.states[i])}
    for x in itertools.product(*(range(r) for r in model.states)):
        if all(x[i] == value for i, value in known.items()):
            weight = np.exp(log_weight(model, theta, x))
            for i in rest:
                out[model.nodes[i], x[i]] += weight
    total = sum(out[model.nodes[rest[0]], k] for k in range(model.states[rest[0]]))
    return {key: value / total for key, value in out.items()}
