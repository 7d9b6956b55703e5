"""Sufficient statistics of particles: of given configurations, and of particles brought to a given w."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mrfbayes.base.memory import require_memory
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
        cells = group.table[tuple(columns[group.scope[:, axis]] for axis in range(group.arity))]
        tied = np.unique(group.block).size < group.block.size
        for outcome in range(1 if group.is_score else group.sides - 1):
            parameter = chart.offset[group.block] + outcome
            values = cells if group.is_score else cells == outcome
            if tied:
                np.add.at(out, parameter, values)
            else:
                out[parameter] += values
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
