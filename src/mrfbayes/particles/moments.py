"""Sufficient statistics of particles: of given configurations, and of particles brought to a given w.

Persistent Gibbs chains of fields with covariates: chains for every group of rows, at the group's own parameters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mrfbayes.base.checks import require_memory
from mrfbayes.base.random_streams import generator, kernel_state
from mrfbayes.data.border import CovariateStatistics
from mrfbayes.kernels.particles.rows import RowsView, row_sweeps
from mrfbayes.model.field import Model

if TYPE_CHECKING:
    from mrfbayes.data.statistics import Statistics
    from mrfbayes.particles.ensembles import Chains


def row_statistics(model: Model, rows: np.ndarray) -> np.ndarray:
    """s of every row of ``rows`` (k, d), as (k, p) floats."""
    chart = model.chart
    size = 16 * len(rows) * model.n_parameters
    what = f"the {model.n_parameters:,} statistics of {len(rows):,} configurations"
    require_memory(size, what, "ask for fewer particles=, or use fewer parameters")
    out = np.zeros((model.n_parameters, len(rows)))
    columns = np.ascontiguousarray(rows.T)
    for group in model.groups:
        table = group.table.astype(np.min_scalar_type(group.table.max()))  # bytes: an eighth of the memory to pass
        index = tuple(columns[group.scope[:, axis]] for axis in range(group.arity))
        cells = table[index]
        # Sums of sorted rows: `np.add.at`, which takes them in any order, needs twenty times as long.
        blocks, first = np.unique(group.block, return_index=True)
        order, is_tied = np.argsort(group.block, kind="stable"), blocks.size < group.block.size
        if is_tied:
            cells, first = cells[order], np.searchsorted(group.block[order], blocks)
        for outcome in range(len(group.statistics)):
            values = cells if group.is_score else cells == outcome
            if group.is_centred:
                values = group.statistics[outcome][index] if not is_tied else group.statistics[outcome][index][order]
            if is_tied:
                for block, part in zip(blocks.tolist(), np.split(values, first[1:]), strict=True):
                    out[chart.offset[block] + outcome] += part.sum(axis=0)
            else:
                out[chart.offset[group.block] + outcome] += values
    return np.ascontiguousarray(out.T)


def particles_at(
    model: Model,
    log_odds: np.ndarray,
    n_particles: int,
    sweeps: int,
    seed: np.random.SeedSequence,
    stats: Statistics | None = None,
) -> Chains:
    """Particles at w after ``sweeps`` Gibbs sweeps, started at the data where ``stats`` are given, else at random."""
    from mrfbayes.particles.ensembles import make_chains

    chains = make_chains(model, n_particles, kernel_state(seed, "moments"))
    start = generator(seed, "moments start")
    if stats is None:
        chains.start_at_random(start)
    else:
        chains.start_at_data(stats, start)
    chains.sweep(np.asarray(log_odds, dtype=float), sweeps)
    return chains


def row_view(model: Model, group: np.ndarray | None = None) -> RowsView:
    """The graph of a field made ready for `row_sweeps`; ``group`` (N,) of every chain, none by default."""
    lowering = model.lowering
    offset, neighbour, edge = (np.array(part, dtype=np.int64) for part in model.adjacency)
    owner = np.repeat(np.arange(model.n_nodes), np.diff(offset))
    return RowsView(
        offset,
        neighbour,
        edge,
        np.ascontiguousarray(model.edges[edge, 0] == owner),
        np.array(lowering.node_offset, dtype=np.int64),
        np.array(lowering.edge_offset + lowering.n_node_rows, dtype=np.int64),
        np.zeros(0, dtype=np.int64) if group is None else group,
        int(model.states.max()),
        bool(lowering.binary),
    )


class RowChains:
    """``replicas`` times ``halves`` sets of chains, each set with a chain for every entry of ``of``.

    Parameters
    ----------
    statistics : data with covariates
    of : (N,) the row at which each chain starts; its group is that of the row
    replicas, halves : sets of chains
    seed : of starts and sweeps
    """

    def __init__(
        self, statistics: CovariateStatistics, of: np.ndarray, replicas: int, halves: int, seed: np.random.SeedSequence
    ) -> None:
        base = statistics.model.base
        lowering = base.lowering
        self._forward = lowering.matrix
        self._constant, self.n_groups = lowering.constant, statistics.design.n_fields
        self.group = np.ascontiguousarray(statistics.group[of], dtype=np.int64)
        self.per_group = np.bincount(self.group, minlength=self.n_groups).astype(float)
        self._view = row_view(base, self.group)
        states = statistics.states[of]
        random = generator(seed, "rows").integers(base.states, size=states.shape)
        filled = np.where(states == 255, random, states).astype(np.uint8)
        self.x = np.tile(filled, (replicas, halves, 1, 1))
        self.streams = np.stack(
            [[kernel_state(seed, "chains", k, half) for half in range(halves)] for k in range(replicas)]
        )
        self._potentials = np.zeros((replicas, self.n_groups, lowering.n_rows))

    def set_parameters(self, w: np.ndarray) -> None:
        """Log-odds (replicas, G, p0) of every replica's fields."""
        flat = w.reshape(-1, w.shape[-1])
        self._potentials[:] = np.asarray((self._forward @ flat.T).T).reshape(self._potentials.shape)

    def moments(self, skipped: int, counted: int) -> np.ndarray:
        """E[s] (replicas, halves, G, p0) over ``counted`` sweeps, after ``skipped`` others."""
        k, halves = self.x.shape[:2]
        sums = np.zeros((k, halves, *self._potentials.shape[1:]))
        row_sweeps(self._view, self._potentials, self.x, np.array([skipped + counted, counted]), sums, self.streams)
        if not counted:
            return sums
        mean = sums / (counted * self.per_group[:, None])
        flat = np.asarray((self._forward.T @ mean.reshape(-1, mean.shape[-1]).T).T)
        return np.asarray(flat.reshape(*mean.shape[:-1], -1) + self._constant)

    def arrays(self) -> dict[str, np.ndarray]:
        """What changes from step to step."""
        return {"rows": self.x, "streams": self.streams}

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Go on from what `arrays` gave."""
        self.x[:], self.streams[:] = arrays["rows"], arrays["streams"]
