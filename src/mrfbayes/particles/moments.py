"""Sufficient statistics of particles: of given configurations, and of particles brought to a given w."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mrfbayes.base.checks import require_memory
from mrfbayes.base.random_streams import generator, kernel_state
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
