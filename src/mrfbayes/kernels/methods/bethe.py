r"""Belief propagation on pairwise fields of any numbers of states, in logarithms.

Message u -> v, relative to its first state:
:math:`m_{uv}(b) = \log \sum_a e^{h_{uv}(a) + \psi_{uv}(a, b)}`, with the cavity potential
:math:`h_{uv}(a) = \psi_u(a) + \sum_{k \ne v} m_{ku}(a)`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from mrfbayes.kernels.base.jit import kernel
from mrfbayes.kernels.base.linear import copy_into


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
def propagate(graph, node_table, edge_table, messages, beliefs, damping, tolerance, n_sweeps):
    """Sweep until no message changes by more than ``tolerance``; returns (sweeps, residual)."""
    residual = math.inf
    for sweep in range(n_sweeps):
        residual = belief_sweep(graph, node_table, edge_table, messages, beliefs, damping)
        if residual <= tolerance:
            return sweep + 1, residual
    return n_sweeps, residual
