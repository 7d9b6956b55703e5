"""Random streams: one seed in, named and independent streams out.

Every stream is keyed by what it is for, never by when it was asked for, so results do not depend on the number
of workers or on the order of the work.
"""

from __future__ import annotations

import secrets
import zlib

import numpy as np

from mrfbayes.base.errors import InputError

Seed = int | np.random.SeedSequence | np.random.Generator


def fresh_seed() -> int:
    """A seed that nobody chose; results record it."""
    return secrets.randbits(53)  # every number format holds it exactly


def seed_sequence(rng: Seed | None) -> np.random.SeedSequence:
    """The seed sequence behind ``rng``: an int, a `SeedSequence`, a `numpy.random.Generator`, or None (fresh)."""
    if rng is None:
        return np.random.SeedSequence(fresh_seed())
    if isinstance(rng, np.random.SeedSequence):
        return rng
    if isinstance(rng, np.random.Generator):
        # Drawn from the generator, so that two calls in a row with the same object differ, as users expect.
        return np.random.SeedSequence([int(word) for word in rng.integers(0, 2**32, size=4, dtype=np.uint64)])
    if isinstance(rng, (bool, np.bool_)) or not isinstance(rng, (int, np.integer)):
        raise InputError(
            f"rng = {rng!r} is a {type(rng).__name__}: give a whole number >= 0, a numpy SeedSequence or Generator."
        )
    if rng < 0:
        raise InputError(f"rng = {rng} is negative: a seed is a whole number >= 0.")
    return np.random.SeedSequence(int(rng))


def seed_number(seed: np.random.SeedSequence) -> dict[str, int]:
    """The seed as a number, for what is to go on later; nothing where no number says it all."""
    return {"seed": seed.entropy} if isinstance(seed.entropy, int) and not seed.spawn_key else {}


def child(parent: np.random.SeedSequence, *key: str | int) -> np.random.SeedSequence:
    """The stream of ``parent`` for the purpose named by ``key``; the same key gives the same stream."""
    words = tuple(zlib.crc32(part.encode()) if isinstance(part, str) else int(part) for part in key)
    return np.random.SeedSequence(parent.entropy, spawn_key=(*parent.spawn_key, *words))


def generator(parent: np.random.SeedSequence, *key: str | int) -> np.random.Generator:
    """A NumPy generator for the purpose named by ``key``."""
    return np.random.Generator(np.random.SFC64(child(parent, *key)))


def kernel_state(parent: np.random.SeedSequence, *key: str | int) -> np.ndarray:
    """State of the kernels' generator (`mrfbayes.kernels.base.random`), a (4,) uint64 array."""
    state = np.random.SFC64(child(parent, *key)).state["state"]["state"]
    return np.array(state, dtype=np.uint64)
