"""Persistent Gibbs chains of dense fields: replicas with parameters of their own, and moments of what they visit.

Persistent Gibbs chains of fields with pair tables of any kind, in the place of `mrfbayes.particles.dense`.

The natural parameters of such a field are its log-odds w, and T is s.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from mrfbayes.base.errors import CostError
from mrfbayes.kernels.particles.bitgibbs import block_streams
from mrfbayes.kernels.particles.dense import (
    AGREEMENT,
    BINARY,
    CHAIN_GROUP,
    HALVES,
    LANES,
    MOST_LEVELS,
    ORDERED,
    SCRATCH_ROWS,
    STREAM_WORDS,
    STRIP,
    DenseChains,
    DenseField,
    DenseScratch,
    DenseSums,
    dense_sweeps,
    start_streams,
)
from mrfbayes.kernels.particles.dense_moments import add_products
from mrfbayes.model.field import Model
from mrfbayes.model.natural_form import PRODUCT_FORM, DenseLayout, dense_layout
from mrfbayes.particles.ensembles import ColumnChains
from mrfbayes.particles.moments import row_statistics
from mrfbayes.particles.sweeps import in_threads

if TYPE_CHECKING:
    from scipy.sparse import csr_array

DENSE_BATCH = 4_096  # particles whose statistics are written out at a time
TABLE_LANES = 64  # chains of a half of tables are rounded up to whole blocks


class ChainEnsemble(ABC):
    """``replicas`` fields, each with persistent chains in two halves of ``width``, and the ``streams`` of these."""

    replicas: int
    width: int
    streams: np.ndarray

    @property
    def n_chains(self) -> int:
        """Chains of all replicas."""
        return self.replicas * HALVES * self.width

    @abstractmethod
    def start(self, x: np.ndarray) -> None:
        """Put the chains at the states ``x`` (n_chains, d)."""

    @abstractmethod
    def rows(self) -> np.ndarray:
        """Where the chains are, (n_chains, d) uint8."""

    @abstractmethod
    def set_parameters(self, natural: np.ndarray) -> None:
        """Natural parameters (replicas, natural), or (natural,) where all replicas share them."""

    @abstractmethod
    def sweep(self, n: int) -> None:
        """``n`` sweeps of all chains, nothing counted."""

    @abstractmethod
    def moments(self, skipped: int, counted: int) -> np.ndarray:
        """E[T] (replicas, 2, natural) of both halves over ``counted`` sweeps, after ``skipped`` others."""

    @abstractmethod
    def statistics(self, x: np.ndarray) -> np.ndarray:
        """T (n, natural) of the states ``x`` (n, d)."""

    def arrays(self) -> dict[str, np.ndarray]:
        """Where the chains and their random streams are."""
        return {"rows": self.rows(), "streams": self.streams}

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Go on from what `arrays` gave."""
        self.start(arrays["rows"])
        self.streams[:] = arrays["streams"]

    def products(self, samples: int, skipped: int) -> tuple[np.ndarray, np.ndarray]:
        """Mean (natural,) and covariance (natural, natural) of T, all replicas at one parameter.

        From ``samples`` snapshots of all chains with ``skipped`` sweeps before each.
        """
        centre, totals, products = None, np.zeros(0), np.zeros((0, 0))
        for _ in range(samples):
            self.sweep(skipped + 1)
            x = self.rows()
            for first in range(0, len(x), DENSE_BATCH):
                values = self.statistics(x[first : first + DENSE_BATCH])
                if centre is None:  # near the mean, so that single precision loses nothing in the products
                    centre = values.mean(axis=0)
                    totals, products = np.zeros(centre.size), np.zeros((centre.size,) * 2)
                values -= centre
                totals += values.sum(axis=0, dtype=float)
                products += values.T @ values
        assert centre is not None
        mean, covariance = self._covariance(totals, products, samples)
        return mean + centre, covariance

    def _covariance(self, totals: np.ndarray, products: np.ndarray, samples: int) -> tuple[np.ndarray, np.ndarray]:
        n = samples * self.n_chains
        mean = totals / n
        products /= n
        for first in range(0, len(products), 512):
            products[first : first + 512] -= np.outer(mean[first : first + 512], mean)
        return mean, products


class DenseEnsemble(ChainEnsemble):
    """``replicas`` fields of one layout, each with ``chains`` persistent chains.

    Parameters
    ----------
    layout : the field
    means : (natural parameters - edges,) typical probabilities of the states 1, 2, ... of every node; what is counted
        is centred there, and the nearer they are to the truth the less noise there is
    replicas, chains : how many; chains are rounded up to two halves of whole blocks
    state : kernel random state, which is used up to start the chains' own streams
    threads : over which the replicas are spread; what they visit does not depend on it
    """

    def __init__(
        self, layout: DenseLayout, means: np.ndarray, replicas: int, chains: int, state: np.ndarray, threads: int = 1
    ) -> None:
        self.layout = layout
        self.replicas, self._threads = replicas, threads
        self.width = max(1, -(-chains // (HALVES * LANES))) * LANES
        d, most = layout.states.size, int(layout.states.max())
        if layout.coupling == PRODUCT_FORM and most > MOST_LEVELS:
            raise CostError(
                f"an ordered variable has {most} levels (limit {MOST_LEVELS} for dense Gibbs chains): join some."
            )
        self._kind = BINARY if layout.is_binary else ORDERED if layout.coupling == PRODUCT_FORM else AGREEMENT
        self._planes = most if self._kind == AGREEMENT else 1
        probability = self._by_state(means)
        probability[:, 0] = 1.0 - probability[:, 1:].sum(axis=1)
        self._centre = probability if self._kind == AGREEMENT else (probability @ np.arange(most))[:, None]
        coupling, level = (np.zeros((replicas, d, width), np.float32) for width in (d, most))
        centre = self._centre.astype(np.float32)
        self._field = DenseField(self._kind, layout.states.copy(), centre, coupling, level)
        self._centre = self._field.centre.astype(float)
        width = self._planes * self.width
        streams = np.zeros((replicas * HALVES, STREAM_WORDS), np.uint64)
        start_streams(state, streams)
        self.streams = streams.reshape(replicas, HALVES, STREAM_WORDS)
        self.chains = DenseChains(np.zeros((replicas, HALVES, d, width), np.float32), self.streams)
        self._sums = DenseSums(
            np.zeros((replicas, HALVES, d, d), np.float32), np.zeros((replicas, HALVES, d, most), np.float32)
        )
        self._scratch = [
            DenseScratch(
                np.empty((CHAIN_GROUP, width), np.float32),
                np.empty(width, np.float32),
                np.empty((SCRATCH_ROWS + most, LANES), np.float32),
                np.empty((d, width), np.float32),
                np.empty((d, width), np.float32),
                np.empty(STRIP * d, np.float32),
            )
            for _ in range(min(threads, replicas))
        ]

    @cached_property
    def _ends(self) -> tuple[np.ndarray, np.ndarray]:
        return self.layout.pairs.min(axis=1), self.layout.pairs.max(axis=1)

    def _by_state(self, levels: np.ndarray) -> np.ndarray:
        """(..., levels) as (..., d, R), nothing at state 0."""
        out = np.zeros((*levels.shape[:-1], self.layout.states.size, int(self.layout.states.max())))
        node, state = self.layout.levels
        out[..., node, state] = levels
        return out

    def start(self, x: np.ndarray) -> None:
        """Put the chains at the states ``x`` (n_chains, d)."""
        d = self.layout.states.size
        chains = x.reshape(self.replicas, HALVES, self.width, d).transpose(0, 1, 3, 2)
        if self._kind == AGREEMENT:
            planes = chains[:, :, :, None, :] == np.arange(self._planes)[:, None]
            z = planes - self._field.centre[:, :, None]
        else:
            z = chains - self._field.centre
        self.chains.z[:] = z.reshape(self.chains.z.shape)

    def rows(self) -> np.ndarray:
        """Where the chains are, (n_chains, d) uint8."""
        z = self.chains.z
        if self._kind == AGREEMENT:
            x = z.reshape(*z.shape[:3], self._planes, self.width).argmax(axis=3)
        else:
            x = np.rint(z + self._field.centre)
        return np.ascontiguousarray(x.transpose(0, 1, 3, 2).reshape(self.n_chains, -1).astype(np.uint8))

    def set_parameters(self, natural: np.ndarray) -> None:
        """Natural parameters (replicas, natural), or (natural,) where all replicas share them."""
        m = len(self.layout.pairs)
        u, v = self._ends
        coupling, level = self._field.coupling, self._field.level
        coupling[:, u, v] = coupling[:, v, u] = natural[..., :m]
        shift = coupling @ self._field.centre
        tables = self._by_state(natural[..., m:])
        if self._kind == AGREEMENT:
            level[:] = tables + shift
        else:
            level[:] = tables + shift * np.arange(tables.shape[-1])
        if self._kind == ORDERED:
            node, state = np.nonzero(np.arange(level.shape[-1]) >= self.layout.states[:, None])
            level[:, node, state] = -np.inf
            level -= level.max(axis=-1, keepdims=True)
            np.exp(np.maximum(level, -80.0), out=level)
            level[:, node, state] = 0.0

    def sweep(self, n: int) -> None:
        """``n`` sweeps of all chains, nothing counted."""
        self._run(n, 0)

    def _run(self, n: int, counted: int) -> None:
        """``n`` sweeps, the last ``counted`` of them added to the sums; a share of the replicas to each thread."""
        ends = np.linspace(0, self.replicas, len(self._scratch) + 1).astype(int).tolist()

        def run(share: int) -> None:
            mine, field = slice(ends[share], ends[share + 1]), self._field
            field = field._replace(coupling=field.coupling[mine], level=field.level[mine])
            chains, sums = (type(of)(*(array[mine] for array in of)) for of in (self.chains, self._sums))
            dense_sweeps(field, chains, n, counted, sums, self._scratch[share])

        in_threads(run, range(len(self._scratch)), self._threads)

    def moments(self, skipped: int, counted: int) -> np.ndarray:
        """E[T] (replicas, 2, natural) of both halves over ``counted`` sweeps, after ``skipped`` others."""
        for sums in self._sums:
            sums.fill(0.0)
        self._run(skipped + counted, counted)
        n = counted * self.width
        u, v = self._ends
        level = self._sums.level / np.float32(n)
        node, state = self.layout.levels
        pair = self._sums.pair[:, :, u, v].astype(float) / (2 * n)
        if self._kind == AGREEMENT:
            probability = level.astype(float)
            pair += np.einsum("ea,khea->khe", self._centre[u], probability[:, :, v])
            pair += np.einsum("ea,khea->khe", self._centre[v], probability[:, :, u])
            pair -= (self._centre[u] * self._centre[v]).sum(axis=1)
        else:
            mean = level.astype(float) @ np.arange(level.shape[-1])
            centre = self._centre[:, 0]
            pair += centre[u] * mean[..., v] + centre[v] * mean[..., u] - centre[u] * centre[v]
        return np.concatenate([pair, level[:, :, node, state]], axis=2)

    def products(self, samples: int, skipped: int) -> tuple[np.ndarray, np.ndarray]:
        """Mean (natural,) and covariance (natural, natural) of T, all replicas at one parameter.

        From ``samples`` snapshots of all chains with ``skipped`` sweeps before each.
        """
        return self._products_binary(samples, skipped) if self.layout.is_binary else super().products(samples, skipped)

    def _products_binary(self, samples: int, skipped: int) -> tuple[np.ndarray, np.ndarray]:
        d, n = self.layout.states.size, self.layout.n_natural
        u, v = self._ends
        pair = np.full((d, d), -1, dtype=np.int64)
        pair[u, v] = pair[v, u] = np.arange(u.size)
        bits = []
        for _ in range(samples):
            self.sweep(skipped + 1)
            ones = (self.chains.z > 0).transpose(2, 0, 1, 3).reshape(d, -1)
            bits.append(np.packbits(ones, axis=1, bitorder="little").view(np.uint64))
        products = np.zeros((n, n))
        words, node = np.concatenate(bits, axis=1), self.layout.level_offset[:-1].copy()

        def add(share: int) -> None:
            add_products(words, pair, node, np.arange(share, d, self._threads), products)

        in_threads(add, range(self._threads), self._threads)
        totals = np.diag(products).copy()
        for first in range(0, n, 512):  # the kernel fills the upper triangle
            block = products[first : first + 512]
            stop = first + len(block)
            block[:, :stop] += np.triu(products[:stop, first:stop], 1 - first).T
        return self._covariance(totals, products, samples)

    def statistics(self, x: np.ndarray) -> np.ndarray:
        """T (n, natural) float32 of the states ``x`` (n, d)."""
        u, v = self._ends
        node, state = self.layout.levels
        out = np.empty((len(x), self.layout.n_natural), np.float32)
        out[:, : u.size] = self.layout.values(x[:, u].astype(np.float32), x[:, v].astype(np.float32))
        out[:, u.size :] = x[:, node] == state
        return out


@dataclass(frozen=True, eq=False)
class TableLayout:
    """A field whose natural parameters are its log-odds; the names are those of `DenseLayout`."""

    model: Model
    states: np.ndarray
    n_natural: int
    constant: np.ndarray
    forward: csr_array


Layout = DenseLayout | TableLayout


def cell_layout(model: Model) -> Layout:
    """How Gibbs chains see the field: in natural form where it has one and its variables have few levels."""
    from scipy.sparse import eye_array

    layout, p = dense_layout(model), model.n_parameters
    if layout is None or (layout.coupling == PRODUCT_FORM and int(layout.states.max()) > MOST_LEVELS):
        return TableLayout(model, model.states, p, np.zeros(p), eye_array(p, format="csr"))
    return layout


class TableEnsemble(ChainEnsemble):
    """``replicas`` fields with ``chains`` persistent chains each; see `DenseEnsemble`, whose methods it has."""

    def __init__(self, layout: TableLayout, replicas: int, chains: int, state: np.ndarray, threads: int = 1) -> None:
        self._model, self.replicas, self._threads = layout.model, replicas, threads
        self.width = max(1, -(-chains // (HALVES * TABLE_LANES))) * TABLE_LANES
        self.streams = block_streams(state, replicas * HALVES, 1)
        self._parts = [ColumnChains(layout.model, self.width, stream) for stream in self.streams]
        self._w = np.zeros((replicas, layout.n_natural))

    def start(self, x: np.ndarray) -> None:
        """Put the chains at the states ``x`` (n_chains, d)."""
        for part, rows in zip(self._parts, x.reshape(len(self._parts), self.width, -1), strict=True):
            part.load(rows)

    def rows(self) -> np.ndarray:
        """Where the chains are, (n_chains, d) uint8."""
        return np.concatenate([part.rows() for part in self._parts])

    def set_parameters(self, natural: np.ndarray) -> None:
        """Log-odds (replicas, p), or (p,) where all replicas share them."""
        self._w[:] = natural

    def sweep(self, n: int) -> None:
        """``n`` sweeps of all chains, nothing counted."""
        in_threads(lambda k: self._parts[k].sweep(self._w[k // HALVES], n), range(len(self._parts)), self._threads)

    def moments(self, skipped: int, counted: int) -> np.ndarray:
        """E[s] (replicas, 2, p) of both halves over ``counted`` sweeps, after ``skipped`` others."""
        self.sweep(skipped)
        found = in_threads(
            lambda k: self._parts[k].advance(self._w[k // HALVES], counted), range(len(self._parts)), self._threads
        )
        return np.stack(found).reshape(self.replicas, HALVES, -1)

    def statistics(self, x: np.ndarray) -> np.ndarray:
        """S (n, p) of the states ``x`` (n, d)."""
        return row_statistics(self._model, x)


def make_ensemble(
    layout: Layout, means: np.ndarray, replicas: int, chains: int, state: np.ndarray, threads: int = 1
) -> ChainEnsemble:
    """Chains of a field; see `DenseEnsemble`."""
    if isinstance(layout, TableLayout):
        return TableEnsemble(layout, replicas, chains, state, threads)
    return DenseEnsemble(layout, means, replicas, chains, state, threads)
