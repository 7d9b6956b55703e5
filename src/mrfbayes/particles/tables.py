"""Persistent Gibbs chains of fields with pair tables of any kind, in the place of `mrfbayes.particles.dense`.

The natural parameters of such a field are its log-odds w, and T is s.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from mrfbayes.kernels.particles.bitgibbs import block_streams
from mrfbayes.kernels.particles.dense_draws import MOST_LEVELS
from mrfbayes.model.field import Model
from mrfbayes.model.natural_form import PRODUCT_FORM, DenseLayout, dense_layout
from mrfbayes.particles.dense import ChainEnsemble, DenseEnsemble, spread
from mrfbayes.particles.ensembles import ColumnChains
from mrfbayes.particles.moments import row_statistics

if TYPE_CHECKING:
    from scipy.sparse import csr_array

HALVES = 2
LANES = 64  # chains of a half are rounded up to whole blocks


@dataclass(frozen=True, eq=False)
class TableLayout:
    """A field whose natural parameters are its log-odds; the names are those of `DenseLayout`."""

    model: Model

    @property
    def states(self) -> np.ndarray:
        """(d,) numbers of states."""
        return self.model.states

    @property
    def n_natural(self) -> int:
        """How many natural parameters there are."""
        return self.model.n_parameters

    @property
    def constant(self) -> np.ndarray:
        """(p,) the part of s that does not depend on x: none beside T."""
        return np.zeros(self.model.n_parameters)

    @cached_property
    def forward(self) -> csr_array:
        """The identity."""
        from scipy.sparse import eye_array

        return eye_array(self.model.n_parameters, format="csr")


Layout = DenseLayout | TableLayout


def cell_layout(model: Model) -> Layout:
    """How Gibbs chains see the field: in natural form where it has one and its variables have few levels."""
    layout = dense_layout(model)
    if layout is None or (layout.coupling == PRODUCT_FORM and int(layout.states.max()) > MOST_LEVELS):
        return TableLayout(model)
    return layout


class TableEnsemble(ChainEnsemble):
    """``replicas`` fields with ``chains`` persistent chains each; see `DenseEnsemble`, whose methods it has."""

    def __init__(self, layout: TableLayout, replicas: int, chains: int, state: np.ndarray, threads: int = 1) -> None:
        self._model, self.replicas, self._threads = layout.model, replicas, threads
        self.width = max(1, -(-chains // (HALVES * LANES))) * LANES
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
        spread(lambda k: self._parts[k].sweep(self._w[k // HALVES], n), range(len(self._parts)), self._threads)

    def moments(self, skipped: int, counted: int) -> np.ndarray:
        """E[s] (replicas, 2, p) of both halves over ``counted`` sweeps, after ``skipped`` others."""
        self.sweep(skipped)
        found = spread(
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
