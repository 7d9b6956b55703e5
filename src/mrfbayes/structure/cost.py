"""What a search over graphs takes, before it is begun: seconds on the reference machine."""

from __future__ import annotations

import numpy as np

from mrfbayes.base.errors import InputError
from mrfbayes.model.field import Model
from mrfbayes.structure.anchors import ANCHOR_PARTICLES
from mrfbayes.structure.engines import choose_engine, n_configurations, recursion_cells
from mrfbayes.structure.problem import GROUP_CELLS, SAMPLE_GROUP_CELLS, edge_factors, pair_blocks
from mrfbayes.structure.reruns import GRAPHS, PRIOR_LOG_ODDS, RERUN_LENGTH, SLABS
from mrfbayes.structure.running import LEAST_SEARCH_SWEEPS

# Measured in processor time on searches of 6 to 40 variables with 2 to 5 levels.
SAMPLE_SECONDS, STATE_SECONDS = 0.65e-9, 0.3e-9  # per sample, or configuration of the field, block and pass
POINT_SECONDS = 6.5e-9  # per cell and point of an edge's conditional
CELL_SECONDS = 0.5e-9  # per cell of a block's table and pass
MOVE_SECONDS = 0.8e-6  # per parameter
WEIGHT_PASSES, LINE_POINTS = 3, 20
TYPICAL_SWEEPS = 5 * LEAST_SEARCH_SWEEPS // 2  # per chain, until the precision is reached
GIBBS_SECONDS = 1.5e-9  # per sample, node, neighbour state and Gibbs sweep of the samples
PREPARED_SWEEPS = 900  # Gibbs sweeps of samples before a search, all sets together


def search_seconds(model: Model, n_groups: int = 1, chains: int = 4) -> float:
    """Seconds of `select` with its panel of priors, or of `compare_groups` with its evidence of no difference."""
    factors = edge_factors(model)
    engine = choose_engine(model, None)
    cells = float(sum(np.prod(model.states[edge]) for edge in model.edges) + model.states.sum())
    sweep = POINT_SECONDS * LINE_POINTS * cells + MOVE_SECONDS * model.n_parameters
    before = 0.0
    if engine == "recursion":
        sweep += CELL_SECONDS * recursion_cells(model)
    else:
        blocks = pair_blocks(model, SAMPLE_GROUP_CELLS if engine == "particles" else GROUP_CELLS)[0]
        sweep += CELL_SECONDS * 2 * factors.n_edge_parameters * max(blocks.n_cells)
        passes = WEIGHT_PASSES * len(blocks.nodes)
        if engine == "particles":
            sweep += SAMPLE_SECONDS * passes * ANCHOR_PARTICLES
            before = PREPARED_SWEEPS * GIBBS_SECONDS * ANCHOR_PARTICLES * model.n_nodes**2
        else:
            sweep += STATE_SECONDS * passes * n_configurations(model)
    sweeps = chains * (TYPICAL_SWEEPS + 100)
    sweeps += 2 * RERUN_LENGTH * (len(SLABS) + len(GRAPHS) - 2 if n_groups == 1 else len(PRIOR_LOG_ODDS))
    return n_groups * (sweeps * sweep + before)


def describe_searches(model: Model) -> dict[str, float]:
    """Predicted seconds by option; empty where such a model cannot be searched."""
    try:
        return {"--select": search_seconds(model), "--group (two groups)": search_seconds(model, 2)}
    except InputError:
        return {}
