"""Full conditionals of a categorical field: log normalisers, probabilities and derivatives.

Each node's edge tables are first laid out with the node's own states side by side, `TablePatterns.width` of them, so
that a neighbour adds whole vectors to the potentials of a pattern; what is beyond the node's own states has a weight
of next to nothing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mrfbayes.base.views import Workspace
from mrfbayes.kernels.base.contracts import implements
from mrfbayes.kernels.base.fastmath import exp, log
from mrfbayes.kernels.base.jit import kernel
from mrfbayes.kernels.estimation.full_conditionals import conditional_sum, total

ABSENT_STATE = -1e6  # log potential of a state that is not there


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
    degree = first_row.size
    for k in range(share.shape[0]):
        for a in range(0, share.shape[1], 4):
            p, q, r, s = share[k, a], share[k, a + 1], share[k, a + 2], share[k, a + 3]
            for b in range(degree):
                row = first_row[b] + codes[k, b]
                out[row, a] += p
                out[row, a + 1] += q
                out[row, a + 2] += r
                out[row, a + 3] += s


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
        for row in range(rows[-1] + patterns.neighbour_states[high - 1] if high > low else 0):
            for a in range(patterns.width):
                table[row, a] = 0.0
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
