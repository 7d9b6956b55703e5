r"""The pseudolikelihood of the data: every variable given all others, one term per distinct state of its neighbours.

.. math:: \log PL(w) = \sum_j b_j w_j - \sum_i \sum_c n_{ic} \log \sum_a \exp h_{ic}(a)

with b linear in the data, c running over the distinct states of node i's neighbours, n_ic how often they occur, and
h_ic(a) the log potential of state a among them. One set of arrays serves estimates, posterior chains and information.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mrfbayes.base.errors import CostError, InputError
from mrfbayes.data.patterns import MAX_PATTERN_BYTES, PatternTable, column_bytes
from mrfbayes.data.statistics import Statistics
from mrfbayes.kernels.estimation.full_conditionals import (
    Neighbours,
    ScorePatterns,
    TablePatterns,
    conditional_sum,
    score_variances,
    table_expectations,
)
from mrfbayes.model.field import Model


@dataclass(frozen=True)
class Conditionals:
    """Data in the form that the kernels of full conditionals take.

    Attributes
    ----------
    model : the field
    slope : (p,) b
    neighbours : edges of every node
    patterns : of a binary field, or where all couplings are products of levels, `ScorePatterns`; else `TablePatterns`
    """

    model: Model
    slope: np.ndarray
    neighbours: Neighbours
    patterns: ScorePatterns | TablePatterns

    @classmethod
    def of(cls, model: Model, statistics: Statistics, plain: bool = False) -> Conditionals:
        """The conditionals of ``statistics``; ``plain`` keeps equal observations apart instead of counting them."""
        table = every_row(model, statistics) if plain else statistics.patterns
        neighbours = Neighbours(_owned(model.adjacency.offset, np.int64), _owned(model.adjacency.edge, np.int64))
        node_part, edge_part = statistics.node_part, statistics.edge_part
        assert node_part is not None  # known wherever patterns are
        assert edge_part is not None
        ends, is_score = model.edges, model.is_binary or has_score_couplings(model)
        slope_edges = 2.0 * edge_part
        if model.is_binary:  # linear in h = field + sum of +-coupling where x = 1
            slope_edges = slope_edges - 2.0 * statistics.n + node_part[ends[:, 0]] + node_part[ends[:, 1]]
        slope = model.lowering.statistics_direction(node_part, slope_edges)
        return cls(model, slope, neighbours, (_score_patterns if is_score else _table_patterns)(model, table))

    @property
    def n_patterns(self) -> int:
        """Number of terms."""
        return int(self.patterns.weight.size)

    def value_gradient(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """Log pseudolikelihood and its gradient (p,)."""
        lowering = self.model.lowering
        node, edge = lowering.potentials(w)
        parts = np.zeros(node.size), np.zeros(edge.size)
        total = conditional_sum(self.patterns, self.neighbours, node, edge, *parts)  # type: ignore[no-untyped-call]
        return float(self.slope @ w - total), self.slope - lowering.statistics_direction(*parts)

    def diagonal(self, w: np.ndarray) -> np.ndarray:
        """(p,) sum of the conditional variances of each parameter's cells: near the diagonal of the information."""
        model, table = self.model, self.patterns
        nodes = model.lowering.n_node_rows
        cells = np.zeros(model.lowering.n_rows)
        if isinstance(table, ScorePatterns):
            node, edge = model.lowering.potentials(w)
            score_variances(table, self.neighbours, node, edge, cells[:nodes], cells[nodes:])
        else:
            self.value_gradient(w)  # leaves the probabilities of all patterns
            weight = np.maximum(table.weight, 1e-300)[:, None]
            table.share[:] = table.share * (1 - table.share / weight)
            table_expectations(self.neighbours, table, cells[:nodes], cells[nodes:])
        row, column, value = model.lowering.forward
        return np.bincount(column, weights=value**2 * cells[row], minlength=model.n_parameters)


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


def every_row(model: Model, statistics: Statistics) -> PatternTable:
    """Each observation as a pattern of its own, at every node."""
    offset, neighbour, _ = model.adjacency
    if statistics.chunks is None:
        raise InputError("plain=True needs every observation, and these data kept counts only: use plain=False.")
    n = sum(chunk.n for chunk in statistics.chunks)
    size = n * (neighbour.size + 8 * model.n_nodes)
    if size > MAX_PATTERN_BYTES:
        raise CostError(
            f"plain=True needs {size / 2**30:.1f} GiB for n = {n} here: use plain=False, the same function."
        )
    columns = np.concatenate([column_bytes(c, np.arange(model.n_nodes)) for c in statistics.chunks], axis=1)
    weight = np.concatenate([c.weight if c.weight.size else np.ones(c.n) for c in statistics.chunks])
    states = [columns[neighbour[offset[i] : offset[i + 1]]].T.ravel() for i in range(model.n_nodes)]
    return PatternTable(
        np.arange(model.n_nodes + 1) * n, offset * n, np.concatenate(states), np.tile(weight, model.n_nodes)
    )


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
