r"""Gibbs sampling where every variable has many neighbours: chains are the lanes of single-precision arithmetic.

A *replica* is a field of its own (couplings and level weights) with its own chains, in two halves whose states stand
side by side, node by node. Variables are held centred, z = x - m with constants m, because

.. math:: \hat E[z_i z_j] = \tfrac12 \langle e_i z_j^{old} + e_j z_i^{new}\rangle, \qquad e_i = E[z_i \mid \text{rest}]

(i < j, e_i at the update of i) has a small variance only for centred variables: whitened, a tenth and less of that of
plain counting. Where states have no order a variable is q indicators, one per state, and z z' is their inner product.

Nodes are swept in groups of `CHAIN_GROUP`. The fields of a group come from one matrix product with all variables as
they are before the group, and each update corrects the fields of those that follow it in the group: the same chain as
node by node, at the speed of matrix products. How one node is drawn is in `mrfbayes.kernels.particles.dense_draws`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mrfbayes.kernels.base.borrowed import borrow
from mrfbayes.kernels.base.jit import kernel
from mrfbayes.kernels.particles.dense_draws import (
    AGREEMENT,
    BINARY,
    LANES,
    DenseNode,
    draw_binary,
    draw_levels,
    draw_states,
    fill_uniform32,
)

HALVES = 2  # of a replica's chains: the difference of their sums shows the noise
CHAIN_GROUP = 8  # nodes whose fields are made together
STRIP = 32  # rows of pair sums made together: what stands below the diagonal is left out in strips


class DenseField(NamedTuple):
    """K replicas of a field with d nodes. Write to ``coupling`` and ``level`` between sweeps to change it."""

    kind: int  # BINARY, ORDERED or AGREEMENT
    states: np.ndarray  # (d,) int64
    centre: np.ndarray  # (d, q) float32: m
    coupling: np.ndarray  # (K, d, d) float32: symmetric, nothing on the diagonal
    level: np.ndarray  # (K, d, R) float32: log weights of the states while all neighbours are at their
    # centres; for ordered states the weights themselves


class DenseChains(NamedTuple):
    """The chains of K replicas, W a multiple of `LANES` in each half."""

    z: np.ndarray  # (K, HALVES, d, q * W) float32: centred states
    stream: np.ndarray  # (K, HALVES, STREAM_WORDS) uint64


class DenseSums(NamedTuple):
    """Sums over the chains of each half and over sweeps. Added to, never cleared, by kernels."""

    pair: np.ndarray  # (K, HALVES, d, d) float32: above the diagonal, e_i z_j + e_j z_i
    level: np.ndarray  # (K, HALVES, d, R) float32: conditional probabilities of the states 1, 2, ...


class DenseScratch(NamedTuple):
    """Room for one half of one replica."""

    fields: np.ndarray  # (CHAIN_GROUP, q * W) float32
    delta: np.ndarray  # (q * W,) float32
    lanes: np.ndarray  # (SCRATCH_ROWS + R, LANES) float32
    before: np.ndarray  # (d, q * W) float32: z at the begin of a counted sweep
    expected: np.ndarray  # (d, q * W) float32: e
    product: np.ndarray  # (STRIP * d,) float32


@kernel(fastmath={"contract"})
def _add_multiple(factor, values, out):
    for k in range(out.size):
        out[k] += factor * values[k]


@kernel
def _sweep(field, replica, z, stream, scratch, expected, level_sums):
    """One sweep of one half; ``expected`` (d, q * W) and ``level_sums`` (d, R) are filled unless they are empty."""
    d, width = z.shape
    counting = expected.size > 0
    chains = width // field.centre.shape[1]
    coupling, level = field.coupling[replica], field.level[replica]
    nothing = scratch.delta[:0]
    for first in range(0, d, CHAIN_GROUP):
        count = min(CHAIN_GROUP, d - first)
        fields = scratch.fields[:count]
        np.dot(coupling[first : first + count], z, fields)
        for t in range(count):
            i = first + t
            node = DenseNode(
                level[i, : field.states[i]],
                field.centre[i],
                z[i],
                scratch.delta,
                expected[i] if counting else nothing,
                level_sums[i] if counting else nothing,
            )
            for lane in range(0, chains, LANES):
                fill_uniform32(stream, scratch.lanes[0])
                if field.kind == BINARY:
                    draw_binary(fields[t], lane, scratch.lanes, node)
                elif field.kind == AGREEMENT:
                    draw_states(fields[t], lane, scratch.lanes, node)
                else:
                    draw_levels(fields[t], lane, scratch.lanes, node)
            for later in range(t + 1, count):
                _add_multiple(coupling[first + later, i], scratch.delta, fields[later])


@kernel
def _add_pairs(scratch, z, pair):
    """``pair`` (d, d) += expected before^T + z expected^T above the diagonal, and a little below it."""
    d = z.shape[0]
    for first in range(0, d, STRIP):
        count = min(STRIP, d - first)
        product = scratch.product[: count * (d - first)].reshape(count, d - first)
        np.dot(scratch.expected[first : first + count], scratch.before[first:].T, product)
        for i in range(count):
            for j in range(d - first):
                pair[first + i, first + j] += product[i, j]
        np.dot(z[first : first + count], scratch.expected[first:].T, product)
        for i in range(count):
            for j in range(d - first):
                pair[first + i, first + j] += product[i, j]


@kernel
def dense_sweeps(field, chains, n_sweeps, counted, sums, scratch):
    """``n_sweeps`` sweeps of every replica's chains; the last ``counted`` of them are added to ``sums``."""
    field, chains, sums, scratch = borrow(field), borrow(chains), borrow(sums), borrow(scratch)
    nothing = scratch.expected[:0]  # two dimensions, as what it stands for
    for replica in range(chains.z.shape[0]):
        for half in range(HALVES):
            z, stream = chains.z[replica, half], chains.stream[replica, half]
            for sweep in range(n_sweeps):
                if sweep < n_sweeps - counted:
                    _sweep(field, replica, z, stream, scratch, nothing, nothing)
                else:
                    scratch.before[:] = z
                    _sweep(field, replica, z, stream, scratch, scratch.expected, sums.level[replica, half])
                    _add_pairs(scratch, z, sums.pair[replica, half])
