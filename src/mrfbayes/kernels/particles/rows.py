"""Gibbs sweeps of rows: of chains whose groups have fields of their own, and over the missing cells of held rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mrfbayes.kernels.base.fastmath import exp
from mrfbayes.kernels.base.jit import kernel, without_refcount
from mrfbayes.kernels.base.linear import choose, dot
from mrfbayes.kernels.base.random import uniform


class RowsView(NamedTuple):
    """The graph of all fields, and the group of every chain."""

    offset: np.ndarray  # (d + 1,) int64: the neighbours of i are entries offset[i] .. offset[i + 1]
    neighbour: np.ndarray  # (2m,) int64
    edge: np.ndarray  # (2m,) int64: index of the edge to that neighbour
    is_row: np.ndarray  # (2m,) bool: whether the node, not its neighbour, indexes the rows of the edge's table
    node_offset: np.ndarray  # (d + 1,) int64: where a node's table starts; unused for binary fields
    edge_offset: np.ndarray  # (m + 1,) int64: where an edge's table starts, after those of the nodes
    group: np.ndarray  # (N,) int64
    most: int  # states of a node
    is_binary: bool


@kernel
def row_sweeps(view, potentials, x, sweeps, sums, states):
    """Sweeps of all chains ``x`` (K, H, N, d) uint8; the last sweeps[1] of sweeps[0] are added to ``sums``.

    Parameters
    ----------
    potentials : (K, G, R) lowered parameters of every replica's and group's field
    sums : (K, H, G, R) sums of conditional probabilities, over chains and counted sweeps, like ``potentials``
    states : (K, H, 4) random states
    """
    weights = np.empty(view.most)
    for k in range(x.shape[0]):
        for half in range(x.shape[1]):
            state = states[k, half]
            for sweep in range(sweeps[0]):
                counting = sweep >= sweeps[0] - sweeps[1]
                for chain in range(x.shape[2]):
                    g = view.group[chain]
                    potential, row, total = potentials[k, g], x[k, half, chain], sums[k, half, g]
                    if view.is_binary:
                        _sweep_binary(view, potential, row, counting, total, state)
                    else:
                        _sweep_tables(view, potential, row, counting, total, state, weights)


@kernel
def _sweep_binary(view, potential, x, counting, sums, state):
    d = x.size
    for i in range(d):
        h = potential[i]
        for position in range(view.offset[i], view.offset[i + 1]):
            coupling = potential[d + view.edge[position]]
            h += coupling if x[view.neighbour[position]] else -coupling
        p = 1.0 / (1.0 + exp(-max(min(h, 700.0), -700.0)))
        x[i] = 1 if uniform(state) < p else 0
        if counting:
            sums[i] += p
            for position in range(view.offset[i], view.offset[i + 1]):
                agree = p if x[view.neighbour[position]] else 1.0 - p
                sums[d + view.edge[position]] += 0.5 * agree  # the other end adds the other half


@kernel
def _cell(view, position, states, a, b):
    """Where the table of an edge holds the states ``a`` of the node, one of ``states``, and ``b`` of its neighbour."""
    other, base = view.neighbour[position], view.edge_offset[view.edge[position]]
    if view.is_row[position]:
        return base + a * (view.node_offset[other + 1] - view.node_offset[other]) + b
    return base + b * states + a


@kernel
def log_weights(view, potential, x, i, weights):
    """Log weights of the states of node ``i`` given the others; returns the number of states."""
    start = view.node_offset[i]
    states = view.node_offset[i + 1] - start
    for a in range(states):
        weights[a] = potential[start + a]
    for position in range(view.offset[i], view.offset[i + 1]):
        b = int(x[view.neighbour[position]])
        for a in range(states):
            weights[a] += potential[_cell(view, position, states, a, b)]
    return states


@kernel
def _sweep_tables(view, potential, x, counting, sums, state, weights):
    for i in range(x.size):
        states = log_weights(view, potential, x, i, weights)
        x[i], total = choose(weights, states, uniform(state))
        if counting:
            for a in range(states):
                weights[a] /= total
                sums[view.node_offset[i] + a] += weights[a]
            for position in range(view.offset[i], view.offset[i + 1]):
                b = x[view.neighbour[position]]
                for a in range(states):
                    sums[_cell(view, position, states, a, b)] += 0.5 * weights[a]


class MissingNodes(NamedTuple):
    """Missing nodes of each row: ``node[start[r]:start[r + 1]]``; ``states`` (d,) of every node."""

    start: np.ndarray
    node: np.ndarray
    states: np.ndarray


@kernel
def _agreeing(coupling, row, weights, states):
    """``weights``[a] += sum of the couplings to nodes in state a."""
    for j in range(row.size):
        a = int(row[j])
        if a < states:
            weights[a] += coupling[j]


@kernel
def complete_rows(x, missing, coupling, level, is_product, n_sweeps, random_state, weights):
    """``n_sweeps`` sweeps over the missing cells of ``x`` (rows, d) float64; ``level`` (d, R) is 0 at state 0."""
    x, missing, coupling, level, random_state, weights = without_refcount(
        (x, missing, coupling, level, random_state, weights)
    )
    for _ in range(n_sweeps):
        for r in range(x.shape[0]):
            row = x[r]
            for h in range(missing.start[r], missing.start[r + 1]):
                i = missing.node[h]
                states = missing.states[i]
                if is_product:
                    pull = dot(coupling[i], row)
                    for a in range(states):
                        weights[a] = level[i, a] + a * pull
                else:
                    for a in range(states):
                        weights[a] = level[i, a]
                    _agreeing(coupling[i], row, weights, states)
                row[i] = choose(weights, states, uniform(random_state))[0]


@kernel
def complete_by_tables(x, missing, view, potential, n_sweeps, random_state, weights):
    """`complete_rows` for the potentials of a `mrfbayes.kernels.particles.rows.RowsView`."""
    for _ in range(n_sweeps):
        for r in range(x.shape[0]):
            for h in range(missing.start[r], missing.start[r + 1]):
                i = missing.node[h]
                states = log_weights(view, potential, x[r], i, weights)
                x[r, i] = choose(weights, states, uniform(random_state))[0]
