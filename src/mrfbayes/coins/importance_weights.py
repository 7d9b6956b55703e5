"""Importance weights: whether they can be trusted, and draws from them."""

from __future__ import annotations

import math

import numpy as np

TRUSTED_K = 0.7  # Vehtari et al. (2024): importance sampling is reliable below it


def pareto_k(log_weights: np.ndarray) -> float:
    """Shape k of the generalised Pareto distribution that fits the largest weights (Vehtari et al. 2024).

    The fit is the estimator of Zhang & Stephens (2009): the profile likelihood averaged over a grid of scales. Weights
    that are all alike have k = 0; infinity stands for too few of them.
    """
    ordered = np.sort(np.asarray(log_weights, dtype=float))
    size = math.ceil(min(0.2 * ordered.size, 3.0 * math.sqrt(ordered.size)))
    if size < 5 or not np.isfinite(ordered[-1]):
        return math.inf
    weights = np.exp(ordered[-size - 1 :] - ordered[-1])
    excess = weights[1:] - weights[0]
    if excess[-1] <= 1e-10:
        return 0.0
    excess = np.maximum(excess, 1e-300)
    quartile = float(excess[int(size / 4 + 0.5) - 1])
    count = 30 + int(math.sqrt(size))
    scale = 1.0 / excess[-1] + (1.0 - np.sqrt(count / (np.arange(count) + 0.5))) / (3.0 * max(quartile, 1e-300))
    shape = np.log1p(-scale[:, None] * excess).mean(axis=1)
    profile = size * (np.log(-scale / shape) - shape - 1.0)
    belief = np.exp(profile - profile.max())
    found = float(np.log1p(-float(belief @ scale / belief.sum()) * excess).mean())
    return (size * found + 5.0) / (size + 10.0)  # ten observations' worth of k = 1/2, as Vehtari et al. advise


def effective_size(log_weights: np.ndarray) -> float:
    """Kish's effective number of draws, (sum w)^2 / sum w^2."""
    weights = np.exp(log_weights - log_weights.max())
    return float(weights.sum() ** 2 / (weights**2).sum())


def truncated_weights(log_weights: np.ndarray) -> np.ndarray:
    """Weights that add to one, none above sqrt(n) times their mean (Ionides 2008): a huge one would make a lump."""
    weights = np.exp(log_weights - log_weights.max())
    weights = np.minimum(weights, weights.mean() * math.sqrt(weights.size))
    return np.asarray(weights / weights.sum())


def weighted_ranks(values: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The columns of ``values`` (n, p) in ascending order, and the probability up to the middle of each point.

    ``weights`` (n,) add to one.
    """
    order = np.argsort(values, axis=0)
    middle = np.cumsum(weights[order], axis=0) - weights[order] / 2
    return np.take_along_axis(values, order, axis=0), middle


def weighted_quantile(ordered: np.ndarray, middle: np.ndarray, probability: float) -> np.ndarray:
    """Quantiles (p,) between the points of `weighted_ranks`."""
    return np.array([np.interp(probability, middle[:, j], ordered[:, j]) for j in range(ordered.shape[1])])


def resample(log_weights: np.ndarray, count: int, source: np.random.Generator) -> np.ndarray:
    """Indices of ``count`` draws in proportion to the weights, by one comb of even spacing, in random order."""
    weights = np.exp(log_weights - log_weights.max())
    edges = np.cumsum(weights)
    places = (np.arange(count) + source.random()) * (edges[-1] / max(count, 1))
    chosen = np.minimum(np.searchsorted(edges, places, side="right"), weights.size - 1)
    return np.asarray(source.permutation(chosen))
