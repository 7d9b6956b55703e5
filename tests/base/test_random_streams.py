"""Random streams: the same key gives the same stream; every part of the key and of its parent's key counts."""

import itertools

import numpy as np
import pytest

from mrfbayes.base.random_streams import child, fresh_seed, generator, kernel_state, seed_sequence

FRESH_SEED = fresh_seed  # conftest replaces the one of the module

MAKERS = {
    "child": lambda parent, *key: child(parent, *key).generate_state(4),
    "generator": lambda parent, *key: generator(parent, *key).integers(0, 2**60, 4),
    "kernel_state": kernel_state,
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_streams_differ_by_every_part_of_their_key(make):
    parents = [
        seed_sequence(1),
        seed_sequence(2),
        child(seed_sequence(1), "chain", 0),
        child(seed_sequence(1), "chain", 1),
    ]
    keys = [("moves",), ("start",), ("moves", 0), ("moves", 1), ("moves", 0, 1), ("moves", 1, 0)]
    states = [tuple(make(parent, *key).tolist()) for parent, key in itertools.product(parents, keys)]
    assert len(set(states)) == len(parents) * len(keys)


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_the_same_key_gives_the_same_stream(make):
    np.testing.assert_array_equal(make(seed_sequence(5), "moves", 3), make(seed_sequence(5), "moves", 3))


def test_a_generator_gives_another_seed_at_every_call():
    rng = np.random.default_rng(3)
    first, second = seed_sequence(rng), seed_sequence(rng)
    assert first.entropy != second.entropy
    assert seed_sequence(np.random.default_rng(3)).entropy == first.entropy


def test_no_seed_is_a_fresh_one():
    assert FRESH_SEED() != FRESH_SEED()
