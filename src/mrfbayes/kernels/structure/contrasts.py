"""One indicator for several contrasts: an edge differs between all groups or between none.

The difference is then a vector, and its presence and value are drawn together by a weighted choice between points: half
of them at "no difference", half from a t distribution at the mode, and where the chain is now. Chosen by weight (target
over proposal), this leaves the exact conditional invariant, however many points there are (iterated sampling importance
resampling; Andrieu, Lee & Vihola 2018), and the share of the weight at "difference" is the Rao-Blackwellised
probability.
"""

from __future__ import annotations

import math

from mrfbayes.kernels.base.cholesky import solve_lower, solve_upper
from mrfbayes.kernels.base.fastmath import exp, log
from mrfbayes.kernels.base.jit import kernel
from mrfbayes.kernels.base.random import normal, uniform
from mrfbayes.kernels.structure.line import (
    ABSENT,
    KIND,
    LOG_ODDS,
    MEAN,
    PROBABILITY,
    SQUARE,
    add_log_growth,
    add_prior,
    likelihood_slopes,
    prior_slopes,
)
from mrfbayes.kernels.structure.moves import (
    FIRST,
    LOG_LIKELIHOOD,
    N_PRESENT,
    SECOND,
    follow,
    log_odds_of_presence,
    record,
    set_line,
)

CONTRAST_POINTS = 40  # proposals, of which about half are at "no difference"
FREEDOM = 5  # of the t distribution
CONTRAST_NEWTON_STEPS = 6


@kernel
def _slopes(view, state, line, parameter, n_cells, at, gradient, information):
    """Gradient and information (k, k) of the log conditional, contrasts moved by ``at`` (k,)."""
    k = at.size
    for a in range(k):
        gradient[a] = view.total[1 + a, parameter]
        for b in range(k):
            information[a, b] = 0.0
    for group in range(view.n.size):
        moved = 0.0
        for a in range(k):
            moved += view.rate[group, 1 + a] * at[a]
        mean, variance = likelihood_slopes(line.weight[group], line.step[0], n_cells, moved)
        for a in range(k):
            gradient[a] -= view.n[group] * view.rate[group, 1 + a] * mean
            for b in range(k):
                information[a, b] += view.n[group] * view.rate[group, 1 + a] * view.rate[group, 1 + b] * variance
    for a in range(k):
        set_line(view, state, line, parameter, 1 + a)
        for row in range(3):
            if line.term[row, KIND] != ABSENT:
                first, second = prior_slopes(line.term[row], at[a])
                gradient[a] += first
                information[a, a] += second


@kernel
def _cholesky(matrix):
    """Lower Cholesky factor in place, of a matrix known to be positive definite; half the log of its determinant.

    Unlike `mrfbayes.kernels.base.cholesky` it never fails: pivots that rounding has taken are raised.
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
def _heights(view, state, line, parameter, n_cells, moves, count):
    """Log conditional at the moves (count, k), up to a constant, in the grid's second row; the first lacks the slab."""
    x, out, mass = line.grid[0, :count], line.grid[1, :count], line.grid[3, :count]
    k = moves.shape[1]
    for i in range(count):
        out[i] = 0.0
        for a in range(k):
            out[i] += view.total[1 + a, parameter] * moves[i, a]
    for group in range(view.n.size):
        for i in range(count):
            x[i] = 0.0
            for a in range(k):
                x[i] += view.rate[group, 1 + a] * moves[i, a]
        add_log_growth(line.weight[group], line.step[0], n_cells, 1.0, view.n[group], x, out, mass)
    for a in range(k):
        set_line(view, state, line, parameter, 1 + a)
        for i in range(count):
            x[i] = moves[i, a]
        add_prior(line.term[0], x[1:], out[1:], mass[1:])
        for row in range(1, 3):
            add_prior(line.term[row], x, out, mass)


@kernel
def move_contrasts(view, state, line, tables, parameter, keeps):
    """Draw whether an edge differs between groups, and by how much."""
    k, n_cells = view.rate.shape[1] - 1, view.layout[parameter, FIRST] * view.layout[parameter, SECOND]
    scratch = line.contrast
    mode, gradient, factor, moves = scratch[0, :k], scratch[1, :k], scratch[2 : 2 + k, :k], scratch[2 + k :, :k]
    was_there = state.present[parameter] != 0
    for a in range(k):
        mode[a] = state.centre[1 + a, parameter] - state.w[1 + a, parameter]
    half = 0.0
    for _ in range(CONTRAST_NEWTON_STEPS):
        _slopes(view, state, line, parameter, n_cells, mode, gradient, factor)
        half = _cholesky(factor)
        solve_lower(factor, gradient, k)
        solve_upper(factor, gradient, k)
        size = 0.0
        for a in range(k):
            size = max(size, abs(gradient[a]))
        for a in range(k):
            mode[a] += gradient[a] * min(1.0, 2.0 / max(size, 1e-300))
        if size < 0.05:
            break
    n_atoms = 0 if was_there else 1
    count = 1
    for a in range(k):
        moves[0, a] = -state.w[1 + a, parameter]
    if was_there:
        for a in range(k):
            moves[1, a] = 0.0
        count = 2
    for _ in range(CONTRAST_POINTS):
        if uniform(state.random) < 0.5:
            n_atoms += 1
            continue
        chi = 0.0
        for _ in range(FREEDOM):
            z = normal(state.random)
            chi += z * z
        for a in range(k):
            moves[count, a] = normal(state.random) * math.sqrt(FREEDOM / chi)
        solve_upper(factor, moves[count], k)
        for a in range(k):
            moves[count, a] += mode[a]
        count += 1
    _heights(view, state, line, parameter, n_cells, moves, count)
    heights = line.grid[1]
    log_prior_odds = view.log_prior_odds[parameter]
    if view.edge_counts[0] > 0.0:
        log_prior_odds = log_odds_of_presence(view, state.counters[N_PRESENT] - state.present[parameter])
    for a in range(k):
        log_prior_odds += view.slab[1 + a, parameter, 3]
    constant = (
        math.lgamma(0.5 * (FREEDOM + k)) - math.lgamma(0.5 * FREEDOM) - 0.5 * k * math.log(FREEDOM * math.pi) + half
    )
    for i in range(1, count):
        square = 0.0
        for a in range(k):
            y = 0.0
            for b in range(a, k):
                y += factor[b, a] * (moves[i, b] - mode[b])
            square += y * y
        heights[i] += log_prior_odds - constant + 0.5 * (FREEDOM + k) * log(1.0 + square / FREEDOM)
    best = heights[0]
    for i in range(1, count):
        best = max(best, heights[i])
    atoms, total = n_atoms * exp(heights[0] - best), 0.0
    for i in range(1, count):
        heights[i] = exp(heights[i] - best)
        total += heights[i]
    probability = total / (total + atoms)
    line.result[PROBABILITY] = probability
    line.result[LOG_ODDS] = math.log(max(total, 1e-300)) - math.log(max(atoms, 1e-300))
    rest, chosen = uniform(state.random) * (total + atoms) - atoms, 0
    if rest >= 0.0:
        chosen = count - 1
        for i in range(1, count):
            rest -= heights[i]
            if rest < 0.0:
                chosen = i
                break
    for a in range(k):
        mean, square = 0.0, 0.0
        for i in range(1, count):
            w = state.w[1 + a, parameter] + moves[i, a]
            mean += heights[i] * w
            square += heights[i] * w * w
        line.result[MEAN], line.result[SQUARE] = mean / max(total, 1e-300), square / max(total, 1e-300)
        if keeps:
            record(state, line, parameter, 1 + a, a == 0)
    for a in range(k):
        state.centre[1 + a, parameter] = state.w[1 + a, parameter] + mode[a]
        x = moves[chosen, a]
        if x != 0.0:
            set_line(view, state, line, parameter, 1 + a)
            state.numbers[LOG_LIKELIHOOD] += x * view.total[1 + a, parameter]
            follow(view, state, line, tables, parameter, 1 + a, x)
        state.w[1 + a, parameter] = state.w[1 + a, parameter] + x if chosen > 0 else 0.0
    state.counters[N_PRESENT] += (1 if chosen > 0 else 0) - (1 if was_there else 0)
    state.present[parameter] = 1 if chosen > 0 else 0
