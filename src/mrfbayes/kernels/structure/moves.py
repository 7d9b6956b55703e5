"""Gibbs moves of edges and node factors on the joint table of a few nodes, the same for all engines.

An engine hands over the present probabilities of all configurations of a block of nodes, one table per group of data.
Every edge and node that belongs to the block is then updated from its exact conditional (`line`), and the table
follows.

A move of an edge is centred: the factors of its two nodes move against it, so that their log-odds at the mean of the
other node stay what they are. This is a shear of the parameters, which preserves volume, so any fixed centring is
right.

The log-odds are w = sum over coordinates c of rate[g, c] * w[c] in group g. A single data set has one group and one
coordinate with rate 1. In a comparison of groups coordinate 0 is the baseline and the others are contrasts.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from mrfbayes.kernels.base.fastmath import exp
from mrfbayes.kernels.base.jit import kernel
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
    draw_along,
    log_likelihood_gain,
)

# Places in SearchState.counters
SWEEP, N_PRESENT, KEPT, BATCH_ROW, BATCH_FILL, BATCH_LENGTH = range(6)
N_COUNTERS = 6
# Places in SearchState.numbers
LOG_LIKELIHOOD = 0
N_NUMBERS = 1


# Columns of MoveView.edge and MoveView.node
FIRST_NODE, SECOND_NODE, STEP, STATISTIC, FIRST_SHIFT, SECOND_SHIFT, BEFORE, BETWEEN, AFTER = range(9)
STATES, FIRST, SIZE_OF, NODE_STATISTIC, NODE_BEFORE, NODE_AFTER = range(6)


class MoveView(NamedTuple):
    """The field, the data and the priors, as the moves see them."""

    n: np.ndarray  # (G,) numbers of observations
    rate: np.ndarray  # (G, C) of each group along each coordinate
    total: np.ndarray  # (C, p) sums over groups of rate * statistic; edges centred
    raw_count: np.ndarray  # (G, p) sufficient statistics
    edge: np.ndarray  # (m, 9) its nodes; where its step, statistic and shifts start; how it lies in its block's table
    node: (
        np.ndarray
    )  # (d, 6) states; first parameter and how many; where its statistics start; how it lies in its block
    number: np.ndarray  # steps and statistics (cells in the order of the edge's nodes), and shifts, one after the other
    slab: np.ndarray  # (C, m, 4) kind, two parameters, log of the constant
    node_prior: np.ndarray  # (C, d, 1 + R) kind and parameters
    has_spike: np.ndarray  # (C,) whether the edges' coordinate may be absent
    log_prior_odds: np.ndarray  # (m,) of presence; not used where edge_counts are positive
    edge_counts: np.ndarray  # (2,) a and b of a beta-bernoulli prior, else zeros


class BlockView(NamedTuple):
    """Which edges and nodes each block updates."""

    edge_offset: np.ndarray  # (B + 1,)
    edge: np.ndarray
    node_offset: np.ndarray  # (B + 1,)
    node: np.ndarray


class SearchState(NamedTuple):
    """What changes from sweep to sweep."""

    w: np.ndarray  # (C, p) log-odds
    present: np.ndarray  # (m,) uint8
    centre: np.ndarray  # (C, p) modes of the last conditionals: where the next search starts
    batches: np.ndarray  # (N, m) sums of P(present | rest) over batches of sweeps
    absent: np.ndarray  # (m,) sum of P(absent | rest)
    moments: np.ndarray  # (2, C, p) sums of conditional means and mean squares, absence counted as zero
    sizes: np.ndarray  # (m + 1,) sweeps that ended with so many edges
    numbers: np.ndarray  # (N_NUMBERS,) float64
    counters: np.ndarray  # (N_COUNTERS,) int64
    random: np.ndarray  # (4,) uint64


class KeptSweeps(NamedTuple):
    """Where a chunk puts its draws; row 0 is the chain's draw number ``first``."""

    w: np.ndarray  # (rows, C * p)
    log_likelihood: np.ndarray  # (rows,)
    first: int


@kernel(fastmath={"reassoc", "contract"})
def pair_marginal(table, before, first, between, second, after, out):
    """Sum a table (before, first, between, second, after) to the (first, second) cells ``out``."""
    for k in range(first * second):
        out[k] = 0.0
    if after == 1 and second == 2:
        for h in range(before):
            for a in range(first):
                start = (h * first + a) * between * 2
                zero, one = 0.0, 0.0
                for m in range(between):
                    zero += table[start + 2 * m]
                    one += table[start + 2 * m + 1]
                out[2 * a] += zero
                out[2 * a + 1] += one
        return
    if after == 1:
        for h in range(before):
            for a in range(first):
                row = out[a * second : (a + 1) * second]
                for m in range(between):
                    start = ((h * first + a) * between + m) * second
                    part = table[start : start + second]
                    for b in range(second):
                        row[b] += part[b]
        return
    for h in range(before):
        for a in range(first):
            for m in range(between):
                for b in range(second):
                    start = (((h * first + a) * between + m) * second + b) * after
                    part = table[start : start + after]
                    total = 0.0
                    for k in range(after):
                        total += part[k]
                    out[a * second + b] += total


@kernel
def multiply_pair(table, before, first, between, second, after, factor):
    """Multiply the (first, second) cells of a table by ``factor``."""
    if after == 1 and second == 2:
        for h in range(before):
            for a in range(first):
                start = (h * first + a) * between * 2
                zero, one = factor[2 * a], factor[2 * a + 1]
                for m in range(between):
                    table[start + 2 * m] *= zero
                    table[start + 2 * m + 1] *= one
        return
    if after == 1:
        for h in range(before):
            for a in range(first):
                row = factor[a * second : (a + 1) * second]
                for m in range(between):
                    start = ((h * first + a) * between + m) * second
                    part = table[start : start + second]
                    for b in range(second):
                        part[b] *= row[b]
        return
    for h in range(before):
        for a in range(first):
            for m in range(between):
                for b in range(second):
                    start = (((h * first + a) * between + m) * second + b) * after
                    part = table[start : start + after]
                    amount = factor[a * second + b]
                    for k in range(after):
                        part[k] *= amount


@kernel
def _set_node_prior(term, view, state, coordinate, node):
    """The prior of a node's block, and where the block is."""
    size, wide = view.node[node, SIZE_OF], (term.size - VALUES) // 3
    term[KIND] = view.node_prior[coordinate, node, 0] if size else ABSENT
    term[SIZE] = size
    for k in range(view.node_prior.shape[2] - 1):
        term[VALUES + k] = view.node_prior[coordinate, node, 1 + k]
    for k in range(size):
        term[VALUES + wide + k] = state.w[coordinate, view.node[node, FIRST] + k]


@kernel
def _follow(line, tables, x, place, first, second):
    """Carry a move by x over to the cells of the line and to the tables; ``place``: how its nodes lie in those."""
    n_cells, factor = first * second, line.step[1]
    for group in range(tables.shape[0]):
        rate = line.rate[0, group]
        if rate == 0.0:
            continue
        total = 0.0
        for k in range(n_cells):
            factor[k] = exp(rate * x * line.step[0, k])
            total += line.weight[group, k] * factor[k]
        for k in range(n_cells):
            factor[k] /= total
            line.weight[group, k] *= factor[k]
        multiply_pair(tables[group], place[0], first, place[1], second, place[2], factor)


@kernel
def _log_odds_of_presence(view, n_others):
    """Prior log-odds of an edge under beta-bernoulli, given how many of the others are there."""
    a, b = view.edge_counts[0], view.edge_counts[1]
    n_absent = view.log_prior_odds.size - 1 - n_others
    return math.log((a + n_others) / (b + n_absent))


@kernel
def _set_edge_line(view, state, line, edge, coordinate):
    """The line along one coordinate of an edge: rates, slab, and the two node factors that move against it."""
    for group in range(view.n.size):
        line.rate[0, group] = view.rate[group, coordinate]
        line.rate[1, group] = view.n[group]
    row, wide = line.term[0], (line.term.shape[1] - VALUES) // 3
    row[KIND], row[SIZE] = view.slab[coordinate, edge, 0], 1.0
    row[VALUES], row[VALUES + 1] = view.slab[coordinate, edge, 1], view.slab[coordinate, edge, 2]
    row[VALUES + wide], row[VALUES + 2 * wide] = state.w[coordinate, edge], 1.0
    for which in range(2):
        node, start = view.edge[edge, FIRST_NODE + which], view.edge[edge, FIRST_SHIFT + which]
        _set_node_prior(line.term[1 + which], view, state, coordinate, node)
        for k in range(view.node[node, SIZE_OF]):
            line.term[1 + which, VALUES + 2 * wide + k] = -view.number[start + k]


@kernel
def move_edge(view, state, line, tables, edge, keeps):
    """Draw presence and log-odds of an edge, coordinate by coordinate."""
    index = view.edge[edge]
    first, second = view.node[index[FIRST_NODE], STATES], view.node[index[SECOND_NODE], STATES]
    n_cells, wide = first * second, (line.term.shape[1] - VALUES) // 3
    for k in range(n_cells):
        line.step[0, k] = view.number[index[STEP] + k]
    for group in range(tables.shape[0]):
        pair_marginal(tables[group], index[BEFORE], first, index[BETWEEN], second, index[AFTER], line.weight[group])
    for c in range(view.rate.shape[1]):
        _set_edge_line(view, state, line, edge, c)
        has_spike, log_prior_odds = view.has_spike[c] != 0, view.log_prior_odds[edge]
        if has_spike and view.edge_counts[0] > 0.0:
            log_prior_odds = _log_odds_of_presence(view, state.counters[N_PRESENT] - state.present[edge])
        here, result = state.w[c, edge], line.result
        log_prior_odds += view.slab[c, edge, 3]
        start = state.centre[c, edge] - here
        is_there = draw_along(line, n_cells, view.total[c, edge], start, has_spike, log_prior_odds, state.random)
        x = result[MOVE]
        state.centre[c, edge] = result[CENTRE]
        if x != 0.0:
            state.numbers[LOG_LIKELIHOOD] += log_likelihood_gain(line, n_cells, view.total[c, edge], x)
            for which in range(2):
                node = index[FIRST_NODE + which]
                for k in range(view.node[node, SIZE_OF]):
                    state.w[c, view.node[node, FIRST] + k] += x * line.term[1 + which, VALUES + 2 * wide + k]
            _follow(line, tables, x, index[BEFORE:], first, second)
        state.w[c, edge] = here + x if is_there else 0.0
        if has_spike:
            state.counters[N_PRESENT] += np.int64(is_there) - np.int64(state.present[edge])
            state.present[edge] = np.uint8(is_there)
        if keeps:
            probability, log_odds = result[PROBABILITY], result[LOG_ODDS]
            state.moments[0, c, edge] += probability * result[MEAN]
            state.moments[1, c, edge] += probability * result[SQUARE]
            if has_spike:
                state.batches[state.counters[BATCH_ROW], edge] += probability
                state.absent[edge] += probability * math.exp(-log_odds) if log_odds > 0.0 else 1.0 - probability


@kernel
def move_node(view, state, line, tables, node, keeps):
    """Draw the log-odds of a node's factor, one after the other."""
    index = view.node[node]
    n_states, size, wide = index[STATES], index[SIZE_OF], (line.term.shape[1] - VALUES) // 3
    if size == 0:
        return
    place = index[NODE_BEFORE:]
    for group in range(tables.shape[0]):
        pair_marginal(tables[group], place[0], n_states, 1, 1, place[1], line.weight[group])
    for k in range(size):
        parameter = index[FIRST] + k
        for a in range(n_states):
            line.step[0, a] = view.number[index[NODE_STATISTIC] + k * n_states + a]
        for c in range(view.rate.shape[1]):
            for group in range(tables.shape[0]):
                line.rate[0, group], line.rate[1, group] = view.rate[group, c], view.n[group]
            line.term[0, KIND] = ABSENT
            line.term[2, KIND] = ABSENT
            line.term[0, VALUES + wide] = state.w[c, parameter]
            _set_node_prior(line.term[1], view, state, c, node)
            for j in range(size):
                line.term[1, VALUES + 2 * wide + j] = 1.0 if j == k else 0.0
            start, count, result = (
                state.centre[c, parameter] - state.w[c, parameter],
                view.total[c, parameter],
                line.result,
            )
            draw_along(line, n_states, count, start, False, 0.0, state.random)
            x = result[MOVE]
            state.centre[c, parameter] = result[CENTRE]
            state.numbers[LOG_LIKELIHOOD] += log_likelihood_gain(line, n_states, count, x)
            state.w[c, parameter] += x
            if keeps:
                state.moments[0, c, parameter] += result[MEAN]
                state.moments[1, c, parameter] += result[SQUARE]
            for group in range(tables.shape[0]):
                rate, total, factor = line.rate[0, group], 0.0, line.step[1]
                if rate == 0.0:
                    continue
                for a in range(n_states):
                    factor[a] = exp(rate * x * line.step[0, a])
                    total += line.weight[group, a] * factor[a]
                for a in range(n_states):
                    factor[a] /= total
                    line.weight[group, a] *= factor[a]
                multiply_pair(tables[group], place[0], n_states, 1, 1, place[1], factor)


@kernel
def move_block(view, blocks, state, line, tables, block, keeps):
    """Update all that belongs to a block; ``tables`` (G, cells) hold probabilities before and after."""
    for k in range(blocks.edge_offset[block], blocks.edge_offset[block + 1]):
        move_edge(view, state, line, tables, blocks.edge[k], keeps)
    for k in range(blocks.node_offset[block], blocks.node_offset[block + 1]):
        move_node(view, state, line, tables, blocks.node[k], keeps)


@kernel
def finish_sweep(state, keeps, n_thin, kept):
    """Count the sweep, close its batch, keep its draw."""
    counters = state.counters
    counters[SWEEP] += 1
    if not keeps:
        return
    state.sizes[counters[N_PRESENT]] += 1
    counters[BATCH_FILL] += 1
    if counters[BATCH_FILL] == counters[BATCH_LENGTH]:
        counters[BATCH_FILL] = 0
        counters[BATCH_ROW] += 1
        n_rows = state.batches.shape[0]
        if counters[BATCH_ROW] == n_rows:  # full: join neighbours, so that the batches grow with the run
            half = n_rows // 2
            for row in range(half):
                for j in range(state.batches.shape[1]):
                    state.batches[row, j] = state.batches[2 * row, j] + state.batches[2 * row + 1, j]
            for row in range(half, n_rows):
                for j in range(state.batches.shape[1]):
                    state.batches[row, j] = 0.0
            counters[BATCH_ROW] = half
            counters[BATCH_LENGTH] *= 2
    done = 0
    for size in range(state.sizes.size):
        done += state.sizes[size]
    if done % n_thin == 0:
        row = counters[KEPT] - kept.first
        j = 0
        for coordinate in range(state.w.shape[0]):
            for parameter in range(state.w.shape[1]):
                kept.w[row, j] = state.w[coordinate, parameter]
                j += 1
        kept.log_likelihood[row] = state.numbers[LOG_LIKELIHOOD]
        counters[KEPT] += 1
