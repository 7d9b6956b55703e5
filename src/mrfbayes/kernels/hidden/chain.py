"""A chain of labels, emission parameters and coupling of a hidden field."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from mrfbayes.kernels.base.jit import kernel
from mrfbayes.kernels.base.linear import choose, exp_from_top
from mrfbayes.kernels.base.random import uniform
from mrfbayes.kernels.hidden.emissions import (
    GAUSSIAN,
    MISCLASSIFICATION,
    draw_confusion,
    draw_gaussian,
    fill_log_likelihood,
)
from mrfbayes.kernels.particles.cluster import count_agreements, gibbs_sweep, make_clusters


class HiddenView(NamedTuple):
    """A hidden field with one coupling, and what was observed of it."""

    pairs: np.ndarray  # (m, 2) int32
    neighbours: np.ndarray  # (n, k) int32, -1 where a pixel has fewer
    n_states: int
    kind: int  # NOISELESS, GAUSSIAN or MISCLASSIFICATION
    image: np.ndarray  # (n,) greys or labels; anything where nothing was observed
    observed: np.ndarray  # (n,) bool
    emission_prior: np.ndarray  # (4,) of `draw_gaussian`
    table: np.ndarray  # (3, k) w, log prior - log Z at w, and its derivative; between them by cubic polynomials


@kernel
def table_value(table, w):
    """The function of the table at w, by cubic Hermite polynomials."""
    low, high = 0, table.shape[1] - 1
    while high - low > 1:
        middle = (low + high) // 2
        if table[0, middle] <= w:
            low = middle
        else:
            high = middle
    step = table[0, high] - table[0, low]
    t = (w - table[0, low]) / step
    rest = 1.0 - t
    value = rest * rest * ((1.0 + 2.0 * t) * table[1, low] + t * step * table[2, low])
    return value + t * t * ((3.0 - 2.0 * t) * table[1, high] - rest * step * table[2, high])


@kernel
def draw_coupling(table, w, agreements, state):
    """A slice-sampling step (Neal 2003) for the density exp(w S + table(w)) within the table.

    It steps out from w by the width that the density has there.
    """
    first, last = table[0, 0], table[0, -1]
    level = w * agreements + table_value(table, w) + math.log1p(-uniform(state))
    width = (last - first) / 64
    low = w - width * uniform(state)
    high = low + width
    while low > first and low * agreements + table_value(table, low) > level:
        low -= width
    while high < last and high * agreements + table_value(table, high) > level:
        high += width
    low, high = max(low, first), min(high, last)
    while True:
        proposal = low + (high - low) * uniform(state)
        if proposal * agreements + table_value(table, proposal) >= level:
            return proposal
        if proposal < w:
            low = proposal
        else:
            high = proposal


@kernel
def hidden_chain(view, x, point, draws, thin, probabilities, state):
    """Iterate ``thin`` times per row of ``draws`` (k, 2 + e): coupling, emission, number of agreements.

    Parameters
    ----------
    x : (n,) uint8 labels, changed in place
    point : (1 + e,) coupling and emission parameters, changed in place
    probabilities : (n, q) sums of the labels' conditional probabilities, a term per iteration; none without rows
    """
    n, q = x.size, view.n_states
    emission = point[1:]
    log_likelihood, likelihood, sums = np.empty((n, q)), np.empty((n, q)), np.empty((n, q))
    clusters = np.empty(n, np.int32), np.empty(view.pairs.shape[0], np.int32)
    weights, work = np.empty(q), np.empty((max(3, q), q))
    fill_log_likelihood(view.kind, view.image, view.observed, emission, log_likelihood)
    exponentiate(log_likelihood, likelihood)
    for draw in range(draws.shape[0]):
        agreements = 0
        for _ in range(thin):
            cluster_sweep(view.pairs, x, log_likelihood, point[0], clusters, sums, state)
            gibbs_sweep(view.neighbours, x, likelihood, point[0], weights, probabilities, state)
            agreements = count_agreements(view.pairs, x)
            point[0] = draw_coupling(view.table, point[0], agreements, state)
            if view.kind == GAUSSIAN:
                draw_gaussian(view.image, view.observed, x, view.emission_prior, emission, work[:3], state)
            elif view.kind == MISCLASSIFICATION:
                draw_confusion(view.image, view.observed, x, emission, work[:q], state)
            if view.kind == GAUSSIAN or view.kind == MISCLASSIFICATION:
                fill_log_likelihood(view.kind, view.image, view.observed, emission, log_likelihood)
                exponentiate(log_likelihood, likelihood)
        draws[draw, : point.size] = point
        draws[draw, point.size] = agreements


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
