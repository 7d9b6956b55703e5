r"""How much a pseudolikelihood knows, and how much it only believes to know (Godambe's information).

H, minus the second derivatives of the log pseudolikelihood and the log prior, is what a posterior made of it takes for
its information. But its terms are not independent: the scores g_t of the observations vary by J = sum_t g_t g_t', which
is more. Estimates from it scatter by H^{-1} (J + Lambda) H^{-1}, Lambda being the prior's information, so that

.. math:: \left( [H^{-1}]_{jj} \,/\, [H^{-1} (J + \Lambda) H^{-1}]_{jj} \right)^{1/2}

is by how much the posterior's spread of w_j is too small.
"""

from __future__ import annotations

import numpy as np

from mrfbayes.data.statistics import Statistics
from mrfbayes.model.field import Model
from mrfbayes.priors import Prior

RATIO_PARAMETERS = 256  # for which the ratio is worked out, evenly spaced among all


class NodeFeatures:
    """Derivatives in w of every node's conditional log-odds against its first state."""

    def __init__(self, model: Model) -> None:
        from scipy.sparse import csr_array

        self._model = model
        row, column, value = model.lowering.forward
        shape = (model.lowering.n_rows, model.n_parameters)
        self._map = csr_array((value, (row, column)), shape=shape)

    def of(self, node: int, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Parameters (c,) that matter to ``node``, and features (k, r-1, c) for its neighbours' states (k, degree)."""
        model = self._model
        offset, _, edge = model.adjacency
        edges = edge[offset[node] : offset[node + 1]]
        if model.is_binary:
            rows = np.concatenate([[node], model.n_nodes + edges])
            columns, dense = self._dense(rows)
            signs = np.concatenate([np.ones((len(states), 1)), 2.0 * states - 1.0], axis=1)
            return columns, (signs @ dense)[:, None, :]
        lowering = model.lowering
        own, width = int(model.states[node]), model.states[model.edges[edges, 1]]
        is_first = model.edges[edges, 0] == node
        others = model.states[model.edges[edges].sum(axis=1) - node]
        cells = [lowering.node_offset[node] + np.arange(own)]
        for b in range(edges.size):
            start = lowering.n_node_rows + lowering.edge_offset[edges[b]]
            along, across = (width[b], 1) if is_first[b] else (1, width[b])
            cells += [start + other * across + np.arange(own) * along for other in range(others[b])]
        columns, dense = self._dense(np.concatenate(cells))
        tables = dense.reshape(-1, own, columns.size)
        tables = tables[:, 1:] - tables[:, :1]
        features = np.repeat(tables[:1], len(states), axis=0)
        at = 1
        for b in range(edges.size):
            features += tables[at + states[:, b].astype(np.int64)]
            at += int(others[b])
        return columns, features

    def _dense(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        part = self._map[rows]
        columns = np.unique(part.indices)
        return columns, part[:, columns].toarray()


def probabilities(features: np.ndarray, w: np.ndarray) -> np.ndarray:
    """(k, r-1) conditional probabilities of a node's states but its first."""
    log_odds = features @ w
    top = np.maximum(log_odds.max(axis=1, initial=0.0), 0.0)[:, None]
    weight = np.exp(log_odds - top)
    return np.asarray(weight / (weight.sum(axis=1, keepdims=True) + np.exp(-top)))


def information(model: Model, statistics: Statistics, w: np.ndarray) -> np.ndarray:
    """Minus the second derivatives (p, p) of the log pseudolikelihood at w."""
    table, features = statistics.patterns, NodeFeatures(model)
    degree = np.diff(model.adjacency.offset)
    matrix = np.zeros((model.n_parameters, model.n_parameters))
    for i in range(model.n_nodes):
        weight = table.weight[table.node_offset[i] : table.node_offset[i + 1]]
        states = table.states[table.states_offset[i] : table.states_offset[i + 1]].reshape(weight.size, degree[i])
        columns, slopes = features.of(i, states)
        if not columns.size:  # nothing to learn at this node
            continue
        share = probabilities(slopes, w[columns])
        mean = np.einsum("ka,kac->kc", share, slopes)
        flat = slopes.reshape(-1, columns.size)
        block = (flat * (weight[:, None] * share).reshape(-1, 1)).T @ flat - (mean * weight[:, None]).T @ mean
        matrix[np.ix_(columns, columns)] += block
    return matrix


def scores(model: Model, rows: np.ndarray, w: np.ndarray) -> np.ndarray:
    """(k, p) derivatives of each observation's log pseudolikelihood."""
    offset, neighbour, _ = model.adjacency
    features = NodeFeatures(model)
    out = np.zeros((len(rows), model.n_parameters))
    for i in range(model.n_nodes):
        columns, slopes = features.of(i, rows[:, neighbour[offset[i] : offset[i + 1]]])
        surprise = -probabilities(slopes, w[columns])
        seen = rows[:, i] > 0
        surprise[seen, rows[seen, i] - 1] += 1.0
        out[:, columns] += np.einsum("ka,kac->kc", surprise, slopes)
    return out


def spread_ratio(
    model: Model, statistics: Statistics, prior: Prior, w: np.ndarray, information: np.ndarray
) -> np.ndarray | None:
    """Spread of the pseudolikelihood posterior over that of its estimates, for up to 256 parameters; None if unknown.

    Parameters
    ----------
    w : (p,) the mode
    information : (p, p) H there, the prior's included; its diagonal alone does not tell
    """
    from scipy.linalg import cho_factor, cho_solve

    rows, weights = statistics.rows, statistics.row_weights
    if len(rows) < 2 or information.ndim == 1:
        return None
    p = model.n_parameters
    chosen = np.unique(np.linspace(0, p - 1, min(p, RATIO_PARAMETERS)).astype(int))
    unit = np.zeros((p, chosen.size))
    unit[chosen, np.arange(chosen.size)] = 1.0
    columns = cho_solve(cho_factor(information), unit)
    each = scores(model, rows, w)
    each -= weights @ each / weights.sum()
    varied = weights @ (each @ columns) ** 2
    hessian = prior.hessian_w(w)
    pulled = hessian[:, None] * columns if hessian.ndim == 1 else hessian @ columns
    varied -= (columns * pulled).sum(axis=0)
    return np.asarray(np.sqrt(columns[chosen, np.arange(chosen.size)] / varied))
