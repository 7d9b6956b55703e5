"""The pseudolikelihood of a dense field from its rows, by matrix products: where the search for the mode starts."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from mrfbayes.data.statistics import Statistics
from mrfbayes.estimation.optimise import lbfgs
from mrfbayes.model.natural_form import PRODUCT, DenseLayout

PSEUDO_TOLERANCE = 0.05  # posterior sds: it is a start
SEEN_AT_LEAST = 0.05  # information of a statistic that no particle shows


class SmoothPrior(Protocol):
    """What is asked of a prior here (`mrfbayes.priors.Prior` has it)."""

    def log_density_w(self, w: np.ndarray) -> float:
        """Log density of the log-odds w (p,)."""

    def gradient_w(self, w: np.ndarray) -> np.ndarray:
        """Its derivatives (..., p)."""

    def hessian_w(self, w: np.ndarray) -> np.ndarray:
        """Its second derivatives (p, p), or their diagonal (p,)."""


class NoPrior:
    """Maximum likelihood: density and gradient of no prior, and a little curvature, which keeps metrics invertible."""

    def log_density_w(self, w: np.ndarray) -> float:
        """Nothing."""
        return 0.0

    def gradient_w(self, w: np.ndarray) -> np.ndarray:
        """Nothing."""
        return np.zeros_like(w)

    def hessian_w(self, w: np.ndarray) -> np.ndarray:
        """Minus `SEEN_AT_LEAST`: it shapes the steps, not where they lead."""
        return np.full(w.shape[-1], -SEEN_AT_LEAST)


class DensePseudo:
    """Log pseudolikelihood of all rows kept, raised to as many rows as there were, plus the log prior."""

    def __init__(self, layout: DenseLayout, statistics: Statistics, prior: SmoothPrior) -> None:
        self._layout, self._prior = layout, prior
        x = statistics.rows
        self._scale = statistics.n / len(x)
        self._most = int(layout.states.max())
        if layout.coupling == PRODUCT:
            self._planes = x.astype(float)[None]
        else:
            self._planes = (x == np.arange(self._most, dtype=np.uint8)[:, None, None]).astype(float)
        self._seen = (x[None] == np.arange(self._most, dtype=np.uint8)[:, None, None]).astype(float)
        sizes = layout.states - 1
        self._node = np.repeat(np.arange(sizes.size), sizes)
        self._state = np.arange(self._node.size) - np.repeat(np.cumsum(sizes) - sizes, sizes) + 1
        self._squared = layout.forward.multiply(layout.forward)

    def _conditionals(self, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Log weights (R, n, d) of the states given all others, and the couplings (d, d)."""
        natural = self._layout.forward @ w
        d, (u, v) = self._layout.states.size, self._layout.pairs.T
        coupling = np.zeros((d, d))
        coupling[u, v] = coupling[v, u] = natural[: u.size]
        level = np.full((self._most, d), -np.inf)
        level[0] = 0.0
        level[self._state, self._node] = natural[u.size :]
        fields = self._planes @ coupling
        if self._layout.coupling == PRODUCT:
            fields = np.arange(self._most)[:, None, None] * fields
        return level[:, None, :] + fields, coupling

    def value_gradient(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """Value and gradient (p,)."""
        logits, _ = self._conditionals(w)
        top = logits.max(axis=0)
        weights = np.exp(logits - top)
        norm = weights.sum(axis=0)
        with np.errstate(invalid="ignore"):
            value = float(np.where(self._seen > 0, logits, 0.0).sum() - (top + np.log(norm)).sum())
        residual = self._seen - weights / norm
        gradient = self._natural(residual)
        value = self._scale * value + self._prior.log_density_w(w)
        return value, self._scale * (self._layout.forward.T @ gradient) + self._prior.gradient_w(w)

    def _natural(self, residual: np.ndarray) -> np.ndarray:
        """Derivatives with respect to the natural parameters from (R, n, d) residuals of the states."""
        u, v = self._layout.pairs.T
        if self._layout.coupling == PRODUCT:
            residual_planes = np.tensordot(np.arange(self._most), residual, axes=1)[None]
        else:
            residual_planes = residual
        products = (residual_planes.transpose(0, 2, 1) @ self._planes).sum(axis=0)
        return np.concatenate([products[u, v] + products[v, u], residual.sum(axis=1)[self._state, self._node]])

    def diagonal(self, w: np.ndarray) -> np.ndarray:
        """Positive (p,), near the diagonal of minus the Hessian."""
        logits, _ = self._conditionals(w)
        weights = np.exp(logits - logits.max(axis=0))
        weights /= weights.sum(axis=0)
        u, v = self._layout.pairs.T
        if self._layout.coupling == PRODUCT:
            level = np.arange(self._most)
            mean = np.tensordot(level, weights, axes=1)
            spread = (np.tensordot(level**2, weights, axes=1) - mean**2)[None]
        else:
            spread = weights * (1 - weights)
        products = (spread.transpose(0, 2, 1) @ self._planes**2).sum(axis=0)
        levels = (weights * (1 - weights)).sum(axis=1)[self._state, self._node]
        natural = np.concatenate([products[u, v] + products[v, u], levels])
        hessian = self._prior.hessian_w(w)
        prior = np.abs(hessian if hessian.ndim == 1 else np.diag(hessian))
        return np.asarray(np.maximum(self._scale * (self._squared.T @ natural) + prior, 1e-3))


def dense_start(layout: DenseLayout, statistics: Statistics, prior: SmoothPrior) -> np.ndarray:
    """Log-odds (p,) near the mode: the maximum of the pseudolikelihood, or no interaction where no rows are known."""
    start = np.zeros(layout.constant.size)
    if not len(statistics.rows):
        return start
    return lbfgs(DensePseudo(layout, statistics, prior), start, tolerance=PSEUDO_TOLERANCE).w
