r"""The likelihood of incomplete rows: sums over their missing cells, with derivatives.

.. math:: \log L(w) = \sum_i A_i(w) - n A(w), \qquad A_i(w) = \log \sum_{y} \exp(w \cdot s(x_i, y)),

y over the missing cells of row i. `observed` splits it into a part that is linear in w (`counts`), what is summed over
missing cells (`Clamped`), and the n A(w) of all rows. Derivatives are clamped minus free: the score is E[s | seen] -
E[s], the information n Cov[s] - sum of the Cov[s | seen], and so on for all cumulants.

Missing nodes of a row that no path of missing nodes joins are independent given what is seen. So a row's sum over its
missing cells is a product over components of connected missing nodes, each of which depends on the values of its seen
neighbours alone; equal components, of whatever rows, are counted once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from weakref import WeakKeyDictionary

import numpy as np

from mrfbayes.base.budget import budget
from mrfbayes.base.errors import CostError
from mrfbayes.data.coding import MISSING_CODE
from mrfbayes.data.statistics import Statistics
from mrfbayes.data.tally import IncompleteRows
from mrfbayes.exact.held import HeldField
from mrfbayes.exact.recursions import TooLarge, model_tables, ranges
from mrfbayes.kernels.exact.clamped import (
    MissingComponents,
    clamped_draw,
    clamped_log_z,
    clamped_moments,
    clamped_sampled,
    clamped_series,
    component_projections,
)
from mrfbayes.model.field import Model

ELSEWHERE = MISSING_CODE - 1  # a node that a component does not touch
COMPONENT_STATES = 1 << 12  # configurations of a component that are summed over one by one; larger ones are eliminated
CELLS_AT_ONCE = 1 << 26
MOST_ENUMERATED = 2**20  # configurations: some 30 ms for each theta


@dataclass(frozen=True)
class ComponentRows:
    """Distinct components (u, d): `MISSING_CODE` at their nodes, states of seen neighbours, `ELSEWHERE`; and weights.

    ``row`` and ``component`` say which components each of the incomplete rows has.
    """

    rows: np.ndarray
    weight: np.ndarray
    row: np.ndarray
    component: np.ndarray


def component_rows(model: Model, incomplete: IncompleteRows) -> ComponentRows:
    """Cut the incomplete rows into components, and join equal ones."""
    step = max(1, CELLS_AT_ONCE // max(model.n_nodes * 8, 1))
    parts, owners = [], []
    for first in range(0, len(incomplete.rows), step):
        rows, row = _cut(model, incomplete.rows[first : first + step])
        parts.append(rows)
        owners.append(row + first)
    every, row = np.concatenate(parts), np.concatenate(owners)
    as_bytes = np.ascontiguousarray(every).view(np.dtype((np.void, model.n_nodes))).ravel()
    _, index, component = np.unique(as_bytes, return_index=True, return_inverse=True)
    weight = np.bincount(component, weights=incomplete.weight[row], minlength=index.size)
    return ComponentRows(every[index], weight, row, component)


def _cut(model: Model, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """MissingComponents (c, d) of some rows, and the row of each."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    d = model.n_nodes
    missing = rows == MISSING_CODE
    row, node = np.nonzero(missing)
    number = np.full(rows.shape, -1, dtype=np.int64)
    number[row, node] = np.arange(row.size)
    pairs = [np.zeros((2, 0), dtype=np.int64)]
    for u, v in model.edges.tolist():
        both = np.flatnonzero(missing[:, u] & missing[:, v])
        pairs.append(np.stack([number[both, u], number[both, v]]))
    left, right = np.concatenate(pairs, axis=1)
    graph = coo_array((np.ones(left.size, dtype=np.int8), (left, right)), shape=(row.size, row.size))
    count, label = connected_components(graph, directed=False)
    components = np.full((count, d), ELSEWHERE, dtype=np.uint8)
    offset, neighbour, _ = model.adjacency
    place, near = _neighbours(offset, node)
    components[label[place], neighbour[near]] = rows[row[place], neighbour[near]]
    components[label, node] = MISSING_CODE
    owner = np.empty(count, dtype=np.int64)
    owner[label] = row
    return components, owner


def _neighbours(offset: np.ndarray, node: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each entry of ``node`` all places in the neighbour lists: index of the entry, and the place."""
    degree = offset[node + 1] - offset[node]
    return np.repeat(np.arange(node.size), degree), ranges(offset[node], degree)


def flat_components(model: Model, rows: np.ndarray, weight: np.ndarray) -> MissingComponents:
    """MissingComponents as the kernels take them."""
    lowering, (offset, neighbour, edge_of) = model.lowering, model.adjacency
    states, d = model.states, model.n_nodes
    node_cells = int(lowering.node_offset[-1])
    unit, node = np.nonzero(rows == MISSING_CODE)
    start = np.searchsorted(unit, np.arange(len(rows) + 1))
    entry, place = _neighbours(offset, node)
    other, edge = neighbour[place], edge_of[place]
    value = rows[unit[entry], other].astype(np.int64)
    columns = states[model.edges[edge, 1]] if edge.size else edge
    is_first = model.edges[edge, 0] == node[entry] if edge.size else edge == 1
    base = node_cells + lowering.edge_offset[edge]
    own, across = np.where(is_first, columns, 1), np.where(is_first, 1, columns)  # strides of this node and the other
    seen = value != MISSING_CODE
    own_terms = np.stack([lowering.node_offset[node], np.ones_like(node)], axis=1)
    edge_terms = np.stack([base[seen] + value[seen] * across[seen], own[seen]], axis=1)
    terms, term_start = _sorted_by(np.concatenate([np.arange(node.size), entry[seen]]), [own_terms, edge_terms], node)
    later = ~seen & (other < node[entry])
    position = np.searchsorted(unit * d + node, unit[entry[later]] * d + other[later]) - start[unit[entry[later]]]
    order = np.lexsort((position, entry[later]))
    pairs = np.stack([position, base[later], own[later], across[later]], axis=1)[order]
    pair_start = np.searchsorted(entry[later][order], np.arange(node.size + 1))
    arrays = (weight, start, states[node], term_start, terms, pair_start, pairs)
    kinds = (float, *(np.int64,) * 6)
    return MissingComponents(*(np.array(a, dtype=kind, order="C") for a, kind in zip(arrays, kinds, strict=True)))


def _sorted_by(owner: np.ndarray, parts: list[np.ndarray], node: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    order = np.argsort(owner, kind="stable")
    return np.concatenate(parts)[order], np.searchsorted(owner[order], np.arange(node.size + 1))


def configurations(model: Model, rows: np.ndarray) -> np.ndarray:
    """(u,) how many configurations each component has, as floats: it may be astronomical."""
    log = np.where(rows == MISSING_CODE, np.log2(model.states), 0.0).sum(axis=1)
    with np.errstate(over="ignore"):
        return np.asarray(np.rint(np.exp2(log)))


class EliminatedComponent:
    """A component too large to be enumerated: the field of its nodes, all others held, summed by elimination.

    ``row`` (d,) is one of `ComponentRows`. Tables are those of the whole field, flat.
    """

    def __init__(self, model: Model, row: np.ndarray, weight: float) -> None:
        seen = np.flatnonzero(row < ELSEWHERE)
        self._field = HeldField(model, seen.tolist(), np.flatnonzero(row == MISSING_CODE).tolist())
        self.weight, self._recursion = weight, self._field.graph
        self._nodes, self._pairs, self._beside, self._border = self._field.cells(row[seen])
        self.cells = self._recursion.n_bytes("moments") / 8

    def _own(self, table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        added = np.bincount(self._beside, weights=table[self._border], minlength=self._nodes.size)
        return table[self._nodes] + added, table[self._pairs]

    def _add(self, nodes: np.ndarray, pairs: np.ndarray, cells: np.ndarray) -> None:
        """Weighted sums of the own cells to those of the whole field."""
        cells[self._nodes] += self.weight * nodes
        cells[self._border] += self.weight * nodes[self._beside]
        cells[self._pairs] += self.weight * pairs

    def log_z(self, table: np.ndarray) -> float:
        """Weighted log of the sum over all configurations."""
        return self.weight * self._recursion.log_z(*self._own(table))

    def moments(self, table: np.ndarray, cells: np.ndarray) -> float:
        """`log_z`; the weighted E[T] is added to ``cells``."""
        log_z, nodes, pairs = self._recursion.moments(*self._own(table))
        self._add(nodes, pairs, cells)
        return self.weight * log_z

    def sample(self, table: np.ndarray, n: int, state: np.ndarray) -> np.ndarray:
        """(n, nodes of the component) independent draws."""
        return self._recursion.sample(*self._own(table), n, state)

    def series(self, table: np.ndarray, directions: np.ndarray, out: np.ndarray) -> None:
        """Derivatives of the weighted E[T] along each direction are added to ``out`` (directions, order, cells)."""
        own = (np.concatenate(self._own(direction)) for direction in directions)
        for k, found in enumerate(self._recursion.series(*self._own(table), own, out.shape[1])):
            for order, part in enumerate(found):
                self._add(part[: self._nodes.size], part[self._nodes.size :], out[k, order])


class Enumerated:
    """All configurations of a field, numbered with the first node's state changing fastest."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self._components = flat_components(model, _all_free(model), np.ones(1))
        self.size = int(np.prod(model.states))
        self._scratch = np.empty(2 * self.size)

    @staticmethod
    def is_feasible(model: Model) -> bool:
        """Whether the configurations are few enough."""
        return float(configurations(model, _all_free(model))[0]) <= MOST_ENUMERATED

    def probabilities(self, log_odds: np.ndarray) -> np.ndarray:
        """(K,) probability of every configuration."""
        table = np.concatenate(model_tables(self.model, log_odds))
        probability = np.empty(self.size)
        none = np.empty((0, table.size))
        component_projections(self._components, 0, table, none, self._scratch, probability, np.empty((0, self.size)))
        return probability


def _all_free(model: Model) -> np.ndarray:
    return np.full((1, model.n_nodes), MISSING_CODE, dtype=np.uint8)


MOST_COMPLETIONS = 1 << 26  # of all components: about half a second for each evaluation
DIRECTIONS_AT_ONCE = 32


@dataclass(frozen=True)
class Observed:
    """What a likelihood needs to know of data that may have incomplete.

    Attributes
    ----------
    counts : (p,) sufficient statistics of everything seen: of complete rows, and of those factors of the other rows
        whose nodes are all seen
    n : total weight of all rows
    clamped : the sums over missing cells; None where there are none
    """

    counts: np.ndarray
    n: float
    clamped: Clamped | None

    def value_gradient(self, w: np.ndarray, log_z: float, mean: np.ndarray) -> tuple[float, np.ndarray]:
        """Log-likelihood and its gradient (p,), where A(w) and E[s] are known."""
        value, gradient = float(self.counts @ w - self.n * log_z), self.counts - self.n * mean
        if self.clamped is None:
            return value, np.asarray(gradient)
        more, clamped = self.clamped.moments(w)
        return value + more, gradient + clamped

    def information(self, w: np.ndarray, covariance: np.ndarray) -> np.ndarray:
        """Minus the second derivatives (p, p), where Cov[s] is known."""
        matrix = self.n * covariance
        return np.asarray(matrix if self.clamped is None else matrix - self.clamped.covariance(w))


_KNOWN: WeakKeyDictionary[Statistics, Observed] = WeakKeyDictionary()


def observed(statistics: Statistics) -> Observed:
    """The likelihood of these data; worked out once. `CostError` where missing cells are too many to be summed over."""
    if statistics.incomplete is None:
        return Observed(statistics.counts, statistics.n, None)
    known = _KNOWN.get(statistics)
    if known is None:
        clamped = Clamped(statistics.model, statistics.incomplete)
        known = Observed(statistics.counts + clamped.seen_counts(), statistics.n_all, clamped)
        _KNOWN[statistics] = known
    return known


class Clamped:
    """Sums over the missing cells of incomplete rows, exactly."""

    def __init__(self, model: Model, incomplete: IncompleteRows) -> None:
        self.model, self.incomplete = model, incomplete
        found = component_rows(model, incomplete)
        self.found = found
        sizes = configurations(model, found.rows)
        small = sizes <= COMPONENT_STATES
        self.n_configurations = float(sizes[small].sum())
        if self.n_configurations > MOST_COMPLETIONS:
            raise CostError(
                f"{len(incomplete.rows):,} distinct rows with missing cells have {self.n_configurations:.2g} "
                "completions to sum over: use method='langevin' on dense fields, or missing='drop'."
            )
        self.small = np.flatnonzero(small)
        self.components: MissingComponents = flat_components(model, found.rows[small], found.weight[small])
        self.most = int(sizes[small].max(initial=1.0))
        try:
            self.large = [
                EliminatedComponent(model, row, float(weight))
                for row, weight in zip(found.rows[~small], found.weight[~small], strict=True)
            ]
        except TooLarge as problem:
            raise CostError(
                f"a row has {int((incomplete.rows == MISSING_CODE).sum(axis=1).max())} missing cells, whose sum does "
                f"not fit into memory ({problem}): use method='langevin' on dense fields, or missing='drop'."
            ) from None

    @property
    def cells(self) -> float:
        """Numbers that one evaluation goes through."""
        return self.n_configurations + sum(component.cells for component in self.large)

    def seen_counts(self) -> np.ndarray:
        """(p,) sufficient statistics of what is seen in the incomplete rows, missing nodes apart."""
        model, rows, weight = self.model, self.incomplete.rows, self.incomplete.weight
        lowering = model.lowering
        cells = np.zeros(self.n_cells)
        cells[: int(lowering.node_offset[-1])] = self.incomplete.seen_cells(model)
        seen = self.incomplete.seen
        for e, (u, v) in enumerate(model.edges.tolist()):
            both = seen[:, u] & seen[:, v]
            size = int(model.states[u] * model.states[v])
            where = rows[both, u].astype(np.int64) * model.states[v] + rows[both, v]
            first = int(lowering.node_offset[-1] + lowering.edge_offset[e])
            cells[first : first + size] += np.bincount(where, weights=weight[both], minlength=size)
        return np.asarray(self._statistics(cells) + self.incomplete.n * lowering.constant)

    @cached_property
    def n_cells(self) -> int:
        """Cells of all tables."""
        return int(self.model.lowering.node_offset[-1] + self.model.lowering.edge_offset[-1])

    def table(self, log_odds: np.ndarray) -> np.ndarray:
        """All node tables, then all edge tables, at w (or along a direction of w)."""
        return np.concatenate(model_tables(self.model, log_odds))

    def _statistics(self, cells: np.ndarray) -> np.ndarray:
        """(p,) statistics from sums over cells, without the constant."""
        lowering = self.model.lowering
        nodes, edges = cells[: lowering.node_offset[-1]], cells[lowering.node_offset[-1] :]
        if lowering.binary:
            nodes, edges = nodes[1::2], edges[::4] + edges[3::4]
        return lowering.statistics_direction(nodes, edges)

    def log_z(self, w: np.ndarray) -> float:
        """Sum of the rows' log sums over missing cells."""
        table = self.table(w)
        total = float(clamped_log_z(self.components, table, np.empty(2 * self.most)))
        return total + sum(component.log_z(table) for component in self.large)

    def moments(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """`log_z` and its gradient (p,): expected statistics of the missing cells, given those seen."""
        table, cells = self.table(w), np.zeros(self.n_cells)
        total = float(clamped_moments(self.components, table, np.empty(2 * self.most), cells))
        for component in self.large:
            total += component.moments(table, cells)
        return total, self._statistics(cells)

    def along(self, w: np.ndarray, directions: Iterable[np.ndarray], order: int = 2) -> Iterator[np.ndarray]:
        """For each direction v (p,) an (order, p) array: sum of Cov[s | seen] v, then of the third cumulants."""
        table, scratch = self.table(w), np.empty(4 * self.most)
        each = iter(directions)
        while taken := list(islice(each, DIRECTIONS_AT_ONCE)):
            budget().check("sums over missing cells")
            tables = np.stack([self.table(v) for v in taken])
            out = np.zeros((len(taken), order, self.n_cells))
            clamped_series(self.components, table, tables, scratch, out)
            for component in self.large:
                component.series(table, tables, out)
            for result in out:
                yield np.stack([self._statistics(cells) for cells in result])

    def covariance(self, w: np.ndarray) -> np.ndarray:
        """Sum of the rows' Cov[s | seen] (p, p)."""
        p = self.model.n_parameters
        matrix = np.stack([series[0] for series in self.along(w, np.eye(p), order=1)])
        return np.asarray((matrix + matrix.T) / 2)

    def third(self, w: np.ndarray, directions: np.ndarray) -> np.ndarray:
        """Sum of the rows' kappa[s, v.s, v.s | seen] (k, p) for every row v of ``directions`` (k, p)."""
        return np.array([series[1] for series in self.along(w, directions)]).reshape(directions.shape)

    def sampled(self, w: np.ndarray, state: np.ndarray) -> np.ndarray:
        """(p,) statistics of one completion of every row at w, seen cells apart; whole weights, small components."""
        cells = np.zeros(self.n_cells)
        clamped_sampled(self.components, self.table(w), state, np.empty(3 * self.most), cells)
        return self._statistics(cells)

    def draw(self, w: np.ndarray, rows: np.ndarray, copies: np.ndarray, state: np.ndarray) -> None:
        """Fill the missing cells of ``rows`` (k, d) at w, in place; row k copies the incomplete row ``copies``[k]."""
        table, found = self.table(w), self.found
        # All pairs of a row that is to be filled and a component of it, component by component.
        order = np.argsort(copies, kind="stable")
        first = np.searchsorted(copies[order], np.arange(len(self.incomplete.rows) + 1))
        count = np.diff(first)[found.row]
        place = order[ranges(first[found.row], count)]
        component = np.repeat(found.component, count)
        by_component = np.argsort(component, kind="stable")
        place, start = place[by_component], np.searchsorted(component[by_component], np.arange(len(found.rows) + 1))
        counts = np.diff(start)[self.small]
        sizes = np.diff(self.components.start)
        out = np.empty(int(counts @ sizes), dtype=np.uint8)
        clamped_draw(self.components, table, counts, state, np.empty(2 * self.most), out)
        taken = 0
        for u, number in enumerate(self.small.tolist()):
            nodes = np.flatnonzero(found.rows[number] == MISSING_CODE)
            drawn = out[taken : taken + counts[u] * nodes.size].reshape(-1, nodes.size)
            taken += drawn.size
            rows[np.ix_(place[start[number] : start[number + 1]], nodes)] = drawn
        numbers = np.setdiff1d(np.arange(len(found.rows)), self.small)
        for large, number in zip(self.large, numbers.tolist(), strict=True):
            nodes = np.flatnonzero(found.rows[number] == MISSING_CODE)
            where = place[start[number] : start[number + 1]]
            rows[np.ix_(where, nodes)] = large.sample(table, where.size, state)

    def fourth(self, w: np.ndarray, factor: np.ndarray) -> np.ndarray:
        """Sum over rows and k of kappa[., ., c_k.s, c_k.s | seen], in the coordinates c.s of the columns of ``factor``.

        MissingComponents that are eliminated rather than enumerated are left out: see `large`.
        """
        table, scratch = self.table(w), np.empty(2 * self.most)
        directions = np.stack([self.table(v) for v in np.ascontiguousarray(factor.T)])
        total = np.zeros((len(factor), len(factor)))
        probability, out = np.empty(self.most), np.empty((len(factor), self.most))
        sizes = configurations(self.model, self.found.rows[self.small]).astype(np.int64)
        for u, (size, weight) in enumerate(zip(sizes.tolist(), self.components.weight.tolist(), strict=True)):
            component_projections(self.components, u, table, directions, scratch, probability, out)
            p, t = probability[:size], out[:, :size]
            t = t - (t @ p)[:, None]
            square = (t * t).sum(axis=0)
            covariance = (t * p) @ t.T
            total += weight * ((t * (p * (square - square @ p))) @ t.T - 2 * covariance @ covariance)
        return total
