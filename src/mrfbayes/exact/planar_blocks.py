"""Merges of large regions by BLAS: the slow, short twins of `mrfbayes.kernels.exact.planar_merge` and its callers."""

from __future__ import annotations

import numpy as np


def contract_blocks(a: np.ndarray, b: np.ndarray, tau: np.ndarray) -> tuple[np.ndarray, float, float]:
    """Merge two regions whose last ``tau.size`` half-edges are shared: G', log Z gained, weakest pivot."""
    from scipy.linalg import lu_factor, lu_solve

    k = tau.size
    ma, mb = len(a) - k, len(b) - k
    if k == 0:
        return np.block([[a, np.zeros((ma, mb))], [np.zeros((mb, ma)), b]]), 0.0, 1.0
    u, v = a[:ma, ma:], b[:mb, mb:]
    scaled = tau[:, None] * b[mb:, mb:] * tau
    factors = lu_factor(np.eye(k) + scaled @ a[ma:, ma:], check_finite=False)
    pivots = np.diag(factors[0])
    solved = lu_solve(factors, np.diag(tau), check_finite=False)
    merged = np.empty((ma + mb, ma + mb), dtype=a.dtype)
    along = u @ solved
    merged[:ma, :ma] = a[:ma, :ma] + (along @ (b[mb:, mb:] * tau)) @ u.T
    merged[:ma, ma:] = -along @ v.T
    merged[ma:, :ma] = -merged[:ma, ma:].T
    merged[ma:, ma:] = b[:mb, :mb] + (v @ (tau[:, None] * a[ma:, ma:] @ solved)) @ v.T
    sizes = np.maximum(np.abs(pivots), 1e-300)
    return merged, 0.5 * float(np.log(sizes).sum()), float(sizes.min(initial=1.0))


def split_blocks(
    gbar: np.ndarray, a: np.ndarray, b: np.ndarray, tau: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Adjoints of two regions from that of their merge (left kept half-edges first), and the derivatives by tau."""
    k = tau.size
    ma, mb = len(a) - k, len(b) - k
    a_ss, b_ss, v = a[ma:, ma:], b[mb:, mb:], b[:mb, mb:]
    db = tau[:, None] * b_ss
    inverse = np.linalg.inv(np.eye(k) + (db * tau) @ a_ss)
    j_aa = a_ss @ inverse
    r_a = np.concatenate([a[:ma, ma:] @ inverse, -v @ (tau[:, None] * j_aa)])
    r_b = r_a @ db
    r_b[ma:] += v
    m_a, m_b = gbar @ r_a, gbar @ r_b
    slope = (j_aa * db.T).sum(axis=1) - (r_a * m_b).sum(axis=0)
    h_aa = j_aa - r_a.T @ m_a
    h_bb = b_ss + db.T @ j_aa @ db - r_b.T @ m_b
    left, right = np.empty_like(a), np.empty_like(b)
    _fill(left, gbar[:ma, :ma], -m_b[:ma] * tau, -tau[:, None] * h_bb * tau)
    _fill(right, gbar[ma:, ma:], m_a[ma:] * tau, -tau[:, None] * h_aa * tau)
    return left, right, slope


def _fill(target: np.ndarray, kept: np.ndarray, between: np.ndarray, shared: np.ndarray) -> None:
    m = len(kept)
    target[:m, :m], target[:m, m:], target[m:, :m] = kept, between, -between.T
    target[m:, m:] = (shared - shared.T) / 2
