"""Sweeps of hidden labels, given the coupling and how likely each pixel's observation is under each label."""

from __future__ import annotations

import math

from mrfbayes.kernels.base.fastmath import exp
from mrfbayes.kernels.base.jit import kernel
from mrfbayes.kernels.base.random import uniform
from mrfbayes.kernels.particles.potts import make_clusters


@kernel
def cluster_sweep(pairs, x, log_likelihood, w, work, sums, state):
    """Draw the labels of whole clusters of agreeing pixels (Swendsen & Wang 1987, with external fields).

    ``work``, that of `make_clusters`, and ``sums`` (n, q) are work space.
    """
    n, q = log_likelihood.shape
    make_clusters(pairs, x, -math.expm1(-w), work, state)
    root = work[0]
    for i in range(n):
        if root[i] == i:
            for s in range(q):
                sums[i, s] = log_likelihood[i, s]
        else:
            for s in range(q):
                sums[root[i], s] += log_likelihood[i, s]
    for i in range(n):
        x[i] = _draw(sums[i], uniform(state)) if root[i] == i else x[root[i]]


@kernel
def _draw(log_weights, u):
    """Index with probability proportional to exp(log_weights), by the uniform number ``u``."""
    top = log_weights[0]
    for s in range(1, log_weights.size):
        top = max(top, log_weights[s])
    total = 0.0
    for s in range(log_weights.size):
        log_weights[s] = exp(log_weights[s] - top)
        total += log_weights[s]
    u *= total
    label = 0
    cumulative = log_weights[0]
    while label < log_weights.size - 1 and u >= cumulative:
        label += 1
        cumulative += log_weights[label]
    return label


@kernel
def exponentiate(log_likelihood, likelihood):
    """``likelihood`` becomes exp(``log_likelihood``), scaled so that the largest of each pixel is one."""
    n, q = log_likelihood.shape
    for i in range(n):
        top = log_likelihood[i, 0]
        for s in range(1, q):
            top = max(top, log_likelihood[i, s])
        for s in range(q):
            likelihood[i, s] = exp(log_likelihood[i, s] - top)
