"""Statistics of a field less those that missing cells still have given what is seen: clamped minus free, per row.

With holes in the data every derivative of the log-likelihood is that of -n A(w) plus that of the sums over missing
cells. So the mean, covariance and third cumulants that `mrfbayes.calibration.expansion` asks for are those of the field
less a 1/n of what the clamped rows have.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from mrfbayes.calibration.cumulants import ExactCumulants
from mrfbayes.exact import quantities as exact
from mrfbayes.exact.clamped import Clamped, Observed
from mrfbayes.model.field import Model


class ObservedCumulants:
    """The cumulants of data with holes at one w, exactly; ``free`` are those of the field alone."""

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


def observed_value(model: Model, data: Observed, w: np.ndarray) -> tuple[float, np.ndarray]:
    """A(w) and E[s] of one row, less what its missing cells have: n times that is the likelihood's part."""
    log_z, mean = exact.moments_w(model, w)
    if data.clamped is None:
        return log_z, mean
    total, clamped = data.clamped.moments(w)
    return log_z - total / data.n, mean - clamped / data.n
