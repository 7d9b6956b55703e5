"""Sweeps of hidden labels, given the coupling and how likely each pixel's observation is under each label."""

from __future__ import annotations

import math

from mrfbayes.kernels.base.jit import kernel
from mrfbayes.kernels.base.linear import choose, exp_from_top
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
        x[i] = choose(sums[i], q, uniform(state))[0] if root[i] == i else x[root[i]]


@kernel
def exponentiate(log_likelihood, likelihood):
    """``likelihood`` becomes exp(``log_likelihood``), scaled so that the largest of each pixel is one."""
    likelihood[:] = log_likelihood
    for i in range(likelihood.shape[0]):
        exp_from_top(likelihood[i], likelihood.shape[1])
