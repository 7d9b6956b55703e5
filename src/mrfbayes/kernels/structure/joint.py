"""One parameter after the other, and one indicator for several: a table of log-odds, or all contrasts of an edge.

`move_parameter` is what an engine calls for every edge and node of a block. An edge of several parameters is there with
all of them or with none. Presence and values are drawn together by a weighted choice between points: half of them at
"absent", half from a t distribution at the mode, and where the chain is now. Chosen by weight (target over proposal),
this leaves the exact conditional invariant, however many points there are (iterated sampling importance resampling;
Andrieu, Lee & Vihola 2018), and the share of the weight at "present" is the Rao-Blackwellised probability. The slab is
normal: `mrfbayes.priors.Exchangeable` on tables.
"""

from __future__ import annotations

import math

import numpy as np

from mrfbayes.kernels.base.fastmath import exp, log
from mrfbayes.kernels.base.jit import kernel
from mrfbayes.kernels.base.linear import copy_into, largest_size, solve_lower, solve_upper
from mrfbayes.kernels.base.random import normal, uniform
from mrfbayes.kernels.priors import EXCHANGEABLE, exchangeable_precision
from mrfbayes.kernels.structure.line import (
    ABSENT,
    CENTRE,
    KIND,
    LOG_ODDS,
    MEAN,
    MOVE,
    PROBABILITY,
    SIZE,
    SQUARE,
    VALUES,
    add_prior,
    draw_along,
)
from mrfbayes.kernels.structure.moves import (
    AFTER,
    BEFORE,
    BETWEEN,
    EDGE_STEP,
    FIRST,
    FIRST_NODE,
    FIRST_SHIFT,
    N_OWN,
    N_PRESENT,
    OWN,
    SEARCH_LOG_LIKELIHOOD,
    SECOND,
    SECOND_NODE,
    follow,
    log_odds_of_presence,
    pair_marginal,
    record,
    set_line,
)

JOINT_POINTS = 40  # proposals, of which about half are at "absent"
FREEDOM = 5  # of the t distribution
JOINT_NEWTON_STEPS = 6


@kernel
def _slab_precision(view, c, first, a, b):
    """Entry (a, b) of the inverse covariance of an edge's slab along one coordinate."""
    slab = view.slab[c, first]
    if slab[0] == EXCHANGEABLE:
        return exchangeable_precision(int(slab[1]), int(slab[2]), slab[3], a, b)
    return exchangeable_precision(1, 1, slab[2], a, b)


@kernel
def _potential(view, first, size, begin, group, n_cells, at, out):
    """Log of what the cells are multiplied by when the edge's coordinates move by ``at``; its largest entry."""
    out[:n_cells] = 0.0
    for d in range(at.size):
        amount = view.rate[group, begin + d // size] * at[d]
        if amount != 0.0:
            step = view.layout[first + d % size, EDGE_STEP]
            for k in range(n_cells):
                out[k] += amount * view.number[step + k]
    return out[:n_cells].max()


@kernel
def _slopes(view, state, line, edge, begin, n_cells, at, gradient, information):
    """Gradient and information (D, D) of likelihood and slab, coordinates moved by ``at`` (D,).

    Node priors are left out: this only places the proposals.
    """
    first, size = view.edge[edge, 0], view.edge[edge, 1]
    mean, covariance = np.empty(size), np.empty((size, size))
    cells = line.step[1]
    for d in range(at.size):
        c, a = begin + d // size, d % size
        gradient[d] = view.total[c, first + a]
        information[d, :] = 0.0
        for b in range(size):
            precision = _slab_precision(view, c, first, a, b)
            place = d - a + b
            gradient[d] -= precision * (state.w[c, first + b] + at[place])
            information[d, place] += precision
    for group in range(view.n.size):
        top = _potential(view, first, size, begin, group, n_cells, at, cells)
        mass = 0.0
        for k in range(n_cells):
            cells[k] = line.weight[group, k] * exp(cells[k] - top)
            mass += cells[k]
        for a in range(size):
            step = view.layout[first + a, EDGE_STEP]
            mean[a] = 0.0
            for k in range(n_cells):
                mean[a] += cells[k] * view.number[step + k] / mass
        for a in range(size):
            for b in range(a + 1):
                one, two = view.layout[first + a, EDGE_STEP], view.layout[first + b, EDGE_STEP]
                total = 0.0
                for k in range(n_cells):
                    total += cells[k] * (view.number[one + k] - mean[a]) * (view.number[two + k] - mean[b])
                covariance[a, b] = covariance[b, a] = total / mass
        for d in range(at.size):
            rate = view.n[group] * view.rate[group, begin + d // size]
            gradient[d] -= rate * mean[d % size]
            for other in range(at.size):
                moved = rate * view.rate[group, begin + other // size]
                information[d, other] += moved * covariance[d % size, other % size]


@kernel
def _cholesky(matrix):
    """Lower Cholesky factor in place, of a matrix known to be positive definite; half the log of its determinant.

    Unlike `mrfbayes.kernels.base.linear` it never fails: pivots that rounding has taken are raised.
    """
    k, half = matrix.shape[0], 0.0
    for a in range(k):
        for b in range(a + 1):
            total = matrix[a, b]
            for j in range(b):
                total -= matrix[a, j] * matrix[b, j]
            matrix[a, b] = math.sqrt(max(total, 1e-12)) if a == b else total / matrix[b, b]
        half += math.log(matrix[a, a])
    return half


@kernel
def _node_terms(view, state, line, edge, begin, move):
    """Log priors of the node factors that move against the edge, at ``move`` (D,)."""
    first, size = view.edge[edge, 0], view.edge[edge, 1]
    x, out, mass = line.grid[0, :1], line.grid[2, :1], line.grid[3, :1]
    wide = (line.term.shape[1] - VALUES) // 3
    x[0], out[0] = 0.0, 0.0
    for c in range(begin, view.rate.shape[1]):
        for which in range(2):
            node = view.layout[first, FIRST_NODE + which]
            own = view.node[node, N_OWN]
            if own == 0:
                continue
            term = line.term[1 + which]
            term[KIND], term[SIZE] = view.node_prior[c, node, 0], own
            copy_into(term[VALUES:], view.node_prior[c, node, 1:])
            for k in range(own):
                place = state.w[c, view.node[node, OWN] + k]
                for a in range(size):
                    shift = view.number[view.layout[first + a, FIRST_SHIFT + which] + k]
                    place -= shift * move[(c - begin) * size + a]
                term[VALUES + wide + k], term[VALUES + 2 * wide + k] = place, 0.0
            if term[KIND] != ABSENT:
                add_prior(term, x, out, mass)
    return out[0]


@kernel
def _height(view, state, line, edge, begin, n_cells, move, with_slab):
    """Log conditional at ``move`` (D,), up to a constant."""
    first, size = view.edge[edge, 0], view.edge[edge, 1]
    value = _node_terms(view, state, line, edge, begin, move)
    for d in range(move.size):
        c, a = begin + d // size, d % size
        value += view.total[c, first + a] * move[d]
        if with_slab:
            here = state.w[c, first + a] + move[d]
            for b in range(size):
                there = state.w[c, first + b] + move[d - a + b]
                value -= 0.5 * here * _slab_precision(view, c, first, a, b) * there
    cells = line.step[1]
    for group in range(view.n.size):
        top, mass = _potential(view, first, size, begin, group, n_cells, move, cells), 0.0
        for k in range(n_cells):
            mass += line.weight[group, k] * exp(cells[k] - top)
        value -= view.n[group] * (top + log(mass))
    return value


@kernel
def _propose(view, state, line, edge, begin, mode, factor, moves):
    """Fill ``moves``: absent, where the chain is (if present), then points around the mode; how many, and atoms."""
    first, size, width = view.edge[edge, 0], view.edge[edge, 1], mode.size
    was_there = state.present[edge] != 0
    n_atoms, count = 0 if was_there else 1, 1
    for d in range(width):
        moves[0, d] = -state.w[begin + d // size, first + d % size]
    if was_there:
        moves[1, :] = 0.0
        count = 2
    for _ in range(JOINT_POINTS):
        if uniform(state.random) < 0.5:
            n_atoms += 1
            continue
        chi = 0.0
        for _ in range(FREEDOM):
            z = normal(state.random)
            chi += z * z
        for d in range(width):
            moves[count, d] = normal(state.random) * math.sqrt(FREEDOM / chi)
        solve_upper(factor, moves[count], width)
        for d in range(width):
            moves[count, d] += mode[d]
        count += 1
    return count, n_atoms


@kernel
def _find_mode(view, state, line, edge, begin, n_cells, mode, gradient, factor):
    """The mode of likelihood and slab; ``factor`` holds the Cholesky factor there. Half its log determinant."""
    half, width = 0.0, mode.size
    for _ in range(JOINT_NEWTON_STEPS):
        _slopes(view, state, line, edge, begin, n_cells, mode, gradient, factor)
        half = _cholesky(factor)
        solve_lower(factor, gradient, width)
        solve_upper(factor, gradient, width)
        length = largest_size(gradient)
        for d in range(width):
            mode[d] += gradient[d] * min(1.0, 2.0 / max(length, 1e-300))
        if length < 0.05:
            break
    return half


@kernel
def _log_weights(view, state, line, edge, begin, n_cells, mode, factor, half, moves, count):
    """Log of target over proposal of each point, in the grid's second row; the first is "absent"."""
    first, width, heights = view.edge[edge, 0], mode.size, line.grid[1]
    log_prior_odds = view.log_prior_odds[edge]
    if view.edge_counts[0] > 0.0:
        log_prior_odds = log_odds_of_presence(view, state.counters[N_PRESENT] - state.present[edge])
    for c in range(begin, view.rate.shape[1]):
        log_prior_odds += view.slab[c, first, 4]
    constant = math.lgamma(0.5 * (FREEDOM + width)) - math.lgamma(0.5 * FREEDOM)
    constant += half - 0.5 * width * math.log(FREEDOM * math.pi)
    for i in range(count):
        heights[i] = _height(view, state, line, edge, begin, n_cells, moves[i], i > 0)
        if i > 0:
            square = 0.0
            for a in range(width):
                y = 0.0
                for b in range(a, width):
                    y += factor[b, a] * (moves[i, b] - mode[b])
                square += y * y
            heights[i] += log_prior_odds - constant + 0.5 * (FREEDOM + width) * log(1.0 + square / FREEDOM)


@kernel
def move_joint(view, state, line, tables, edge, keeps):
    """Draw whether all parameters of an edge are there along the coordinates with a spike, and their values."""
    first, size, n_coordinates = view.edge[edge, 0], view.edge[edge, 1], view.rate.shape[1]
    begin = 0 if n_coordinates == 1 else 1
    width, n_cells = size * (n_coordinates - begin), view.layout[first, FIRST] * view.layout[first, SECOND]
    scratch = line.contrast
    mode, gradient, factor = scratch[0, :width], scratch[1, :width], scratch[2 : 2 + width, :width]
    moves = scratch[2 + width :, :width]
    was_there = state.present[edge] != 0
    for d in range(width):
        c, parameter = begin + d // size, first + d % size
        mode[d] = state.centre[c, parameter] - state.w[c, parameter]
    half = _find_mode(view, state, line, edge, begin, n_cells, mode, gradient, factor)
    count, n_atoms = _propose(view, state, line, edge, begin, mode, factor, moves)
    _log_weights(view, state, line, edge, begin, n_cells, mode, factor, half, moves, count)
    heights = line.grid[1]
    best = heights[:count].max()
    atoms, total = n_atoms * exp(heights[0] - best), 0.0
    for i in range(1, count):
        heights[i] = exp(heights[i] - best)
        total += heights[i]
    line.result[PROBABILITY] = total / (total + atoms)
    line.result[LOG_ODDS] = math.log(max(total, 1e-300)) - math.log(max(atoms, 1e-300))
    rest, chosen = uniform(state.random) * (total + atoms) - atoms, 0
    if rest >= 0.0:
        chosen = count - 1
        for i in range(1, count):
            rest -= heights[i]
            if rest < 0.0:
                chosen = i
                break
    for d in range(width):
        c, parameter = begin + d // size, first + d % size
        mean, square = 0.0, 0.0
        for i in range(1, count):
            w = state.w[c, parameter] + moves[i, d]
            mean += heights[i] * w
            square += heights[i] * w * w
        line.result[MEAN], line.result[SQUARE] = mean / max(total, 1e-300), square / max(total, 1e-300)
        if keeps:
            record(state, line, parameter, c, edge if d == 0 else -1)
    for d in range(width):
        c, parameter = begin + d // size, first + d % size
        state.centre[c, parameter] = state.w[c, parameter] + mode[d]
        x = moves[chosen, d]
        if x != 0.0:
            set_line(view, state, line, parameter, c)
            step = view.layout[parameter, EDGE_STEP]
            copy_into(line.step[0], view.number[step : step + n_cells])
            state.numbers[SEARCH_LOG_LIKELIHOOD] += x * view.total[c, parameter]
            follow(view, state, line, tables, parameter, c, x)
    for d in range(width):
        c, parameter = begin + d // size, first + d % size
        state.w[c, parameter] = state.w[c, parameter] + moves[chosen, d] if chosen > 0 else 0.0
    state.counters[N_PRESENT] += (1 if chosen > 0 else 0) - (1 if was_there else 0)
    state.present[edge] = 1 if chosen > 0 else 0


@kernel
def _set_cells(view, line, tables, parameter):
    """The cells of a parameter's nodes: their probabilities, and how a move changes their log weights.

    A state that no sample has but some observation would make the conditional of its threshold improper: it counts as
    ``line.least``.
    """
    index = view.layout[parameter]
    copy_into(line.step[0], view.number[index[EDGE_STEP] : index[EDGE_STEP] + index[FIRST] * index[SECOND]])
    for group in range(tables.shape[0]):
        table, cells = tables[group], line.weight[group]
        pair_marginal(table, index[BEFORE], index[FIRST], index[BETWEEN], index[SECOND], index[AFTER], cells)
        if index[SECOND_NODE] < 0:
            for k in range(index[FIRST]):
                cells[k] = max(cells[k], line.least)


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
