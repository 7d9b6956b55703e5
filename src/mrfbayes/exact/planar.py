"""Exact sums over the configurations of a planar binary field of agreements, at any size.

Without node factors (or with them on the nodes of one face) log Z is a determinant (Kac & Ward 1952), found by nested
dissection; see `mrfbayes.kernels.exact.planar_merge` for the merge. The formula is exact whatever the couplings' signs;
in doubles, frustrated cycles of very strong couplings lose digits, and every result comes with an estimate of how many.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from mrfbayes.base.errors import CostError
from mrfbayes.exact.planar_drawing import Drawing
from mrfbayes.exact.planar_passes import Dissection, covariance_columns
from mrfbayes.exact.recursions import WORKS, Recursion
from mrfbayes.kernels.exact.planar_inside import PlanarPlan

MOST_LOG_Z_ERROR = 1e-8, 1e-12  # allowed, at all and per vertex
MOST_MEAN_ERROR = 1e-8  # of expected counts
QUICK_MEAN_ERROR = 1e-9  # of the adjoint's counts, past which exteriors are tried as well
TREE_BYTES = 340  # per vertex, with the stack of an upward pass
# Of a call, per vertex, and per product of the merges upwards: fitted to square grids up to 100x100, all within a tenth
# but "sample" (a third). Series of two and three terms take two and four times as long as numbers.
PLANAR_NANOSECONDS = {
    "log_z": (4.8e3, 526, 0.211),
    "moments": (1.7e4, 1625, 0.822),
    "first": (3.5e4, 3720, 2.02),
    "second": (2.4e4, 7090, 3.75),
    "sample": (6e4, 3700, 3.3),
}
N_KEPT_BYTES = {"log_z": 0, "sample": 9, "series": 24}  # of an entry of the regions' matrices; otherwise 8


class PlanarSize(NamedTuple):
    """What the cost of a planar field is a sum of."""

    n_vertices: int
    n_edges: int
    width: int  # the longest list of dangling half-edges of a region
    n_products: float  # multiplications of the merges upwards
    n_kept: float  # entries of the matrices of all regions

    @classmethod
    def of_grid(cls, rows: int, columns: int) -> PlanarSize:
        """About that of a grid, in closed form."""
        n, short = rows * columns, min(rows, columns)
        n_edges = 2 * n - rows - columns
        return cls(n, n_edges, 4 * short, 25.0 * n * short, 23.0 * n * math.log2(short + 1))

    def seconds(self, key: str, n: int = 1) -> float:
        """Seconds on the reference machine of ``n`` evaluations, directions or draws."""
        calls, vertex, product = PLANAR_NANOSECONDS[key]
        return 1e-9 * n * (calls + vertex * self.n_vertices + product * self.n_products)

    @property
    def covariance_seconds(self) -> float:
        """Seconds on the reference machine of the whole covariance."""
        return 1.5e-3 + 4e-7 * self.n_edges**2

    def n_bytes(self, work: str, n: int = 0) -> int:
        """Bytes of the tree, the buffers and the results."""
        results = n * self.n_vertices if work == "sample" else 0
        return int(TREE_BYTES * self.n_vertices + N_KEPT_BYTES.get(work, 8) * self.n_kept + results)


class PlanarRecursion:
    """Planar binary fields; ``other`` is the recursion to fall back on where digits are lost, if there is one."""

    def __init__(self, drawing: Drawing, other: Recursion | None = None) -> None:
        self.drawing, self.other = drawing, other
        self.dissection = Dissection(drawing)
        self.width = self.dissection.width
        kept = self.dissection.n_kept
        self.size = PlanarSize(drawing.n_vertices, drawing.sign.size, self.width, self.dissection.n_products, kept)
        self.n_bytes, self.seconds = self.size.n_bytes, self.size.seconds

    @property
    def most_log_z_error(self) -> float:
        """What is refused beyond."""
        return MOST_LOG_Z_ERROR[0] + MOST_LOG_Z_ERROR[1] * self.drawing.n_vertices

    def plan(self) -> PlanarPlan:
        """For log Z inside compiled chains."""
        return self.dissection.plan(self.most_log_z_error)

    def knows(self, nodes: np.ndarray) -> bool:
        """Whether `moments` has P(x_i = 1) of all ``nodes``: where some nodes have a factor, of these alone."""
        fielded = self.drawing.fielded
        return not fielded.size or bool(np.isin(nodes, fielded).all())

    def _couplings(self, node_part: np.ndarray, edge_part: np.ndarray) -> np.ndarray:
        return np.concatenate([edge_part, node_part[self.drawing.fielded]])

    def _log_z(self, coupling: np.ndarray, series: float) -> float:
        free = self.drawing.n_vertices - bool(self.drawing.fielded.size)  # the state 1 is given
        return float(series + (np.logaddexp(0.0, coupling) - np.log(2.0)).sum() + free * np.log(2.0))

    def _parts(self, agreements: np.ndarray, others: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
        """Nodes' and edges' part; ``others`` is what stands for nodes without a factor."""
        n_edges = agreements.shape[-1] - self.drawing.fielded.size
        nodes = np.full((*agreements.shape[:-1], self.drawing.n_nodes), others)
        nodes[..., self.drawing.fielded] = agreements[..., n_edges:]
        return nodes, agreements[..., :n_edges]

    def _means(self, t: np.ndarray, slope: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Expected statistics of nodes and edges from the derivatives of L by t."""
        # A node without a factor of its own is in both states as often, unless others' factors reach it: see `knows`.
        others = np.nan if self.drawing.fielded.size else 0.5
        return self._parts((1 + t) / 2 + (1 - t * t) / 2 * slope, others)

    def log_z(self, node_part: np.ndarray, edge_part: np.ndarray) -> float:
        """Log of the sum of all weights."""
        coupling = self._couplings(node_part, edge_part)
        series, error = self.dissection.log_z(np.tanh(coupling / 2))
        if not error <= self.most_log_z_error:
            return self._other("log_z", error).log_z(node_part, edge_part)
        return self._log_z(coupling, series)

    def moments(self, node_part: np.ndarray, edge_part: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Log Z and the expected statistics of nodes and edges."""
        coupling = self._couplings(node_part, edge_part)
        t = np.tanh(coupling / 2)
        series, slope, error = self.dissection.gradient(t)
        if not error <= QUICK_MEAN_ERROR:
            second = self.dissection.gradient_at_ends(t)
            if not error <= second[2]:
                series, slope, error = second
        if not error <= MOST_MEAN_ERROR:
            return self._other("moments", error).moments(node_part, edge_part)
        nodes, edges = self._means(t, slope)
        return self._log_z(coupling, series), nodes, edges

    def stable_moments(self, node_part: np.ndarray, edge_part: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Expected statistics of nodes and edges by exteriors: slower than `moments`, and the last word on them."""
        t = np.tanh(self._couplings(node_part, edge_part) / 2)
        _, slope, error = self.dissection.gradient_at_ends(t)
        if not error <= MOST_MEAN_ERROR:
            return self._other("moments", error).moments(node_part, edge_part)[1:]
        return self._means(t, slope)

    def series(
        self, node_part: np.ndarray, edge_part: np.ndarray, directions: Iterator[np.ndarray], order: int
    ) -> Iterator[np.ndarray]:
        """Derivatives of the expected statistics along each direction, from passes with power series of ``order``."""
        t0 = np.tanh(self._couplings(node_part, edge_part) / 2)
        for direction in directions:
            along = self._couplings(direction[: node_part.size], direction[node_part.size :])
            t = _tanh_series(t0, along / 2, order)
            _, slope, error = self.dissection.gradient(t)
            if not error <= MOST_MEAN_ERROR:
                rest = itertools.chain([direction], directions)
                yield from self._other("series", error).series(node_part, edge_part, rest, order)
                return
            curvature = -_times(t, t)
            curvature[0] += 1.0  # 1 - t^2
            found = t / 2 + _times(curvature, slope) / 2
            factorials = np.array([[1.0], [2.0]])[:order]
            yield np.concatenate(self._parts(found[1:] * factorials), axis=1)

    def sample(self, node_part: np.ndarray, edge_part: np.ndarray, n: int, state: np.ndarray) -> np.ndarray:
        """(n, d) independent draws."""
        return self.sample_with_probability(node_part, edge_part, n, state)[0]

    def sample_with_probability(
        self, node_part: np.ndarray, edge_part: np.ndarray, n: int, state: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """(n, d) independent draws and their log-probabilities (n,)."""
        x, log_probability = self.dissection.sample(np.tanh(self._couplings(node_part, edge_part) / 2), n, state)
        if self.drawing.fielded.size:
            x = x[:, :-1] ^ (1 - x[:, -1:])
            log_probability = log_probability + np.log(2.0)
        return x, log_probability

    def covariance_columns(
        self, node_part: np.ndarray, edge_part: np.ndarray
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """The covariance of all statistics, nodes, then edges: which columns, and these columns (rows, batch)."""
        n_nodes, n_edges, fielded = node_part.size, edge_part.size, self.drawing.fielded
        row = np.concatenate([n_nodes + np.arange(n_edges), fielded])
        for which, block, error in covariance_columns(self.drawing, np.tanh(self._couplings(node_part, edge_part) / 2)):
            if not error <= MOST_MEAN_ERROR:
                raise PrecisionLossError(WORKS["series"], error)
            columns = np.zeros((n_nodes + n_edges, block.shape[1]))
            columns[row] = block
            yield row[which], columns

    def _other(self, work: str, error: float) -> Recursion:
        if self.other is None:
            raise PrecisionLossError(WORKS[work], error)
        return self.other


def _tanh_series(t: np.ndarray, step: np.ndarray, order: int) -> np.ndarray:
    """Tanh along a step from where it is t, up to the second order: (order + 1, m)."""
    slope = 1 - t * t
    return np.stack([t, slope * step, -t * slope * step * step][: order + 1])


def _times(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The product of two power series, cut where they are."""
    return np.stack([sum(a[i] * b[n - i] for i in range(n + 1)) for n in range(len(a))])


class PrecisionLossError(CostError, ArithmeticError):
    """Planar work that lost too many digits."""

    def __init__(self, work: str, error: float) -> None:
        super().__init__(
            f"{work} of this planar field would be off by about {error:.1g} (limit {MOST_MEAN_ERROR:g}): terms of "
            "frustrated couplings this strong cancel; use method='calibrated' or 'persistent', and sampler='gibbs'."
        )
