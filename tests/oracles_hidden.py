"""Posteriors of small hidden fields by enumeration and quadrature; nothing of the package is used."""

import itertools

import numpy as np
from scipy.special import betainc, betaln, logsumexp


def grid_edges(rows, columns, neighbours=4):
    node = np.arange(rows * columns).reshape(rows, columns)
    parts = [(node[:, :-1], node[:, 1:]), (node[:-1], node[1:])]
    if neighbours == 8:
        parts += [(node[:-1, :-1], node[1:, 1:]), (node[:-1, 1:], node[1:, :-1])]
    return np.concatenate([np.stack([a.ravel(), b.ravel()], axis=1) for a, b in parts])


def all_labels(n, q):
    return np.array(list(itertools.product(range(q), repeat=n)))


def agreements(labels, edges):
    return (labels[:, edges[:, 0]] == labels[:, edges[:, 1]]).sum(axis=1)


def label_marginals(image, edges, w, log_likelihood):
    """(n, q) probabilities of the labels at a fixed coupling; ``log_likelihood`` (n, q)."""
    n, q = log_likelihood.shape
    labels = all_labels(n, q)
    logs = w * agreements(labels, edges) + log_likelihood[np.arange(n), labels].sum(axis=1)
    p = np.exp(logs - logsumexp(logs))
    return np.array([[p[labels[:, i] == s].sum() for s in range(q)] for i in range(n)])


def logistic_density(w):
    return -w - 2 * np.log1p(np.exp(-w))


class Truth:
    """Posterior of (w, labels) where the emission can be summed out: weights (k, labels) on a quadrature grid of w."""

    def __init__(self, image, edges, q, log_evidence, limit, log_z=None, points=400):
        n = image.size
        self.labels = all_labels(n, q)
        s = agreements(self.labels, edges)
        at, weight = np.polynomial.legendre.leggauss(points)
        self.w = (at + 1) / 2 * limit
        exact = logsumexp(self.w[:, None] * s, axis=1)
        log_z = exact if log_z is None else log_z(self.w)
        self.evidence = np.array([log_evidence(labels) for labels in self.labels])
        logs = self.w[:, None] * s - log_z[:, None] + logistic_density(self.w)[:, None] + self.evidence
        logs += np.log(weight)[:, None]
        self.p = np.exp(logs - logsumexp(logs))

    @property
    def coupling(self):
        mean = self.p.sum(axis=1) @ self.w
        return mean, np.sqrt(self.p.sum(axis=1) @ (self.w - mean) ** 2)

    def marginal(self, q):
        p = self.p.sum(axis=0)
        return np.array([[p[self.labels[:, i] == s].sum() for s in range(q)] for i in range(self.labels.shape[1])])

    def mean_of(self, function):
        return self.p.sum(axis=0) @ np.array([function(labels) for labels in self.labels])


def rate_counts(image, labels, s):
    """How often the label s was seen wrong and right; image has NaN where it is missing."""
    own = (labels == s) & np.isfinite(image)
    return (image[own] != s).sum(), (image[own] == s).sum()


def rate_evidence(image, labels):
    """Log evidence of binary labels: both rates uniform on (0, 1/2)."""
    total = 0.0
    for s in range(2):
        wrong, right = rate_counts(image, labels, s)
        total += betaln(wrong + 1, right + 1) + np.log(betainc(wrong + 1, right + 1, 0.5))
    return total


def rate_mean(image, labels, s):
    wrong, right = rate_counts(image, labels, s)
    top = betaln(wrong + 2, right + 1) + np.log(betainc(wrong + 2, right + 1, 0.5))
    return np.exp(top - betaln(wrong + 1, right + 1) - np.log(betainc(wrong + 1, right + 1, 0.5)))


def gaussian_by_importance(image, edges, limit, mean_prior, variance_prior, n, rng):
    """Posterior means (w, means, sds) of binary labels with ascending means, and their standard errors.

    Draws from the prior, weighted by the likelihood summed over all labels.
    """
    labels = all_labels(image.size, 2)
    s = agreements(labels, edges)
    u = rng.uniform(0.5, 1 / (1 + np.exp(-limit)), n)
    w = np.log(u / (1 - u))
    mean = rng.normal(mean_prior[0], mean_prior[1], (n, 2))
    sd = np.sqrt(variance_prior[1] / rng.gamma(variance_prior[0], 1, (n, 2)))
    order = mean.argsort(axis=1)
    mean, sd = np.take_along_axis(mean, order, 1), np.take_along_axis(sd, order, 1)
    seen = np.isfinite(image)
    each = -(((image[seen][:, None] - mean[:, None]) / sd[:, None]) ** 2) / 2 - np.log(sd)[:, None]
    logs = w[:, None] * s - logsumexp(w[:, None] * s, axis=1)[:, None]
    for k, i in enumerate(np.flatnonzero(seen)):
        logs += each[:, k][:, labels[:, i]]
    logs = logsumexp(logs, axis=1)
    weight = np.exp(logs - logs.max())
    weight /= weight.sum()
    values = np.column_stack([w, mean, sd])
    found = weight @ values
    return found, np.sqrt((weight**2) @ (values - found) ** 2)
