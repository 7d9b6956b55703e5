r"""The likelihood of rows with holes: sums over their missing cells, with derivatives.

.. math:: \log L(w) = \sum_i A_i(w) - n A(w), \qquad A_i(w) = \log \sum_{y} \exp(w \cdot s(x_i, y)),

y over the missing cells of row i. `observed` splits it into a part that is linear in w (`counts`), what is summed over
missing cells (`Clamped`), and the n A(w) of all rows. Derivatives are clamped minus free: the score is E[s | seen] -
E[s], the information n Cov[s] - sum of the Cov[s | seen], and so on for all cumulants.
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
from mrfbayes.exact.clumps import CLUMP_STATES, EliminatedClump, clump_rows, configurations, flat_clumps
from mrfbayes.exact.contract import TooLarge
from mrfbayes.exact.graph import model_tables, ranges
from mrfbayes.kernels.exact.clamped import (
    Clumps,
    clamped_draw,
    clamped_log_z,
    clamped_moments,
    clamped_sampled,
    clamped_series,
    clump_projections,
)
from mrfbayes.model.field import Model

MOST_COMPLETIONS = 1 << 26  # of all clumps: about half a second for each evaluation
DIRECTIONS_AT_ONCE = 32


@dataclass(frozen=True)
class Observed:
    """What a likelihood needs to know of data that may have holes.

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
    """Sums over the missing cells of rows with holes, exactly."""

    def __init__(self, model: Model, holes: IncompleteRows) -> None:
        self.model, self.holes = model, holes
        found = clump_rows(model, holes)
        self.found = found
        sizes = configurations(model, found.rows)
        small = sizes <= CLUMP_STATES
        self.n_configurations = float(sizes[small].sum())
        if self.n_configurations > MOST_COMPLETIONS:
            raise CostError(
                f"{len(holes.rows):,} distinct rows with missing cells have {self.n_configurations:.2g} completions to "
                "sum over: use method='langevin' on dense fields, or missing='drop'."
            )
        self.small = np.flatnonzero(small)
        self.clumps: Clumps = flat_clumps(model, found.rows[small], found.weight[small])
        self.most = int(sizes[small].max(initial=1.0))
        try:
            self.large = [
                EliminatedClump(model, row, float(weight))
                for row, weight in zip(found.rows[~small], found.weight[~small], strict=True)
            ]
        except TooLarge as problem:
            raise CostError(
                f"a row has {int((holes.rows == MISSING_CODE).sum(axis=1).max())} missing cells, whose sum does not "
                f"fit into memory ({problem}): use method='langevin' on dense fields, or missing='drop'."
            ) from None

    @property
    def cells(self) -> float:
        """Numbers that one evaluation goes through."""
        return self.n_configurations + sum(clump.cells for clump in self.large)

    def seen_counts(self) -> np.ndarray:
        """(p,) sufficient statistics of what is seen in the rows with holes, missing nodes apart."""
        model, rows, weight = self.model, self.holes.rows, self.holes.weight
        lowering = model.lowering
        cells = np.zeros(self.n_cells)
        cells[: int(lowering.node_offset[-1])] = self.holes.seen_cells(model)
        seen = self.holes.seen
        for e, (u, v) in enumerate(model.edges.tolist()):
            both = seen[:, u] & seen[:, v]
            size = int(model.states[u] * model.states[v])
            where = rows[both, u].astype(np.int64) * model.states[v] + rows[both, v]
            first = int(lowering.node_offset[-1] + lowering.edge_offset[e])
            cells[first : first + size] += np.bincount(where, weights=weight[both], minlength=size)
        return np.asarray(self._statistics(cells) + self.holes.n * lowering.constant)

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
        total = float(clamped_log_z(self.clumps, table, np.empty(2 * self.most)))
        return total + sum(clump.log_z(table) for clump in self.large)

    def moments(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """`log_z` and its gradient (p,): expected statistics of the missing cells, given those seen."""
        table, cells = self.table(w), np.zeros(self.n_cells)
        total = float(clamped_moments(self.clumps, table, np.empty(2 * self.most), cells))
        for clump in self.large:
            total += clump.moments(table, cells)
        return total, self._statistics(cells)

    def along(self, w: np.ndarray, directions: Iterable[np.ndarray], order: int = 2) -> Iterator[np.ndarray]:
        """For each direction v (p,) an (order, p) array: sum of Cov[s | seen] v, then of the third cumulants."""
        table, scratch = self.table(w), np.empty(4 * self.most)
        each = iter(directions)
        while taken := list(islice(each, DIRECTIONS_AT_ONCE)):
            budget().check("sums over missing cells")
            tables = np.stack([self.table(v) for v in taken])
            out = np.zeros((len(taken), order, self.n_cells))
            clamped_series(self.clumps, table, tables, scratch, out)
            for clump in self.large:
                clump.series(table, tables, out)
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
        """(p,) statistics of one completion of every row at w, what is seen apart; whole weights and small clumps."""
        cells = np.zeros(self.n_cells)
        clamped_sampled(self.clumps, self.table(w), state, np.empty(3 * self.most), cells)
        return self._statistics(cells)

    def draw(self, w: np.ndarray, rows: np.ndarray, copies: np.ndarray, state: np.ndarray) -> None:
        """Fill the holes of ``rows`` (k, d) in place, row k a copy of the ``copies``[k]-th row with holes, at w."""
        table, found = self.table(w), self.found
        # All pairs of a row that is to be filled and a clump of it, clump by clump.
        order = np.argsort(copies, kind="stable")
        first = np.searchsorted(copies[order], np.arange(len(self.holes.rows) + 1))
        count = np.diff(first)[found.row]
        place = order[ranges(first[found.row], count)]
        clump = np.repeat(found.clump, count)
        by_clump = np.argsort(clump, kind="stable")
        place, start = place[by_clump], np.searchsorted(clump[by_clump], np.arange(len(found.rows) + 1))
        counts = np.diff(start)[self.small]
        sizes = np.diff(self.clumps.start)
        out = np.empty(int(counts @ sizes), dtype=np.uint8)
        clamped_draw(self.clumps, table, counts, state, np.empty(2 * self.most), out)
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

        Clumps that are eliminated rather than enumerated are left out: see `large`.
        """
        table, scratch = self.table(w), np.empty(2 * self.most)
        directions = np.stack([self.table(v) for v in np.ascontiguousarray(factor.T)])
        total = np.zeros((len(factor), len(factor)))
        probability, out = np.empty(self.most), np.empty((len(factor), self.most))
        sizes = configurations(self.model, self.found.rows[self.small]).astype(np.int64)
        for u, (size, weight) in enumerate(zip(sizes.tolist(), self.clumps.weight.tolist(), strict=True)):
            clump_projections(self.clumps, u, table, directions, scratch, probability, out)
            p, t = probability[:size], out[:, :size]
            t = t - (t @ p)[:, None]
            square = (t * t).sum(axis=0)
            covariance = (t * p) @ t.T
            total += weight * ((t * (p * (square - square @ p))) @ t.T - 2 * covariance @ covariance)
        return total
