"""One parameter after the other: what an engine calls for every edge and node of a block."""

from __future__ import annotations

import numpy as np

from mrfbayes.kernels.base.jit import kernel
from mrfbayes.kernels.structure.contrasts import move_contrasts
from mrfbayes.kernels.structure.line import CENTRE, MOVE, draw_along
from mrfbayes.kernels.structure.moves import (
    AFTER,
    BEFORE,
    BETWEEN,
    FIRST,
    LOG_LIKELIHOOD,
    N_PRESENT,
    SECOND,
    STEP,
    follow,
    log_odds_of_presence,
    pair_marginal,
    record,
    set_line,
)


@kernel
def move_parameter(view, state, line, tables, parameter, keeps):
    """Draw a parameter from its exact conditional, an edge with its presence, coordinate by coordinate.

    ``tables`` (G, cells) hold the probabilities of the block's configurations, before and after.
    """
    index, is_edge = view.layout[parameter], parameter < view.log_prior_odds.size
    n_cells = index[FIRST] * index[SECOND]
    for k in range(n_cells):
        line.step[0, k] = view.number[index[STEP] + k]
    for group in range(tables.shape[0]):
        table, cells = tables[group], line.weight[group]
        pair_marginal(table, index[BEFORE], index[FIRST], index[BETWEEN], index[SECOND], index[AFTER], cells)
    n_coordinates = view.rate.shape[1]
    is_joint = is_edge and n_coordinates > 2
    for c in range(1 if is_joint else n_coordinates):
        set_line(view, state, line, parameter, c)
        has_spike, log_prior_odds = is_edge and view.has_spike[c] != 0, 0.0
        if has_spike:
            log_prior_odds = view.log_prior_odds[parameter]
            if view.edge_counts[0] > 0.0:
                log_prior_odds = log_odds_of_presence(view, state.counters[N_PRESENT] - state.present[parameter])
            log_prior_odds += view.slab[c, parameter, 3]
        here, total = state.w[c, parameter], view.total[c, parameter]
        start = state.centre[c, parameter] - here
        is_there = draw_along(line, n_cells, total, start, has_spike, log_prior_odds, state.random)
        x = line.result[MOVE]
        state.centre[c, parameter] = line.result[CENTRE]
        if keeps:
            record(state, line, parameter, c, has_spike)
        if x != 0.0:
            state.numbers[LOG_LIKELIHOOD] += x * total
            follow(view, state, line, tables, parameter, c, x)
        if is_edge:
            state.w[c, parameter] = here + x if is_there else 0.0
        if has_spike:
            state.counters[N_PRESENT] += np.int64(is_there) - np.int64(state.present[parameter])
            state.present[parameter] = np.uint8(is_there)
    if is_joint:
        move_contrasts(view, state, line, tables, parameter, keeps)
