"""Fields with a full table for every pair of many-state variables: conditionals, gradients and Gibbs sweeps.

All tables are one symmetric matrix (D, D) of single precision, D being the states of all variables together; a row of
data has one index into it for every variable, so that products with indicators are sums of rows.
"""

from __future__ import annotations

import math

from mrfbayes.kernels.base.jit import kernel
from mrfbayes.kernels.base.linear import choose, exp_from_top
from mrfbayes.kernels.base.random import uniform


@kernel
def add_conditionals(places, weight, offset, table, gradient, logs):
    """Log pseudolikelihood of rows; adds its derivatives to ``gradient`` (D, D), fields on the diagonal.

    Parameters
    ----------
    places : (n, L) int32 index of each variable's state
    weight : (n,)
    offset : (L + 1,) where the states of each variable start
    table : (D, D) float32 symmetric couplings, fields on the diagonal, nothing else within a variable
    logs : (D,) work space
    """
    n, length = places.shape
    total = 0.0
    for row in range(n):
        logs[:] = 0.0
        for j in range(length):
            logs += table[places[row, j]]
        for i in range(length):
            first, last, seen = offset[i], offset[i + 1], places[row, i]
            # Of the variable's own row only the field of the seen state was added: take it off, and add all fields.
            logs[seen] -= table[seen, seen]
            for a in range(first, last):
                logs[a] += table[a, a]
            value = logs[seen]
            top, mass = exp_from_top(logs[first:last], last - first)
            total += weight[row] * (value - top - math.log(mass))
            share = -weight[row] / mass
            for a in range(first, last):
                logs[a] *= share
            logs[seen] += weight[row]
        for j in range(length):
            gradient[places[row, j]] += logs
    return total


@kernel
def table_gibbs(places, offset, table, sweeps, weights, state):
    """Gibbs sweeps of chains ``places`` (n, L), changed in place; ``weights`` is work space (most states)."""
    n, length = places.shape
    for chain in range(n):
        x = places[chain]
        for _ in range(sweeps):
            for i in range(length):
                first, last = offset[i], offset[i + 1]
                own = weights[: last - first]
                for a in range(first, last):
                    own[a - first] = table[a, a]
                for j in range(length):
                    if j != i:
                        own += table[x[j], first:last]
                x[i] = first + choose(own, own.size, uniform(state))[0]


@kernel
def add_pairs(places, weight, counts):
    """Add weighted pair counts of rows (n, L) to ``counts`` (D, D), frequencies on the diagonal."""
    n, length = places.shape
    for row in range(n):
        for i in range(length):
            target = counts[places[row, i]]
            for j in range(length):
                target[places[row, j]] += weight[row]


@kernel
def similar_rows(states, least, counts):
    """``counts`` (n,) becomes the number of rows of ``states`` (n, L) uint8 with at least ``least`` equal entries."""
    n, length = states.shape
    counts[:] = 1.0
    for a in range(n):
        for b in range(a):
            equal = 0
            for i in range(length):
                equal += states[a, i] == states[b, i]
            if equal >= least:
                counts[a] += 1.0
                counts[b] += 1.0
