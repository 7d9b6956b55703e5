"""Exact samples of a grid: one by one and 64 to the word, against enumerated probabilities."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from scipy import stats

import oracles
from mrfbayes.base.random_streams import kernel_state, seed_sequence
from mrfbayes.kernels.exact.grid import grid_layout, transfer_moments, transfer_scratch
from mrfbayes.kernels.exact.grid_sample import transfer_sample, transfer_sample_words

ALPHA = 1e-6
GRIDS = [(1, 1), (1, 6), (5, 1), (2, 2), (2, 3), (3, 2), (3, 3), (4, 3), (2, 5)]
N_WORDS = 1601  # not a whole number of blocks of 16 words
N = 64 * N_WORDS


def scratch_of(layout, n):
    return np.full(transfer_scratch(layout, "sample", n), np.nan)


def state_of(*key):
    return kernel_state(seed_sequence(20), *key)


def unpack(words):
    """(d, n_words) words to (64 * n_words, d) bits."""
    return np.unpackbits(words.view(np.uint8).reshape(len(words), -1), axis=1, bitorder="little").T


def p_value(x, probabilities):
    """Chi-square of samples (n, d) against the probability of every state, rare states taken together."""
    n, d = x.shape
    state = x.astype(np.int64) @ (1 << np.arange(d)[::-1])
    found = np.bincount(state, minlength=2**d).astype(float)
    expected = n * probabilities
    common = expected >= 10.0
    found = np.append(found[common], found[~common].sum())
    expected = np.append(expected[common], expected[~common].sum())
    used = expected > 0.0
    assert used.sum() > 1
    statistic = np.sum((found[used] - expected[used]) ** 2 / expected[used])
    return stats.chi2.sf(statistic, used.sum() - 1)


def problem(rows, cols, scale=1.0):
    rng = np.random.default_rng([rows, cols, 21])
    pairs = oracles.grid_pairs(rows, cols)
    return scale * rng.normal(size=rows * cols), scale * rng.normal(size=len(pairs)), pairs


def sample(layout, field, coupling, state):
    out = np.full((N, len(field)), 7, dtype=np.uint8)
    transfer_sample(layout, field, coupling, scratch_of(layout, N), state, out)
    return out


def sample_in_words(layout, field, coupling, state):
    words = np.zeros((len(field), N_WORDS), dtype=np.uint64)
    transfer_sample_words(layout, field, coupling, scratch_of(layout, N), state, words)
    return unpack(words)


SAMPLERS = {"scalar": sample, "words": sample_in_words}


@pytest.mark.parametrize(("rows", "cols"), GRIDS)
@pytest.mark.parametrize("kind", SAMPLERS)
@pytest.mark.parametrize("fields", [True, False])
def test_samples_have_the_enumerated_law(rows, cols, kind, fields):
    field, coupling, pairs = problem(rows, cols)
    field = field if fields else np.zeros_like(field)
    layout = grid_layout(rows, cols, 1 if cols == 3 else 2**19)
    x = SAMPLERS[kind](layout, field, coupling, state_of(kind, rows, cols, int(fields)))
    assert p_value(x, oracles.binary_probabilities(field, coupling, pairs)) > ALPHA


@pytest.mark.parametrize("kind", SAMPLERS)
def test_the_test_rejects_a_slightly_different_field(kind):
    """Negative control: one coupling of twelve off by 0.1."""
    field, coupling, pairs = problem(3, 3)
    x = SAMPLERS[kind](grid_layout(3, 3), field, coupling, state_of("control"))
    coupling[5] += 0.1
    assert p_value(x, oracles.binary_probabilities(field, coupling, pairs)) < ALPHA


@pytest.mark.parametrize("kind", SAMPLERS)
def test_particles_are_independent(kind):
    """Two particles in a row, and two in the same lane of neighbouring words, are one sample of two copies."""
    field, coupling, pairs = problem(2, 2)
    single = oracles.binary_probabilities(field, coupling, pairs)
    x = SAMPLERS[kind](grid_layout(2, 2), field, coupling, state_of("pairs"))
    for lag in (1, 64):
        grouped = x[: N // (2 * lag) * 2 * lag].reshape(-1, 2, lag, 4)
        pairs_of_particles = np.concatenate([grouped[:, 0], grouped[:, 1]], axis=2).reshape(-1, 8)
        assert p_value(pairs_of_particles, np.kron(single, single)) > ALPHA


@pytest.mark.parametrize("kind", SAMPLERS)
def test_certain_nodes_are_certain(kind):
    """Probabilities next to zero and one take no wrong turn: one ground state, everything else e^-40 or less."""
    rng = np.random.default_rng(22)
    ground = rng.integers(0, 2, size=12)
    pairs = oracles.grid_pairs(4, 3)
    coupling = np.where(ground[pairs[:, 0]] == ground[pairs[:, 1]], 30.0, -30.0)
    field = np.where(ground == 1, 20.0, -20.0)
    x = SAMPLERS[kind](grid_layout(4, 3), field, coupling, state_of("ground"))
    assert (x == ground).all()


@pytest.mark.parametrize(("rows", "cols", "kind"), [(8, 8, "words"), (9, 12, "words"), (6, 30, "scalar")])
@pytest.mark.parametrize("fields", [True, False])
def test_large_grids_have_the_exact_moments(rows, cols, kind, fields):
    field, coupling, pairs = problem(rows, cols, 0.8)
    field = field if fields else np.zeros_like(field)
    layout = grid_layout(rows, cols)
    mean = np.concatenate([field, coupling])
    node_mean, agree_mean = mean[: len(field)], mean[len(field) :]
    scratch = np.zeros(transfer_scratch(layout, "moments"))
    transfer_moments(layout, field, coupling, scratch, node_mean, agree_mean)
    x = SAMPLERS[kind](layout, field, coupling, state_of("moments", rows))
    found = np.concatenate([x.mean(axis=0), (x[:, pairs[:, 0]] == x[:, pairs[:, 1]]).mean(axis=0)])
    z = (found - mean) / np.sqrt(mean * (1.0 - mean) / N)
    assert np.abs(z).max() < stats.norm.isf(ALPHA / (2 * len(z)))


def test_same_state_same_samples_and_the_state_moves_on():
    field, coupling, _ = problem(4, 3)
    layout = grid_layout(4, 3)
    for draw in SAMPLERS.values():
        state = state_of("again")
        first = draw(layout, field, coupling, state)
        assert (draw(layout, field, coupling, state_of("again")) == first).all()
        assert (draw(layout, field, coupling, state) != first).any()


SCRIPT = """
import json, sys
import numpy as np
np.seterr(over="ignore")  # unsigned words wrap around
from mrfbayes.kernels.exact.grid import grid_layout, transfer_scratch
from mrfbayes.kernels.exact.grid import coin_weights, transfer_moments
from mrfbayes.kernels.exact.grid_sample import transfer_sample, transfer_sample_words
from mrfbayes.base.random_streams import kernel_state, seed_sequence

rng = np.random.default_rng(23)
layout = grid_layout(3, 4, 1)
field, coupling = rng.normal(size=12), rng.normal(size=17)
scratch = np.zeros(max(transfer_scratch(layout, work, 128) for work in ("moments", "sample")))
state = kernel_state(seed_sequence(24))
out, words = np.zeros((5, 12), np.uint8), np.zeros((12, 2), np.uint64)
transfer_sample(layout, field, coupling, scratch, state, out)
transfer_sample_words(layout, field, coupling, scratch, state, words)
coin_weights(layout, field, coupling, scratch[:72])
coin = scratch[:72].tolist()
node, agree = np.zeros(12), np.zeros(17)
close = [
    transfer_moments(layout, field, coupling, scratch, node, agree),
    *node, *agree,
]
exact = [state.tolist(), out.tolist(), words.tolist(), coin]
print(json.dumps({"exact": exact, "close": [float(x) for x in close]}))
"""


def test_kernels_do_the_same_without_the_jit():
    """Bit for bit where no relaxed arithmetic is used; sums in any order and fused products agree to rounding."""

    def run(disable):
        environment = {**os.environ, "NUMBA_DISABLE_JIT": disable}
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=True
        )
        return json.loads(done.stdout)

    compiled, plain = run("0"), run("1")
    assert compiled["exact"] == plain["exact"]
    np.testing.assert_allclose(compiled["close"], plain["close"], rtol=1e-11, atol=1e-13)
