"""Moments by popcount against products of the unpacked samples."""

import itertools

import numpy as np

from mrfbayes.kernels.particles.dense_moments import add_products


def test_products_by_popcount_are_those_of_the_samples():
    """A graph that lacks some pairs; more samples than a chunk holds."""
    rng = np.random.default_rng(4)
    d, n = 7, 64 * 600
    x = (rng.random((d, n)) < rng.uniform(0.2, 0.8, size=(d, 1))).astype(np.uint8)
    words = np.packbits(x, axis=1, bitorder="little").view(np.uint64)
    pairs = np.array([pair for pair in itertools.combinations(range(d), 2) if pair not in ((1, 3), (0, 6))])
    index = np.full((d, d), -1)
    index[pairs[:, 0], pairs[:, 1]] = index[pairs[:, 1], pairs[:, 0]] = np.arange(len(pairs))
    out = np.zeros((len(pairs) + d,) * 2)
    add_products(words, index, len(pairs) + np.arange(d), np.arange(d), out)
    values = np.concatenate([x[pairs[:, 0]] * x[pairs[:, 1]], x]).astype(float)
    np.testing.assert_array_equal(np.triu(out), np.triu(values @ values.T))
