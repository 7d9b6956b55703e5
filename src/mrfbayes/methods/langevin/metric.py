r"""The whitening map of a walk: a triangular factor, and a rotation that puts a few directions first.

.. math:: w - c = L Q y, \qquad L L^T = S, \quad Q \text{ orthogonal with the chosen directions } U
          \text{ as its first columns}

L is upper triangular and kept in single precision, as it is: its products with a handful of vectors are limited by
memory, and half of a square is half of the time. Q is never written out.
"""

from __future__ import annotations

import numpy as np

from mrfbayes.particles.dense import spread

PANEL = 512  # rows or columns of the factor that are multiplied at a time


class Whitening:
    """``factor`` (p, p) upper triangular and ``directions`` (p, m) orthonormal, m may be 0; products in ``threads``."""

    def __init__(self, factor: np.ndarray, directions: np.ndarray, threads: int = 1) -> None:
        self._threads = threads
        self.factor = np.ascontiguousarray(factor, dtype=np.float32)
        self.directions = directions
        m = directions.shape[1]
        # With U rotated within its span so that its upper square is symmetric and not negative, and E the first m unit
        # vectors, H = B (I + E^T U)^-1 B^T - I with B = U + E is orthogonal, symmetric, and sends E to the span of U.
        left, _, right = np.linalg.svd(directions[:m])
        own = directions @ (right.T @ left.T)
        self._b = own.copy()
        self._b[:m] += np.eye(m)
        self._inner = np.linalg.inv(np.eye(m) + (own[:m] + own[:m].T) / 2) @ self._b.T
        self.first = np.concatenate(
            [self.factor[k : k + PANEL, k:] @ directions[k:].astype(np.float32) for k in range(0, len(factor), PANEL)]
        )  # (p, m): the first columns of L Q

    def turn(self, rows: np.ndarray) -> np.ndarray:
        """``rows`` (k, p) times Q."""
        m = self.directions.shape[1]
        if not m:
            return rows
        out = (rows @ self._b) @ self._inner - rows
        out[:, :m] = rows @ self.directions
        return np.asarray(out)

    def turn_back(self, rows: np.ndarray) -> np.ndarray:
        """``rows`` (k, p) times Q^T."""
        m = self.directions.shape[1]
        if not m:
            return rows
        rest = rows.copy()
        rest[:, :m] = 0.0
        return np.asarray(rows[:, :m] @ self.directions.T + (rest @ self._b) @ self._inner - rest)

    def forward(self, y: np.ndarray) -> np.ndarray:
        """L Q y for rows y (k, p), in single precision."""
        z = self.turn_back(y).astype(np.float32)

        def product(k: int) -> np.ndarray:
            return np.asarray(z[:, k:] @ self.factor[k : k + PANEL, k:].T)

        return np.concatenate(spread(product, range(0, z.shape[1], PANEL), self._threads), axis=1)

    def back(self, gradient: np.ndarray) -> np.ndarray:
        """Q^T L^T g for rows g (k, p)."""
        g = gradient.astype(np.float32)

        def product(k: int) -> np.ndarray:
            return np.asarray(g[:, : k + PANEL] @ self.factor[: k + PANEL, k : k + PANEL])

        parts = spread(product, range(0, g.shape[1], PANEL), self._threads)
        return self.turn(np.concatenate(parts, axis=1).astype(float))

    def back_first(self, gradient: np.ndarray) -> np.ndarray:
        """The first m coordinates of `back`."""
        return np.asarray(gradient.astype(np.float32) @ self.first)

    def variances(self, spread: np.ndarray) -> np.ndarray:
        """(p,) diagonal of (L Q) diag(spread) (L Q)^T."""
        found = [
            self.turn(self.factor[k : k + PANEL].astype(float)) ** 2 @ spread for k in range(0, len(self.factor), PANEL)
        ]
        return np.concatenate(found)
