"""Samples of the groups' fields that can be moved on: rows and random streams are plain arrays that a chain carries."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mrfbayes.base.random_streams import kernel_state
from mrfbayes.data.statistics import Statistics
from mrfbayes.kernels.particles.dense import HALVES, LANES, MOST_LEVELS, STREAM_WORDS, start_streams
from mrfbayes.model.field import Model
from mrfbayes.model.natural_form import PRODUCT_FORM, DenseLayout, dense_layout
from mrfbayes.particles.dense import DenseEnsemble
from mrfbayes.particles.ensembles import Chains, make_chains
from mrfbayes.particles.moments import row_statistics

AVERAGED_AT_ONCE = 40  # sweeps whose sums are added up in single precision
ROWS_AT_ONCE = 2_048


@dataclass(frozen=True, eq=False)
class SampleSource:
    """How samples of a model are moved: in lanes where its couplings are products or agreements, else in columns.

    ``centre`` (G, levels) are typical frequencies of the states in each group.
    """

    model: Model
    layout: DenseLayout | None
    centre: np.ndarray

    def round_up(self, n_particles: int) -> int:
        """The number of samples that is made when ``n_particles`` are asked for."""
        whole = HALVES * LANES if self.layout is not None else 64
        return -(-n_particles // whole) * whole

    def stream(self, seed: np.random.SeedSequence) -> np.ndarray:
        """A random stream, as ``move`` takes it."""
        state = kernel_state(seed, "samples")
        if self.layout is None:
            return state
        streams = np.zeros((HALVES, STREAM_WORDS), np.uint64)
        start_streams(state, streams)
        return streams

    def open(self, group: int, n_particles: int) -> LaneSamples | ColumnSamples:
        """Working space for the samples of a group."""
        if self.layout is None:
            return ColumnSamples(self.model, n_particles)
        return LaneSamples(self.layout, self.centre[group], n_particles)


def sample_source(model: Model, data: tuple[Statistics, ...]) -> SampleSource:
    """The fastest way to move samples of ``model``."""
    from mrfbayes.estimation.dense_mode import level_means

    layout = dense_layout(model)
    if layout is not None and layout.coupling == PRODUCT_FORM and int(model.states.max()) > MOST_LEVELS:
        layout = None
    centre = np.zeros((len(data), 0)) if layout is None else np.stack([level_means(layout, one) for one in data])
    return SampleSource(model, layout, centre)


class LaneSamples:
    """Samples of a field in natural form, by the Gibbs kernels of dense fields.

    The ``rows`` (M, d) and the ``stream`` that its methods take are changed in place.
    """

    def __init__(self, layout: DenseLayout, centre: np.ndarray, n_particles: int) -> None:
        self._layout, self._centre, self._n_particles = layout, centre, n_particles

    @cached_property
    def _ensemble(self) -> DenseEnsemble:
        return DenseEnsemble(self._layout, self._centre, 1, self._n_particles, np.ones(4, np.uint64))

    def move(self, w: np.ndarray, rows: np.ndarray, stream: np.ndarray, sweeps: int) -> None:
        """Make Gibbs sweeps at w."""
        self._enter(w, rows, stream)
        self._ensemble.sweep(sweeps)
        self._leave(rows, stream)

    def average(self, w: np.ndarray, rows: np.ndarray, stream: np.ndarray, sweeps: int) -> np.ndarray:
        """Mean of s (p,) over samples and sweeps at w, which move the samples, too."""
        self._enter(w, rows, stream)
        total, done = np.zeros(self._layout.n_natural), 0
        while done < sweeps:
            now = min(AVERAGED_AT_ONCE, sweeps - done)
            total += now * self._ensemble.moments(0, now)[0].mean(axis=0)
            done += now
        self._leave(rows, stream)
        return self._to_statistics(total / sweeps)

    def mean(self, rows: np.ndarray) -> np.ndarray:
        """Mean of s (p,) over the rows; sums of products of small whole numbers are exact in single precision."""
        u, v = self._layout.pairs.T
        columns = np.ascontiguousarray(rows.T)
        if self._layout.coupling == PRODUCT_FORM:
            x = columns.astype(np.float32)
            products = x @ x.T
        else:
            planes = [(columns == a).astype(np.float32) for a in range(int(self._layout.states.max()))]
            products = np.sum([x @ x.T for x in planes], axis=0)
        levels = [
            np.count_nonzero(columns[node] == a) for node, r in enumerate(self._layout.states) for a in range(1, r)
        ]
        return self._to_statistics(np.concatenate([products[u, v], levels]).astype(float) / len(rows))

    def statistics(self, rows: np.ndarray) -> np.ndarray:
        """Statistics s (k, p) of each of the rows."""
        natural = self._ensemble.statistics(rows)
        return np.asarray(self._layout.constant + (self._layout.forward.T @ natural.T).T)

    def _to_statistics(self, natural: np.ndarray) -> np.ndarray:
        return np.asarray(self._layout.constant + self._layout.forward.T @ natural)

    def _enter(self, w: np.ndarray, rows: np.ndarray, stream: np.ndarray) -> None:
        self._ensemble.start(rows)
        self._ensemble.chains.stream[0] = stream
        self._ensemble.set_parameters(self._layout.forward @ w)

    def _leave(self, rows: np.ndarray, stream: np.ndarray) -> None:
        rows[:] = self._ensemble.rows()
        stream[:] = self._ensemble.chains.stream[0]


class ColumnSamples:
    """Samples of any field, by the Gibbs kernels on columns; its methods are those of `LaneSamples`."""

    def __init__(self, model: Model, n_particles: int) -> None:
        self._model, self._state = model, np.ones(4, np.uint64)
        self._chains: Chains = make_chains(model, n_particles, self._state)

    def move(self, w: np.ndarray, rows: np.ndarray, stream: np.ndarray, sweeps: int) -> None:
        """See `LaneSamples`."""
        self._enter(rows, stream)
        self._chains.sweep(w, sweeps)
        self._leave(rows, stream)

    def average(self, w: np.ndarray, rows: np.ndarray, stream: np.ndarray, sweeps: int) -> np.ndarray:
        """See `LaneSamples`."""
        self._enter(rows, stream)
        mean = self._chains.advance(w, sweeps)
        self._leave(rows, stream)
        return mean

    def mean(self, rows: np.ndarray) -> np.ndarray:
        """See `LaneSamples`."""
        total = np.zeros(self._model.n_parameters)
        for first in range(0, len(rows), ROWS_AT_ONCE):
            total += self.statistics(rows[first : first + ROWS_AT_ONCE]).sum(axis=0)
        return total / len(rows)

    def statistics(self, rows: np.ndarray) -> np.ndarray:
        """See `LaneSamples`."""
        return row_statistics(self._model, rows)

    def _enter(self, rows: np.ndarray, stream: np.ndarray) -> None:
        self._chains.load(rows)
        self._state[:] = stream

    def _leave(self, rows: np.ndarray, stream: np.ndarray) -> None:
        rows[:] = self._chains.rows()
        stream[:] = self._state
