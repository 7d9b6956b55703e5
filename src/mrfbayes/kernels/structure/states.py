"""The engine on all configurations, for fields of up to about 20 binary nodes.

The probabilities of all configurations are one table. Nodes come in groups of neighbouring digits, and a block is a
pair of groups: the table is summed to the block once, all edges and nodes of the block are updated on that small table,
and the ratio of the new to the old one is multiplied back. So the long loops run a few times per sweep, not once per
edge. At the start of each sweep the table is made anew from the log-odds: nothing drifts, and a chain is its log-odds
only.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mrfbayes.kernels.base.borrowed import borrow
from mrfbayes.kernels.base.fastmath import exp, log
from mrfbayes.kernels.base.jit import kernel
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
from mrfbayes.kernels.structure.updates import move_parameter


class StatesView(NamedTuple):
    """The table of all configurations and its blocks; scratch, made anew in every sweep."""

    shape: np.ndarray  # (B, 5) sizes of the table: before, first group, between, second group, after
    cells: np.ndarray  # (G, N) probabilities
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
    for k in range(table.size):
        table[k] = 0.0
    for i in range(blocks.offset[block], blocks.offset[block + 1]):
        index, w = view.layout[blocks.parameter[i]], log_odds[blocks.parameter[i]]
        if w != 0.0:
            for k in range(index[FIRST] * index[SECOND]):
                amount[k] = w * view.number[index[STATISTIC] + k]
            _add_pair(table, index[BEFORE], index[FIRST], index[BETWEEN], index[SECOND], index[AFTER], amount)
    top = table[0]
    for k in range(table.size):
        top = max(top, table[k])
    for k in range(table.size):
        table[k] = exp(table[k] - top)
    return top


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
def _build(view, blocks, engine, line, state):
    """All probabilities from the log-odds; the log-likelihood."""
    value = group_log_odds(view, state, engine.log_odds)
    for group in range(view.n.size):
        cells = engine.cells[group]
        for k in range(cells.size):
            cells[k] = 1.0
        log_z = 0.0
        for block in range(engine.shape.shape[0]):
            s = engine.shape[block]
            table = engine.tables[group, : s[1] * s[3]]
            log_z += block_weights(view, blocks, line, block, engine.log_odds[group], table)
            multiply_pair(cells, s[0], s[1], s[2], s[3], s[4], table)
            total = total_of(cells)
            log_z += log(total)
            scale(cells, 1.0 / total)
        value -= view.n[group] * log_z
    state.numbers[SEARCH_LOG_LIKELIHOOD] = value


@kernel
def run_states(view, blocks, engine, line, state, plan, kept):
    """``plan``: sweeps to do, sweeps of warm-up, and which sweeps are kept."""
    view, blocks, engine, line, state, kept = borrow((view, blocks, engine, line, state, kept))
    for _ in range(plan[0]):
        keeps = state.counters[SWEEP] >= plan[1]
        _build(view, blocks, engine, line, state)
        for block in range(engine.shape.shape[0]):
            s = engine.shape[block]
            size = s[1] * s[3]
            for group in range(view.n.size):
                table = engine.tables[group, :size]
                pair_marginal(engine.cells[group], s[0], s[1], s[2], s[3], s[4], table)
                scale(table, 1.0 / total_of(table))
            for group in range(view.n.size):
                for k in range(size):
                    engine.ratio[group, k] = engine.tables[group, k]
            for i in range(blocks.offset[block], blocks.offset[block + 1]):
                move_parameter(view, state, line, engine.tables, blocks.parameter[i], keeps)
            for group in range(view.n.size):
                ratio_to(engine.ratio[group, :size], engine.tables[group, :size])
                multiply_pair(engine.cells[group], s[0], s[1], s[2], s[3], s[4], engine.ratio[group, :size])
        finish_sweep(state, keeps, plan[2], kept)
