r"""Gibbs sampling of many particles of a categorical field at once: any numbers of states, any pairwise tables.

.. math:: P(x_i = a \mid \text{rest}) \propto \exp\Big(t_i(a) + \sum_j t_{ij}(a, x_j)\Big)

Particles, blocks and streams are those of `kernels.particles.gibbs`. Tables are looked up lane by lane; exponentials,
sums and the choice of the state run on all lanes at once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mrfbayes.base.types import Workspace
from mrfbayes.kernels.base.fastmath import exp
from mrfbayes.kernels.base.jit import kernel
from mrfbayes.kernels.particles.bitgibbs import FROM_THE_FIRST, block_streams
from mrfbayes.kernels.particles.gibbs import (
    LANES,
    STREAM_WORDS,
    ColumnCounts,
    fill_uniform,
    start_stream,
    to_fixed_point,
)

_ZERO, _ONE = np.uint64(0), np.uint64(1)


class TableView(NamedTuple):
    """A categorical field. Write to `node_table` and `edge_table` between sweeps to change it."""

    offset: np.ndarray  # (d + 1,) int64: the neighbours of i are entries offset[i] .. offset[i + 1]
    neighbour: np.ndarray  # (2m,) int64
    edge: np.ndarray  # (2m,) int64: index of the edge to that neighbour
    is_row: np.ndarray  # (2m,) bool: whether the node, not its neighbour, indexes the rows of the edge's table
    node_offset: np.ndarray  # (d + 1,) int64: where a node's table starts
    edge_offset: np.ndarray  # (m + 1,) int64: where an edge's table starts
    node_table: Workspace  # flat log weights
    edge_table: Workspace  # flat log weights, row-major


@kernel
def site_weights(view, node, x, weights, largest):
    """Unnormalised P(x_node = a | rest) into weights[a * LANES + k] for every lane k of ``x`` (d * LANES,) uint64.

    The largest of each lane is one. Returns the number of states.
    """
    start = view.node_offset[node]
    n_states = view.node_offset[node + 1] - start
    table = view.edge_table
    for a in range(n_states):
        weights[LANES * a : LANES * (a + 1)] = view.node_table[start + a]
    for position in range(view.offset[node], view.offset[node + 1]):
        other, edge = view.neighbour[position], view.edge[position]
        n_others = view.node_offset[other + 1] - view.node_offset[other]
        step_here, step_there = (n_others, 1) if view.is_row[position] else (1, n_states)
        lanes = np.uint64(LANES * other)
        step = np.uint64(step_there)
        for a in range(n_states):
            base = np.uint64(view.edge_offset[edge] + a * step_here)
            row = np.uint64(LANES * a)
            for i in range(LANES):
                k = np.uint64(i)
                weights[row + k] += table[base + step * x[lanes + k]]
    largest[:] = weights[:LANES]
    for a in range(1, n_states):
        row = np.uint64(LANES * a)
        for i in range(LANES):
            k = np.uint64(i)
            largest[k] = max(largest[k], weights[row + k])
    for a in range(n_states):
        row = np.uint64(LANES * a)
        for i in range(LANES):
            k = np.uint64(i)
            weights[row + k] = exp(weights[row + k] - largest[k])
    return n_states


@kernel
def _choose(weights, n_states, uniform, total, cumulative, x, node):
    """Inverse of the cumulative weights; leaves the total of each lane in ``total``."""
    total[:] = 0.0
    for a in range(n_states):
        row = np.uint64(LANES * a)
        for i in range(LANES):
            k = np.uint64(i)
            total[k] += weights[row + k]
    lanes = np.uint64(LANES * node)
    cumulative[:] = 0.0
    for i in range(LANES):
        k = np.uint64(i)
        uniform[k] *= total[k]
        x[lanes + k] = _ZERO
    for a in range(n_states - 1):
        row = np.uint64(LANES * a)
        for i in range(LANES):
            k = np.uint64(i)
            reached = cumulative[k] + weights[row + k]
            cumulative[k] = reached
            x[lanes + k] += _ONE if reached <= uniform[k] else _ZERO


@kernel
def _count(view, node, n_states, weights, total, x, real, counts, cells):
    """Rao-Blackwellised counts of one update, from weights and their totals."""
    start = view.node_offset[node]
    for a in range(n_states):
        row = LANES * a
        mass = 0.0
        for k in range(real):
            weights[row + k] /= total[k]
            mass += weights[row + k]
        counts.nodes[start + a] += to_fixed_point(mass)
    for position in range(view.offset[node], view.offset[node + 1]):
        other, edge = view.neighbour[position], view.edge[position]
        n_others = view.node_offset[other + 1] - view.node_offset[other]
        step_here, step_there = (n_others, 1) if view.is_row[position] else (1, n_states)
        lanes = LANES * other
        cells[: n_states * n_others] = 0.0
        for a in range(n_states):
            row = LANES * a
            for k in range(real):
                cells[a * step_here + step_there * np.int64(x[lanes + k])] += weights[row + k]
        base = view.edge_offset[edge]
        for cell in range(n_states * n_others):
            counts.edges[base + cell] += to_fixed_point(0.5 * cells[cell])  # the other end adds the other half


@kernel
def table_blocks(view, x, n_sweeps, states, first, last, counts):
    """Sweeps of blocks first .. last of the particles ``x``; adds to ``counts`` unless its arrays are empty."""
    n_nodes, n = x.shape
    counting = counts.nodes.size > 0
    most = np.int64(0)
    for node in range(n_nodes):
        most = max(most, view.node_offset[node + 1] - view.node_offset[node])
    weights = np.empty(most * LANES)
    largest, total, cumulative = np.empty(LANES), np.empty(LANES), np.empty(LANES)
    cells = np.empty(most * most)
    lanes_x = np.empty(n_nodes * LANES, np.uint64)
    stream = np.empty(STREAM_WORDS, np.uint64)
    uniform = np.empty(LANES)
    for block in range(first, last):
        begin = LANES * block
        real = min(LANES, n - begin)
        lanes_x[:] = 0
        for node in range(n_nodes):
            for k in range(real):
                lanes_x[LANES * node + k] = x[node, begin + k]
        start_stream(states[block], stream)
        for _ in range(n_sweeps):
            for node in range(n_nodes):
                n_states = site_weights(view, node, lanes_x, weights, largest)
                fill_uniform(stream, uniform)
                _choose(weights, n_states, uniform, total, cumulative, lanes_x, node)
                if counting:
                    _count(view, node, n_states, weights, total, lanes_x, real, counts, cells)
        for node in range(n_nodes):
            for k in range(real):
                x[node, begin + k] = np.uint8(lanes_x[LANES * node + k])


@kernel
def table_sweep(view, x, n_sweeps, random_state):
    """``n_sweeps`` systematic Gibbs sweeps of the particles ``x`` (d, n) uint8."""
    states = block_streams(random_state, x.shape[1], LANES)
    none = np.empty(0, np.int64)
    table_blocks(view, x, n_sweeps, states, FROM_THE_FIRST, states.shape[0], ColumnCounts(none, none))
