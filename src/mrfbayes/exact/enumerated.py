"""Probabilities of all configurations of a small field."""

from __future__ import annotations

import numpy as np

from mrfbayes.data.coding import MISSING_CODE
from mrfbayes.exact.clumps import configurations, flat_clumps
from mrfbayes.kernels.exact.clamped import clump_projections
from mrfbayes.kernels.exact.graph_binary import binary_tables
from mrfbayes.model.field import Model

MOST_ENUMERATED = 2**20  # configurations: some 30 ms for each theta


class Enumerated:
    """All configurations of a field, numbered with the first node's state changing fastest."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self._clumps = flat_clumps(model, _all_free(model), np.ones(1))
        self.size = int(np.prod(model.states))
        self._scratch = np.empty(2 * self.size)

    @staticmethod
    def is_feasible(model: Model) -> bool:
        """Whether the configurations are few enough."""
        return float(configurations(model, _all_free(model))[0]) <= MOST_ENUMERATED

    def probabilities(self, log_odds: np.ndarray) -> np.ndarray:
        """(K,) probability of every configuration."""
        node, edge = self.model.lowering.potentials(log_odds)
        if self.model.lowering.binary:
            table = np.empty(2 * node.size + 4 * edge.size)
            binary_tables(node, edge, table)
        else:
            table = np.concatenate([node, edge])
        probability = np.empty(self.size)
        none = np.empty((0, table.size))
        clump_projections(self._clumps, 0, table, none, self._scratch, probability, np.empty((0, self.size)))
        return probability


def _all_free(model: Model) -> np.ndarray:
    return np.full((1, model.n_nodes), MISSING_CODE, dtype=np.uint8)
