"""One parameter after the other: what an engine calls for every edge and node of a block."""

from __future__ import annotations

import numpy as np

from mrfbayes.kernels.base.jit import kernel
from mrfbayes.kernels.structure.joint import move_joint
from mrfbayes.kernels.structure.line import CENTRE, MOVE, draw_along
from mrfbayes.kernels.structure.moves import (
    AFTER,
    BEFORE,
    BETWEEN,
    EDGE_STEP,
    FIRST,
    N_PRESENT,
    SEARCH_LOG_LIKELIHOOD,
    SECOND,
    follow,
    log_odds_of_presence,
    pair_marginal,
    record,
    set_line,
)


@kernel
def _set_cells(view, line, tables, parameter):
    """The cells of a parameter's nodes: their probabilities, and how a move changes their log weights."""
    index = view.layout[parameter]
    for k in range(index[FIRST] * index[SECOND]):
        line.step[0, k] = view.number[index[EDGE_STEP] + k]
    for group in range(tables.shape[0]):
        table, cells = tables[group], line.weight[group]
        pair_marginal(table, index[BEFORE], index[FIRST], index[BETWEEN], index[SECOND], index[AFTER], cells)


@kernel
def move_parameter(view, state, line, tables, parameter, keeps):
    """Draw a parameter from its exact conditional, an edge with its presence, coordinate by coordinate.

    ``tables`` (G, cells) hold the probabilities of the block's configurations, before and after. Presence that several
    parameters or contrasts share is drawn with the first of them (`move_joint`); those of a table that is there are
    then drawn one by one as well.
    """
    edge, n_coordinates = view.edge_of[parameter], view.rate.shape[1]
    size = view.edge[edge, 1] if edge >= 0 else 0
    is_joint = size > 1 or (edge >= 0 and n_coordinates > 2)
    n_cells = view.layout[parameter, FIRST] * view.layout[parameter, SECOND]
    _set_cells(view, line, tables, parameter)
    if is_joint and parameter == view.edge[edge, 0]:
        move_joint(view, state, line, tables, edge, keeps)
        _set_cells(view, line, tables, parameter)
    for c in range(n_coordinates):
        has_spike, log_prior_odds = edge >= 0 and view.has_spike[c] != 0, 0.0
        is_refresh = has_spike and is_joint
        if is_refresh and (size == 1 or state.present[edge] == 0):
            continue
        set_line(view, state, line, parameter, c)
        if has_spike and not is_joint:
            log_prior_odds = view.log_prior_odds[edge]
            if view.edge_counts[0] > 0.0:
                log_prior_odds = log_odds_of_presence(view, state.counters[N_PRESENT] - state.present[edge])
            log_prior_odds += view.slab[c, parameter, 4]
        here, total = state.w[c, parameter], view.total[c, parameter]
        start = state.centre[c, parameter] - here
        draws_presence = has_spike and not is_joint
        is_there = draw_along(line, n_cells, total, here, start, draws_presence, log_prior_odds, state.random)
        x = line.result[MOVE]
        if not is_refresh:
            state.centre[c, parameter] = line.result[CENTRE]
            if keeps:
                record(state, line, parameter, c, edge if has_spike else -1)
        if x != 0.0:
            state.numbers[SEARCH_LOG_LIKELIHOOD] += x * total
            follow(view, state, line, tables, parameter, c, x)
        if edge >= 0:
            state.w[c, parameter] = here + x if is_there else 0.0
        if draws_presence:
            state.counters[N_PRESENT] += np.int64(is_there) - np.int64(state.present[edge])
            state.present[edge] = np.uint8(is_there)
