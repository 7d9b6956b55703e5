r"""The evidence of single graphs to one loop, to score the graphs that a search has visited.

At the mode of the log posterior L in log-odds, with S the inverse of minus its Hessian and p parameters,

.. math:: \log p(X \mid G) \approx L + \tfrac p2 \log 2\pi + \tfrac12 \log|S| + \tfrac18 L_{abcd} S_{ab} S_{cd}
    + \tfrac1{12} L_{abc} L_{def} S_{ad} S_{be} S_{cf} + \tfrac18 L_{abc} S_{bc} S_{ad} L_{def} S_{ef}

L's derivatives are -n times the field's cumulants plus those of the prior; with D = s - E[s] and Q = D'SD the sums over
the field need :math:`E[Q^2]`, :math:`E[Q D]` and :math:`E[(D'SD')^3]` over pairs of configurations. They go over all of
them, so this is for fields of up to twelve binary nodes.
"""

from __future__ import annotations

import math

import numpy as np

from mrfbayes.model.field import Model
from mrfbayes.particles.moments import row_statistics
from mrfbayes.priors import Prior

MOST_CONFIGURATIONS = 4_096
_NEWTON_STEPS = 60
_PAIRS_AT_ONCE = 512


def can_rescore(model: Model) -> bool:
    """Whether all configurations can be gone through, and every prior is one of single log-odds."""
    return bool(model.chart.all_coins and np.log2(model.states).sum() <= math.log2(MOST_CONFIGURATIONS) + 1e-9)


def all_statistics(model: Model) -> np.ndarray:
    """s (N, p) of every configuration."""
    axes = [np.arange(r, dtype=np.uint8) for r in model.states]
    rows = np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)
    return row_statistics(model, rows)


def log_evidence(statistics: np.ndarray, counts: np.ndarray, n: float, prior: Prior, chosen: np.ndarray) -> float:
    """Log evidence to one loop of the field with the ``chosen`` parameters, the others being zero.

    The prior density counts relative to its value at zero: each chosen parameter lacks the log of that.
    """
    s = np.ascontiguousarray(statistics[:, chosen])
    w, full = np.zeros(chosen.size), np.zeros(statistics.shape[1])

    def field(w: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        energy = s @ w
        top = float(energy.max())
        weight = np.exp(energy - top)
        total = float(weight.sum())
        return top + math.log(total), weight / total, s - (weight / total) @ s

    def at(w: np.ndarray) -> np.ndarray:
        full[chosen] = w
        return full

    information = np.eye(chosen.size)
    for _ in range(_NEWTON_STEPS):
        _, probability, d = field(w)
        covariance = (d * probability[:, None]).T @ d
        gradient = counts[chosen] - n * (probability @ s) + prior.gradient_w(at(w))[chosen]
        information = n * covariance + np.diag(np.maximum(-prior.hessian_w(at(w))[chosen], 1e-6))
        step = np.linalg.solve(information, gradient)
        w = w + step * min(1.0, 2.0 / max(float(np.abs(step).max()), 1e-300))
        if np.abs(step).max() < 1e-10:
            break
    log_z, probability, d = field(w)
    spread = np.linalg.inv(information)
    covariance = (d * probability[:, None]).T @ d
    # The others stay at zero, so all that the prior says of them is a constant of each: taken off.
    value = float(counts[chosen] @ w - n * log_z + prior.log_density_w(at(w)) - prior.log_density_w(0.0 * full))
    value += 0.5 * chosen.size * math.log(2 * math.pi) - 0.5 * float(np.linalg.slogdet(information)[1])
    third, fourth = prior.third_w(at(w))[chosen], prior.fourth_w(at(w))[chosen]
    return value + _loops(d, probability, covariance, spread, n, third, fourth)


def _loops(
    d: np.ndarray,
    probability: np.ndarray,
    covariance: np.ndarray,
    spread: np.ndarray,
    n: float,
    third: np.ndarray,
    fourth: np.ndarray,
) -> float:
    """The three one-loop terms."""
    projected = d @ spread
    q = np.einsum("ij,ij->i", d, projected)
    mean = float(probability @ q)
    product = spread @ covariance
    quartic = -n * (float(probability @ q**2) - mean**2 - 2 * float(np.einsum("ij,ji->", product, product)))
    quartic += float(fourth @ np.diag(spread) ** 2)
    vector = -n * ((probability * q) @ d) + third * np.diag(spread)
    cubic = 0.0
    for first in range(0, len(d), _PAIRS_AT_ONCE):
        part = slice(first, first + _PAIRS_AT_ONCE)
        cubic += float(probability[part] @ (projected[part] @ d.T) ** 3 @ probability)
    mixed = -2 * n * float(third @ (probability @ projected**3))
    pairs = n * n * cubic + mixed + float(third @ spread**3 @ third)
    return quartic / 8 + pairs / 12 + float(vector @ spread @ vector) / 8
