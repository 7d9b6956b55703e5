"""Sums over full conditionals: log normalisers of every node, one per distinct state of its neighbours.

Two kinds of fields have kernels of their own. Ordered variables whose couplings are w times the product of the two
levels have log potentials mu(a) + a f given their neighbours, f being the sum of couplings times the neighbours'
levels: one number a pattern, so one exponential, whose powers serve all levels. Patterns lie side by side for each
neighbour, so that sums over neighbours are sums of whole rows. A binary field is of the same form, with a coupling that
multiplies +1 where the neighbour is one and -1 where it is zero (`ScorePatterns`).

Of a categorical field each node's edge tables are first laid out with the node's own states side by side,
`TablePatterns.width` of them, so that a neighbour adds whole vectors to the potentials of a pattern; what is beyond the
node's own states has a weight of next to nothing.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from mrfbayes.base.types import Workspace
from mrfbayes.kernels.base.contracts import dispatched, implements
from mrfbayes.kernels.base.fastmath import exp, log
from mrfbayes.kernels.base.jit import kernel
from mrfbayes.kernels.base.linear import dot, largest_size

SAFE_CONDITIONAL_LOG_ODDS = 600.0  # powers of odds whose |logs| sum to less neither over- nor underflow
ABSENT_STATE = -1e6  # log potential of a state that is not there


class Neighbours(NamedTuple):
    """Edge to the b-th neighbour of node i: ``edge[offset[i] + b]``."""

    offset: np.ndarray  # (d+1,)
    edge: np.ndarray  # (2m,)


@dispatched
def conditional_sum(patterns, neighbours, node_table, edge_table, node_part, edge_part):
    """Sum over the patterns of weight times log normaliser; adds its derivatives to ``node_part`` and ``edge_part``."""


@kernel(fastmath={"reassoc"})
def total(values):
    """Sum of an array, in any order."""
    found = 0.0
    for value in values:
        found += value
    return found


class ScorePatterns(NamedTuple):
    """Neighbour levels of ordered variables, (degree, patterns) one node after another."""

    states: np.ndarray  # (d,)
    node_offset: np.ndarray  # (d+1,) into the node table; of a binary field numbers of the nodes
    unit: np.ndarray  # (2m,) cell of the edge table that holds the coupling: both levels are one there
    pattern_offset: np.ndarray  # (d+1,)
    level_start: np.ndarray  # (d+1,)
    level: np.ndarray  # uint8
    weight: np.ndarray
    mean: Workspace  # (largest number of patterns of a node,) weight times the expected level
    work: Workspace  # (4, largest number of patterns of a node)
    levels: Workspace  # (2, largest number of states) log potentials of a node's levels, and their weighted sums
    is_binary: bool  # fields and couplings instead of tables


@kernel
def _add_scaled(out, scale, level):
    for c in range(out.size):
        out[c] += scale * level[c]


@kernel
def _by_powers(table, weight, slope, mean, work, level_part):
    """Log normalisers, weighted, of potentials ``table[a]`` + a ``slope[c]``, by powers of exp(slope).

    Adds weighted probabilities to ``level_part``, and leaves weighted means in ``mean``.
    """
    odds, norm, power = work
    top = table[0]
    for value in table:
        top = max(top, value)
    for c in range(slope.size):
        odds[c] = exp(slope[c])
        norm[c] = 0.0
        mean[c] = 0.0
    for a in range(table.size - 1, -1, -1):
        weight_a = exp(table[a] - top)
        for c in range(slope.size):
            norm[c] = norm[c] * odds[c] + weight_a
    for c in range(slope.size):
        power[c] = weight[c] / norm[c]
        norm[c] = weight[c] * (log(norm[c]) + top)
    for a in range(table.size):
        weight_a = exp(table[a] - top)
        level_part[a] += weight_a * total(power)
        share = a * weight_a
        for c in range(slope.size):
            mean[c] += share * power[c]
            power[c] *= odds[c]
    return total(norm)


@kernel
def _by_logs(table, weight, slope, mean, level_part):
    """Sum of weight times log normaliser, and its derivatives, where slopes are so large that powers might overflow."""
    result = 0.0
    for c in range(slope.size):
        top = table[0]
        for a in range(1, table.size):
            top = max(top, table[a] + a * slope[c])
        norm = 0.0
        for a in range(table.size):
            norm += math.exp(table[a] + a * slope[c] - top)
        result += weight[c] * (top + math.log(norm))
        mean[c] = 0.0
        for a in range(table.size):
            share = weight[c] * math.exp(table[a] + a * slope[c] - top) / norm
            level_part[a] += share
            mean[c] += a * share
    return result


@kernel
def _fill_node(neighbours, patterns, i, node_table, edge_table):
    """Fill the log potentials of node i's levels and the slopes of its patterns; returns both."""
    count = patterns.pattern_offset[i + 1] - patterns.pattern_offset[i]
    table, slope = patterns.levels[0, : patterns.states[i]], patterns.work[0, :count]
    first, stop = neighbours.offset[i], neighbours.offset[i + 1]
    base = 0.0
    if patterns.is_binary:
        table[0], table[1] = 0.0, node_table[i]
        for slot in range(first, stop):
            base -= edge_table[patterns.unit[slot]]
    else:
        for a in range(table.size):
            table[a] = node_table[patterns.node_offset[i] + a]
    slope[:] = base
    at = patterns.level_start[i]
    for slot in range(first, stop):
        coupling = edge_table[patterns.unit[slot]]
        _add_scaled(slope, 2.0 * coupling if patterns.is_binary else coupling, patterns.level[at : at + count])
        at += count
    return table, slope


@implements(conditional_sum, ScorePatterns)
@kernel
def score_sum(patterns, neighbours, node_table, edge_table, node_part, edge_part):
    """Sum of weight times log normaliser; all derivatives of an edge go to the one cell that holds its coupling."""
    result = 0.0
    for i in range(patterns.states.size):
        first, stop = patterns.pattern_offset[i], patterns.pattern_offset[i + 1]
        count = stop - first
        table, slope = _fill_node(neighbours, patterns, i, node_table, edge_table)
        part, mean, weight = patterns.levels[1, : table.size], patterns.mean[:count], patterns.weight[first:stop]
        part[:] = 0.0
        if table.size * largest_size(slope) < SAFE_CONDITIONAL_LOG_ODDS:
            work = (patterns.work[1, :count], patterns.work[2, :count], patterns.work[3, :count])
            result += _by_powers(table, weight, slope, mean, work, part)
        else:
            result += _by_logs(table, weight, slope, mean, part)
        everything = 0.0
        if patterns.is_binary:
            everything = part[1]
            node_part[i] += everything
        else:
            for a in range(part.size):
                node_part[patterns.node_offset[i] + a] += part[a]
        at = patterns.level_start[i]
        for slot in range(neighbours.offset[i], neighbours.offset[i + 1]):
            product = dot(mean, patterns.level[at : at + count])
            edge_part[patterns.unit[slot]] += 2.0 * product - everything if patterns.is_binary else product
            at += count
    return result


@kernel
def score_variances(patterns, neighbours, node_table, edge_table, node_part, edge_part):
    """Add the conditional variances of every node's indicators, and of each edge's statistic from both its ends."""
    for i in range(patterns.states.size):
        table, slope = _fill_node(neighbours, patterns, i, node_table, edge_table)
        for c in range(slope.size):
            top, norm, first, second = table[0], 0.0, 0.0, 0.0
            for a in range(1, table.size):
                top = max(top, table[a] + a * slope[c])
            for a in range(table.size):
                norm += math.exp(table[a] + a * slope[c] - top)
            weight = patterns.weight[patterns.pattern_offset[i] + c]
            for a in range(table.size):
                share = math.exp(table[a] + a * slope[c] - top) / norm
                first, second = first + a * share, second + a * a * share
                if not patterns.is_binary:
                    node_part[patterns.node_offset[i] + a] += weight * share * (1.0 - share)
            variance = weight * (second - first * first)
            if patterns.is_binary:
                node_part[i] += variance
            for slot in range(neighbours.offset[i], neighbours.offset[i + 1]):
                at = patterns.level_start[i] + (slot - neighbours.offset[i]) * slope.size + c
                level = 1.0 if patterns.is_binary else float(patterns.level[at])
                edge_part[patterns.unit[slot]] += level * level * variance


class TablePatterns(NamedTuple):
    """Neighbour states of a categorical field; cell of edge slot b: ``start[b] + other * across[b] + a * along[b]``."""

    states: np.ndarray  # (d,)
    node_offset: np.ndarray  # (d+1,) into the node table
    neighbour_states: np.ndarray  # (2m,)
    start: np.ndarray  # (2m,)
    across: np.ndarray  # (2m,)
    along: np.ndarray  # (2m,)
    pattern_offset: np.ndarray  # (d+1,)
    code_start: np.ndarray  # (d+1,)
    code: np.ndarray  # uint8, one per neighbour
    weight: np.ndarray
    width: int  # of a row of potentials: the largest number of states, rounded up to whole vectors of four
    share: Workspace  # (patterns, width) weight times the probability of each state, at the last evaluation
    table: Workspace  # (largest number of states of a node's neighbours in all, width)


@kernel
def _lay_out(neighbours, patterns, node, edge_table, out):
    """Rows of ``out``: for each neighbour, then each state of it, the log potentials of all states of ``node``."""
    row = 0
    for slot in range(neighbours.offset[node], neighbours.offset[node + 1]):
        for other in range(patterns.neighbour_states[slot]):
            cell = patterns.start[slot] + other * patterns.across[slot]
            for a in range(patterns.states[node]):
                out[row, a] = edge_table[cell + a * patterns.along[slot]]
            for a in range(patterns.states[node], out.shape[1]):
                out[row, a] = 0.0
            row += 1


@kernel
def _add_potentials(first_row, codes, table, out):
    """``out`` (k, width) += the rows of ``table`` that the neighbours of each pattern select."""
    degree = first_row.size
    for k in range(out.shape[0]):
        for a in range(0, out.shape[1], 4):
            p, q, r, s = 0.0, 0.0, 0.0, 0.0
            for b in range(degree):
                row = first_row[b] + codes[k, b]
                p += table[row, a]
                q += table[row, a + 1]
                r += table[row, a + 2]
                s += table[row, a + 3]
            out[k, a] += p
            out[k, a + 1] += q
            out[k, a + 2] += r
            out[k, a + 3] += s


@kernel
def _normalise(weight, states, rows):
    """Potentials ``rows`` (k, width) become weight times probability; returns the weighted sum of log normalisers."""
    result = 0.0
    for k in range(rows.shape[0]):
        top = rows[k, 0]
        for a in range(1, states):
            top = max(top, rows[k, a])
        for a in range(rows.shape[1]):
            rows[k, a] -= top
        result += weight[k] * top
    flat = rows.reshape(rows.size)
    for c in range(flat.size):
        flat[c] = exp(flat[c])
    for k in range(rows.shape[0]):
        norm = 0.0
        for a in range(states):
            norm += rows[k, a]
        scale = weight[k] / norm
        for a in range(rows.shape[1]):
            rows[k, a] *= scale
        result += weight[k] * log(norm)
    return result


@kernel
def _first_rows(neighbours, patterns, node):
    """Row of `_lay_out` at which each neighbour's states start."""
    first, stop = neighbours.offset[node], neighbours.offset[node + 1]
    rows = np.zeros(stop - first, dtype=np.int64)
    for b in range(1, stop - first):
        rows[b] = rows[b - 1] + patterns.neighbour_states[first + b - 1]
    return rows


@kernel
def _scatter(first_row, codes, share, out):
    """The transpose of `_add_potentials`: rows of ``out`` += shares of the patterns that select them."""
    for k in range(share.shape[0]):
        for b in range(first_row.size):
            row = first_row[b] + codes[k, b]
            for a in range(share.shape[1]):
                out[row, a] += share[k, a]


@kernel
def table_expectations(neighbours, patterns, node_part, edge_part):
    """Add the shares that `table_sum` left to the cells that they belong to, each edge's from both its ends."""
    for i in range(patterns.states.size):
        r, base = patterns.states[i], patterns.node_offset[i]
        first, stop = patterns.pattern_offset[i], patterns.pattern_offset[i + 1]
        share = patterns.share[first:stop]
        for a in range(r):
            node_part[base + a] += total(share[:, a])
        low, high = neighbours.offset[i], neighbours.offset[i + 1]
        codes = patterns.code[patterns.code_start[i] : patterns.code_start[i + 1]].reshape((stop - first, high - low))
        table = patterns.table
        rows = _first_rows(neighbours, patterns, i)
        table[: rows[-1] + patterns.neighbour_states[high - 1] if high > low else 0] = 0.0
        _scatter(rows, codes, share, table)
        row = 0
        for slot in range(low, high):
            for other in range(patterns.neighbour_states[slot]):
                cell = patterns.start[slot] + other * patterns.across[slot]
                for a in range(r):
                    edge_part[cell + a * patterns.along[slot]] += table[row, a]
                row += 1


@implements(conditional_sum, TablePatterns)
@kernel
def table_sum(patterns, neighbours, node_table, edge_table, node_part, edge_part):
    """Sum of weight times log sum_a exp(potential of a), with derivatives; fills ``patterns.share``."""
    result = 0.0
    for i in range(patterns.states.size):
        r, base = patterns.states[i], patterns.node_offset[i]
        first, stop = patterns.pattern_offset[i], patterns.pattern_offset[i + 1]
        share = patterns.share[first:stop]
        for k in range(stop - first):
            for a in range(r):
                share[k, a] = node_table[base + a]
            for a in range(r, patterns.width):
                share[k, a] = ABSENT_STATE
        degree = neighbours.offset[i + 1] - neighbours.offset[i]
        codes = patterns.code[patterns.code_start[i] : patterns.code_start[i + 1]].reshape((stop - first, degree))
        _lay_out(neighbours, patterns, i, edge_table, patterns.table)
        _add_potentials(_first_rows(neighbours, patterns, i), codes, patterns.table, share)
        result += _normalise(patterns.weight[first:stop], r, share)
    table_expectations(neighbours, patterns, node_part, edge_part)
    return result
