"""Log-probabilities of single rows under a posterior: what they are worth as predictions.

The score of a row x is the log of its probability averaged over draws of the posterior. Where log Z can be had, that is
the exact probability of the whole row; elsewhere it is the pseudolikelihood, the product of the probabilities of each
cell given all others; `score_kind` tells which.
"""

from __future__ import annotations

import numpy as np

from mrfbayes.exact.quantities import is_feasible, log_partition_w
from mrfbayes.model.field import Model

EXACT_SCORE, PSEUDO_SCORE = "log-likelihood", "pseudo-log-likelihood"


def score_kind(model: Model) -> str:
    """Which of the two scores the field allows."""
    return EXACT_SCORE if is_feasible(model) else PSEUDO_SCORE


def row_log_weights(model: Model, log_odds: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """(n,) sum of w * s(x) of each row x, whose log-probability it is once A(w) is taken off.

    Parameters
    ----------
    log_odds : (p,) w
    rows : (n, d) states
    """
    node, edge = model.lowering.potentials(log_odds)
    rows = np.asarray(rows, dtype=np.int64)
    u, v = model.edges.T
    constant = float(model.lowering.constant @ log_odds)
    if model.is_binary:
        return np.asarray(constant + rows @ node + (rows[:, u] == rows[:, v]) @ edge)
    cell = model.lowering.edge_offset[:-1] + rows[:, u] * model.states[v] + rows[:, v]
    own = model.lowering.node_offset[:-1] + rows
    return np.asarray(constant + node[own].sum(axis=1) + edge[cell].sum(axis=1))


def row_scores(model: Model, draws: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """(n,) log of each row's probability, averaged over ``draws`` (k, p) of the log-odds; see `score_kind`."""
    distinct, which = np.unique(np.asarray(rows), axis=0, return_inverse=True)
    is_exact = score_kind(model) == EXACT_SCORE
    scores = np.empty((len(draws), len(distinct)))
    for k, w in enumerate(draws):
        scores[k] = _exact(model, w, distinct) if is_exact else _pseudo(model, w, distinct)
    top = scores.max(axis=0)
    return np.asarray((top + np.log(np.exp(scores - top).mean(axis=0)))[which.ravel()])


def _exact(model: Model, w: np.ndarray, rows: np.ndarray) -> np.ndarray:
    return row_log_weights(model, w, rows) - log_partition_w(model, w)


def _pseudo(model: Model, w: np.ndarray, rows: np.ndarray) -> np.ndarray:
    found = conditional_log_probabilities(model, w, rows)
    return np.asarray(np.take_along_axis(found, rows[:, :, None].astype(np.int64), axis=2)[:, :, 0].sum(axis=1))


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
