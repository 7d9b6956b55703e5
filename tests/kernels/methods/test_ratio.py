"""Weights of particles against arithmetic on unpacked bits, and averages against SciPy."""

import numpy as np
import pytest
from scipy.special import expit, logsumexp

from mrfbayes.kernels.methods.ratio import (
    ColumnWeigher,
    WordWeigher,
    log_mean_exp,
    optimal_log_ratio,
    transpose_bytes,
    weigh,
    weigh_all,
)
from mrfbayes.particles.sweeps import unpack

PAIRS = np.array([(0, 1), (1, 2), (4, 2), (3, 4), (0, 4), (1, 3), (2, 3)])


def word_weigher(n, nodes):
    n_words = -(-n // 64)
    rows = np.zeros((8, n_words), dtype=np.uint64)
    return WordWeigher(np.array(nodes, dtype=np.int64), PAIRS.copy(), n, rows, np.zeros(256))


@pytest.mark.parametrize("n", [1, 5, 64, 100, 1000])
@pytest.mark.parametrize("nodes", [[], [1, 3], [0, 1, 2, 3, 4]])
def test_bits(n, nodes):
    rng = np.random.default_rng(n)
    words = rng.integers(0, 2**64, size=(5, -(-n // 64)), dtype=np.uint64)
    node_step, edge_step = rng.normal(size=5), rng.normal(size=7)
    weigher = word_weigher(n, nodes)
    out = np.full(64 * words.shape[1], np.nan)
    weigh(weigher, words, node_step, edge_step, out)
    x = unpack(words, n).astype(float)
    expected = x[:, nodes] @ node_step[nodes] + (x[:, PAIRS[:, 0]] == x[:, PAIRS[:, 1]]) @ edge_step
    np.testing.assert_allclose(np.sort(out[:n]), np.sort(expected), atol=1e-13)
    assert weigh_all(weigher, words, node_step, edge_step, out) == pytest.approx(expected.sum(), abs=1e-11)


def test_transposed_bytes_belong_to_particles():
    rows = np.random.default_rng(1).integers(0, 2**64, size=(8, 3), dtype=np.uint64)
    bits = np.stack([unpack(row[None], 192).ravel() for row in rows])  # (8, particles)
    transpose_bytes(rows)
    found = rows.view(np.uint8)  # (8, 24)
    for j in range(8):
        np.testing.assert_array_equal(found[j], bits[:, j::8].T @ (1 << np.arange(8)))


def test_columns():
    rng = np.random.default_rng(2)
    states = np.array([3, 2, 4, 2, 3])
    n = 37
    x = rng.integers(0, states[:, None], size=(5, n)).astype(np.uint8)
    node_offset = np.concatenate([[0], np.cumsum(states)])
    edge_offset = np.concatenate([[0], np.cumsum(states[PAIRS[:, 0]] * states[PAIRS[:, 1]])])
    node_step, edge_step = rng.normal(size=node_offset[-1]), rng.normal(size=edge_offset[-1])
    expected = sum(node_step[node_offset[i] + x[i]] for i in range(5))
    for e, (u, v) in enumerate(PAIRS):
        expected = expected + edge_step[edge_offset[e] + x[u] * states[v] + x[v]]
    weigher = ColumnWeigher(states, PAIRS.copy(), node_offset, edge_offset, n)
    out = np.empty(n)
    weigh(weigher, x, node_step, edge_step, out)
    np.testing.assert_allclose(out, expected, atol=1e-13)
    assert weigh_all(weigher, x, node_step, edge_step, out) == pytest.approx(expected.sum(), abs=1e-11)


@pytest.mark.parametrize("shift", [0.0, 5_000.0, -5_000.0])  # far outside the range of exp
@pytest.mark.parametrize("scale", [1.0, 0.5, -0.5])
def test_log_mean_exp(shift, scale):
    values = np.random.default_rng(3).normal(size=200) + shift
    log_mean, variance = log_mean_exp(values, scale, np.empty(200))
    assert log_mean == pytest.approx(logsumexp(scale * values) - np.log(200), rel=1e-12)
    weights = np.exp(scale * (values - shift))
    assert variance == pytest.approx(weights.var(ddof=1) / 200 / weights.mean() ** 2, rel=1e-10)


def test_optimal_alpha_is_the_fixed_point_of_meng_and_wong():
    rng = np.random.default_rng(4)
    at_theta, at_proposal = rng.normal(0.5, 1, 300), rng.normal(-0.5, 1, 300)
    log_r, variance = optimal_log_ratio(at_theta, at_proposal, 0.3, np.empty(300))
    above, below = expit(at_proposal - log_r), expit(log_r - at_theta)
    assert above.mean() == pytest.approx(below.mean(), rel=1e-8)
    expected = above.var(ddof=1) / 300 / above.mean() ** 2 + below.var(ddof=1) / 300 / below.mean() ** 2
    assert variance == pytest.approx(expected, rel=1e-8)
