"""The sufficient statistics of a field at one w, as `mrfbayes.calibration` asks for them: exactly."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from mrfbayes import exact
from mrfbayes.model.field import Model
from mrfbayes.recursions import recursion

MAX_LOG2_STATES = 12  # configurations that are summed over rather than sampled


def row_statistics(model: Model, rows: np.ndarray) -> np.ndarray:
    """s of every row of ``rows`` (k, d), as (k, p) floats."""
    chart = model.chart
    out = np.zeros((model.n_parameters, len(rows)))
    columns = np.ascontiguousarray(rows.T)
    for group in model.groups:
        cells = group.table[tuple(columns[group.scope[:, axis]] for axis in range(group.arity))]
        untied = np.unique(group.block).size == group.block.size
        for outcome in range(1 if group.is_score else group.sides - 1):
            values = cells if group.is_score else cells == outcome
            place = chart.offset[group.block] + outcome
            if untied:
                out[place] += values
            else:
                np.add.at(out, place, values)
    return np.ascontiguousarray(out.T)


def indicators(model: Model) -> np.ndarray:
    """(p,) whether each statistic is always 0 or 1."""
    return np.asarray((model.chart.tosses == 1)[model.chart.block_of])


class ExactCumulants:
    """Mean, covariance, third cumulants and samples by exact recursion."""

    def __init__(self, model: Model, w: np.ndarray) -> None:
        self._model = model
        self._w = w
        self.is_indicator = indicators(model)
        self.direction_cells = recursion(model).n_bytes("series") / 8

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
