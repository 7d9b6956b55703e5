"""The pseudolikelihood's normalisers and their derivatives, from distinct neighbourhood patterns.

The logarithm of the product of full conditionals is linear in the data (fields times ones plus twice couplings times
agreements) minus, for every node and pattern of its neighbours, weight times the log normaliser computed here.
"""

from __future__ import annotations

import math

import numpy as np

from mrfbayes.kernels.base.jit import kernel


@kernel
def pseudo_binary(patterns, lists, field, coupling, node_part, edge_part, node_curve, edge_curve):
    """Sum of the log normalisers of a binary field at (field, coupling).

    Adds the expected ones and agreements to ``node_part`` (d,) and ``edge_part`` (m,) (each edge from both ends), and
    their conditional variances to ``node_curve`` and ``edge_curve``.
    """
    total = 0.0
    for i in range(field.size):
        low, high = lists.offset[i], lists.offset[i + 1]
        degree = high - low
        at = patterns.states_offset[i]
        for k in range(patterns.node_offset[i], patterns.node_offset[i + 1]):
            weight = patterns.weight[k]
            log_zero, log_one = 0.0, field[i]
            for b in range(degree):
                c = coupling[lists.edge[low + b]]
                if patterns.states[at + b]:
                    log_one += c
                else:
                    log_zero += c
            h = log_one - log_zero
            small = math.exp(-abs(h))
            total += weight * (max(log_one, log_zero) + math.log1p(small))
            one = 1.0 / (1.0 + small) if h >= 0 else small / (1.0 + small)
            variance = weight * small / ((1.0 + small) * (1.0 + small))
            node_part[i] += weight * one
            node_curve[i] += variance
            for b in range(degree):
                e = lists.edge[low + b]
                edge_part[e] += weight * (one if patterns.states[at + b] else 1.0 - one)
                edge_curve[e] += variance
            at += degree
    return total


@kernel
def pseudo_tables(patterns, lists, tables, node_table, edge_table, node_part, edge_part, node_curve, edge_curve):
    """Normalisers of a categorical field and their derivatives; ``tables`` is a `TableLayout`, parts are per cell."""
    total = 0.0
    potential = np.empty(tables.states.max())
    for i in range(tables.states.size):
        low, high = lists.offset[i], lists.offset[i + 1]
        degree, r = high - low, tables.states[i]
        base = tables.node_offset[i]
        at = patterns.states_offset[i]
        for k in range(patterns.node_offset[i], patterns.node_offset[i + 1]):
            weight = patterns.weight[k]
            for a in range(r):
                potential[a] = node_table[base + a]
            for b in range(degree):
                start, step = _cells(tables, lists.edge[low + b], i, patterns.states[at + b])
                for a in range(r):
                    potential[a] += edge_table[start + a * step]
            top = potential[:r].max()
            norm = 0.0
            for a in range(r):
                potential[a] = math.exp(potential[a] - top)
                norm += potential[a]
            total += weight * (top + math.log(norm))
            for a in range(r):
                potential[a] /= norm
                node_part[base + a] += weight * potential[a]
                node_curve[base + a] += weight * potential[a] * (1.0 - potential[a])
            for b in range(degree):
                start, step = _cells(tables, lists.edge[low + b], i, patterns.states[at + b])
                for a in range(r):
                    edge_part[start + a * step] += weight * potential[a]
                    edge_curve[start + a * step] += weight * potential[a] * (1.0 - potential[a])
            at += degree
    return total


@kernel
def _cells(tables, edge, node, other):
    """Start and step of the cells of ``edge`` along ``node`` when its other end is in state ``other``."""
    start = tables.edge_offset[edge]
    width = tables.states[tables.pairs[edge, 1]]
    if tables.pairs[edge, 0] == node:
        return start + np.int64(other), width
    return start + np.int64(other) * width, np.int64(1)
