r"""Marginals by loopy belief propagation, for fields that no elimination order brings within reach.

Exact on trees. On graphs with cycles a message comes back to where it started and is counted again, so that strong
couplings make marginals too sure; on frustrated cycles messages may not settle at all. Yedidia, Freeman and Weiss
(2005), "Constructing free-energy approximations and generalized belief propagation algorithms".
"""

from __future__ import annotations

import numpy as np

from mrfbayes.base.errors import SamplingError
from mrfbayes.exact.held import HeldField
from mrfbayes.kernels.methods.bethe import BeliefGraph, propagate

LOOPY_TOLERANCE = 1e-9  # of a message, in log-odds
LOOPY_SWEEPS = 2_000
LOOPY_DAMPINGS = (0.0, 0.5, 0.9)
FIRST_MESSAGE_SD = 1e-3  # of the first messages, which must not be an unstable symmetric fixed point
LOOPY_NOTE = (
    "Loopy belief propagation counts evidence again that comes back around cycles: where couplings on short cycles are "
    "strong its marginals are too sure, and it may break a symmetry that the field has. Compare with mb.simulate."
)


def loopy_marginals(field: HeldField, log_odds: np.ndarray, pattern: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """Beliefs of free nodes and inner edges, flat; `SamplingError` where messages do not settle."""
    node, edge, _ = field.tables(log_odds, pattern)
    receivers = field.states[field.edges[:, ::-1].ravel()]
    offset = np.concatenate([[0], np.cumsum(receivers)])
    arrays = (field.states, field.edges, field.node_offset, field.edge_offset, offset)
    graph = BeliefGraph(*(np.array(array, dtype=np.int64, order="C") for array in arrays))
    for damping in LOOPY_DAMPINGS:
        messages = FIRST_MESSAGE_SD * np.random.default_rng(0).standard_normal(int(offset[-1]))
        messages[offset[:-1]] = 0.0
        beliefs = np.zeros(node.size)
        _, residual = propagate(graph, node, edge, messages, beliefs, damping, LOOPY_TOLERANCE, LOOPY_SWEEPS)
        if residual <= LOOPY_TOLERANCE:
            return _beliefs(field, node, edge, messages, offset)
    raise SamplingError(
        f"method='loopy': messages still change by {residual:.2g} after {LOOPY_SWEEPS} sweeps with damping "
        f"{damping:g}; belief propagation does not converge at couplings this strong: use mb.simulate(model, theta, n)."
    )


def _beliefs(
    field: HeldField, node: np.ndarray, edge: np.ndarray, messages: np.ndarray, offset: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Node and edge beliefs at a fixed point."""
    belief = node.copy()
    receiver = field.edges[:, ::-1].ravel()
    size = field.states[receiver]
    to = np.arange(messages.size) + np.repeat(field.node_offset[receiver] - offset[:-1], size)
    np.add.at(belief, to, messages)
    number = np.repeat(np.arange(len(field.edges)), np.diff(field.edge_offset))
    u, v = field.edges[number].T
    a, b = np.divmod(np.arange(edge.size) - field.edge_offset[number], field.states[v])
    forward, backward = messages[offset[2 * number] + b], messages[offset[2 * number + 1] + a]
    joint = edge + belief[field.node_offset[u] + a] - backward + belief[field.node_offset[v] + b] - forward
    return _normalised(belief, np.repeat(np.arange(field.free.size), field.states)), _normalised(joint, number)


def _normalised(values: np.ndarray, group: np.ndarray) -> np.ndarray:
    """Probabilities from logs within each group."""
    top = np.full(int(group.max(initial=-1)) + 1, -np.inf)
    np.maximum.at(top, group, values)
    weight = np.exp(values - top[group])
    return np.asarray(weight / np.bincount(group, weights=weight)[group])
