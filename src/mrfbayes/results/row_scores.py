"""Log-probabilities of single rows under a posterior: what they are worth as predictions.

The score of a row x is the log of its probability averaged over draws of the posterior. Where log Z can be had, that is
the exact probability of the whole row; elsewhere it is the pseudolikelihood, the product of the probabilities of each
cell given all others, and whoever asks is told so.
"""

from __future__ import annotations

import numpy as np

from mrfbayes.exact.quantities import is_feasible, log_partition_w
from mrfbayes.model.field import Model
from mrfbayes.results.conditionals import conditional_log_probabilities

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
