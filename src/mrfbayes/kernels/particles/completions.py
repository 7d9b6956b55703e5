"""Gibbs sweeps over the missing cells of rows of which the other cells are held: clamped chains of dense fields."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mrfbayes.kernels.base.borrowed import borrow
from mrfbayes.kernels.base.jit import kernel
from mrfbayes.kernels.base.linear import choose, dot
from mrfbayes.kernels.base.random import uniform
from mrfbayes.kernels.particles.rows import log_weights


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
                row[i] = choose(weights, states, uniform(random_state))[0]


@kernel
def complete_by_tables(x, holes, view, potential, n_sweeps, random_state, weights):
    """`complete_rows` for the potentials of a `mrfbayes.kernels.particles.rows.RowsView`."""
    for _ in range(n_sweeps):
        for r in range(x.shape[0]):
            for h in range(holes.start[r], holes.start[r + 1]):
                i = holes.node[h]
                states = log_weights(view, potential, x[r], i, weights)
                x[r, i] = choose(weights, states, uniform(random_state))[0]
