r"""Fields with one agreement coupling for all edges and nothing else: chains of their sufficient statistic.

.. math:: p(x) \propto \exp(w S(x)), \qquad S(x) = \sum_{uv} [x_u = x_v]

Where w is positive, states are changed cluster by cluster (Swendsen & Wang 1987), which stays fast at the critical w.
"""

from __future__ import annotations

import math

import numpy as np

from mrfbayes.kernels.base.jit import kernel
from mrfbayes.kernels.base.random import below, uniform


@kernel
def find_root(parent, node):
    """Root of the node's cluster; the path to it is halved on the way."""
    while parent[node] != node:
        parent[node] = parent[parent[node]]
        node = parent[node]
    return node


@kernel
def make_clusters(pairs, x, probability, parent, state):
    """Join the ends of agreeing edges with ``probability`` each; roots are the smallest nodes of their clusters."""
    for node in range(x.size):
        parent[node] = node
    for e in range(pairs.shape[0]):
        u, v = pairs[e, 0], pairs[e, 1]
        if (x[u] == x[v]) & (uniform(state) < probability):  # one branch: neither condition can be predicted
            u, v = find_root(parent, u), find_root(parent, v)
            if u < v:
                parent[v] = u
            else:
                parent[u] = v


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
        u = uniform(state) * total
        label = 0
        cumulative = weights[0]
        while label < q - 1 and u >= cumulative:
            label += 1
            cumulative += weights[label]
        x[i] = label
        if probabilities.shape[0]:
            for s in range(q):
                probabilities[i, s] += weights[s] / total


@kernel
def potts_chains(graph, n_states, w, x, n_skipped, states, agreements):
    """Sweeps of the chains ``x`` (k, n) uint8; ``agreements`` (k, m) gets S after each of m sweeps.

    ``graph`` has the edges (e, 2) and the neighbours of each node, padded with -1.

    The first ``n_skipped`` sweeps are not recorded. Each chain has its own random state, ``states`` (k, 4). Negative
    couplings have no clusters: there each node is drawn given its neighbours.
    """
    pairs, neighbours = graph
    n = x.shape[1]
    probability = -math.expm1(-w)
    parent = np.empty(n, np.int32)
    likelihood = np.ones((n if w < 0.0 else 0, n_states))
    weights, nothing = np.empty(n_states), np.empty((0, n_states))
    for chain in range(x.shape[0]):
        for sweep in range(n_skipped + agreements.shape[1]):
            if w < 0.0:
                gibbs_sweep(neighbours, x[chain], likelihood, w, weights, nothing, states[chain])
            else:
                make_clusters(pairs, x[chain], probability, parent, states[chain])
                for node in range(n):
                    root = find_root(parent, node)
                    x[chain, node] = below(states[chain], n_states) if root == node else x[chain, root]
            if sweep >= n_skipped:
                agreements[chain, sweep - n_skipped] = count_agreements(pairs, x[chain])
