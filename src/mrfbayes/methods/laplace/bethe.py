r"""The Bethe approximation of the covariance of the sufficient statistics: linear response of belief propagation.

With z the messages at a fixed point z = F(z, w) (Welling & Teh 2004; Welling & Parise 2006),

.. math:: \mathrm{Cov}[s] \approx \frac{d E_\mathrm{Bethe}[s]}{dw}, \qquad \frac{dz}{dw} = (I - F_z)^{-1} F_w.

In a field of agreement coins alone, equal messages are always a fixed point; there an edge's belief is its own theta
and does not respond to other edges. Belief propagation ends there while the spectral radius of F_z is below one;
beyond, messages break the symmetry, and the fixed point that the iteration finds is taken.

Belief propagation on pairwise fields of any numbers of states, in logarithms.

Message u -> v, relative to its first state:
:math:`m_{uv}(b) = \log \sum_a e^{h_{uv}(a) + \psi_{uv}(a, b)}`, with the cavity potential
:math:`h_{uv}(a) = \psi_u(a) + \sum_{k \ne v} m_{ku}(a)`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from mrfbayes.base.errors import CostError, InputError
from mrfbayes.kernels.base.jit import kernel
from mrfbayes.kernels.base.linear import copy_into
from mrfbayes.methods.problem import writable
from mrfbayes.model.field import Model

BETHE_TOLERANCE = 1e-12
N_SWEEPS = 20_000
DAMPINGS = (0.0, 0.5, 0.9)
NUDGE = 1e-3  # of the first messages: without it an unstable symmetric fixed point would never be left
STILL = 1e-8  # messages, or responses of messages, that are this small are zero
MOST_MESSAGE_BYTES = 2 * 2**30
DENSE_RADIUS = 400  # up to this size all eigenvalues are computed
MODE_STEPS, MODE_LEAP, MODE_TOLERANCE = 200, 1.0, 1e-10


@dataclass(frozen=True)
class Bethe:
    """A fixed point and what follows from it.

    Attributes
    ----------
    covariance : (p, p) array of Cov[s] per observation; sparse where messages do not respond
    expected : (p,) expected sufficient statistics per observation
    details : "fixed_point" ("uniform" or "iterated"), "sweeps", "damping", "spectral_radius" of F_z there, and
        "uniform_radius" at equal messages where those are a fixed point
    """

    covariance: Any
    expected: np.ndarray
    details: dict[str, object]


def bethe(model: Model, log_odds: np.ndarray) -> Bethe:
    """A fixed point of belief propagation at w, and the linear response there."""
    from scipy import sparse

    graph = _belief_graph(model)
    node_map, edge_map = _cell_maps(model)
    node_table, edge_table = writable(node_map @ log_odds), writable(edge_map @ log_odds)
    messages, details = _fixed_point(graph, node_table, edge_table)
    parts = _Parts(graph, node_table, edge_table, messages)
    drive = parts.to_message @ parts.gather.T @ node_map + parts.edge_to_message @ edge_map
    details["fixed_point"] = "uniform" if np.abs(messages).max(initial=0.0) < STILL else "iterated"
    details["spectral_radius"] = spectral_radius(parts.jacobian)
    uniform, tables = np.zeros(messages.size), (node_table, edge_table)
    if propagate(graph, tables, uniform, node_table.copy(), 0.0, BETHE_TOLERANCE, 1)[1] <= BETHE_TOLERANCE:
        # Equal messages are a fixed point too: belief propagation leaves it where this is above one.
        details["uniform_radius"] = spectral_radius(_Parts(graph, node_table, edge_table, uniform * 0.0).jacobian)
    expected = model.lowering.constant + node_map.T @ parts.node_mean + edge_map.T @ parts.edge_mean
    moved: Any = sparse.csr_array(drive.shape)
    if np.abs(drive.data).max(initial=0.0) > STILL:
        size = 8 * drive.shape[1] * (3 * messages.size + 2 * edge_table.size)
        if size > MOST_MESSAGE_BYTES:
            raise CostError(
                f"fisher='bethe' needs {size / 2**30:.1f} GiB for {drive.shape[1]} parameters where messages respond: "
                "use method='mle' or 'calibrated'."
            )
        system = (sparse.eye_array(messages.size) - parts.jacobian).tocsc()
        moved = sparse.linalg.splu(system).solve(drive.toarray())
    node_change = node_map + parts.gather @ moved
    cavity_change = parts.gather.T @ node_change - moved
    covariance = node_map.T @ (parts.node_covariance @ node_change)
    covariance += edge_map.T @ (parts.edge_covariance @ (edge_map + parts.from_cavity @ cavity_change))
    return Bethe(0.5 * (covariance + covariance.T), np.asarray(expected), details)


def bethe_mode(model: Model, mean: np.ndarray) -> np.ndarray:
    """The w at which the Bethe marginals have the observed mean statistics: what maximises the Bethe likelihood."""
    w = np.zeros(model.n_parameters)
    for _ in range(MODE_STEPS):
        here = bethe(model, w)
        gap = mean - here.expected
        if np.abs(gap).max(initial=0.0) < MODE_TOLERANCE:
            return w
        covariance = here.covariance.toarray() if hasattr(here.covariance, "toarray") else here.covariance
        step = np.linalg.lstsq(covariance, gap, rcond=None)[0]
        w = w + step * min(1.0, MODE_LEAP / max(np.abs(step).max(), 1e-300))
    raise InputError(
        "centre='bethe': no log-odds were found at which the Bethe marginals equal the observed ones (there are none "
        "where a factor always shows the same outcome): use centre='mle'."
    )


def _belief_graph(model: Model) -> BeliefGraph:
    receivers = model.states[model.edges[:, ::-1].ravel()]
    arrays = (
        model.states,
        model.edges,
        model.lowering.node_offset,
        model.lowering.edge_offset,
        np.concatenate([[0], np.cumsum(receivers)]),
    )
    return BeliefGraph(*(writable(array, np.int64) for array in arrays))


def _cell_maps(model: Model) -> tuple[Any, Any]:
    """Sparse maps from log-odds to node tables and to edge tables, also of a binary field."""
    from scipy import sparse

    row, column, value = model.lowering.forward
    p, nodes = model.n_parameters, model.lowering.n_node_rows
    n_node_cells, n_edge_cells = (int(o[-1]) for o in (model.lowering.node_offset, model.lowering.edge_offset))
    at_node = row < nodes
    node_row, edge_row = row[at_node], row[~at_node] - nodes
    edge_column, edge_value = column[~at_node], value[~at_node]
    if model.is_binary:
        node_row = 2 * node_row + 1
        edge_row = np.concatenate([4 * edge_row, 4 * edge_row + 3])
        edge_column, edge_value = np.tile(edge_column, 2), np.tile(edge_value, 2)
    node_map = sparse.csr_array((value[at_node], (node_row, column[at_node])), shape=(n_node_cells, p))
    return node_map, sparse.csr_array((edge_value, (edge_row, edge_column)), shape=(n_edge_cells, p))


def _fixed_point(
    graph: BeliefGraph, node_table: np.ndarray, edge_table: np.ndarray
) -> tuple[np.ndarray, dict[str, object]]:
    size = int(graph.message_offset[-1])
    total = 0
    for damping in DAMPINGS:
        messages = NUDGE * np.random.default_rng(0).standard_normal(size)
        messages[graph.message_offset[:-1]] = 0.0
        beliefs = np.zeros(node_table.size)
        tables = node_table, edge_table
        sweeps, residual = propagate(graph, tables, messages, beliefs, damping, BETHE_TOLERANCE, N_SWEEPS)
        total += sweeps
        if residual <= 1e3 * BETHE_TOLERANCE:
            return messages, {"sweeps": total, "damping": damping}
    raise InputError(
        f"belief propagation did not converge in {total} sweeps (messages still change by {residual:.1g}), so Bethe "
        "covariances do not exist here: use fisher='exact' where it is feasible, or fisher='particles'."
    )


class _Parts:
    """Beliefs at a fixed point, and the sparse matrices of their linear response.

    Messages and cavities share one layout: the cavity potential of a message's sender stands where the opposite message
    does, since both are functions of the sender's state.
    """

    def __init__(
        self, graph: BeliefGraph, node_table: np.ndarray, edge_table: np.ndarray, messages: np.ndarray
    ) -> None:
        from scipy import sparse

        size, n_cells = messages.size, edge_table.size
        receiver = graph.pairs[:, ::-1].ravel()
        shift = graph.node_offset[receiver] - graph.message_offset[:-1]
        to = np.arange(size) + np.repeat(shift, graph.states[receiver])
        self.gather = sparse.csr_array((np.ones(size), (to, np.arange(size))), shape=(node_table.size, size))
        beliefs = node_table + self.gather @ messages
        cavity = beliefs[to] - messages
        node = np.repeat(np.arange(graph.states.size), graph.states)
        self.node_mean = _softmax(beliefs, node)
        self.node_covariance = _block_covariance(self.node_mean, node)

        edge = np.repeat(np.arange(len(graph.pairs)), np.diff(graph.edge_offset))
        width = graph.states[graph.pairs[edge, 1]]
        a, b = np.divmod(np.arange(n_cells) - graph.edge_offset[edge], width)
        # Entry of a message from each end: forward ones are functions of b, backward ones of a.
        forward, backward = graph.message_offset[2 * edge] + b, graph.message_offset[2 * edge + 1] + a
        cells = np.arange(n_cells)
        ends = np.concatenate([backward, forward])
        self.from_cavity = sparse.csr_array((np.ones(2 * n_cells), (np.tile(cells, 2), ends)), shape=(n_cells, size))
        self.edge_mean = _softmax(edge_table + cavity[backward] + cavity[forward], edge)
        self.edge_covariance = _block_covariance(self.edge_mean, edge)

        changes: list[Any] = []
        drives: list[Any] = []
        # The same cell with the receiver in its first state, to which messages are relative.
        for out, sent, first in (
            (forward, backward, graph.edge_offset[edge] + a * width),
            (backward, forward, graph.edge_offset[edge] + b),
        ):
            given = _softmax(edge_table + cavity[sent], out)  # P(sender | receiver)
            changes.append(sparse.csr_array((given - given[first], (out, sent)), shape=(size, size)))
            drives.append(sparse.csr_array((given, (out, cells)), shape=(size, n_cells)))
            drives.append(sparse.csr_array((-given[first], (out, first)), shape=(size, n_cells)))
        self.to_message, self.edge_to_message = sum(changes), sum(drives)
        # dz = D (G'(d phi + G dz) - dz) + E d psi, for changes of the node and edge tables phi and psi
        self.jacobian = self.to_message @ (self.gather.T @ self.gather - sparse.eye_array(size))


def _softmax(values: np.ndarray, group: np.ndarray) -> np.ndarray:
    """Exponentials normalised within each group."""
    top = np.full(int(group.max(initial=-1)) + 1, -np.inf)
    np.maximum.at(top, group, values)
    weight = np.exp(values - top[group])
    return np.asarray(weight / np.bincount(group, weights=weight)[group])


def _block_covariance(mean: np.ndarray, group: np.ndarray) -> Any:
    """diag(mean) - mean mean' within each group."""
    from scipy import sparse

    membership = sparse.csr_array((mean, (np.arange(mean.size), group)))
    return sparse.diags_array(mean).tocsr() - membership @ membership.T


def spectral_radius(matrix: Any) -> float:
    """Largest absolute eigenvalue of a square sparse matrix."""
    from scipy.sparse.linalg import ArpackNoConvergence, eigs

    if np.abs(matrix.data).max(initial=0.0) == 0.0:
        return 0.0  # where no factor couples: ARPACK would be left with a starting vector of zeros
    if matrix.shape[0] <= DENSE_RADIUS:
        return float(np.abs(np.linalg.eigvals(matrix.toarray())).max())
    try:
        found: Any = eigs(matrix, k=1, v0=np.ones(matrix.shape[0]), return_eigenvectors=False)
    except ArpackNoConvergence as error:
        found = error.eigenvalues
    return float(np.abs(found).max()) if found.size else np.nan


class BeliefGraph(NamedTuple):
    """Where everything is. Message 2e runs from the first to the second end of edge e, message 2e+1 back."""

    states: np.ndarray  # (d,)
    pairs: np.ndarray  # (m, 2)
    node_offset: np.ndarray  # (d+1,) into node_table and beliefs
    edge_offset: np.ndarray  # (m+1,) into edge_table
    message_offset: np.ndarray  # (2m+1,) into messages: one number a state of the receiving node


@kernel
def gather_beliefs(graph, node_table, messages, beliefs):
    """``beliefs`` = node potentials plus all incoming messages."""
    copy_into(beliefs, node_table)
    for k in range(graph.message_offset.size - 1):
        to = graph.pairs[k >> 1, 1 - (k & 1)]
        at, first = graph.node_offset[to], graph.message_offset[k]
        for b in range(graph.states[to]):
            beliefs[at + b] += messages[first + b]


@kernel
def cavity(graph, beliefs, messages, k, out):
    """Potential of the sender of message k without what the receiver told it; returns its number of states."""
    u = graph.pairs[k >> 1, k & 1]
    back, at = graph.message_offset[k ^ 1], graph.node_offset[u]
    for a in range(graph.states[u]):
        out[a] = beliefs[at + a] - messages[back + a]
    return graph.states[u]


@kernel
def edge_steps(graph, k):
    """Start of the edge table of message k, and its steps along the sender's and the receiver's states."""
    e = k >> 1
    width = graph.states[graph.pairs[e, 1]]
    start = graph.edge_offset[e]
    if k & 1:
        return start, np.int64(1), width
    return start, width, np.int64(1)


@kernel
def belief_sweep(graph, node_table, edge_table, messages, beliefs, damping):
    """Update every message once, in turn; returns the largest change that an undamped update would have made."""
    gather_beliefs(graph, node_table, messages, beliefs)
    most = graph.states.max()
    sender, fresh = np.empty(most), np.empty(most)
    residual = 0.0
    for k in range(graph.message_offset.size - 1):
        r_from = cavity(graph, beliefs, messages, k, sender)
        to = graph.pairs[k >> 1, 1 - (k & 1)]
        start, step_from, step_to = edge_steps(graph, k)
        for b in range(graph.states[to]):
            top = -math.inf
            for a in range(r_from):
                top = max(top, sender[a] + edge_table[start + a * step_from + b * step_to])
            norm = 0.0
            for a in range(r_from):
                norm += math.exp(sender[a] + edge_table[start + a * step_from + b * step_to] - top)
            fresh[b] = top + math.log(norm)
        first, at = graph.message_offset[k], graph.node_offset[to]
        for b in range(graph.states[to] - 1, -1, -1):
            change = fresh[b] - fresh[0] - messages[first + b]
            residual = max(residual, abs(change))
            change *= 1.0 - damping
            messages[first + b] += change
            beliefs[at + b] += change
    return residual


@kernel
def propagate(graph, tables, messages, beliefs, damping, tolerance, n_sweeps):
    """Sweep until no message changes by more than ``tolerance``; ``tables`` are those of nodes and of edges.

    Returns (sweeps, residual).
    """
    residual = math.inf
    for sweep in range(n_sweeps):
        residual = belief_sweep(graph, tables[0], tables[1], messages, beliefs, damping)
        if residual <= tolerance:
            return sweep + 1, residual
    return n_sweeps, residual
