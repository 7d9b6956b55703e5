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
from mrfbayes.kernels.estimation.full_conditional_gradients import dense_expectations, listed_expectations
from mrfbayes.kernels.estimation.full_conditional_scores import ScorePatterns, score_expectations
from mrfbayes.kernels.estimation.full_conditional_tables import table_expectations, table_normalisers
from mrfbayes.kernels.estimation.full_conditionals import DensePatterns, ListedPatterns, Neighbours, TablePatterns
from mrfbayes.model.field import Model


@dataclass(frozen=True)
class Conditionals:
    """Data in the form that the kernels of full conditionals take.

    Attributes
    ----------
    model : the field
    slope : (p,) b
    neighbours : edges of every node
    patterns : of a binary field two parts, `DensePatterns` and `ListedPatterns`; otherwise one, `ScorePatterns` where
        all couplings are products of levels, else `TablePatterns`
    """

    model: Model
    slope: np.ndarray
    neighbours: Neighbours
    patterns: tuple[DensePatterns | ListedPatterns | ScorePatterns | TablePatterns, ...]

    @classmethod
    def of(cls, model: Model, statistics: Statistics, plain: bool = False) -> Conditionals:
        """The conditionals of ``statistics``; ``plain`` keeps equal observations apart instead of counting them."""
        table = every_row(model, statistics) if plain else statistics.patterns
        neighbours = Neighbours(_owned(model.adjacency.offset, np.int64), _owned(model.adjacency.edge, np.int64))
        node_part, edge_part = statistics.node_part, statistics.edge_part
        assert node_part is not None  # known wherever patterns are
        assert edge_part is not None
        if not model.is_binary:
            slope = model.lowering.statistics_direction(node_part, 2.0 * edge_part)
            if has_score_couplings(model):
                return cls(model, slope, neighbours, (_score_patterns(model, table),))
            return cls(model, slope, neighbours, (_table_patterns(model, table),))
        # Linear in h = field + sum of +-coupling where x = 1; a folded pattern leaves +h of its complement behind.
        ends = model.edges
        slope_edges = 2.0 * edge_part - 2.0 * statistics.n + node_part[ends[:, 0]] + node_part[ends[:, 1]]
        patterns = _binary_patterns(model, table, slope_edges, plain)
        return cls(model, model.lowering.statistics_direction(node_part, slope_edges), neighbours, patterns)

    @property
    def _parts(self) -> tuple[DensePatterns, ListedPatterns]:
        """The two parts of a binary field's patterns."""
        dense, listed = self.patterns
        assert isinstance(dense, DensePatterns)
        assert isinstance(listed, ListedPatterns)
        return dense, listed

    @property
    def n_patterns(self) -> int:
        """Number of terms."""
        return int(sum(part.weight.size for part in self.patterns))

    def value_gradient(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """Log pseudolikelihood and its gradient (p,)."""
        lowering = self.model.lowering
        node, edge = lowering.potentials(w)
        parts = np.zeros(node.size), np.zeros(edge.size)
        first = self.patterns[0]
        if isinstance(first, ScorePatterns):
            total = score_expectations(self.neighbours, first, node, edge, *parts)
        elif isinstance(first, TablePatterns):
            total = table_normalisers(self.neighbours, first, node, edge)
            table_expectations(self.neighbours, first, *parts)
        else:
            dense, listed = self._parts
            total = dense_expectations(self.neighbours, dense, node, edge, *parts)
            total += listed_expectations(self.neighbours, listed, node, edge, *parts)
        return float(self.slope @ w - total), self.slope - lowering.statistics_direction(*parts)

    def diagonal(self, w: np.ndarray) -> np.ndarray:
        """(p,) sum of the conditional variances of each parameter's cells: near the diagonal of the information."""
        model, table = self.model, self.patterns[0]
        if isinstance(table, ScorePatterns):
            return self._score_diagonal(table, w)
        self.value_gradient(w)  # leaves the probabilities of all patterns
        if isinstance(table, TablePatterns):
            weight = np.maximum(table.weight, 1e-300)[:, None]
            table.share[:] = table.share * (1 - table.share / weight)
            cells = np.zeros(model.lowering.n_rows)
            nodes = model.lowering.n_node_rows
            table_expectations(self.neighbours, table, cells[:nodes], cells[nodes:])
        else:
            nodes_variance = np.zeros(model.n_nodes)
            for part in self._parts:
                share, weight = part.share, np.maximum(part.weight, 1e-300)
                owner = np.repeat(part.node, np.diff(part.start))
                nodes_variance += np.bincount(owner, share * (1 - share / weight), minlength=model.n_nodes)
            cells = np.concatenate([nodes_variance, nodes_variance[model.edges].sum(axis=1)])
        row, column, value = model.lowering.forward
        return np.bincount(column, weights=value**2 * cells[row], minlength=model.n_parameters)

    def _score_diagonal(self, table: ScorePatterns, w: np.ndarray) -> np.ndarray:
        """The diagonal of products of levels: the neighbour's level squared times the variance of the node's own."""
        model = self.model
        node, edge = model.lowering.potentials(w)
        cells = np.zeros(model.lowering.n_rows)
        for i in range(model.n_nodes):
            first, stop = table.pattern_offset[i : i + 2]
            slots = slice(self.neighbours.offset[i], self.neighbours.offset[i + 1])
            level = table.level[table.level_start[i] : table.level_start[i + 1]].reshape(-1, stop - first).astype(float)
            own = np.arange(model.states[i])
            at = table.node_offset[i] + own
            potential = node[at][:, None] + own[:, None] * (edge[table.unit[slots]] @ level)
            share = np.exp(potential - potential.max(axis=0))
            share /= share.sum(axis=0)
            weight = table.weight[first:stop]
            cells[at] = (share * (1 - share)) @ weight
            variance = own**2 @ share - (own @ share) ** 2
            np.add.at(cells, node.size + table.unit[slots], level**2 @ (weight * variance))
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


def _binary_patterns(
    model: Model, table: PatternTable, slope_edges: np.ndarray, plain: bool
) -> tuple[DensePatterns, ListedPatterns]:
    """The patterns of each node, all of them or listed; adds what folding leaves behind to ``slope_edges``."""
    offset, _, edge = model.adjacency
    has_field = np.zeros(model.n_nodes, dtype=bool)
    has_field[model.lowering.forward.row[model.lowering.forward.row < model.n_nodes]] = True
    dense: list[tuple[int, bool, np.ndarray]] = []
    listed: list[tuple[int, np.ndarray, np.ndarray]] = []
    for i in range(model.n_nodes):
        degree = int(offset[i + 1] - offset[i])
        weight = table.weight[table.node_offset[i] : table.node_offset[i + 1]]
        states = table.states[table.states_offset[i] : table.states_offset[i + 1]].reshape(weight.size, degree)
        if degree and (plain or 2**degree > max(2 * weight.size, 16)):
            listed.append((i, np.packbits(states, axis=1, bitorder="little"), weight))
            continue
        cells = np.bincount(states @ (1 << np.arange(degree)), weights=weight, minlength=2**degree)
        fold = degree > 0 and not has_field[i]
        if fold:
            kept, complement = cells[1::2], cells[::2][::-1]
            signs = 2 * (np.arange(1, 2**degree, 2)[:, None] >> np.arange(degree) & 1) - 1
            np.add.at(slope_edges, edge[offset[i] : offset[i + 1]], complement @ signs)
            cells = kept + complement
        dense.append((i, fold, cells))
    starts = [np.cumsum([0, *(len(weight) for *_, weight in part)]) for part in (dense, listed)]
    bytes_start = np.cumsum([0, *(code.size for _, code, _ in listed)])[:-1]
    flat = np.concatenate([np.zeros(0), *(cells for *_, cells in dense)])
    codes = np.concatenate([np.zeros(0, np.uint8), *(code.ravel() for _, code, _ in listed)])
    weights = np.concatenate([np.zeros(0), *(weight for *_, weight in listed)])
    widest = max((code.shape[1] for _, code, _ in listed), default=0)
    most = max((weight.size for *_, weight in listed), default=0)
    return (
        DensePatterns(
            _owned([i for i, *_ in dense], np.int64),
            _owned([fold for _, fold, _ in dense], bool),
            _owned(starts[0], np.int64),
            _owned(flat),
            np.zeros(flat.size),
            np.zeros(flat.size),
            np.zeros(model.n_edges),
            int(np.diff(offset).max()),
        ),
        ListedPatterns(
            _owned([i for i, *_ in listed], np.int64),
            _owned(starts[1], np.int64),
            _owned(bytes_start, np.int64),
            _owned(codes, np.uint8),
            _owned(weights),
            np.zeros(most),
            np.zeros(weights.size),
            np.zeros(256 * widest),
        ),
    )


def _score_patterns(model: Model, table: PatternTable) -> ScorePatterns:
    """The patterns of ordered variables, neighbour by neighbour."""
    offset, _, edge = model.adjacency
    levels = []
    for i in range(model.n_nodes):
        states = table.states[table.states_offset[i] : table.states_offset[i + 1]]
        levels.append(states.reshape(-1, max(int(offset[i + 1] - offset[i]), 1)).T.ravel())
    most = int(np.diff(table.node_offset).max())
    return ScorePatterns(
        _owned(model.states, np.int64),
        _owned(model.lowering.node_offset, np.int64),
        _owned(model.lowering.edge_offset[edge] + model.states[model.edges[edge, 1]] + 1, np.int64),
        _owned(table.node_offset, np.int64),
        _owned(table.states_offset, np.int64),
        _owned(np.concatenate(levels), np.uint8),
        _owned(table.weight),
        np.zeros(table.weight.size),
        np.zeros((4, most)),
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
