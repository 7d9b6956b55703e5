"""Scores of all pairs of positions as a map."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mrfbayes.plots.style import axes_or_new, title

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from mrfbayes.estimation.pair_tables import PairTables


def contact_map(tables: PairTables, *, ax: Axes | None = None, top: int | None = None, min_distance: int = 5) -> Axes:
    """Draw the scores of all pairs in grey, with circles at the strongest pairs.

    Parameters
    ----------
    tables : PairTables
        Result of `mrfbayes.pair_tables`.
    ax : Axes, optional
        Axes to draw on; by default a new figure.
    top : int, optional
        Number of circles; by default one per variable.
    min_distance : int, default 5
        Least distance between the two positions of a circle.

    Returns
    -------
    Axes
        The axes.

    See Also
    --------
    mrfbayes.pair_tables : Makes the tables.

    Examples
    --------
    >>> import numpy as np
    >>> import mrfbayes as mb
    >>> tables = mb.pair_tables(np.random.default_rng(1).integers(0, 3, (200, 6)), progress=False)
    >>> len(mb.plots.contact_map(tables, min_distance=2).images)
    1
    """
    axes = axes_or_new(ax, figsize=(5.0, 5.0))
    scores = tables.scores
    length = len(scores)
    i, j = np.triu_indices(length, min_distance)
    best = np.argsort(-scores[i, j])[: length if top is None else top]
    axes.imshow(scores, cmap="Greys", vmin=0.0, vmax=max(float(np.quantile(scores, 0.998)), 1e-12), origin="lower")
    axes.plot(j[best], i[best], "o", mfc="none", color="#D55E00", ms=4)
    axes.set_xlabel("position")
    axes.set_ylabel("position")
    title(axes, f"{best.size} strongest pairs of {length} positions")
    return axes
