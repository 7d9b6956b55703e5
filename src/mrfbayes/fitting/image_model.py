"""The field of images where nothing else was asked for."""

from __future__ import annotations

from typing import Any

from mrfbayes.data.data import Data
from mrfbayes.model.build import grid
from mrfbayes.model.field import Model

BALANCED = (0.4, 0.6)  # share of ones between which an image needs no thresholds


def image_model(data: Data, shape: tuple[int, int], **options: Any) -> Model:
    """A grid with agreement couplings: tied for a single image, with thresholds where one of two states is commoner.

    Parameters
    ----------
    data : Data
        Images, or a table with a column per pixel.
    shape : tuple of int
        Rows and columns of the grid.
    **options
        As for `mrfbayes.grid`; they win.
    """
    totals = data.value_totals()
    total = sum(totals.values())
    values = sorted(totals, key=lambda value: (isinstance(value, str), value))
    ones = 1.0 - totals[values[0]] / total if len(values) == 2 else float(values[0] != 0) if len(values) == 1 else 0.5
    highest = values[-1]
    is_count = all(isinstance(value, float) and value >= 0 for value in values) and len(values) <= 12
    n_states = int(highest) + 1 if is_count and isinstance(highest, float) and highest < 12 else len(values)
    chosen = {
        "states": max(n_states, 2),
        "fields": not BALANCED[0] <= ones <= BALANCED[1],
        "tied": data.n_rows == 1,
        "coupling": "agreement",
    }
    return grid(*shape, **{**chosen, **{name: value for name, value in options.items() if value is not None}})
