"""The engine for strips and narrow grids: one backward pass, then a forward pass in which everything is updated.

Nodes enter one after the other. The frontier is what has entered and still has neighbours to come; its table is all
that has to be known of the past, and a backward message says all that has to be known of the future. When a node
enters, the product of both is the joint probability of the new node and the frontier, on which the node and its edges
to the past are updated. What they change is part of the past from then on, so the backward messages stay right.
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
)
from mrfbayes.kernels.structure.table_weights import group_log_odds, ratio_to, scale, total_of


class FrontierView(NamedTuple):
    """The order of the nodes as sizes of tables; scratch for the messages."""

    size: np.ndarray  # (d,) configurations of the frontier and the node that enters, which is the slowest digit
    states: np.ndarray  # (d,) of the node that enters
    drop_offset: np.ndarray  # (d + 1,) into drop
    drop: np.ndarray  # (k, 3) digits summed out after a node has entered: sizes before, of, and after the digit
    back_offset: np.ndarray  # (d + 1,) into back
    back: np.ndarray  # (G, sum of the frontiers' sizes) backward message to the frontier that each node leaves behind
    forward: np.ndarray  # (G, largest size)
    tables: np.ndarray  # (G, largest size) joint probabilities
    spare: np.ndarray  # (G, largest size)
    log_odds: np.ndarray  # (G, p)


@kernel
def _sum_out(table, out, before, size, after):
    """Sum out a digit; ``out`` may be the table itself."""
    if after == 1 and size == 2:
        for h in range(before):
            out[h] = table[2 * h] + table[2 * h + 1]
        return
    for h in range(before):
        for k in range(after):
            total = 0.0
            for a in range(size):
                total += table[(h * size + a) * after + k]
            out[h * after + k] = total


@kernel
def _put_in(table, before, size, after):
    """Repeat a table over a digit that it does not depend on, in place, from the end: what `_sum_out` undoes."""
    for h in range(before - 1, -1, -1):
        for k in range(after - 1, -1, -1):
            value = table[h * after + k]
            for a in range(size - 1, -1, -1):
                table[(h * size + a) * after + k] = value


@kernel
def _expand(engine, step, group, out):
    """The backward message after ``step`` over all digits before those of the step are summed out."""
    begin, end = engine.back_offset[step], engine.back_offset[step + 1]
    copy_into(out, engine.back[group, begin:end])
    for k in range(engine.drop_offset[step + 1] - 1, engine.drop_offset[step] - 1, -1):
        _put_in(out, engine.drop[k, 0], engine.drop[k, 1], engine.drop[k, 2])


@kernel
def _multiply_factors(view, blocks, line, block, log_odds, table):
    """Multiply a table by a block's own factors, each relative to its largest; the sum of the logs of those."""
    amount, logs = line.step[1], 0.0
    for i in range(blocks.offset[block], blocks.offset[block + 1]):
        index, w = view.layout[blocks.parameter[i]], log_odds[blocks.parameter[i]]
        if w == 0.0:
            continue
        n_cells = index[FIRST] * index[SECOND]
        for k in range(n_cells):
            amount[k] = w * view.number[index[STATISTIC] + k]
        top, _ = exp_from_top(amount, n_cells)
        multiply_pair(table, index[BEFORE], index[FIRST], index[BETWEEN], index[SECOND], index[AFTER], amount)
        logs += top
    return logs


@kernel
def _backward(view, blocks, engine, line, group):
    """All backward messages of a group; its log Z."""
    log_z, table = 0.0, engine.spare[group]
    last = engine.size.size - 1
    engine.back[group, engine.back_offset[last]] = 1.0
    for step in range(last, -1, -1):
        _expand(engine, step, group, table)
        log_z += _multiply_factors(view, blocks, line, step, engine.log_odds[group], table)
        n_states = engine.states[step]
        size = engine.size[step] // n_states
        if step > 0:
            out = engine.back[group, engine.back_offset[step - 1] : engine.back_offset[step]]
            _sum_out(table, out, 1, n_states, size)
            total = total_of(out)
            scale(out, 1.0 / total)
        else:
            total = total_of(table[:n_states])
        log_z += log(total)
    return log_z


@kernel
def _enter(view, blocks, engine, line, group, step):
    """Let a node enter: the forward table with its factors, and the joint probabilities."""
    forward, table = engine.forward[group], engine.tables[group]
    n_states, size = engine.states[step], engine.size[step]
    frontier = size // n_states
    for a in range(1, n_states):
        for k in range(frontier):
            forward[a * frontier + k] = forward[k]
    _multiply_factors(view, blocks, line, step, engine.log_odds[group], forward)
    _expand(engine, step, group, table)
    for k in range(size):
        table[k] *= forward[k]
    scale(table[:size], 1.0 / total_of(table[:size]))


@kernel
def _leave(engine, group, step):
    """Carry what has changed over to the forward table, and sum out what has no neighbours to come."""
    size, forward = engine.size[step], engine.forward[group]
    ratio_to(engine.spare[group, :size], engine.tables[group, :size])
    for k in range(size):
        forward[k] *= engine.spare[group, k]
    for k in range(engine.drop_offset[step], engine.drop_offset[step + 1]):
        _sum_out(forward, forward, engine.drop[k, 0], engine.drop[k, 1], engine.drop[k, 2])
        size //= engine.drop[k, 1]
    scale(forward[:size], 1.0 / total_of(forward[:size]))


@kernel
def run_frontier(view, blocks, engine, line, state, plan, kept):
    """``plan``: sweeps to do, sweeps of warm-up, and which sweeps are kept."""
    view, blocks, engine, line, state, kept = without_refcount((view, blocks, engine, line, state, kept))
    for _ in range(plan[0]):
        keeps = state.counters[SWEEP] >= plan[1]
        value = group_log_odds(view, state, engine.log_odds)
        for group in range(view.n.size):
            value -= view.n[group] * _backward(view, blocks, engine, line, group)
            engine.forward[group, 0] = 1.0
        state.numbers[SEARCH_LOG_LIKELIHOOD] = value
        for step in range(engine.size.size):
            for group in range(view.n.size):
                _enter(view, blocks, engine, line, group, step)
                copy_into(engine.spare[group], engine.tables[group, : engine.size[step]])
            for i in range(blocks.offset[step], blocks.offset[step + 1]):
                move_parameter(view, state, line, engine.tables, blocks.parameter[i], keeps)
            for group in range(view.n.size):
                _leave(engine, group, step)
        finish_sweep(state, keeps, plan[2], kept)
