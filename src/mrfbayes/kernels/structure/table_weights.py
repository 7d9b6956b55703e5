"""The engines on one table of weights: all configurations of the field, or samples of it that stand for them.

The probabilities of all configurations, for fields of up to about 20 binary nodes, are one table. Where no sum over
configurations is possible, each group of data has samples drawn at its anchor w0; at w a sample with statistics s
weighs exp((w - w0).s). Nodes come in groups, and a block is a pair of groups: the weights are summed to the block's
small table once, all edges and nodes of the block are updated there, and the ratio of the new to the old table is
multiplied back. So the long loops run a few times per sweep, not once per edge. At the start of each sweep the weights
are made anew from the log-odds: nothing drifts, and a chain is its log-odds only.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mrfbayes.kernels.base.fastmath import log
from mrfbayes.kernels.base.jit import kernel, without_refcount
from mrfbayes.kernels.base.linear import copy_into, exp_from_top
from mrfbayes.kernels.structure.joint import move_parameter
from mrfbayes.kernels.structure.moves import (
    AFTER,
    BEFORE,
    BETWEEN,
    FIRST,
    SEARCH_LOG_LIKELIHOOD,
    SECOND,
    STATISTIC,
    SWEEP,
    finish_sweep,
    multiply_pair,
    pair_marginal,
)

SMALLEST_WEIGHT = 1e-280  # of a sample: where all would round to zero, no sum of them could be divided by


class WeightsView(NamedTuple):
    """All weights and the tables of the blocks; scratch, made anew in every sweep."""

    # How each block lies in the table of all configurations: before, first group, between, second group, after. Of
    # samples: 1, cells of the block, 1, 1, 1.
    shape: np.ndarray  # (B, 5)
    code: np.ndarray  # (G, B, M) uint16, the cell of each block in which a sample lies; empty for all configurations
    anchor: np.ndarray  # (G, p) log-odds at which the weights are equal
    weight: np.ndarray  # (G, N)
    tables: np.ndarray  # (G, most cells of a block)
    ratio: np.ndarray  # (G, most cells of a block)
    log_odds: np.ndarray  # (G, p)


@kernel
def group_log_odds(view, state, out):
    """Log-odds of each group from the coordinates, and the log-likelihood of all groups but for their log Z."""
    value = 0.0
    for group in range(view.rate.shape[0]):
        for j in range(out.shape[1]):
            w = 0.0
            for coordinate in range(view.rate.shape[1]):
                w += view.rate[group, coordinate] * state.w[coordinate, j]
            out[group, j] = w
            value += w * view.raw_count[group, j]
    return value


@kernel
def _add_pair(table, before, first, between, second, after, amount):
    for h in range(before):
        for a in range(first):
            for m in range(between):
                for b in range(second):
                    start = (((h * first + a) * between + m) * second + b) * after
                    for k in range(start, start + after):
                        table[k] += amount[a * second + b]


@kernel
def block_weights(view, blocks, line, block, log_odds, table):
    """Weights of a block's own factors relative to the largest, and the log of the largest."""
    amount = line.step[1]
    table[:] = 0.0
    for i in range(blocks.offset[block], blocks.offset[block + 1]):
        index, w = view.layout[blocks.parameter[i]], log_odds[blocks.parameter[i]]
        if w != 0.0:
            for k in range(index[FIRST] * index[SECOND]):
                amount[k] = w * view.number[index[STATISTIC] + k]
            _add_pair(table, index[BEFORE], index[FIRST], index[BETWEEN], index[SECOND], index[AFTER], amount)
    return exp_from_top(table, table.size)[0]


@kernel(fastmath={"reassoc"})
def total_of(values):
    """Their sum."""
    total = 0.0
    for k in range(values.size):
        total += values[k]
    return total


@kernel
def scale(values, factor):
    """Multiply all by ``factor``."""
    for k in range(values.size):
        values[k] *= factor


@kernel
def ratio_to(old, new):
    """``old`` becomes new / old; a cell that cannot be told from zero stays as it is."""
    for k in range(new.size):
        old[k] = new[k] / old[k] if old[k] > 1e-300 else 1.0


@kernel
def multiply_weights(engine, group, block, table):
    """Multiply each weight by the factor of its cell."""
    s, weight = engine.shape[block], engine.weight[group]
    if engine.code.size == 0:
        multiply_pair(weight, s[0], s[1], s[2], s[3], s[4], table)
        return
    code = engine.code[group, block]
    for m in range(weight.size):
        weight[m] = max(weight[m] * table[code[m]], SMALLEST_WEIGHT)


@kernel
def _sum_weights(engine, group, block, table):
    """Sum the weights in each cell, relative to the sum of all."""
    s, weight = engine.shape[block], engine.weight[group]
    if engine.code.size == 0:
        pair_marginal(weight, s[0], s[1], s[2], s[3], s[4], table)
    else:
        code = engine.code[group, block]
        table[:] = 0.0
        for m in range(weight.size):
            table[code[m]] += weight[m]
    scale(table, 1.0 / total_of(table))


@kernel
def _build(view, blocks, engine, line, state):
    """All weights from the log-odds; the log-likelihood, of samples relative to the anchor."""
    value = group_log_odds(view, state, engine.log_odds)
    for group in range(view.n.size):
        weight, moved = engine.weight[group], engine.log_odds[group]
        for j in range(moved.size):
            value -= engine.anchor[group, j] * view.raw_count[group, j]
            moved[j] -= engine.anchor[group, j]
        start = 1.0 if engine.code.size == 0 else 1.0 / weight.size
        for m in range(weight.size):
            weight[m] = start
        log_z = 0.0
        for block in range(engine.shape.shape[0]):
            table = engine.tables[group, : engine.shape[block, 1] * engine.shape[block, 3]]
            log_z += block_weights(view, blocks, line, block, moved, table)
            multiply_weights(engine, group, block, table)
            total = total_of(weight)
            log_z += log(total)
            scale(weight, 1.0 / total)
        value -= view.n[group] * log_z
    state.numbers[SEARCH_LOG_LIKELIHOOD] = value


@kernel
def run_tables(view, blocks, engine, line, state, plan, kept):
    """``plan``: sweeps to do, sweeps of warm-up, and which sweeps are kept."""
    view, blocks, engine, line, state, kept = without_refcount((view, blocks, engine, line, state, kept))
    for _ in range(plan[0]):
        keeps = state.counters[SWEEP] >= plan[1]
        _build(view, blocks, engine, line, state)
        for block in range(engine.shape.shape[0]):
            size = engine.shape[block, 1] * engine.shape[block, 3]
            for group in range(view.n.size):
                table = engine.tables[group, :size]
                _sum_weights(engine, group, block, table)
                copy_into(engine.ratio[group], table)
            for i in range(blocks.offset[block], blocks.offset[block + 1]):
                move_parameter(view, state, line, engine.tables, blocks.parameter[i], keeps)
            for group in range(view.n.size):
                ratio_to(engine.ratio[group, :size], engine.tables[group, :size])
                multiply_weights(engine, group, block, engine.ratio[group, :size])
        finish_sweep(state, keeps, plan[2], kept)
