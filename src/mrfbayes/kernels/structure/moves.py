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
from mrfbayes.kernels.base.linear import copy_into
from mrfbayes.kernels.structure.line import (
    ABSENT,
    KIND,
    LOG_ODDS,
    MEAN,
    PROBABILITY,
    SIZE,
    SQUARE,
    VALUES,
)

# Places in SearchState.counters
SWEEP, N_PRESENT, KEPT_GRAPHS, BATCH_ROW, BATCH_FILL, BATCH_LENGTH = range(6)
N_MOVE_COUNTERS = 6
# Places in SearchState.numbers
SEARCH_LOG_LIKELIHOOD = 0
N_MOVE_NUMBERS = 1


# Columns of MoveView.layout
FIRST_NODE, SECOND_NODE, FIRST, SECOND, BEFORE, BETWEEN, AFTER = range(7)
EDGE_STEP, STATISTIC, FIRST_SHIFT, SECOND_SHIFT = range(7, 11)
# Columns of MoveView.node
OWN, N_OWN = range(2)


class MoveView(NamedTuple):
    """The field, the data and the priors, as the moves see them. Those of the m edges are the first parameters."""

    n: np.ndarray  # (G,) numbers of observations
    rate: np.ndarray  # (G, C) of each group along each coordinate
    total: np.ndarray  # (C, p) sums over groups of rate * statistic; edges centred
    raw_count: np.ndarray  # (G, p) sufficient statistics
    # Nodes (the second is -1 where there is none), their numbers of states, how they lie in the table of the block, and
    # where step, statistic and the shifts of the nodes' own parameters start in number.
    layout: np.ndarray  # (p, 11)
    node: np.ndarray  # (d, 2) first parameter of its own, and how many it has
    number: np.ndarray  # steps and statistics (cells in the order of the nodes) and shifts, one after the other
    edge: np.ndarray  # (m, 2) first parameter, and how many it has
    edge_of: np.ndarray  # (p,) the edge of each parameter; -1 for node parameters
    slab: np.ndarray  # (C, p, 5) kind, three parameters, log of the edge's constant; no kind for node parameters
    node_prior: np.ndarray  # (C, d, 1 + R) kind and parameters
    has_spike: np.ndarray  # (C,) whether the edges' coordinate may be absent
    log_prior_odds: np.ndarray  # (m,) of presence; not used where edge_counts are positive
    edge_counts: np.ndarray  # (2,) a and b of a beta-bernoulli prior, else zeros


class BlockView(NamedTuple):
    """Which parameters each block updates: ``parameter[offset[b]:offset[b + 1]]``."""

    offset: np.ndarray  # (B + 1,)
    parameter: np.ndarray


class SearchState(NamedTuple):
    """What changes from sweep to sweep."""

    w: np.ndarray  # (C, p) log-odds
    present: np.ndarray  # (m,) uint8
    centre: np.ndarray  # (C, p) modes of the last conditionals: where the next search starts
    batches: np.ndarray  # (N, m) sums of P(present | rest) over batches of sweeps
    absent: np.ndarray  # (m,) sum of P(absent | rest)
    moments: np.ndarray  # (2, C, p) sums of conditional means and mean squares, absence counted as zero
    sizes: np.ndarray  # (m + 1,) sweeps that ended with so many edges
    numbers: np.ndarray  # (N_MOVE_NUMBERS,) float64
    counters: np.ndarray  # (N_MOVE_COUNTERS,) int64
    random: np.ndarray  # (4,) uint64


class KeptSweeps(NamedTuple):
    """Where a chunk puts its draws; row 0 is the chain's draw number ``first``."""

    w: np.ndarray  # (rows, C * p)
    log_likelihood: np.ndarray  # (rows,)
    first: int


@kernel(fastmath={"reassoc", "contract"})
def pair_marginal(table, before, first, between, second, after, out):
    """Sum a table (before, first, between, second, after) to the (first, second) cells ``out``."""
    out[: first * second] = 0.0
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
def log_odds_of_presence(view, n_others):
    """Prior log-odds of an edge under beta-bernoulli, given how many of the others are there."""
    a, b = view.edge_counts[0], view.edge_counts[1]
    n_absent = view.log_prior_odds.size - 1 - n_others
    return math.log((a + n_others) / (b + n_absent))


@kernel
def set_line(view, state, line, parameter, c):
    """The line along coordinate c of a parameter: rates, its slab, and the node factors that move with it."""
    for group in range(view.n.size):
        line.rate[0, group] = view.rate[group, c]
        line.rate[1, group] = view.n[group]
    wide = (line.term.shape[1] - VALUES) // 3
    edge = view.edge_of[parameter]
    first, own = (view.edge[edge, 0], view.edge[edge, 1]) if edge >= 0 else (parameter, 1)
    line.term[0, KIND], line.term[0, SIZE] = view.slab[c, parameter, 0], own
    copy_into(line.term[0, VALUES:], view.slab[c, parameter, 1 : 1 + min(wide, 3)])
    for k in range(own):
        line.term[0, VALUES + wide + k] = state.w[c, first + k]
        line.term[0, VALUES + 2 * wide + k] = 1.0 if first + k == parameter else 0.0
    for which in range(2):
        node, start = view.layout[parameter, FIRST_NODE + which], view.layout[parameter, FIRST_SHIFT + which]
        size = view.node[node, N_OWN] if node >= 0 else 0
        line.term[1 + which, SIZE] = size
        line.term[1 + which, KIND] = view.node_prior[c, node, 0] if size > 0 else ABSENT
        if size > 0:
            copy_into(line.term[1 + which, VALUES:], view.node_prior[c, node, 1:])
        for k in range(size):
            line.term[1 + which, VALUES + wide + k] = state.w[c, view.node[node, OWN] + k]
            line.term[1 + which, VALUES + 2 * wide + k] = -view.number[start + k]


@kernel
def follow(view, state, line, tables, parameter, c, x):
    """Carry a move by x over to the node factors, to the cells of the line and to the tables."""
    index, factor, wide = view.layout[parameter], line.step[1], (line.term.shape[1] - VALUES) // 3
    n_cells = index[FIRST] * index[SECOND]
    for which in range(2):
        for k in range(int(line.term[1 + which, SIZE])):
            own = view.node[index[FIRST_NODE + which], OWN] + k
            state.w[c, own] += x * line.term[1 + which, VALUES + 2 * wide + k]
    for group in range(tables.shape[0]):
        rate = line.rate[0, group]
        if rate == 0.0:
            continue
        total = 0.0
        for k in range(n_cells):
            factor[k] = exp(rate * x * line.step[0, k])
            total += line.weight[group, k] * factor[k]
        state.numbers[SEARCH_LOG_LIKELIHOOD] -= view.n[group] * math.log(total)
        for k in range(n_cells):
            factor[k] /= total
            line.weight[group, k] *= factor[k]
        table = tables[group]
        multiply_pair(table, index[BEFORE], index[FIRST], index[BETWEEN], index[SECOND], index[AFTER], factor)


@kernel
def record(state, line, parameter, c, edge):
    """Add what the conditional says to the running sums; ``edge`` is -1 where it says nothing of presence."""
    result = line.result
    probability, log_odds = result[PROBABILITY], result[LOG_ODDS]
    state.moments[0, c, parameter] += probability * result[MEAN]
    state.moments[1, c, parameter] += probability * result[SQUARE]
    if edge >= 0:
        state.batches[state.counters[BATCH_ROW], edge] += probability
        state.absent[edge] += probability * math.exp(-log_odds) if log_odds > 0.0 else 1.0 - probability


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
            state.batches[half:] = 0.0
            counters[BATCH_ROW] = half
            counters[BATCH_LENGTH] *= 2
    if state.sizes.sum() % n_thin == 0:
        row = counters[KEPT_GRAPHS] - kept.first
        copy_into(kept.w[row], state.w.reshape(-1))
        kept.log_likelihood[row] = state.numbers[SEARCH_LOG_LIKELIHOOD]
        counters[KEPT_GRAPHS] += 1
