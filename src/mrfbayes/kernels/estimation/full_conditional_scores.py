"""Full conditionals of ordered variables whose couplings are w times the product of the two levels.

Given its neighbours a variable has log potential mu(a) + a f, f being the sum of couplings times the neighbours'
levels: one number a pattern, so one exponential, whose powers serve all levels. Patterns lie side by side for each
neighbour, so that sums over neighbours are sums of whole rows. A binary field is of the same form, with a coupling
that multiplies +1 where the neighbour is one and -1 where it is zero.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from mrfbayes.base.views import Workspace
from mrfbayes.kernels.base.contracts import implements
from mrfbayes.kernels.base.fastmath import exp, log
from mrfbayes.kernels.base.jit import kernel
from mrfbayes.kernels.base.linear import dot, largest_size
from mrfbayes.kernels.estimation.full_conditionals import conditional_sum, total

SAFE_CONDITIONAL_LOG_ODDS = 600.0  # powers of odds whose |logs| sum to less neither over- nor underflow


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
    for c in range(count):
        slope[c] = base
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
        for a in range(part.size):
            part[a] = 0.0
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
