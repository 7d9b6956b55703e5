"""Products, inverses and the merge of two regions against dense matrices."""

import numpy as np
import pytest

from mrfbayes.kernels.exact.planar_merge import (
    ORDER_ZERO,
    add_large_product,
    add_product,
    contract,
    invert,
    place_merged,
)


def test_products_of_blocks_are_those_of_matrices():
    """7 x 4, stored by columns, times 4 x 9; by loops and by BLAS, and of a triangle no less than that is made."""
    rng = np.random.default_rng(2)
    a, b = rng.normal(size=200), rng.normal(size=200)
    left = np.array([[a[3 + 2 * i + 17 * k] for k in range(4)] for i in range(7)])
    right = np.array([[b[5 + 11 * k + j] for j in range(9)] for k in range(4)])
    for multiply in (add_product, add_large_product):
        c = np.ones(100)
        multiply(c, (2, 13), a, (3, 2, 17), b, (5, 11), (7, 9, 4, 9))
        expected = np.ones(100)
        for i, row in enumerate(left @ right):
            expected[2 + 13 * i : 11 + 13 * i] += row
        np.testing.assert_allclose(c, expected, atol=1e-14)
    c = np.zeros(100)
    add_product(c, (2, 13), a, (3, 2, 17), b, (5, 11), (7, 9, 4, 1))
    for i, row in enumerate(left @ right):
        np.testing.assert_allclose(c[2 + 13 * i : 3 + 14 * i], row[: i + 1], atol=1e-14)


def test_inverse_log_determinant_and_weakest_pivot():
    matrix = np.array([[0.0, 2.0, 0.5], [-4.0, 1.0, 0.0], [0.3, 0.1, 0.9]])
    work = np.hstack([matrix, np.eye(3)]).ravel()
    log_det, weakest = invert(work, 3)
    np.testing.assert_allclose(work.reshape(3, 6), np.hstack([np.eye(3), np.linalg.inv(matrix)]), atol=1e-14)
    assert log_det == pytest.approx(np.log(np.linalg.det(matrix)))
    assert 0 < weakest < 1


def skew(rng, n):
    matrix = rng.normal(size=(n, n))
    return matrix - matrix.T


@pytest.mark.parametrize("k", [0, 1, 2, 3])
def test_a_merge_is_the_schur_complement_of_both_regions(k):
    """With C of both and T between shared halves: G' = C + C (I - T C)^-1 T C of what is kept, log det(I - T C) / 2."""
    rng = np.random.default_rng(k)
    ma, mb = 4, 3
    a, b, tau = skew(rng, ma + k), skew(rng, mb + k), rng.uniform(-0.3, 0.3, size=k)
    store = np.concatenate([a.ravel(), b.ravel(), np.zeros((ma + mb) ** 2)])
    work = np.zeros(500)
    left, right = (0, ma + k), (a.size, mb + k)
    out, gained, _ = contract(store, left, right, tau, work, ORDER_ZERO)
    places = rng.permutation(ma + mb)
    place_merged(work, out, places, store, (a.size + b.size, ma + mb), ORDER_ZERO)
    found = store[a.size + b.size :].reshape(ma + mb, ma + mb)[np.ix_(places, places)]

    both = np.zeros((ma + mb + 2 * k, ma + mb + 2 * k))
    both[: ma + k, : ma + k], both[ma + k :, ma + k :] = a, b
    kept = np.r_[0:ma, ma + k : ma + k + mb]
    shared = np.setdiff1d(np.arange(len(both)), kept)
    joined = np.block([[np.zeros((k, k)), np.diag(tau)], [-np.diag(tau), np.zeros((k, k))]])
    middle = np.eye(2 * k) - joined @ both[np.ix_(shared, shared)]
    change = both[np.ix_(kept, shared)] @ np.linalg.solve(middle, joined @ both[np.ix_(shared, kept)])
    np.testing.assert_allclose(found, both[np.ix_(kept, kept)] + change, atol=1e-12)
    assert gained == pytest.approx(0.5 * np.linalg.slogdet(middle)[1], abs=1e-13)
