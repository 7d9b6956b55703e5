"""Sets of particles and their Gibbs sweeps, on one thread or more.

Binary fields of small degree are bit-sliced: particle k is bit k % 64 of word k // 64, and a set is a (d, n_words)
uint64 array (`bit_view`, `sweep`, `sweep_counts`). All other fields take particles as a (d, n) uint8 array
(`spin_view` or `table_view`, `column_sweep`, `column_sweep_counts`). Results depend on the random state alone, never
on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from mrfbayes.base.errors import InputError
from mrfbayes.kernels.particles import bitgibbs, cluster, gibbs, gibbs_tables

if TYPE_CHECKING:
    from mrfbayes.kernels.particles.bitgibbs import BitCounts, BitView
    from mrfbayes.kernels.particles.cluster import ClusterView
    from mrfbayes.kernels.particles.gibbs import SpinCounts, SpinView
    from mrfbayes.kernels.particles.gibbs_tables import TableCounts, TableView
    from mrfbayes.model.adjacency import Adjacency
    from mrfbayes.model.lowering import Lowering

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
            "use spin_view and column_sweep."
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
        odds=np.zeros(2 * len(coupling) + len(field)),
        symmetric=bool(symmetric),
    )


def bit_counts(view: BitView, plain: bool = True) -> BitCounts:
    """Counts for `sweep_counts`, all zero; without ``plain`` ones, only what `expected_counts` needs."""
    return bitgibbs.BitCounts(
        np.zeros(view.thresholds.size, dtype=np.int64),
        np.zeros(view.coupling.size if plain else 0, dtype=np.int64),
        np.zeros(view.field.size if plain else 0, dtype=np.int64),
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

    spread_blocks(run, 0, len(states), threads)


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
        own = counts if first == 0 else type(counts)(*(np.zeros_like(part) for part in counts))
        bitgibbs.sweep_blocks(view, words, n_particles, n_sweeps, states, first, last, own)
        return own

    _add_up(counts, spread_blocks(run, 0, len(states), threads))


def expected_counts(view: BitView, counts: BitCounts) -> tuple[np.ndarray, np.ndarray]:
    """Rao-Blackwellised sums over particles and sweeps: agreements (m,) and ones (d,)."""
    agreements, ones = np.zeros(view.coupling.size), np.zeros(view.field.size)
    bitgibbs.expected_counts(view, counts, agreements, ones)
    return agreements, ones


def spin_view(adjacency: Adjacency, field: np.ndarray, coupling: np.ndarray) -> SpinView:
    """A binary field of any degree made ready for `column_sweep`; arguments as for `bit_view`."""
    offset, neighbour, edge = (np.array(part, dtype=np.int64) for part in adjacency)
    return gibbs.SpinView(
        offset,
        neighbour,
        edge,
        field=np.array(field, dtype=np.float64),
        coupling=np.array(coupling, dtype=np.float64),
    )


def table_view(adjacency: Adjacency, lowering: Lowering, node_table: np.ndarray, edge_table: np.ndarray) -> TableView:
    """A categorical field made ready for `column_sweep`, with the flat tables of ``lowering.potentials``."""
    node = np.repeat(np.arange(lowering.n_nodes), np.diff(adjacency.offset))
    offset, neighbour, edge = (np.array(part, dtype=np.int64) for part in adjacency)
    return gibbs_tables.TableView(
        offset,
        neighbour,
        edge,
        is_row=np.ascontiguousarray(lowering.pairs[adjacency.edge, 0] == node),
        node_offset=np.array(lowering.node_offset, dtype=np.int64),
        edge_offset=np.array(lowering.edge_offset, dtype=np.int64),
        node_table=np.array(node_table, dtype=np.float64),
        edge_table=np.array(edge_table, dtype=np.float64),
    )


def column_counts(view: SpinView | TableView) -> SpinCounts | TableCounts:
    """Counts for `column_sweep_counts`, all zero."""
    if isinstance(view, gibbs.SpinView):
        return gibbs.SpinCounts(np.zeros(view.coupling.size, dtype=np.int64), np.zeros(view.field.size, dtype=np.int64))
    return gibbs_tables.TableCounts(
        np.zeros(view.node_table.size, dtype=np.int64), np.zeros(view.edge_table.size, dtype=np.int64)
    )


def column_sweep(
    view: SpinView | TableView, x: np.ndarray, n_sweeps: int, random_state: np.ndarray, threads: int = 1
) -> None:
    """``n_sweeps`` Gibbs sweeps of the particles ``x`` (d, n) uint8, in place."""
    none = column_counts(view)
    none = type(none)(*(part[:0] for part in none))
    column_sweep_counts(view, x, n_sweeps, random_state, none, threads)


def column_sweep_counts(
    view: SpinView | TableView,
    x: np.ndarray,
    n_sweeps: int,
    random_state: np.ndarray,
    counts: SpinCounts | TableCounts,
    threads: int = 1,
) -> None:
    """`column_sweep` that adds to ``counts``."""
    blocks = gibbs.spin_blocks if isinstance(view, gibbs.SpinView) else gibbs_tables.table_blocks
    states = np.empty((-(-x.shape[1] // gibbs.LANES), 4), dtype=np.uint64)
    bitgibbs.split_state(random_state, states)

    def run(first: int, last: int) -> SpinCounts | TableCounts:
        own = counts if first == 0 else type(counts)(*(np.zeros_like(part) for part in counts))
        blocks(view, x, n_sweeps, states, first, last, own)
        return own

    _add_up(counts, spread_blocks(run, 0, len(states), threads))


def column_expected_counts(counts: SpinCounts | TableCounts) -> tuple[np.ndarray, np.ndarray]:
    """Rao-Blackwellised sums over particles and sweeps: of the nodes (ones, or cells), then of the edges."""
    if isinstance(counts, gibbs.SpinCounts):
        return counts.ones / gibbs.FIXED_POINT, counts.agreements / gibbs.FIXED_POINT
    return counts.node_cells / gibbs.FIXED_POINT, counts.edge_cells / gibbs.FIXED_POINT


def cluster_sweep(view: ClusterView, x: np.ndarray, n_sweeps: int, random_state: np.ndarray, threads: int = 1) -> None:
    """``n_sweeps`` Swendsen-Wang moves of the particles ``x`` (d, n) uint8, in place."""
    states = np.empty((-(-x.shape[1] // cluster.BLOCK), 4), dtype=np.uint64)
    bitgibbs.split_state(random_state, states)

    def run(first: int, last: int) -> None:
        cluster.cluster_blocks(view, x, n_sweeps, states, first, last)

    spread_blocks(run, 0, len(states), threads)


def _block_states(view: BitView, words: np.ndarray, random_state: np.ndarray) -> np.ndarray:
    bitgibbs.set_thresholds(view)
    states = np.empty((bitgibbs.n_blocks(words.shape[1]), 4), dtype=np.uint64)
    bitgibbs.split_state(random_state, states)
    return states


def spread_blocks(run: Callable[[int, int], Result], first: int, last: int, threads: int) -> list[Result]:
    """``run(begin, end)`` over contiguous ranges of the blocks first .. last, one thread each, in their order."""
    threads = max(1, min(threads, last - first))
    if threads == 1:
        return [run(first, last)]
    edges = [first + (last - first) * t // threads for t in range(threads + 1)]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(run, edges[:-1], edges[1:]))


def _add_up(counts: Iterable[np.ndarray], parts: Iterable[Iterable[np.ndarray]]) -> None:
    """Add what the threads counted to ``counts``, which may be one of ``parts``."""
    for part in parts:
        if part is not counts:
            for total, more in zip(counts, part, strict=True):
                total += more
