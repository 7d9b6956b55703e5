"""One step of stochastic ascent, and what the bit-sliced loop measures."""

import numpy as np
import pytest

from estimation.fields import FIELDS, Enumerated, weak
from mrfbayes.base.random_streams import kernel_state, seed_sequence
from mrfbayes.kernels.estimation.stochastic_ascent import FAST_DECAY, AscentPlan, AscentState, AscentView, move
from mrfbayes.particles.ensembles import BitChains, ColumnChains, make_chains

BINARY = ["2x3 grid", "four nodes with fields", "both-one", "tied by direction", "tied with fields"]


def view(target, inverse=None, scale=None, origin=0.0, slope=0.0):
    p = target.size
    none = np.zeros(0, dtype=np.int64)
    inverse = np.zeros((0, 0)) if inverse is None else inverse
    prior = np.full(p, origin), np.full(p, slope)
    scale = np.ones(p) if scale is None else scale
    return AscentView(none, none, np.zeros(0), np.zeros(p), target, *prior, inverse, scale)


def state(p):
    return AscentState(*(np.zeros(p) for _ in range(4)))


def test_a_move_follows_the_formulas():
    target, statistics = np.array([0.6, 0.5, 0.1]), np.array([0.5, 0.7, 0.1])
    scale = np.array([2.0, 3.0, 4.0])
    here = state(3)
    here.fast[:] = 1.0
    move(view(target, scale=scale), here, statistics, 0.5, AscentPlan(0, np.ones(1), 1, 2.0, 10.0))
    np.testing.assert_allclose(here.w, [0.1, -0.3, 0.0], atol=1e-15)
    np.testing.assert_allclose(here.fast, FAST_DECAY + 2.0 * np.array([0.1, -0.3, 0.0]))
    np.testing.assert_allclose(here.total, here.w)
    np.testing.assert_allclose(here.statistics, statistics)
    full = np.array([[2.0, 1.0, 0.0], [1.0, 3.0, 0.0], [0.0, 0.0, 1.0]])
    here = state(3)
    move(view(target, inverse=full), here, statistics, 1.0, AscentPlan(0, np.ones(1), 1, 0.0, 0.2))
    np.testing.assert_allclose(here.w, np.clip(full @ (target - statistics), -0.2, 0.2))
    assert not here.fast.any()
    here = state(3)
    move(view(target, origin=0.2, slope=-0.5), here, statistics, 1.0, AscentPlan(0, np.ones(1), 1, 0.0, 10.0))
    np.testing.assert_allclose(here.w, target - statistics + 0.1)


@pytest.mark.parametrize("name", FIELDS)
def test_chains_measure_the_mean_statistics(name):
    """Both kinds of chains, from random starts, in units of the error between 32 independent groups."""
    field = Enumerated.of(FIELDS[name])
    w = weak(field.model, 3)
    expected, _ = field.moments(w)
    kinds = [ColumnChains] + ([BitChains] if name in BINARY else [])
    for kind in kinds:
        means = []
        for group in range(32):
            chains = kind(field.model, 256, kernel_state(seed_sequence(group), "test"))
            chains.start_at_random(np.random.default_rng(group))
            chains.sweep(w, 30)
            means.append(chains.advance(w, 20))
        error = np.std(means, axis=0, ddof=1) / np.sqrt(32)
        assert np.abs((np.mean(means, axis=0) - expected) / error).max() < 7.5  # Student's t with 31: below 1e-6 for 9
        wrong, _ = field.moments(w + 0.1)
        assert np.abs((np.mean(means, axis=0) - wrong) / error).max() > 7.5


def test_the_right_chains_are_chosen():
    stream = kernel_state(seed_sequence(1), "test")
    assert isinstance(make_chains(FIELDS["2x3 grid"], 64, stream), BitChains)
    assert isinstance(make_chains(FIELDS["Potts"], 64, stream), ColumnChains)


@pytest.mark.parametrize("kind", [BitChains, ColumnChains])
def test_restarts_and_rows(kind):
    model = FIELDS["2x3 grid"]
    rows = np.random.default_rng(4).integers(0, 2, (70, 6)).astype(np.uint8)
    chains = kind(model, 70, kernel_state(seed_sequence(2), "test"))
    chains.load(rows)
    np.testing.assert_array_equal(chains.rows(), rows)
    np.testing.assert_array_equal(chains.rows(5), rows[:5])
    chains.remember()
    target, zeros = np.full(7, 0.5), np.zeros(7)
    lowering = model.lowering
    ascent = AscentView(*lowering.forward, lowering.constant, target, zeros, zeros, np.zeros((0, 0)), np.ones(7))
    here = state(7)
    chains.ascend(ascent, here, AscentPlan(0, np.zeros(3), 1, 0.0, 10.0), True)
    assert (chains.rows() != rows).any()
    other = chains.fork(64, kernel_state(seed_sequence(3), "test"))
    other.load(rows[:64])
    before = chains.rows()
    other.sweep(np.zeros(7), 2)
    np.testing.assert_array_equal(chains.rows(), before)
