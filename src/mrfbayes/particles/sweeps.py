"""Sets of particles and their Gibbs sweeps, on one thread or more.

Binary fields of small degree are bit-sliced: particle k is bit k % 64 of word k // 64, and a set is a (d, n_words)
uint64 array (`bit_view`). All other fields, and cluster moves, take particles as a (d, n) uint8 array (`spin_view`,
`table_view`, `mrfbayes.kernels.particles.cluster.ClusterView`). Results depend on the random state alone, never on the
number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from mrfbayes.base.errors import InputError
from mrfbayes.kernels.particles import bitgibbs, cluster, gibbs
from mrfbayes.kernels.particles.bitgibbs_block import ROW_WORDS

if TYPE_CHECKING:
    from mrfbayes.kernels.particles.bitgibbs import BitCounts, BitView
    from mrfbayes.kernels.particles.cluster import ClusterView
    from mrfbayes.kernels.particles.gibbs import ColumnCounts, SpinView, TableView
    from mrfbayes.model.field import Model
    from mrfbayes.model.lowering import Adjacency, Lowering

    GibbsView = BitView | SpinView | TableView

_CACHE_LINE_BYTES = 64


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
            "use spin_view."
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


def spin_view(adjacency: Adjacency, field: np.ndarray, coupling: np.ndarray) -> SpinView:
    """A binary field of any degree made ready for `sweep`; arguments as for `bit_view`."""
    offset, neighbour, edge = (np.array(part, dtype=np.int64) for part in adjacency)
    return gibbs.SpinView(
        offset, neighbour, edge, field=np.array(field, dtype=np.float64), coupling=np.array(coupling, dtype=np.float64)
    )


def table_view(adjacency: Adjacency, lowering: Lowering, node_table: np.ndarray, edge_table: np.ndarray) -> TableView:
    """A categorical field made ready for `sweep`, with the flat tables of ``lowering.potentials``."""
    node = np.repeat(np.arange(lowering.n_nodes), np.diff(adjacency.offset))
    offset, neighbour, edge = (np.array(part, dtype=np.int64) for part in adjacency)
    return gibbs.TableView(
        offset,
        neighbour,
        edge,
        is_row=np.ascontiguousarray(lowering.pairs[adjacency.edge, 0] == node),
        node_offset=np.array(lowering.node_offset, dtype=np.int64),
        edge_offset=np.array(lowering.edge_offset, dtype=np.int64),
        node_table=np.array(node_table, dtype=np.float64),
        edge_table=np.array(edge_table, dtype=np.float64),
    )


def particle_view(
    model: Model, potentials: tuple[np.ndarray, np.ndarray], symmetric: bool | None = None, packed: bool = True
) -> GibbsView:
    """A field made ready for `sweep`: bit-sliced, if ``packed``, where it is binary and nodes have few neighbours."""
    if not model.is_binary:
        return table_view(model.adjacency, model.lowering, *potentials)
    if packed and np.diff(model.adjacency.offset).max(initial=0) <= bitgibbs.MAX_DEGREE:
        return bit_view(model.adjacency, *potentials, symmetric)
    return spin_view(model.adjacency, *potentials)


_NONE = np.zeros(0, dtype=np.int64)
# Of every kind of view its kernel, the columns of a block, and counts that count nothing.
KERNELS: dict[type, tuple[Callable[..., None], int, tuple[object, ...]]] = {
    bitgibbs.BitView: (bitgibbs.sweep_blocks, ROW_WORDS, (bitgibbs.BitCounts(_NONE, np.int64(0)),)),
    gibbs.SpinView: (gibbs.spin_blocks, gibbs.LANES, (gibbs.ColumnCounts(_NONE, _NONE),)),
    gibbs.TableView: (gibbs.table_blocks, gibbs.LANES, (gibbs.ColumnCounts(_NONE, _NONE),)),
    cluster.ClusterView: (cluster.cluster_blocks, cluster.BLOCK, ()),
}


def sweep(
    view: GibbsView | ClusterView,
    x: np.ndarray,
    n_sweeps: int,
    random_state: np.ndarray,
    threads: int = 1,
    counts: BitCounts | ColumnCounts | None = None,
) -> None:
    """``n_sweeps`` Gibbs sweeps, or Swendsen-Wang moves, of the particles ``x`` (words or columns), in place.

    ``counts`` are added to, on one thread.
    """
    kernel, size, nothing = KERNELS[type(view)]
    if isinstance(view, bitgibbs.BitView):
        bitgibbs.set_thresholds(view)
    states = bitgibbs.block_streams(random_state, x.shape[1], size)
    more = nothing if counts is None else (counts,)

    def run(first: int, last: int) -> None:
        kernel(view, x, n_sweeps, states, first, last, *more)

    split_in_threads(run, 0, len(states), threads if counts is None else 1)


Part = TypeVar("Part")
Result = TypeVar("Result")


def split_in_threads(run: Callable[[int, int], Result], first: int, last: int, threads: int) -> list[Result]:
    """What ``run(begin, end)`` returns for the parts of first .. last, one for each of so many threads."""
    threads = max(1, min(threads, last - first))
    edges = [first + (last - first) * t // threads for t in range(threads + 1)]
    return in_threads(lambda t: run(edges[t], edges[t + 1]), range(threads), threads)


def in_threads(work: Callable[[Part], Result], parts: Iterable[Part], threads: int) -> list[Result]:
    """What ``work`` returns for each of ``parts``, in so many threads."""
    if threads == 1:
        return [work(part) for part in parts]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, parts))
