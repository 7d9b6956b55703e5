r"""Swendsen-Wang moves for agreement couplings, any number of states, with or without fields.

An edge with weight :math:`e^{c[x_u = x_v]}` carries a bond with probability :math:`1 - e^{-|c|}` where it is
satisfied: where its ends agree (c > 0) or differ (c < 0). Given the bonds, all states of a cluster are shifted together
by the same amount s modulo r, which keeps every bond satisfied, with probability proportional to
:math:`\exp\sum_{i \in C} t_i((x_i + s) \bmod r)`: fields enter as the weights of whole clusters.

With positive couplings and no fields this is the algorithm of Swendsen & Wang (1987).

Fields with one agreement coupling w for all edges and nothing else have chains of their sufficient statistic S(x), the
number of edges whose ends agree. Where w is positive, they change states cluster by cluster as well, which stays fast
at the critical w.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from mrfbayes.kernels.base.jit import kernel, without_refcount
from mrfbayes.kernels.base.linear import choose
from mrfbayes.kernels.base.random import below, sfc64, uniform

_ONE, _U11 = np.uint64(1), np.uint64(11)


@kernel
def make_clusters(pairs, x, probability, work, state):
    """Join the ends of agreeing edges with ``probability`` each; returns the number of agreeing edges.

    ``work`` is the work space (parent, bonds), int32 of the sizes of nodes and edges. It leaves in ``parent`` the
    smallest node of every node's cluster.
    """
    parent, bonds = work
    bound = np.uint64(probability * 2.0**53)
    a, b, c, counter = state[0], state[1], state[2], state[3]
    agreements, n_bonds = 0, 0
    for e in range(pairs.shape[0]):  # without a branch, which could not be predicted
        word, a, b, c = sfc64(a, b, c, counter)
        counter += _ONE
        agree = x[pairs[e, 0]] == x[pairs[e, 1]]
        agreements += agree
        bonds[n_bonds] = e
        n_bonds += agree & ((word >> _U11) < bound)
    state[0], state[1], state[2], state[3] = a, b, c, counter
    for node in range(x.size):
        parent[node] = node
    for k in range(n_bonds):
        join(parent, pairs[bonds[k], 0], pairs[bonds[k], 1])
    for node in range(x.size):  # no parent is larger than its node, so that those of smaller nodes are roots already
        parent[node] = parent[parent[node]]
    return agreements


@kernel
def join(parent, u, v):
    """Join the clusters of two nodes by Rem's union-find (Dijkstra 1976): smaller parents replace larger ones."""
    above_u, above_v = parent[u], parent[v]
    while above_u != above_v:
        if above_u < above_v:
            u, v, above_u, above_v = v, u, above_v, above_u
        parent[u] = above_v
        if above_u == u:
            break
        u = above_u
        above_u = parent[u]


@kernel
def count_agreements(pairs, x):
    """Number of edges whose ends agree."""
    total = 0
    for e in range(pairs.shape[0]):
        total += x[pairs[e, 0]] == x[pairs[e, 1]]
    return total


@kernel
def gibbs_sweep(neighbours, x, likelihood, w, weights, probabilities, state):
    """Draw every label given its neighbours, pixel after pixel; adds the conditional probabilities that it drew from.

    Parameters
    ----------
    neighbours : (n, k) int32 of each pixel's neighbours, -1 where there are fewer
    likelihood : (n, q) of the observation under each label, up to a factor per pixel
    weights : (q,) work space
    probabilities : (n, q) sums of conditional probabilities; with no rows, nothing is added
    """
    n, most = neighbours.shape
    q = likelihood.shape[1]
    factor = math.exp(w)
    for i in range(n):
        for s in range(q):
            weights[s] = likelihood[i, s]
        for k in range(most):
            j = neighbours[i, k]
            if j < 0:
                break
            weights[x[j]] *= factor
        total = 0.0
        for s in range(q):
            total += weights[s]
        u, label, cumulative = uniform(state) * total, 0, weights[0]
        while label < q - 1 and u >= cumulative:
            label += 1
            cumulative += weights[label]
        x[i] = label
        if probabilities.shape[0]:
            for s in range(q):
                probabilities[i, s] += weights[s] / total


@kernel
def potts_chains(graph, n_states, w, x, n_skipped, states, agreements):
    """Sweeps of the chains ``x`` (k, n) uint8; ``agreements`` (k, m) gets S before each of the last m sweeps.

    ``graph`` has the edges (e, 2) and the neighbours of each node, padded with -1.

    The first ``n_skipped`` sweeps are not recorded. Each chain has its own random state, ``states`` (k, 4). Negative
    couplings have no clusters: there each node is drawn given its neighbours.
    """
    pairs, neighbours = graph
    n = x.shape[1]
    probability = -math.expm1(-w)
    parent = np.empty(n, np.int32)
    work = parent, np.empty(pairs.shape[0], np.int32)
    likelihood = np.ones((n if w < 0.0 else 0, n_states))
    weights, nothing = np.empty(n_states), np.empty((0, n_states))
    for chain in range(x.shape[0]):
        for sweep in range(n_skipped + agreements.shape[1]):
            if w < 0.0:
                before = count_agreements(pairs, x[chain])
                gibbs_sweep(neighbours, x[chain], likelihood, w, weights, nothing, states[chain])
            else:
                before = make_clusters(pairs, x[chain], probability, work, states[chain])
                for node in range(n):
                    x[chain, node] = below(states[chain], n_states) if parent[node] == node else x[chain, parent[node]]
            if sweep >= n_skipped:
                agreements[chain, sweep - n_skipped] = before


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
    view, probability, value, state = without_refcount((view, probability, value, state))
    parent, shift, log_weights = without_refcount((parent, shift, log_weights))
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
