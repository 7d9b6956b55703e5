r"""Swendsen-Wang moves for agreement couplings, any number of states, with or without fields.

An edge with weight :math:`e^{c[x_u = x_v]}` carries a bond with probability :math:`1 - e^{-|c|}` where it is
satisfied: where its ends agree (c > 0) or differ (c < 0). Given the bonds, all states of a cluster are shifted together
by the same amount s modulo r, which keeps every bond satisfied, with probability proportional to
:math:`\exp\sum_{i \in C} t_i((x_i + s) \bmod r)`: fields enter as the weights of whole clusters.

With positive couplings and no fields this is the algorithm of Swendsen & Wang (1987).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from mrfbayes.kernels.base.borrowed import borrow
from mrfbayes.kernels.base.jit import kernel
from mrfbayes.kernels.base.linear import choose
from mrfbayes.kernels.base.random import below, uniform
from mrfbayes.kernels.particles.potts import join

BLOCK = 64  # particles that share a random stream


class ClusterView(NamedTuple):
    """A field of agreement couplings. Write to `coupling` and `node_table` between sweeps to change it."""

    pairs: np.ndarray  # (m, 2) int64; the ends of an edge have the same number of states
    coupling: np.ndarray  # (m,) log weight of agreement
    node_offset: np.ndarray  # (d + 1,) int64: where a node's table starts
    node_table: np.ndarray  # flat log weights
    has_fields: bool  # False: all of node_table is zero


@kernel
def bond_probability(coupling):
    """Probability of a bond on a satisfied edge."""
    return -math.expm1(-abs(coupling))


@kernel
def _move_particle(view, probability, value, parent, shift, log_weights, n_sweeps, state):
    """Moves of one particle, ``value`` (d,); the three after it are work space."""
    view, probability, value, state = borrow((view, probability, value, state))
    parent, shift, log_weights = borrow((parent, shift, log_weights))
    n_nodes = value.size
    for _ in range(n_sweeps):
        for node in range(n_nodes):
            parent[node] = node
        for e in range(probability.size):
            u, v = view.pairs[e, 0], view.pairs[e, 1]
            satisfied = (value[u] == value[v]) == (view.coupling[e] > 0.0)
            if satisfied and uniform(state) < probability[e]:
                join(parent, u, v)
        for node in range(n_nodes):
            parent[node] = parent[parent[node]]
        if view.has_fields:
            log_weights[:] = 0.0
            for node in range(n_nodes):
                start = view.node_offset[node]
                n_states = view.node_offset[node + 1] - start
                root_start = view.node_offset[parent[node]]
                for s in range(n_states):
                    shifted = (value[node] + s) % n_states
                    log_weights[root_start + s] += view.node_table[start + shifted]
        for node in range(n_nodes):
            start = view.node_offset[node]
            n_states = view.node_offset[node + 1] - start
            root = parent[node]
            if root == node:
                if view.has_fields:
                    shift[node] = choose(log_weights[start : start + n_states], n_states, uniform(state))[0]
                else:
                    shift[node] = below(state, n_states)
            value[node] = (value[node] + shift[root]) % n_states


@kernel
def cluster_blocks(view, x, n_sweeps, states, first, last):
    """Moves of the particles in blocks first .. last of ``x`` (d, n) uint8, each block with its own stream."""
    n_nodes, n = x.shape
    n_edges = view.coupling.size
    probability = np.empty(n_edges)
    for e in range(n_edges):
        probability[e] = bond_probability(view.coupling[e])
    parent = np.empty(n_nodes, np.int64)
    shift = np.empty(n_nodes, np.int64)
    value = np.empty(n_nodes, np.int64)
    log_weights = np.empty(view.node_table.size)
    for block in range(first, last):
        for particle in range(BLOCK * block, min(BLOCK * (block + 1), n)):
            for node in range(n_nodes):
                value[node] = x[node, particle]
            _move_particle(view, probability, value, parent, shift, log_weights, n_sweeps, states[block])
            for node in range(n_nodes):
                x[node, particle] = np.uint8(value[node])
