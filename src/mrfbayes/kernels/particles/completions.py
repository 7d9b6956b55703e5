"""Gibbs sweeps over the missing cells of rows of which the other cells are held: clamped chains of dense fields."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mrfbayes.kernels.base.borrowed import borrow
from mrfbayes.kernels.base.jit import kernel
from mrfbayes.kernels.base.linear import dot, exp_from_top
from mrfbayes.kernels.base.random import uniform


class HoleList(NamedTuple):
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
def complete_rows(x, holes, coupling, level, is_product, n_sweeps, random_state, weights):
    """``n_sweeps`` sweeps over the missing cells of ``x`` (rows, d) float64; ``level`` (d, R) is 0 at state 0."""
    x, holes, coupling, level, random_state, weights = borrow((x, holes, coupling, level, random_state, weights))
    for _ in range(n_sweeps):
        for r in range(x.shape[0]):
            row = x[r]
            for h in range(holes.start[r], holes.start[r + 1]):
                i = holes.node[h]
                states = holes.states[i]
                if is_product:
                    pull = dot(coupling[i], row)
                    for a in range(states):
                        weights[a] = level[i, a] + a * pull
                else:
                    for a in range(states):
                        weights[a] = level[i, a]
                    _agreeing(coupling[i], row, weights, states)
                row[i] = _drawn(weights, states, random_state)


@kernel
def _drawn(weights, states, random_state):
    """A state with the given log weights, which are overwritten."""
    _, total = exp_from_top(weights, states)
    left = uniform(random_state) * total
    a = 0
    while a < states - 1 and left >= weights[a]:
        left -= weights[a]
        a += 1
    return a


@kernel
def complete_by_tables(x, holes, view, n_sweeps, random_state, weights):
    """`complete_rows` for the tables of a `mrfbayes.kernels.particles.gibbs_tables.TableView`."""
    for _ in range(n_sweeps):
        for r in range(x.shape[0]):
            row = x[r]
            for h in range(holes.start[r], holes.start[r + 1]):
                i = holes.node[h]
                states = holes.states[i]
                for a in range(states):
                    weights[a] = view.node_table[view.node_offset[i] + a]
                for position in range(view.offset[i], view.offset[i + 1]):
                    other = view.neighbour[position]
                    start, b = view.edge_offset[view.edge[position]], int(row[other])
                    is_row, others = view.is_row[position], holes.states[other]
                    for a in range(states):
                        weights[a] += view.edge_table[start + (a * others + b if is_row else b * states + a)]
                row[i] = _drawn(weights, states, random_state)
