"""Full conditionals of every node in observed rows: log P(state | all other nodes), for any field and one theta."""

from __future__ import annotations

import numpy as np

from mrfbayes.model.field import Model


def conditional_log_probabilities(model: Model, log_odds: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """(n, d, r) log P(x_i = k | the rest of the row), r the largest number of states; -inf past a node's own.

    Parameters
    ----------
    log_odds : (p,) w
    rows : (n, d) observed states
    """
    node, edge = model.lowering.potentials(log_odds)
    logits = _binary(model, node, edge, rows) if model.is_binary else _tables(model, node, edge, rows)
    top = logits.max(axis=2, keepdims=True)
    return np.asarray(logits - top - np.log(np.exp(logits - top).sum(axis=2, keepdims=True)))


def _binary(model: Model, field: np.ndarray, coupling: np.ndarray, rows: np.ndarray) -> np.ndarray:
    from scipy.sparse import csr_array

    u, v = model.edges.T
    shape = (model.n_nodes, model.n_nodes)
    between = csr_array((np.tile(coupling, 2), (np.concatenate([u, v]), np.concatenate([v, u]))), shape=shape)
    one = field + (between @ (2.0 * rows.T - 1.0)).T
    return np.stack([np.zeros_like(one), one], axis=2)


def _tables(model: Model, node: np.ndarray, edge: np.ndarray, rows: np.ndarray) -> np.ndarray:
    lowering, states = model.lowering, model.states
    logits = np.full((len(rows), model.n_nodes, int(states.max())), -np.inf)
    for i, r in enumerate(states.tolist()):
        logits[:, i, :r] = node[lowering.node_offset[i] : lowering.node_offset[i] + r]
    for e, (u, v) in enumerate(model.edges.tolist()):
        cells = edge[lowering.edge_offset[e] : lowering.edge_offset[e + 1]]
        table = cells.reshape(int(states[u]), int(states[v]))
        logits[:, u, : states[u]] += table[:, rows[:, v]].T
        logits[:, v, : states[v]] += table[rows[:, u]]
    return logits
