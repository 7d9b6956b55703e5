r"""Gibbs sampling of many particles at once with SIMD floating point: any degrees, numbers of states and tables.

Particles are columns of a (d, n) uint8 array and are swept in blocks of `LANES`, each with its own random stream, so
results do not depend on how blocks are spread over threads. Inside a block the spins of a binary field are +-1 in
double precision, and

.. math:: P(x_i = 1 \mid \text{rest}) = \sigma\Big(f_i + \sum_j c_{ij} s_j\Big)

is compared with a uniform number of 52 bits: the law of one update differs from these probabilities by at most 2^-52.
For small degrees `kernels.particles.bitgibbs` is ten times as fast. In a categorical field

.. math:: P(x_i = a \mid \text{rest}) \propto \exp\Big(t_i(a) + \sum_j t_{ij}(a, x_j)\Big);

its tables are looked up lane by lane; exponentials, sums and the choice of the state run on all lanes at once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mrfbayes.base.types import Workspace
from mrfbayes.kernels.base.fastmath import exp, sigmoid
from mrfbayes.kernels.base.jit import kernel
from mrfbayes.kernels.base.random import next_word, sfc64
from mrfbayes.kernels.particles.bitgibbs import FROM_THE_FIRST, block_streams

LANES = 64  # particles per block: sixteen AVX2 registers, and a block of 100 nodes stays in the second-level cache
FIXED_POINT = 2.0**32  # expected counts are added as whole multiples of 2^-32, so their order does not matter
STREAMS = 16  # generators per block, as many as fill four AVX2 registers
STREAM_WORDS = 3 * STREAMS + 1

_ZERO, _ONE = np.uint64(0), np.uint64(1)
_U12 = np.uint64(12)
_ONE_BITS = np.uint64(0x3FF0000000000000)  # of 1.0


class SpinView(NamedTuple):
    """A binary field. Write to `field` and `coupling` between sweeps to change it."""

    offset: np.ndarray  # (d + 1,) int64: the neighbours of i are entries offset[i] .. offset[i + 1]
    neighbour: np.ndarray  # (2m,) int64
    edge: np.ndarray  # (2m,) int64: index of the edge to that neighbour
    field: Workspace  # (d,) log-odds
    coupling: Workspace  # (m,) log-odds of agreement


class ColumnCounts(NamedTuple):
    """Sums over particles and sweeps in units of 1 / FIXED_POINT. Added to, never cleared, by kernels."""

    nodes: np.ndarray  # int64: E[x | neighbours] of each node, or of each of its states
    edges: np.ndarray  # int64: E[agree | neighbours] of each edge, or of each cell of its table; from both ends


@kernel
def start_stream(state, stream):
    """`STREAMS` SFC64 generators, seeded with 192 bits of ``state`` each, warmed up for 12 rounds as in NumPy."""
    for k in range(3 * STREAMS):
        stream[k] = next_word(state)
    stream[3 * STREAMS] = _ONE
    scratch = np.empty(LANES)
    for _ in range(12 * STREAMS // LANES):
        fill_uniform(stream, scratch)


@kernel
def fill_uniform(stream, out):
    """One uniform number on [0, 1) with 52 bits for every lane."""
    counter = stream[3 * STREAMS]
    for k in range(STREAMS):
        a, b, c = stream[k], stream[k + STREAMS], stream[k + 2 * STREAMS]
        step = counter
        for t in range(LANES // STREAMS):
            word, a, b, c = sfc64(a, b, c, step)
            step += _ONE
            out[k + STREAMS * t] = np.uint64((word >> _U12) | _ONE_BITS).view(np.float64) - 1.0
        stream[k], stream[k + STREAMS], stream[k + 2 * STREAMS] = a, b, c
    stream[3 * STREAMS] = counter + np.uint64(LANES // STREAMS)


@kernel
def site_probabilities(view, node, spins, out):
    """P(x_node = 1 | rest) for every lane of ``spins`` (d * LANES,), which holds +-1 node by node."""
    first, last = view.offset[node], view.offset[node + 1]
    out[:] = view.field[node]
    position = first
    while position + 4 <= last:  # four neighbours at a time: a quarter of the traffic on ``out``
        c0, c1 = view.coupling[view.edge[position]], view.coupling[view.edge[position + 1]]
        c2, c3 = view.coupling[view.edge[position + 2]], view.coupling[view.edge[position + 3]]
        s0, s1 = np.uint64(LANES * view.neighbour[position]), np.uint64(LANES * view.neighbour[position + 1])
        s2, s3 = np.uint64(LANES * view.neighbour[position + 2]), np.uint64(LANES * view.neighbour[position + 3])
        for i in range(LANES):
            k = np.uint64(i)
            out[k] += (c0 * spins[s0 + k] + c1 * spins[s1 + k]) + (c2 * spins[s2 + k] + c3 * spins[s3 + k])
        position += 4
    while position < last:
        c0, s0 = view.coupling[view.edge[position]], np.uint64(LANES * view.neighbour[position])
        for i in range(LANES):
            k = np.uint64(i)
            out[k] += c0 * spins[s0 + k]
        position += 1
    for i in range(LANES):
        out[i] = sigmoid(out[i])


@kernel(fastmath={"reassoc"})  # sums in any order: six times as fast, and rounded to fixed point right after
def sum_lanes(values, weights, row):
    """Sum of values[k] * weights[row + k] over the lanes."""
    total = 0.0
    for k in range(LANES):
        total += values[k] * weights[row + k]
    return total


@kernel
def to_fixed_point(value):
    """``value`` in units of 1 / FIXED_POINT."""
    return np.int64(np.rint(value * FIXED_POINT))


@kernel
def _count(view, node, spins, mean_spin, real, counts):
    """Rao-Blackwellised counts of one update; ``mean_spin`` is E[s | neighbours], 0 in lanes that do not count."""
    total = 0.0
    for k in range(real):
        total += mean_spin[k]
    counts.nodes[node] += to_fixed_point(0.5 * (real + total))
    for position in range(view.offset[node], view.offset[node + 1]):
        total = sum_lanes(mean_spin, spins, LANES * view.neighbour[position])
        # E[agree] = (1 + E[s] s_j) / 2, and another half because the other end counts this edge as well.
        counts.edges[view.edge[position]] += to_fixed_point(0.25 * (real + total))


@kernel
def spin_blocks(view, x, n_sweeps, states, first, last, counts):
    """Sweeps of blocks first .. last of the particles ``x``; adds to ``counts`` unless its arrays are empty."""
    n_nodes, n = x.shape
    counting = counts.nodes.size > 0
    spins = np.empty(n_nodes * LANES)
    stream = np.empty(STREAM_WORDS, np.uint64)
    uniform = np.empty(LANES)
    probability = np.empty(LANES)
    mean_spin = np.zeros(LANES)
    for block in range(first, last):
        begin = LANES * block
        real = min(LANES, n - begin)
        spins[:] = 1.0
        mean_spin[:] = 0.0
        for node in range(n_nodes):
            for k in range(real):
                spins[LANES * node + k] = 2.0 * x[node, begin + k] - 1.0
        start_stream(states[block], stream)
        for _ in range(n_sweeps):
            for node in range(n_nodes):
                site_probabilities(view, node, spins, probability)
                if counting:
                    for k in range(real):
                        mean_spin[k] = 2.0 * probability[k] - 1.0
                    _count(view, node, spins, mean_spin, real, counts)
                fill_uniform(stream, uniform)
                row = LANES * node
                for k in range(LANES):
                    spins[row + k] = 1.0 if uniform[k] < probability[k] else -1.0
        for node in range(n_nodes):
            for k in range(real):
                x[node, begin + k] = np.uint8(spins[LANES * node + k] > 0.0)


@kernel
def spin_sweep(view, x, n_sweeps, random_state):
    """``n_sweeps`` systematic Gibbs sweeps of the particles ``x`` (d, n) uint8."""
    states = block_streams(random_state, x.shape[1], LANES)
    none = np.empty(0, np.int64)
    spin_blocks(view, x, n_sweeps, states, FROM_THE_FIRST, states.shape[0], ColumnCounts(none, none))


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
def _count_cells(view, node, n_states, weights, total, x, real, counts, cells):
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
                    _count_cells(view, node, n_states, weights, total, lanes_x, real, counts, cells)
        for node in range(n_nodes):
            for k in range(real):
                x[node, begin + k] = np.uint8(lanes_x[LANES * node + k])


@kernel
def table_sweep(view, x, n_sweeps, random_state):
    """``n_sweeps`` systematic Gibbs sweeps of the particles ``x`` (d, n) uint8."""
    states = block_streams(random_state, x.shape[1], LANES)
    none = np.empty(0, np.int64)
    table_blocks(view, x, n_sweeps, states, FROM_THE_FIRST, states.shape[0], ColumnCounts(none, none))
