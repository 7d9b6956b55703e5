r"""Maximum pseudolikelihood (Besag 1975): the product of full conditionals, from pattern counts.

.. math:: \log PL(w) = \sum_i \sum_{x} \log p(x_i \mid x_{-i}; w)
          = \sum_j b_j w_j - \sum_i \sum_c n_{ic} \log \sum_a \exp h_{ic}(a)

with b linear in the data, c running over the distinct states of node i's neighbours, n_ic how often they occur, and
h_ic(a) the log potential of state a among them. Its cost does not depend on n. It also is the start of the algorithms
that sample, then always with the uniform prior's pseudo-counts, so that it is finite. One set of arrays serves
estimates, posterior chains and information.

How much a pseudolikelihood knows, and how much it only believes to know (Godambe's information).

H, minus the second derivatives of the log pseudolikelihood and the log prior, is what a posterior made of it takes for
its information. But its terms are not independent: the scores g_t of the observations vary by J = sum_t g_t g_t', which
is more. Estimates from it scatter by H^{-1} (J + Lambda) H^{-1}, Lambda being the prior's information, so that

.. math:: \left( [H^{-1}]_{jj} \,/\, [H^{-1} (J + \Lambda) H^{-1}]_{jj} \right)^{1/2}

is by how much the posterior's sd of w_j is too small.
"""

from __future__ import annotations

import numpy as np

from mrfbayes.data.patterns import PatternTable
from mrfbayes.data.statistics import Statistics
from mrfbayes.estimation.optimise import Ascent, Penalised, Report, lbfgs, silent
from mrfbayes.estimation.result import Outcome, Recorder, Task
from mrfbayes.kernels.estimation import full_conditionals as kernels
from mrfbayes.kernels.estimation.full_conditionals import Neighbours, ScorePatterns, TablePatterns
from mrfbayes.model.field import Model
from mrfbayes.priors import Prior

RATIO_PARAMETERS = 256  # for which the ratio is worked out, evenly spaced among all


class PseudoObjective(Penalised):
    """Log pseudolikelihood, plus the log prior where there is one.

    Attributes
    ----------
    slope : (p,) b
    neighbours : edges of every node
    patterns : of a binary field, or where all couplings are products of levels, `ScorePatterns`; else `TablePatterns`
    """

    def __init__(self, model: Model, stats: Statistics, prior: Prior | None) -> None:
        super().__init__(model, stats, prior)
        table, (offset, _, edge), ends = stats.patterns, model.adjacency, model.edges
        node_part, edge_part = stats.node_part, stats.edge_part
        assert node_part is not None  # known wherever patterns are
        assert edge_part is not None
        slope_edges = 2.0 * edge_part
        if model.is_binary:  # linear in h = field + sum of +-coupling where x = 1
            slope_edges = slope_edges - 2.0 * stats.n + node_part[ends[:, 0]] + node_part[ends[:, 1]]
        self.slope = model.lowering.statistics_direction(node_part, slope_edges)
        self.neighbours = Neighbours(_owned(offset, np.int64), _owned(edge, np.int64))
        make = _score_patterns if model.is_binary or has_score_couplings(model) else _table_patterns
        self.patterns: ScorePatterns | TablePatterns = make(model, table)

    def _value_gradient(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        lowering = self.model.lowering
        node, edge = lowering.potentials(w)
        parts = np.zeros(node.size), np.zeros(edge.size)
        total = kernels.conditional_sum(self.patterns, self.neighbours, node, edge, *parts)
        return float(self.slope @ w - total), self.slope - lowering.statistics_direction(*parts)

    def _diagonal(self, w: np.ndarray) -> np.ndarray:
        """(p,) sum of the conditional variances of each parameter's cells: near the diagonal of the information."""
        model, table = self.model, self.patterns
        nodes = model.lowering.n_node_rows
        cells = np.zeros(model.lowering.n_rows)
        if isinstance(table, ScorePatterns):
            node, edge = model.lowering.potentials(w)
            kernels.score_variances(table, self.neighbours, node, edge, cells[:nodes], cells[nodes:])
        else:
            self._value_gradient(w)  # leaves the probabilities of all patterns
            weight = np.maximum(table.weight, 1e-300)[:, None]
            table.share[:] = table.share * (1 - table.share / weight)
            kernels.table_expectations(self.neighbours, table, cells[:nodes], cells[nodes:])
        row, column, value = model.lowering.forward
        return np.bincount(column, weights=value**2 * cells[row], minlength=model.n_parameters)

    def _information(self, w: np.ndarray) -> np.ndarray:
        return information(self.model, self.stats, w)


def pseudo_estimate(
    model: Model, stats: Statistics, prior: Prior | None, report: Report = silent, tolerance: float = 1e-6
) -> Ascent:
    """Maximise the (penalised) pseudolikelihood from no interaction."""
    objective = PseudoObjective(model, stats, prior)
    return lbfgs(objective, np.zeros(model.n_parameters), tolerance=tolerance, report=report)


def run(task: Task, *, tolerance: float = 1e-6) -> Outcome:
    """Maximise the pseudolikelihood, with the task's prior.

    Parameters
    ----------
    tolerance : largest gradient left over, in posterior sds
    """
    recorder = Recorder(task)
    ascent = pseudo_estimate(task.model, task.stats, task.prior, recorder.ascent, tolerance)
    return recorder.outcome(ascent)


def has_score_couplings(model: Model) -> bool:
    """Whether every edge's log potential is one coupling times the product of the two levels."""
    lowering = model.lowering
    row, _, value = lowering.forward
    on_edges = row >= lowering.n_node_rows
    cell = row[on_edges] - lowering.n_node_rows
    product = np.zeros(int(lowering.edge_offset[-1]))
    start, width = lowering.edge_offset[:-1], model.states[model.edges[:, 1]]
    edge = np.repeat(np.arange(model.n_edges), np.diff(lowering.edge_offset))
    place = np.arange(product.size) - start[edge]
    product[:] = (place // width[edge]) * (place % width[edge])
    # Each cell has one parameter, none where the product is zero, and within an edge always the same.
    if not np.array_equal(cell, np.flatnonzero(product)) or not np.array_equal(value[on_edges], product[cell]):
        return False
    parameter = lowering.forward.column[on_edges]
    return bool((parameter[1:] == parameter[:-1])[edge[cell][1:] == edge[cell][:-1]].all())


def _owned(array: object, dtype: type = float) -> np.ndarray:
    """A contiguous, writable copy: any other kind of array would compile the kernels anew."""
    return np.array(array, dtype=dtype, order="C", copy=True)


def _score_patterns(model: Model, table: PatternTable) -> ScorePatterns:
    """The patterns of ordered or binary variables, neighbour by neighbour."""
    offset, _, edge = model.adjacency
    unit = edge if model.is_binary else model.lowering.edge_offset[edge] + model.states[model.edges[edge, 1]] + 1
    levels = []
    for i in range(model.n_nodes):
        states = table.states[table.states_offset[i] : table.states_offset[i + 1]]
        levels.append(states.reshape(-1, max(int(offset[i + 1] - offset[i]), 1)).T.ravel())
    most = int(np.diff(table.node_offset).max())
    return ScorePatterns(
        _owned(model.states, np.int64),
        _owned(np.arange(model.n_nodes + 1) if model.is_binary else model.lowering.node_offset, np.int64),
        _owned(unit, np.int64),
        _owned(table.node_offset, np.int64),
        _owned(table.states_offset, np.int64),
        _owned(np.concatenate(levels), np.uint8),
        _owned(table.weight),
        np.zeros(most),
        np.zeros((4, most)),
        np.zeros((2, int(model.states.max()))),
        model.is_binary,
    )


def _table_patterns(model: Model, table: PatternTable) -> TablePatterns:
    """The patterns of a categorical field, with the cells that each neighbour selects."""
    offset, neighbour, edge = model.adjacency
    here = np.repeat(np.arange(model.n_nodes), np.diff(offset))
    across = model.states[model.edges[edge, 1]]
    is_first = model.edges[edge, 0] == here
    width = -(-int(model.states.max()) // 4) * 4
    rows = np.bincount(here, weights=model.states[neighbour], minlength=model.n_nodes).max(initial=0.0)
    return TablePatterns(
        _owned(model.states, np.int64),
        _owned(model.lowering.node_offset, np.int64),
        _owned(model.states[neighbour], np.int64),
        _owned(model.lowering.edge_offset[edge], np.int64),
        _owned(np.where(is_first, 1, across), np.int64),
        _owned(np.where(is_first, across, 1), np.int64),
        _owned(table.node_offset, np.int64),
        _owned(table.states_offset, np.int64),
        _owned(table.states, np.uint8),
        _owned(table.weight),
        width,
        np.zeros((table.weight.size, width)),
        np.zeros((max(int(rows), 1), width)),
    )


class NodeFeatures:
    """Derivatives in w of every node's conditional log-odds against its first state."""

    def __init__(self, model: Model) -> None:
        self._model, self._map = model, model.lowering.matrix

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


def sd_ratio(
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
    ratio = columns[chosen, np.arange(chosen.size)] / varied
    return np.sqrt(ratio) if (ratio > 0).all() else None  # beyond the scale of a Cauchy prior there is no such sandwich
