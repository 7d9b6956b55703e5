"""The engine where no sum over configurations is possible: weighted samples of the field at an anchor.

Each group of data has samples drawn at its anchor w0; at w a sample with statistics s weighs exp((w - w0).s), and the
weighted samples stand for the table of all configurations. As in `states`, a block of nodes is summed to its small
table once, everything in it is updated there, and the ratio is multiplied back: ``code`` says which cell of the block's
table a sample lies in.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mrfbayes.kernels.base.borrowed import borrow
from mrfbayes.kernels.base.fastmath import log
from mrfbayes.kernels.base.jit import kernel
from mrfbayes.kernels.structure.moves import SEARCH_LOG_LIKELIHOOD, SWEEP, finish_sweep
from mrfbayes.kernels.structure.states import block_weights, group_log_odds, ratio_to, scale, total_of
from mrfbayes.kernels.structure.updates import move_parameter

SMALLEST_WEIGHT = 1e-280  # of a sample: where all would round to zero, no sum of them could be divided by


class WeightedView(NamedTuple):
    """Samples as the cells in which they lie; weights are scratch, made anew in every sweep."""

    code: np.ndarray  # (G, B, M) uint16
    size: np.ndarray  # (B,) cells of each block
    anchor: np.ndarray  # (G, p) log-odds
    weight: np.ndarray  # (G, M)
    tables: np.ndarray  # (G, most cells of a block)
    ratio: np.ndarray  # (G, most cells of a block)
    log_odds: np.ndarray  # (G, p)


@kernel
def _multiply(weight, code, table):
    """Multiply each sample's weight by its cell's factor; the sum of the new weights."""
    total = 0.0
    for m in range(weight.size):
        weight[m] = max(weight[m] * table[code[m]], SMALLEST_WEIGHT)
        total += weight[m]
    return total


@kernel
def _sum_cells(weight, code, table):
    """Sum of the weights in each cell."""
    for k in range(table.size):
        table[k] = 0.0
    for m in range(weight.size):
        table[code[m]] += weight[m]


@kernel
def _build(view, blocks, engine, line, state):
    """All weights from the log-odds; the log-likelihood relative to the anchor."""
    value = group_log_odds(view, state, engine.log_odds)
    for group in range(view.n.size):
        weight, moved = engine.weight[group], engine.log_odds[group]
        for j in range(moved.size):
            value -= engine.anchor[group, j] * view.raw_count[group, j]
            moved[j] -= engine.anchor[group, j]
        for m in range(weight.size):
            weight[m] = 1.0 / weight.size
        log_ratio = 0.0
        for block in range(engine.size.size):
            table = engine.tables[group, : engine.size[block]]
            log_ratio += block_weights(view, blocks, line, block, moved, table)
            total = _multiply(weight, engine.code[group, block], table)
            log_ratio += log(total)
            scale(weight, 1.0 / total)
        value -= view.n[group] * log_ratio
    state.numbers[SEARCH_LOG_LIKELIHOOD] = value


@kernel
def run_weighted(view, blocks, engine, line, state, plan, kept):
    """``plan``: sweeps to do, sweeps of warm-up, and which sweeps are kept."""
    view, blocks, engine, line, state, kept = borrow((view, blocks, engine, line, state, kept))
    for _ in range(plan[0]):
        keeps = state.counters[SWEEP] >= plan[1]
        _build(view, blocks, engine, line, state)
        for block in range(engine.size.size):
            size = engine.size[block]
            for group in range(view.n.size):
                table = engine.tables[group, :size]
                _sum_cells(engine.weight[group], engine.code[group, block], table)
                scale(table, 1.0 / total_of(table))
                for k in range(size):
                    engine.ratio[group, k] = table[k]
            for i in range(blocks.offset[block], blocks.offset[block + 1]):
                move_parameter(view, state, line, engine.tables, blocks.parameter[i], keeps)
            for group in range(view.n.size):
                ratio_to(engine.ratio[group, :size], engine.tables[group, :size])
                _multiply(engine.weight[group], engine.code[group, block], engine.ratio[group, :size])
        finish_sweep(state, keeps, plan[2], kept)
