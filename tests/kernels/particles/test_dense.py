"""Dense Gibbs kernels: the law of one update, joint frequencies, Rao-Blackwellised sums."""

import itertools

import numpy as np
import pytest
from scipy.stats import chi2

from frequencies import ALPHA, chi_square_p, without_jit
from mrfbayes.kernels.particles.dense import (
    AGREEMENT,
    BINARY,
    CHAIN_GROUP,
    HALVES,
    LANES,
    ORDERED,
    SCRATCH_ROWS,
    STREAM_WORDS,
    STRIP,
    DenseChains,
    DenseField,
    DenseScratch,
    DenseSums,
    dense_sweeps,
    exp32,
    fill_uniform32,
    start_streams,
)

KINDS = {"binary": (BINARY, [2] * 10), "ordered": (ORDERED, [2, 3, 5, 4]), "agreement": (AGREEMENT, [3] * 4)}


def field_of(kind, states, seed=5, scale=0.8):
    """Couplings (d, d), log weights (d, R) and centres (d, q) of an asymmetric field."""
    rng = np.random.default_rng(seed)
    d, most = len(states), max(states)
    coupling = np.triu(scale * rng.normal(size=(d, d)), 1) / (most - 1)
    level = rng.normal(size=(d, most)) * 0.5
    level[:, 0] = 0.0
    centre = rng.uniform(0.2, 0.8, size=(d, most if kind == AGREEMENT else 1))
    return coupling + coupling.T, level, centre


def log_weights(kind, states, coupling, level):
    """Unnormalised log probabilities of all states, in the order of `itertools.product`, and the states."""
    x = np.array(list(itertools.product(*(range(r) for r in states))))
    total = level[np.arange(len(states)), x].sum(axis=1)
    for i, j in itertools.combinations(range(len(states)), 2):
        same = x[:, i] == x[:, j] if kind == AGREEMENT else x[:, i] * x[:, j]
        total = total + coupling[i, j] * same
    return total, x


def probabilities(kind, states, coupling, level):
    total, x = log_weights(kind, states, coupling, level)
    weight = np.exp(total - total.max())
    return weight / weight.sum(), x


def embed(kind, states, centre, x):
    """Centred lanes (d, q * W) of the states ``x`` (W, d)."""
    if kind == AGREEMENT:
        planes = x.T[:, None, :] == np.arange(max(states))[:, None]
        return (planes - centre[:, :, None]).reshape(len(states), -1).astype(np.float32)
    return (x.T - centre).astype(np.float32)


def states_of(kind, states, centre, z):
    if kind == AGREEMENT:
        return z.reshape(len(states), max(states), -1).argmax(axis=1).T
    return np.rint(z + centre).astype(int).T


class Setup:
    """One replica of a field with ``width`` chains in each half, started at ``x`` (HALVES, width, d)."""

    def __init__(self, kind, states, width, x, seed=1):
        self.kind, self.states = kind, np.array(states)
        self.coupling, self.level, centre = field_of(kind, states)
        self.centre = centre.astype(np.float32)
        d, most, planes = len(states), max(states), self.centre.shape[1]
        # Log weights while all neighbours are at their centres.
        shifted = self.level + self.coupling @ self.centre * (1 if kind == AGREEMENT else np.arange(most))
        if kind == ORDERED:
            shifted = np.where(np.arange(most) < self.states[:, None], np.exp(shifted), 0.0)
        self.field = DenseField(
            kind,
            self.states,
            self.centre,
            self.coupling.astype(np.float32)[None],
            shifted.astype(np.float32)[None],
        )
        streams = np.zeros((HALVES, STREAM_WORDS), np.uint64)
        start_streams(np.random.default_rng(seed).integers(2**63, size=4).astype(np.uint64), streams)
        z = np.stack([embed(kind, states, self.centre, half) for half in x])[None]
        self.chains = DenseChains(np.ascontiguousarray(z), streams[None])
        self.sums = DenseSums(np.zeros((1, HALVES, d, d), np.float32), np.zeros((1, HALVES, d, most), np.float32))
        room = (d, planes * width)
        self.scratch = DenseScratch(
            np.empty((CHAIN_GROUP, room[1]), np.float32),
            np.empty(room[1], np.float32),
            np.empty((SCRATCH_ROWS + most, LANES), np.float32),
            np.empty(room, np.float32),
            np.empty(room, np.float32),
            np.empty(STRIP * d, np.float32),
        )

    def sweep(self, n, counted=0):
        dense_sweeps(self.field, self.chains, n, counted, self.sums, self.scratch)

    def rows(self):
        return np.concatenate([states_of(self.kind, self.states, self.centre, z) for z in self.chains.z[0]])


def conditional(setup, x, i):
    """P(x_i = a | rest) (r,) by the slow obvious way."""
    a = np.arange(setup.states[i])
    total = setup.level[i, a].copy()
    for j in range(len(x)):
        if j != i:
            total += setup.coupling[i, j] * (a == x[j] if setup.kind == AGREEMENT else a * x[j])
    weight = np.exp(total - total.max())
    return weight / weight.sum()


@pytest.mark.parametrize("name", KINDS)
def test_one_sweep_has_the_law_of_updates_in_turn(name):
    """Transition probabilities from one fixed state, and a negative control: those of the reversed order."""
    kind, states = KINDS[name]
    states = states[:4]
    start = np.array([1, 0, 1, 1])
    width = 64 * 256
    setup = Setup(kind, states, width, np.broadcast_to(start, (HALVES, width, 4)))
    setup.sweep(1)
    counts = np.bincount(np.ravel_multi_index(setup.rows().T, states), minlength=int(np.prod(states)))

    def law(order):
        out = np.zeros(states)
        reached = {tuple(start): 1.0}
        for i in order:
            following = {}
            for x, p in reached.items():
                for a, share in enumerate(conditional(setup, x, i)):
                    y = (*x[:i], a, *x[i + 1 :])
                    following[y] = following.get(y, 0.0) + p * share
            reached = following
        for x, p in reached.items():
            out[x] = p
        return out.ravel()

    assert chi_square_p(counts, law(range(4))) > ALPHA
    assert chi_square_p(counts, law(reversed(range(4)))) < ALPHA


@pytest.mark.parametrize("name", KINDS)
def test_joint_frequencies_and_sums_are_those_of_the_field(name):
    kind, states = KINDS[name]
    d, width, sweeps = len(states), 64 * 32, 30
    rng = np.random.default_rng(8)
    x = np.stack([rng.integers(r, size=(HALVES, width)) for r in states], axis=-1)
    setup = Setup(kind, states, width, x)
    setup.sweep(40 + sweeps, counted=sweeps)
    exact, every = probabilities(kind, states, setup.coupling, setup.level)
    counts = np.bincount(np.ravel_multi_index(setup.rows().T, states), minlength=exact.size)
    assert chi_square_p(counts, exact) > ALPHA
    other, _ = probabilities(kind, states, 0.6 * setup.coupling, setup.level)
    assert chi_square_p(counts, other) < ALPHA
    n = HALVES * width * sweeps
    z = embed(kind, states, setup.centre, every).astype(float).reshape(d, setup.centre.shape[1], -1)
    expected = np.einsum("iak,jak,k->ij", z, z, exact)
    u, v = np.triu_indices(d, 1)
    pair = setup.sums.pair[0].sum(axis=0) / (2 * n)
    # Neighbouring sweeps are dependent: a tenth of them count as independent.
    square = np.einsum("ijk,k->ij", np.einsum("iak,jak->ijk", z, z) ** 2, exact)
    assert (np.abs(pair - expected) / np.sqrt(10 * square / n))[u, v].max() < 6
    for i in range(d):
        for a in range(1, states[i]):
            share = exact[every[:, i] == a].sum()
            assert abs(setup.sums.level[0, :, i, a].sum() / n - share) < 6 * np.sqrt(10 * share / n)


@pytest.mark.parametrize("name", KINDS)
def test_compiled_and_interpreted_sweeps_agree(name):
    """Float flags differ, so a decision may differ in very few lanes; sums agree to single precision."""
    code = (
        "import numpy as np, kernels.particles.test_dense as t; "
        f"s = t.short({name!r}); print(s.rows().tolist()); print(s.sums.pair.tolist())"
    )
    rows, pair = (np.array(eval(line)) for line in without_jit(code).splitlines())
    compiled = short(name)
    assert np.mean(rows != compiled.rows()) < 0.002
    assert np.abs(pair - compiled.sums.pair).max() < 0.5


def short(name):
    kind, states = KINDS[name]
    rng = np.random.default_rng(2)
    x = np.stack([rng.integers(r, size=(HALVES, LANES)) for r in states], axis=-1)
    setup = Setup(kind, states, LANES, x)
    setup.sweep(2, counted=1)
    return setup


def test_streams_are_independent_and_uniform():
    streams = np.zeros((40, STREAM_WORDS), np.uint64)
    start_streams(np.array([1, 2, 3, 4], np.uint64), streams)
    out = np.empty((40, 50, LANES), np.float32)
    for stream, rows in zip(streams, out, strict=True):
        for row in rows:
            fill_uniform32(stream, row)
    assert out.min() > 0
    assert out.max() <= 1
    assert chi_square_p(np.histogram(out, bins=100, range=(0, 1))[0], np.full(100, 0.01)) > ALPHA
    flat = out.transpose(0, 2, 1).reshape(40 * LANES, 50)
    correlation = np.corrcoef(flat[:400])
    assert np.abs(correlation[~np.eye(400, dtype=bool)]).max() < 0.95  # no two lanes share a stream
    off = correlation[np.triu_indices(400, 1)]
    assert chi2.sf((off**2).sum() * 49, off.size) > ALPHA


def test_exponential_in_single_precision():
    x = np.linspace(-80, 80, 20_001).astype(np.float32)
    got = np.array([exp32(value) for value in x])
    assert np.abs(got / np.exp(x.astype(float)) - 1).max() < 3e-7
