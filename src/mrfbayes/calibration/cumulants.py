"""The sufficient statistics of a field at one w, as `calibration.expansion` asks for them: exact, or from particles."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from mrfbayes.base.budget import budget
from mrfbayes.base.random_streams import generator, kernel_state
from mrfbayes.data.statistics import Statistics
from mrfbayes.exact import quantities as exact
from mrfbayes.exact.choice import planar_size, recursion, takes_planar
from mrfbayes.exact.clamped import Clamped, Observed
from mrfbayes.model.field import Model
from mrfbayes.particles.ensembles import make_chains
from mrfbayes.particles.moments import row_statistics

_BATCH = 4_096
DIRECTION_CELL_SECONDS = 1e-8  # about what a table cell takes in a directional derivative
MAX_LOG2_STATES = 12  # configurations that are summed over rather than sampled


def indicators(model: Model) -> np.ndarray:
    """(p,) whether each statistic is always 0 or 1."""
    return np.asarray(((model.chart.tosses == 1) & model.chart.is_counted)[model.chart.block_of])


def direction_cells(model: Model) -> float:
    """Table cells that one directional derivative goes through, or as many as would take as long."""
    if takes_planar(model, "series"):
        size = planar_size(model)
        assert size is not None
        return size.seconds("second") / DIRECTION_CELL_SECONDS
    return recursion(model).n_bytes("series") / 8


class ExactCumulants:
    """Mean, covariance, third cumulants and samples by exact recursion."""

    def __init__(self, model: Model, w: np.ndarray) -> None:
        self._model = model
        self._w = w
        self.is_indicator = indicators(model)
        self.direction_cells = direction_cells(model)

    @cached_property
    def mean(self) -> np.ndarray:
        """E[s] (p,)."""
        return exact.moments_w(self._model, self._w)[1]

    @cached_property
    def covariance(self) -> np.ndarray:
        """Cov[s] (p, p)."""
        return exact.covariance_w(self._model, self._w)

    def contract_third(self, directions: np.ndarray) -> np.ndarray:
        """kappa[s, v.s, v.s] (k, p) for every row v of ``directions`` (k, p)."""
        along = exact.cumulants_along(self._model, self._w, np.ascontiguousarray(directions))
        return np.array([series[1] for series in along]).reshape(directions.shape)

    def states(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Statistics (k, p) and probabilities (k,) of all configurations, where they are few."""
        sizes = self._model.states
        if np.log2(sizes).sum() > MAX_LOG2_STATES:
            return None
        axes = np.meshgrid(*(np.arange(r, dtype=np.uint8) for r in sizes), indexing="ij")
        statistics = row_statistics(self._model, np.stack([axis.ravel() for axis in axes], axis=1))
        log_weights = statistics @ self._w
        weights = np.exp(log_weights - log_weights.max())
        return statistics, weights / weights.sum()

    def draw(self, n: int, seed: np.random.SeedSequence) -> np.ndarray:
        """Statistics (n, p) of independent samples."""
        return row_statistics(self._model, exact.sample_exact(self._model, self._w, n, seed))


class ParticleCumulants:
    """Sufficient statistics at one w from Gibbs particles, where exact recursion is out of reach.

    Parameters
    ----------
    model, w : the field
    n : particles
    statistics : the data, where half of the particles start; the others start at random, so that the two halves differ
        where the sweeps were too few
    """

    direction_cells = np.inf

    def __init__(
        self, model: Model, w: np.ndarray, n: int, sweeps: int, statistics: Statistics, seed: np.random.SeedSequence
    ) -> None:
        self.is_indicator = indicators(model)
        halves = []
        for start in ("data", "random"):
            chains = make_chains(model, n // 2, kernel_state(seed, "sweeps", start))
            if start == "data":
                chains.start_at_data(statistics, generator(seed, start))
            else:
                chains.start_at_random(generator(seed, start))
            budget().check("particles")
            chains.sweep(w, sweeps)
            values = row_statistics(model, chains.rows())
            halves.append(values.astype(np.uint8) if values.max(initial=0) < 256 else values)
        self._values = np.stack(halves, axis=1).reshape(-1, w.size)  # in turn, so that every batch has both starts
        self.n = len(self._values)
        means = [half.mean(axis=0) for half in halves]
        self.mean = (means[0] + means[1]) / 2
        self.covariance = sum(
            ((d := self._batch(k)).T @ d for k in range(0, self.n, _BATCH)), np.zeros((w.size, w.size))
        ) / (self.n - 1)
        scale = np.sqrt(np.maximum(np.diag(self.covariance), 1e-300) * 4 / self.n)
        self.disagreement = float(np.sqrt(np.mean(((means[0] - means[1]) / scale) ** 2)))
        self._used = 0

    def _batch(self, first: int) -> np.ndarray:
        return np.asarray(self._values[first : first + _BATCH] - self.mean)

    def contract_third(self, directions: np.ndarray) -> np.ndarray:
        """kappa[s, v.s, v.s] (k, p) for every row v of ``directions`` (k, p)."""
        out = np.zeros(directions.shape)
        for first in range(0, self.n, _BATCH):
            budget().check("third cumulants")
            d = self._batch(first)
            out += ((d @ directions.T) ** 2).T @ d
        return out / self.n

    def sd_noise(self, covariance: np.ndarray, n: float) -> np.ndarray:
        """Relative Monte-Carlo error (p,) of the sds: that of E[P_j^2] behind S_jj."""
        first, second = np.zeros(len(covariance)), np.zeros(len(covariance))
        for start in range(0, self.n, _BATCH):
            square = (self._batch(start) @ covariance) ** 2
            first += square.sum(axis=0)
            second += (square**2).sum(axis=0)
        variance = second / self.n - (first / self.n) ** 2
        return np.asarray(0.5 * n * np.sqrt(variance / self.n) / np.diag(covariance))

    def draw(self, n: int, seed: np.random.SeedSequence) -> np.ndarray:
        """Statistics (n, p) of the next particles in turn."""
        index = np.arange(self._used, self._used + n) % self.n
        self._used += n
        return self._values[index].astype(float)

    def states(self) -> None:
        """Configurations are never few here."""


class ObservedCumulants:
    """The cumulants of data with missing cells at one w, exactly; ``free`` are those of the field alone.

    Every derivative of the log-likelihood is that of -n A(w) plus that of the sums over missing cells: so mean,
    covariance and third cumulants are those of the field less a 1/n of what the clamped rows have.
    """

    def __init__(self, model: Model, w: np.ndarray, data: Observed) -> None:
        assert data.clamped is not None
        self.free = ExactCumulants(model, w)
        self.clamped: Clamped = data.clamped
        self._w, self._n = w, data.n
        self.is_indicator = np.zeros(w.size, dtype=bool)  # that a square is known of the field alone is of no use
        self.direction_cells = self.free.direction_cells + 4 * data.clamped.cells

    @cached_property
    def mean(self) -> np.ndarray:
        """E[s] less the mean of what missing cells are expected to have (p,)."""
        return np.asarray(self.free.mean - self.clamped.moments(self._w)[1] / self._n)

    @cached_property
    def covariance(self) -> np.ndarray:
        """Cov[s] less the mean of the Cov[s | seen] (p, p)."""
        return np.asarray(self.free.covariance - self.clamped.covariance(self._w) / self._n)

    def contract_third(self, directions: np.ndarray) -> np.ndarray:
        """kappa[s, v.s, v.s] less the mean of those given what is seen (k, p), for every row v of ``directions``."""
        clamped = self.clamped.third(self._w, directions)
        return np.asarray(self.free.contract_third(directions) - clamped / self._n)

    def clamped_fourth(self, factor: np.ndarray) -> np.ndarray:
        """Mean of S kappa_4[., ., c_k, c_k | seen] S over rows, summed over the columns c_k of ``factor``, S = F F'."""
        return np.asarray(factor @ self.clamped.fourth(self._w, factor) @ factor.T / self._n)

    def draw(self, n: int, seed: np.random.SeedSequence) -> np.ndarray:
        """Statistics (n, p) of independent samples of the field."""
        return self.free.draw(n, seed)

    def states(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Statistics and probabilities of all configurations of the field, where they are few."""
        return self.free.states()


Cumulants = ExactCumulants | ObservedCumulants | ParticleCumulants  # the statistics of the field at one w


def cumulants_at(model: Model, w: np.ndarray, data: Observed) -> ExactCumulants | ObservedCumulants:
    """Exact cumulants of data that may have missing cells."""
    return ExactCumulants(model, w) if data.clamped is None else ObservedCumulants(model, w, data)
