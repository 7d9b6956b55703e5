"""Full conditionals of ordered variables whose couplings are w times the product of the two levels.

Given its neighbours a variable has log potential mu(a) + a f, f being the sum of couplings times the neighbours'
levels: one number a pattern, so one exponential, whose powers serve all levels. Patterns lie side by side for each
neighbour, so that sums over neighbours are sums of whole rows.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from mrfbayes.base.views import Workspace
from mrfbayes.kernels.base.fastmath import exp, log
from mrfbayes.kernels.base.jit import kernel
from mrfbayes.kernels.base.linear import dot, largest_size
from mrfbayes.kernels.estimation.full_conditionals import SAFE_CONDITIONAL_LOG_ODDS, total


class ScorePatterns(NamedTuple):
    """Neighbour levels of ordered variables, (degree, patterns) one node after another."""

    states: np.ndarray  # (d,)
    node_offset: np.ndarray  # (d+1,) into the node table
    unit: np.ndarray  # (2m,) cell of the edge table at which both levels are one: there stands the coupling itself
    pattern_offset: np.ndarray  # (d+1,)
    level_start: np.ndarray  # (d+1,)
    level: np.ndarray  # uint8
    weight: np.ndarray
    mean: Workspace  # like weight: weight times the expected level, at the last evaluation
    work: Workspace  # (4, largest number of patterns of a node)


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
def score_expectations(neighbours, patterns, node_table, edge_table, node_part, edge_part):
    """Sum over `ScorePatterns` of weight times log normaliser.

    Adds its derivatives to ``node_part`` and, all of an edge's in the one cell that stands for its coupling, to
    ``edge_part``.
    """
    result = 0.0
    for i in range(patterns.states.size):
        first, stop = patterns.pattern_offset[i], patterns.pattern_offset[i + 1]
        count, at = stop - first, patterns.level_start[i]
        weight, mean = patterns.weight[first:stop], patterns.mean[first:stop]
        slope = patterns.work[0, :count]
        for c in range(count):
            slope[c] = 0.0
        for slot in range(neighbours.offset[i], neighbours.offset[i + 1]):
            _add_scaled(slope, edge_table[patterns.unit[slot]], patterns.level[at : at + count])
            at += count
        low, high = patterns.node_offset[i], patterns.node_offset[i + 1]
        table, part = node_table[low:high], node_part[low:high]
        if (high - low) * largest_size(slope) < SAFE_CONDITIONAL_LOG_ODDS:
            work = (patterns.work[1, :count], patterns.work[2, :count], patterns.work[3, :count])
            result += _by_powers(table, weight, slope, mean, work, part)
        else:
            result += _by_logs(table, weight, slope, mean, part)
        at = patterns.level_start[i]
        for slot in range(neighbours.offset[i], neighbours.offset[i + 1]):
            edge_part[patterns.unit[slot]] += dot(mean, patterns.level[at : at + count])
            at += count
    return result
