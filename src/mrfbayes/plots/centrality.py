"""Centrality: how strongly each node is connected, with its interval."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mrfbayes.base.checks import whole
from mrfbayes.base.errors import InputError
from mrfbayes.plots.style import FAINT, INK, PAPER, POSITIVE, axes_or_new, keep_table, label, quiet, title

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from mrfbayes.results.posterior import Posterior

ROWS = 40
MEASURES = {
    "strength": "sum of the sizes of its couplings",
    "expected_influence": "sum of its couplings",
    "closeness": "inverse of its mean distance to the others",
    "betweenness": "shortest paths through it",
    "bridge": "sum of the sizes of its couplings to other communities",
    "log_score_gain": "what the others tell about it (nats per row)",
    "accuracy_gain": "accuracy gained by knowing the others",
}
SURE_ORDER = 0.95


def centrality(
    posterior: Posterior,
    measure: str = "strength",
    *,
    rows: int = ROWS,
    nodes: pd.DataFrame | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw posterior mean and 90% interval of one measure of every node, the largest on top.

    Parameters
    ----------
    posterior : Posterior
        Result of `mrfbayes.sample`.
    measure : str, default "strength"
        "strength", "expected_influence", "closeness", "betweenness" or "bridge" (of `Posterior.centrality`),
        "log_score_gain" or "accuracy_gain" (of `Posterior.predictability`).
    rows : int, optional
        Largest number of rows that are drawn; `mrfbayes.plots.data` returns all.
    nodes : DataFrame, optional
        The table with the measure, if it is already computed.
    ax : Axes, optional
        Axes to draw on; by default a new figure.

    Returns
    -------
    Axes
        The axes.

    Examples
    --------
    >>> import mrfbayes as mb
    >>> model = mb.graph([("a", "b"), ("b", "c")])
    >>> posterior = mb.sample(model, mb.simulate(model, 0.8, 200, rng=1), "mle", rng=1, progress=False)
    >>> mb.plots.data(mb.plots.centrality(posterior)).shape[0]
    3
    """
    if measure not in MEASURES:
        raise InputError(f"measure = {measure!r}: choose one of {', '.join(map(repr, MEASURES))}.")
    rows = whole("rows", rows)
    if nodes is None:
        nodes = posterior.predictability() if measure.endswith("gain") else posterior.centrality()
    columns = [measure, f"{measure}_q5", f"{measure}_q95"]
    table = nodes[columns].sort_values(measure, ascending=False, kind="stable")
    shown = table.head(rows).iloc[::-1]
    ax = axes_or_new(ax, figsize=(5.4, 0.8 + 0.2 * max(len(shown), 3)))
    height = np.arange(len(shown))
    ax.hlines(height, shown[columns[1]], shown[columns[2]], color=POSITIVE, lw=2.0, zorder=2)
    ax.plot(shown[measure], height, "o", ms=4.7, color=POSITIVE, zorder=3)
    if (shown[columns[1]] < 0).any():
        ax.axvline(0, color=INK, lw=0.8, zorder=1)
    ax.set_yticks(height, [label(str(name), 30) for name in shown.index])
    ax.set_ylim(-0.7, len(shown) - 0.3)
    ax.grid(axis="x", color=FAINT, lw=0.6, zorder=0)
    ax.set_axisbelow(True)
    ax.set_xlabel(MEASURES[measure])
    part = f", the first {len(shown)} of {len(table)}" if len(shown) < len(table) else ""
    title(ax, f"{measure.replace('_', ' ').capitalize()}{part}: mean and 90% interval")
    quiet(ax, "bottom").tick_params(axis="y", length=0)
    keep_table(ax, table)
    return ax


def order(table: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw the probabilities that the row is above the column; a dot marks probabilities of at least 95%.

    Parameters
    ----------
    table : DataFrame
        Square, with the same names in rows and columns.
    ax : Axes, optional
        Axes to draw on; by default a new figure.

    Returns
    -------
    Axes
        The axes.
    """
    from matplotlib.colors import LinearSegmentedColormap

    if list(table.index) != list(table.columns):
        raise InputError("plots.order: give a square table with the same names in rows and columns.")
    size = 1.3 + 0.19 * len(table)
    ax = axes_or_new(ax, figsize=(size + 0.6, size))
    shades = LinearSegmentedColormap.from_list("order", [PAPER, POSITIVE])
    values = np.where(np.eye(len(table), dtype=bool), np.nan, table.to_numpy())
    ax.imshow(values, cmap=shades, vmin=0.5, vmax=1.0)
    rows, columns = np.nonzero(np.nan_to_num(values) >= SURE_ORDER)
    ax.plot(columns, rows, "o", ms=2.2, color=INK)
    names = [label(str(name), 24) for name in table.index]
    ax.set_xticks(np.arange(len(names)), names, rotation=90)
    ax.set_yticks(np.arange(len(names)), names)
    title(ax, "P(row above column)")
    quiet(ax).tick_params(length=0, labelsize=7)
    keep_table(ax, table)
    return ax
