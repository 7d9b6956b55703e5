"""Small fields of every kind, with data, for the tests of the estimates. Enumeration only: no recursion, no sampler."""

from dataclasses import dataclass
from itertools import product

import numpy as np

from mrfbayes.model.build import graph, grid
from mrfbayes.model.field import Model

FIELDS = {
    "2x3 grid": grid(2, 3),
    "four nodes with fields": graph([("a", "b"), ("b", "c"), ("c", "d"), ("a", "d"), ("a", "c")], fields=True),
    "both-one": graph([(0, 1), (1, 2), (0, 2), (2, 3)], fields=True, coupling="both-one"),
    "Potts": graph([(0, 1), (1, 2), (0, 2)], states=3),
    "ordinal": graph([(0, 1), (1, 2)], states=3, coupling="score", fields=True),
    "tied by direction": grid(2, 3, tied="direction"),
    "tied with fields": grid(2, 2, tied=True, fields=True),
}


@dataclass(frozen=True)
class Enumerated:
    """All configurations of a small model: ``points`` (N, d) and their statistics (N, p), by the definition."""

    model: Model
    points: np.ndarray
    statistics: np.ndarray

    @classmethod
    def of(cls, model: Model) -> "Enumerated":
        points = np.array(list(product(*(range(r) for r in model.states))), dtype=np.uint8)
        statistics = np.zeros((len(points), model.n_parameters))
        for group in model.groups:
            for scope, block in zip(group.scope, group.block, strict=True):
                cell = group.table[tuple(points[:, i] for i in scope)]
                start = model.chart.offset[block]
                for outcome in range(model.chart.sides[block] - 1):
                    statistics[:, start + outcome] += cell if group.is_score else cell == outcome
        return cls(model, points, statistics)

    def probabilities(self, w: np.ndarray) -> np.ndarray:
        log_weight = self.statistics @ w
        weight = np.exp(log_weight - log_weight.max())
        return weight / weight.sum()

    def moments(self, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean and covariance of s at w."""
        p = self.probabilities(w)
        mean = p @ self.statistics
        centred = self.statistics - mean
        return mean, (centred * p[:, None]).T @ centred

    def draw(self, w: np.ndarray, n: int, seed: int) -> np.ndarray:
        index = np.random.default_rng(seed).choice(len(self.points), n, p=self.probabilities(w))
        return self.points[index]

    def maximum(self, x: np.ndarray) -> np.ndarray:
        """The maximum likelihood estimate by plain Newton steps."""
        index = np.ravel_multi_index(tuple(x.T.astype(int)), tuple(self.model.states))
        target = self.statistics[index].mean(axis=0)
        w = np.zeros(self.model.n_parameters)
        for _ in range(60):
            mean, covariance = self.moments(w)
            step = np.linalg.solve(covariance, target - mean)
            w = w + step / max(1.0, np.abs(step).max())
            if np.abs(step).max() < 1e-13:
                break
        return w


def weak(model: Model, seed: int) -> np.ndarray:
    """Log-odds of moderate size, all different."""
    return np.random.default_rng(seed).uniform(-0.7, 0.9, model.n_parameters)
