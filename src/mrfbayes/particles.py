"""Particles of binary fields, 64 to a machine word, and their bit-sliced Gibbs sweeps on one or more threads.

Particle k is bit k % 64 of word k // 64; the words of a set are a (d, n_words) uint64 array. Results depend on the
random state alone, never on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from mrfbayes.errors import InputError
from mrfbayes.kernels import bitgibbs

if TYPE_CHECKING:
    from mrfbayes.kernels.bitgibbs import BitCounts, BitView
    from mrfbayes.model.adjacency import Adjacency

_CACHE_LINE_BYTES = 64
Result = TypeVar("Result")


def empty_words(n_nodes: int, n_particles: int) -> np.ndarray:
    """Words (d, n_words) for ``n_particles`` particles, all zero, aligned to cache lines (a third faster)."""
    n_words = -(-n_particles // 64)
    size = n_nodes * n_words
    raw = np.zeros(size + _CACHE_LINE_BYTES // 8, dtype=np.uint64)
    skip = (-raw.ctypes.data % _CACHE_LINE_BYTES) // 8
    return raw[skip : skip + size].reshape(n_nodes, n_words)


def pack(x: np.ndarray) -> np.ndarray:
    """Words (d, n_words) of the (n, d) 0/1 array ``x``; particles beyond n are 0."""
    n, n_nodes = x.shape
    words = empty_words(n_nodes, n)
    packed = np.packbits(np.ascontiguousarray(x.T), axis=1, bitorder="little")
    words.view(np.uint8)[:, : packed.shape[1]] = packed
    if not np.little_endian:
        words.byteswap(inplace=True)
    return words


def unpack(words: np.ndarray, n: int) -> np.ndarray:
    """The first ``n`` particles as an (n, d) uint8 array."""
    little = np.ascontiguousarray(words) if np.little_endian else words.byteswap()
    bits = np.unpackbits(little.view(np.uint8), axis=1, bitorder="little", count=n)
    return np.ascontiguousarray(bits.T)


def random_words(n_nodes: int, n_particles: int, generator: np.random.Generator) -> np.ndarray:
    """Words of independent fair coins."""
    words = empty_words(n_nodes, n_particles)
    words[:] = generator.integers(0, 2**64, size=words.shape, dtype=np.uint64)
    return words


def bit_view(adjacency: Adjacency, field: np.ndarray, coupling: np.ndarray, symmetric: bool | None = None) -> BitView:
    """A binary field made ready for the bit-sliced kernels.

    Parameters
    ----------
    adjacency : neighbour lists; at most `bitgibbs.MAX_DEGREE` neighbours
    field : (d,) log-odds of x = 1 without neighbours
    coupling : (m,) log-odds of agreement
    symmetric : whether all fields are zero and will remain so (a third faster); None: as ``field`` is now
    """
    degree = np.diff(adjacency.offset)
    if degree.size and degree.max() > bitgibbs.MAX_DEGREE:
        node = int(degree.argmax())
        raise InputError(
            f"node {node} has {degree[node]} neighbours: the bit-sliced sampler takes at most {bitgibbs.MAX_DEGREE}; "
            "use the SIMD sampler of mrfbayes.kernels.gibbs."
        )
    if symmetric is None:
        symmetric = not np.any(field)
    elif symmetric and np.any(field):
        raise InputError("symmetric=True needs all fields to be zero: leave it out, or give a zero field.")
    n_variables = degree - (degree > 0) if symmetric else degree
    n_codes = 1 << (np.maximum(n_variables, 2) - 2)
    code_offset = np.concatenate([[0], np.cumsum(n_codes)]).astype(np.int64)
    return bitgibbs.BitView(
        offset=np.array(adjacency.offset, dtype=np.int64),
        neighbour=np.array(adjacency.neighbour, dtype=np.int64),
        edge=np.array(adjacency.edge, dtype=np.int64),
        code_offset=code_offset,
        codes=np.zeros(code_offset[-1], dtype=np.uint64),
        thresholds=np.zeros(4 * code_offset[-1], dtype=np.uint64),
        field=np.array(field, dtype=np.float64),
        coupling=np.array(coupling, dtype=np.float64),
        odds=np.zeros(len(coupling)),
        symmetric=bool(symmetric),
    )


def bit_counts(view: BitView) -> BitCounts:
    """Counts for `sweep_counts`, all zero."""
    return bitgibbs.BitCounts(
        np.zeros(view.thresholds.size, dtype=np.int64),
        np.zeros(view.coupling.size, dtype=np.int64),
        np.zeros(view.field.size, dtype=np.int64),
    )


def sweep(view: BitView, words: np.ndarray, n_sweeps: int, random_state: np.ndarray, threads: int = 1) -> None:
    """``n_sweeps`` Gibbs sweeps of ``words`` in place; `bitgibbs.bit_sweep` on ``threads`` threads."""
    if threads == 1:
        bitgibbs.bit_sweep(view, words, n_sweeps, random_state)
        return
    states = _block_states(view, words, random_state)
    n_particles = 64 * words.shape[1]
    none = bitgibbs.BitCounts(*(np.empty(0, dtype=np.int64) for _ in range(3)))

    def run(first: int, last: int) -> None:
        bitgibbs.sweep_blocks(view, words, n_particles, n_sweeps, states, first, last, none)

    _spread_blocks(run, len(states), threads)


def sweep_counts(
    view: BitView,
    words: np.ndarray,
    n_particles: int,
    n_sweeps: int,
    random_state: np.ndarray,
    counts: BitCounts,
    threads: int = 1,
) -> None:
    """`sweep` that adds to ``counts`` over the first ``n_particles`` particles: `bitgibbs.bit_sweep_counts`."""
    if threads == 1:
        bitgibbs.bit_sweep_counts(view, words, n_particles, n_sweeps, random_state, counts)
        return
    states = _block_states(view, words, random_state)

    def run(first: int, last: int) -> BitCounts:
        own = counts if first == 0 else bit_counts(view)
        bitgibbs.sweep_blocks(view, words, n_particles, n_sweeps, states, first, last, own)
        return own

    for own in _spread_blocks(run, len(states), threads):
        if own is not counts:
            for total, part in zip(counts, own, strict=True):
                total += part


def expected_counts(view: BitView, counts: BitCounts) -> tuple[np.ndarray, np.ndarray]:
    """Rao-Blackwellised sums over particles and sweeps: agreements (m,) and ones (d,)."""
    agreements, ones = np.zeros(view.coupling.size), np.zeros(view.field.size)
    bitgibbs.expected_counts(view, counts, agreements, ones)
    return agreements, ones


def _block_states(view: BitView, words: np.ndarray, random_state: np.ndarray) -> np.ndarray:
    bitgibbs.set_thresholds(view)
    states = np.empty((bitgibbs.n_blocks(words.shape[1]), 4), dtype=np.uint64)
    bitgibbs.split_state(random_state, states)
    return states


def _spread_blocks(run: Callable[[int, int], Result], n_blocks: int, threads: int) -> list[Result]:
    """``run(first, last)`` over contiguous ranges of blocks, one thread each, in the order of the blocks."""
    threads = max(1, min(threads, n_blocks))
    edges = [n_blocks * t // threads for t in range(threads + 1)]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(run, edges[:-1], edges[1:]))
