"""Moments of the sufficient statistics: exact, from particles, and in local blocks."""

from __future__ import annotations

import numpy as np

from mrfbayes.model.field import Model


def row_statistics(model: Model, rows: np.ndarray) -> np.ndarray:
    """s of every row of ``rows`` (k, d), as (k, p) floats."""
    chart = model.chart
    out = np.zeros((model.n_parameters, len(rows)))
    columns = np.ascontiguousarray(rows.T)
    for group in model.groups:
        cells = group.table[tuple(columns[group.scope[:, axis]] for axis in range(group.arity))]
        tied = np.unique(group.block).size < group.block.size
        for outcome in range(1 if group.is_score else group.sides - 1):
            parameter = chart.offset[group.block] + outcome
            values = cells if group.is_score else cells == outcome
            if tied:
                np.add.at(out, parameter, values)
            else:
                out[parameter] += values
    return np.ascontiguousarray(out.T)
