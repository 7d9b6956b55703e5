"""Posteriors over graphs by enumeration: every graph's evidence by importance sampling. Nothing here imports ours.

A field is given by ``statistics`` (S, p): the value of every sufficient statistic in every configuration, edges first.
Priors are functions of the log-odds that return a log density, a derivative and a second derivative, elementwise.
"""

from __future__ import annotations

import itertools

import numpy as np
from scipy.special import betaln, gammaln


def normal(location, scale):
    def evaluate(w):
        z = (w - location) / scale
        return -0.5 * z**2 - np.log(scale * np.sqrt(2 * np.pi)), -z / scale, np.full_like(w, -1 / scale**2)

    return evaluate


def cauchy(location, scale):
    def evaluate(w):
        z = (w - location) / scale
        q = 1 + z**2
        return -np.log(np.pi * scale * q), -2 * z / q / scale, -2 * (1 - z**2) / q**2 / scale**2

    return evaluate


def logistic(location, scale):
    def evaluate(w):
        z = (w - location) / scale
        p = 1 / (1 + np.exp(-z))
        value = -np.abs(z) - 2 * np.log1p(np.exp(-np.abs(z))) - np.log(scale)
        return value, (1 - 2 * p) / scale, -2 * p * (1 - p) / scale**2

    return evaluate


def all_configurations(states):
    return np.array(list(itertools.product(*(range(r) for r in states))), dtype=np.int64)


def log_evidence(statistics, counts, n, slab, node, n_edges, rng, draws=1000, df=8):
    """Log evidence of the field with all the given statistics, its first ``n_edges`` being edges.

    Also the sd of its estimate and importance-weighted means and mean squares of the log-odds. ``slab`` and ``node``
    are priors of the edges and of the rest. Draws are antithetic and come from a t distribution at the mode.
    """
    p = statistics.shape[1]

    def prior(w):
        parts = [np.concatenate([slab(w[..., :n_edges])[k], node(w[..., n_edges:])[k]], axis=-1) for k in range(3)]
        return parts

    def log_z(w):
        energy = w @ statistics.T
        top = energy.max(axis=-1, keepdims=True)
        weight = np.exp(energy - top)
        total = weight.sum(axis=-1, keepdims=True)
        return (top + np.log(total))[..., 0], weight / total

    if p == 0:
        return -n * np.log(len(statistics)), 0.0, np.zeros(0), np.zeros(0)
    w = np.zeros(p)

    def target(w):
        return w @ counts - n * log_z(w)[0] + prior(w)[0].sum(axis=-1)

    for _ in range(60):
        _, probability = log_z(w)
        mean = probability @ statistics
        covariance = (statistics * probability[:, None]).T @ statistics - np.outer(mean, mean)
        _, first, second = prior(w)
        gradient = counts - n * mean + first
        information = n * covariance - np.diag(np.minimum(second, -1e-3))
        step = np.linalg.solve(information, gradient)
        size = 1.0
        while target(w + size * step) < target(w) - 1e-12 and size > 1e-6:
            size /= 2
        w = w + size * step
        if np.abs(size * step).max() < 1e-8:
            break
    factor = np.linalg.cholesky(np.linalg.inv(information))
    z = rng.standard_normal((draws // 2, p))
    chi = rng.chisquare(df, draws // 2)
    z = np.concatenate([z, -z])
    chi = np.concatenate([chi, chi])
    sample = w + (z / np.sqrt(chi / df)[:, None]) @ factor.T
    square = (z**2).sum(axis=1) * df / chi
    log_q = (
        gammaln((df + p) / 2) - gammaln(df / 2) - p / 2 * np.log(df * np.pi) - np.log(np.diag(factor)).sum()
        - (df + p) / 2 * np.log1p(square / df)
    )  # fmt: skip
    log_weight = target(sample) - log_q
    top = log_weight.max()
    weight = np.exp(log_weight - top)
    error = weight.std() / weight.mean() / np.sqrt(draws)
    share = weight / weight.sum()
    return top + np.log(weight.mean()), error, share @ sample, share @ sample**2


def bernoulli(probability):
    return lambda size, m: size * np.log(probability) + (m - size) * np.log1p(-probability)


def beta_bernoulli(a, b):
    return lambda size, m: betaln(a + size, b + m - size) - betaln(a, b)


def all_graphs(n_edges):
    return np.array(list(itertools.product((0, 1), repeat=n_edges)), dtype=bool)


def graph_evidences(statistics, counts, n, n_edges, slab, node, rng, draws=1000):
    """Log evidence, its error, means and mean squares (edges absent: zero) of all 2^m graphs."""
    p = statistics.shape[1]
    graphs = all_graphs(n_edges)
    evidence, error = np.empty(len(graphs)), np.empty(len(graphs))
    mean, square = np.zeros((len(graphs), p)), np.zeros((len(graphs), p))
    for k, present in enumerate(graphs):
        chosen = np.concatenate([np.flatnonzero(present), np.arange(n_edges, p)])
        evidence[k], error[k], mean[k, chosen], square[k, chosen] = log_evidence(
            statistics[:, chosen], counts[chosen], n, slab, node, int(present.sum()), rng, draws
        )
    return evidence, error, mean, square


def graph_posterior(evidences, n_edges, graph_prior):
    """Probability of every graph, inclusion probabilities, errors of those, model-averaged means and sds."""
    evidence, error, mean, square = evidences
    graphs = all_graphs(n_edges)
    log_p = evidence + graph_prior(graphs.sum(axis=1), n_edges)
    p = np.exp(log_p - log_p.max())
    p /= p.sum()
    inclusion = p @ graphs
    inclusion_error = np.sqrt((((graphs - inclusion) * (p * error)[:, None]) ** 2).sum(axis=0))
    average = p @ mean
    return p, inclusion, inclusion_error, average, np.sqrt(p @ square - average**2)
