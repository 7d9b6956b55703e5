"""Where particles come from inside a chain: exact draws, or Gibbs sweeps from a random start.

Binary fields have bits, (d, n_words) uint64; others columns, (d, n) uint8. `draw_particles` makes independent ones,
`sweep_particles` moves those that are there. There is one type of source for each kind of field, and whether it draws
exactly is a flag: every further type would be another compilation of the whole chain.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mrfbayes.base.types import Workspace
from mrfbayes.kernels.base.contracts import dispatched, implements
from mrfbayes.kernels.base.jit import kernel
from mrfbayes.kernels.base.linear import copy_into
from mrfbayes.kernels.base.random import below, next_word
from mrfbayes.kernels.exact.graph import elimination_forward, elimination_sample
from mrfbayes.kernels.exact.graph_binary import binary_tables
from mrfbayes.kernels.exact.graph_plan import EliminationPlan
from mrfbayes.kernels.exact.grid import GridLayout
from mrfbayes.kernels.exact.grid_sample import transfer_sample_words
from mrfbayes.kernels.particles.bitgibbs import BitView, bit_sweep
from mrfbayes.kernels.particles.gibbs import SpinView, TableView, spin_sweep, table_sweep

_U1 = np.uint64(1)


@dispatched
def draw_particles(source, node_part, edge_part, particles, random_state):
    """Fill ``particles`` with independent draws from the field with these potentials."""


@dispatched
def sweep_particles(source, node_part, edge_part, particles, n_sweeps, random_state):
    """Move ``particles`` by ``n_sweeps`` Gibbs sweeps under these potentials."""


class GridSource(NamedTuple):
    """A binary grid."""

    layout: GridLayout
    scratch: Workspace
    bits: BitView
    is_exact: bool
    n_sweeps: int  # from a random start, where draws are not exact


class GraphSource(NamedTuple):
    """A binary field of small degree."""

    plan: EliminationPlan
    tables: Workspace  # the potentials as tables
    joint: Workspace
    scratch: Workspace
    rows: Workspace  # (64 n_words, d) uint8
    bits: BitView
    is_exact: bool
    n_sweeps: int


class HubSource(NamedTuple):
    """A binary field of any degree."""

    plan: EliminationPlan
    tables: Workspace
    joint: Workspace
    scratch: Workspace
    rows: Workspace
    spins: SpinView
    columns: Workspace  # (d, 64 n_words) uint8
    is_exact: bool
    n_sweeps: int


class TableSource(NamedTuple):
    """A categorical field."""

    plan: EliminationPlan
    joint: Workspace
    scratch: Workspace
    rows: Workspace  # (n, d) uint8
    field: TableView
    is_exact: bool
    n_sweeps: int


@kernel
def _random_words(words, random_state):
    for i in range(words.shape[0]):
        for w in range(words.shape[1]):
            words[i, w] = next_word(random_state)


@kernel
def _pack(bits, words):
    """Words (d, n_words) of the 0/1 rows ``bits`` (64 n_words, d)."""
    for i in range(words.shape[0]):
        for w in range(words.shape[1]):
            word = np.uint64(0)
            for k in range(64):
                word |= np.uint64(bits[64 * w + k, i]) << np.uint64(k)
            words[i, w] = word


@implements(sweep_particles, GraphSource)
@implements(sweep_particles, GridSource)
@kernel
def sweep_words(source, node_part, edge_part, particles, n_sweeps, random_state):
    copy_into(source.bits.field, node_part)
    copy_into(source.bits.coupling, edge_part)
    bit_sweep(source.bits, particles, n_sweeps, random_state)


@implements(draw_particles, GridSource)
@kernel
def draw_grid(source, node_part, edge_part, particles, random_state):
    if source.is_exact:
        transfer_sample_words(source.layout, node_part, edge_part, source.scratch, random_state, particles)
    else:
        _random_words(particles, random_state)
        sweep_particles(source, node_part, edge_part, particles, source.n_sweeps, random_state)


@implements(draw_particles, HubSource)
@implements(draw_particles, GraphSource)
@kernel
def draw_graph(source, node_part, edge_part, particles, random_state):
    if source.is_exact:
        binary_tables(node_part, edge_part, source.tables)
        n_cells = 2 * node_part.size
        elimination_forward(source.plan, source.tables[:n_cells], source.tables[n_cells:], source.joint, source.scratch)
        elimination_sample(source.plan, source.joint, random_state, source.rows)
        _pack(source.rows, particles)
    else:
        _random_words(particles, random_state)
        sweep_particles(source, node_part, edge_part, particles, source.n_sweeps, random_state)


@implements(sweep_particles, HubSource)
@kernel
def sweep_hub(source, node_part, edge_part, particles, n_sweeps, random_state):
    copy_into(source.spins.field, node_part)
    copy_into(source.spins.coupling, edge_part)
    columns = source.columns
    for i in range(particles.shape[0]):
        for t in range(columns.shape[1]):
            columns[i, t] = np.uint8((particles[i, t >> 6] >> np.uint64(t & 63)) & _U1)
    spin_sweep(source.spins, columns, n_sweeps, random_state)
    _pack(columns.T, particles)


@implements(sweep_particles, TableSource)
@kernel
def sweep_tables(source, node_part, edge_part, particles, n_sweeps, random_state):
    copy_into(source.field.node_table, node_part)
    copy_into(source.field.edge_table, edge_part)
    table_sweep(source.field, particles, n_sweeps, random_state)


@implements(draw_particles, TableSource)
@kernel
def draw_tables(source, node_part, edge_part, particles, random_state):
    if source.is_exact:
        elimination_forward(source.plan, node_part, edge_part, source.joint, source.scratch)
        elimination_sample(source.plan, source.joint, random_state, source.rows)
        for t in range(particles.shape[1]):
            for i in range(particles.shape[0]):
                particles[i, t] = source.rows[t, i]
    else:
        offset = source.field.node_offset
        for i in range(particles.shape[0]):
            for t in range(particles.shape[1]):
                particles[i, t] = below(random_state, offset[i + 1] - offset[i])
        sweep_particles(source, node_part, edge_part, particles, source.n_sweeps, random_state)
