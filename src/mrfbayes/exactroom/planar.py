"""Exact sums over the configurations of a planar binary field of agreements, at any size.

Without node factors (or with them on the nodes of one face) log Z is a determinant (Kac & Ward 1952), found by nested
dissection; see `mrfbayes.kernels.exact.planar_merge` for the merge. The formula is exact whatever the couplings' signs; in doubles, long
frustrated cycles of very strong couplings lose digits, and every result comes with an estimate of how many.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mrfbayes.errors import CostError
from mrfbayes.exactroom.planar_drawing import Drawing
from mrfbayes.exactroom.planar_information import covariance_columns
from mrfbayes.exactroom.planar_passes import Dissection
from mrfbayes.recursions import WORKS, Recursion

LOG_Z_ERROR = 1e-8, 1e-12  # allowed, at all and per vertex
MEAN_ERROR = 1e-8  # of expected counts
QUICK_ERROR = 1e-9  # of the adjoint's counts, past which exteriors are tried as well
TINY_STEP = 1e-40  # of a complex step: its square vanishes beside 1
WIDE_STEP = 1e-2  # for second derivatives, in units of the direction's length


class PlanarRecursion:
    """Planar binary fields; ``other`` is the recursion to fall back on where digits are lost, if there is one."""

    def __init__(self, drawing: Drawing, other: Recursion | None = None) -> None:
        self.drawing, self.other = drawing, other
        self.dissection = Dissection(drawing)
        self.width = self.dissection.width

    def n_bytes(self, work: str, n: int = 0) -> int:
        """Bytes of the tree, the buffers and the results."""
        results = n * self.drawing.n_vertices if work == "sample" else 0
        return self.dissection.n_bytes(work) + results

    def _couplings(self, node_part: np.ndarray, edge_part: np.ndarray) -> np.ndarray:
        return np.concatenate([edge_part, node_part[self.drawing.fielded]])

    def _log_z(self, coupling: np.ndarray, series: float) -> float:
        free = self.drawing.n_vertices - bool(self.drawing.fielded.size)  # the state 1 is given
        return float(series + (np.logaddexp(0.0, coupling) - np.log(2.0)).sum() + free * np.log(2.0))

    def _parts(self, agreements: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        n_edges = agreements.shape[-1] - self.drawing.fielded.size
        nodes = np.zeros((*agreements.shape[:-1], self.drawing.n_nodes))
        nodes[..., self.drawing.fielded] = agreements[..., n_edges:]
        return nodes, agreements[..., :n_edges]

    def log_z(self, node_part: np.ndarray, edge_part: np.ndarray) -> float:
        """Log of the sum of all weights."""
        coupling = self._couplings(node_part, edge_part)
        series, error = self.dissection.log_z(np.tanh(coupling / 2))
        if not error <= LOG_Z_ERROR[0] + LOG_Z_ERROR[1] * self.drawing.n_vertices:
            return self._other("log_z", error).log_z(node_part, edge_part)
        return self._log_z(coupling, series)

    def moments(self, node_part: np.ndarray, edge_part: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Log Z and the expected statistics of nodes and edges."""
        coupling = self._couplings(node_part, edge_part)
        t = np.tanh(coupling / 2)
        series, slope, error = self.dissection.gradient(t)
        if not error <= QUICK_ERROR:
            second = self.dissection.gradient_at_ends(t)
            if not error <= second[2]:
                series, slope, error = second
        if not error <= MEAN_ERROR:
            return self._other("moments", error).moments(node_part, edge_part)
        nodes, edges = self._parts((1 + t) / 2 + (1 - t * t) / 2 * slope)
        nodes += 0.5 * self._unfielded
        return self._log_z(coupling, series), nodes, edges

    @property
    def _unfielded(self) -> np.ndarray:
        """1 for each node without a factor of its own: it is in state 1 half of the time only where nothing ties it."""
        free = np.ones(self.drawing.n_nodes)
        free[self.drawing.fielded] = 0.0
        return free

    def series(
        self, node_part: np.ndarray, edge_part: np.ndarray, directions: Iterator[np.ndarray], order: int
    ) -> Iterator[np.ndarray]:
        """Derivatives of the expected statistics along each direction, by complex steps.

        With f(z) the mean at w + z v: f' = Im f(ih) / h. For two orders, f at r exp(i pi/4), ir and r exp(3 i pi/4) have
        imaginary parts from which f' and f'' follow up to r^6 and r^4.
        """
        coupling = self._couplings(node_part, edge_part)

        def mean(step: complex, along: np.ndarray) -> np.ndarray:
            t = np.tanh((coupling + step * along) / 2)
            _, slope, error = self.dissection.gradient(t)
            if not error <= MEAN_ERROR:
                raise _TooStiff(WORKS["series"], error)
            return np.asarray(((1 + t) / 2 + (1 - t * t) / 2 * slope).imag)

        for direction in directions:
            along = self._couplings(direction[: node_part.size], direction[node_part.size :])
            length = float(np.sqrt(along @ along))
            if length == 0.0:
                yield np.zeros((order, direction.size))
                continue
            if order == 1:
                found = mean(1j * TINY_STEP / length, along)[None] * (length / TINY_STEP)
            else:
                step = WIDE_STEP / length
                early, late = mean(step * np.exp(0.25j * np.pi), along), mean(step * np.exp(0.75j * np.pi), along)
                first = (mean(1j * step, along) + (early + late) / np.sqrt(2)) / (2 * step)
                found = np.stack([first, (early - late) / step**2])
            yield np.concatenate(self._parts(found), axis=1)

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
        """Columns of the covariance of all statistics (nodes, then edges): (which rows of M they are, (rows, batch))."""
        n_nodes, n_edges, fielded = node_part.size, edge_part.size, self.drawing.fielded
        row = np.concatenate([n_nodes + np.arange(n_edges), fielded])
        for which, block, error in covariance_columns(self.drawing, np.tanh(self._couplings(node_part, edge_part) / 2)):
            if not error <= MEAN_ERROR:
                raise _TooStiff(WORKS["series"], error)
            columns = np.zeros((n_nodes + n_edges, block.shape[1]))
            columns[row] = block
            yield row[which], columns

    def _other(self, work: str, error: float) -> Recursion:
        if self.other is None:
            raise _TooStiff(WORKS[work], error)
        return self.other


class _TooStiff(CostError):
    """Planar work that lost too many digits."""

    def __init__(self, work: str, error: float) -> None:
        super().__init__(
            f"{work} of this planar field would be off by about {error:.1g} (limit {MEAN_ERROR:g}): frustrated couplings "
            "this strong cancel to the last digit; use method='calibrated' or 'persistent', and sampler='gibbs'."
        )
