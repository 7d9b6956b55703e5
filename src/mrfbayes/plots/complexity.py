"""How many edges there are: the posterior of their number beside its prior."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mrfbayes.base.errors import InputError
from mrfbayes.plots.style import FAINT, MUTED, POSITIVE, axes_or_new, keep_table, quiet, title

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from mrfbayes.structure.selection import Selection

TAIL = 1e-4  # posterior probability that is not drawn on either side


def complexity(selection: Selection, *, ax: Axes | None = None) -> Axes:
    """Draw posterior probabilities of the numbers of edges as bars, and prior probabilities as a dashed line.

    Parameters
    ----------
    selection : Selection
        Result of `mrfbayes.select`.
    ax : Axes, optional
        Axes to draw on; by default a new figure.

    Returns
    -------
    Axes
        The axes.

    Examples
    --------
    >>> import mrfbayes as mb
    >>> model = mb.complete(["a", "b", "c"], coupling="both-one")
    >>> data = mb.simulate(model, [0.9, 0.5, 0.5], 300, rng=1)
    >>> selection = mb.select(model, data, draws=500, warmup=100, chains=2, rng=1, progress=False)
    >>> mb.plots.data(mb.plots.complexity(selection)).shape[0]
    4
    """
    import pandas as pd

    posterior, prior = selection.size_probability, selection._graph_prior.size_probability()
    if not posterior.sum() > 0:
        raise InputError("plots.complexity: the result holds no sweeps after warm-up; run mb.select with more steps.")
    sizes = np.arange(posterior.size)
    reached = np.flatnonzero(posterior > TAIL)
    low, high = max(reached[0] - 2, 0), min(reached[-1] + 2, posterior.size - 1)
    ax = axes_or_new(ax, figsize=(6.2, 3.0))
    ax.bar(sizes, posterior, width=0.8, color=POSITIVE, label="posterior", zorder=2)
    ax.plot(sizes, prior, color=MUTED, ls=(0, (4, 2)), lw=1.2, marker="o", ms=2.5, label="prior", zorder=3)
    ax.set_xlim(low - 0.6, high + 0.6)
    ax.set_ylim(0, max(posterior.max(), prior[low : high + 1].max()) * 1.12)
    from matplotlib.ticker import MaxNLocator

    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_xlabel(f"Number of edges, of {sizes[-1]} that may be there")
    ax.set_ylabel("Probability")
    ax.grid(axis="y", color=FAINT, lw=0.6, zorder=0)
    title(ax, f"Complexity: {sizes @ posterior:.1f} edges expected")
    ax.legend(fontsize=8, frameon=False)
    quiet(ax, "bottom", "left")
    index = pd.Index(sizes, name="edges")
    keep_table(ax, pd.DataFrame({"posterior": posterior, "prior": prior}, index=index))
    return ax
