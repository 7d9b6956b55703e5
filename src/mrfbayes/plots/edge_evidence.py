"""What the data say about the presence of each edge: Bayes factors with Monte-Carlo errors and both boundaries."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mrfbayes.base.checks import whole
from mrfbayes.base.errors import InputError
from mrfbayes.plots.style import FAINT, INK, MUTED, VERDICT, axes_or_new, keep_table, label, quiet, title
from mrfbayes.structure.selection import Selection

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from mrfbayes.results.posterior import Posterior

ROWS = 40
MOST_POWER = 6.0  # of ten: the axis is cut there, so that the region around one can be seen


def edge_evidence(
    posterior: Posterior | Selection, *, rows: int = ROWS, edges: pd.DataFrame | None = None, ax: Axes | None = None
) -> Axes:
    """Draw Bayes factors of the edges for presence against absence on a logarithmic axis.

    Parameters
    ----------
    posterior : Posterior or Selection
        Result of `mrfbayes.sample`, given that all other edges are present; or of `mrfbayes.select`, averaged over all
        graphs.
    rows : int, optional
        Largest number of rows that are drawn, half of them from either end; `mrfbayes.plots.data` returns all.
    edges : DataFrame, optional
        Result of ``posterior.edges()``, if it is already computed.
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
    >>> mb.plots.data(mb.plots.edge_evidence(posterior)).shape[0]
    2
    """
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    rows = whole("rows", rows, 2)
    table = posterior.edges() if edges is None else edges
    if isinstance(posterior, Selection):
        table = table.assign(log_bf10_error=posterior.log_bf10_error)
    table = table.dropna(subset="log_bf10").sort_values("log_bf10")
    if not len(table):
        raise InputError("plots.edge_evidence: there is no Bayes factor of any edge here; see posterior.edges().")
    half = rows // 2
    shown = table.iloc[[*range(half), *range(len(table) - (rows - half), len(table))]] if len(table) > rows else table
    ax = axes_or_new(ax, figsize=(6.2, 0.9 + 0.2 * max(len(shown), 3)))
    height = np.arange(len(shown))
    exact = shown["log_bf10"].to_numpy() / np.log(10)
    at = np.clip(exact, -MOST_POWER, MOST_POWER)
    error = 2 * shown["log_bf10_error"].to_numpy() / np.log(10)
    is_bound = np.isinf(error)
    for verdict in ("present", "undecided", "absent"):
        chosen = (shown["verdict"] == verdict).to_numpy()
        marker = {"present": "o", "undecided": "s", "absent": "D"}[verdict]
        if chosen.any():
            ax.errorbar(
                *(at[chosen], height[chosen]),
                xerr=np.where(is_bound | (at != exact), 0.0, error)[chosen],
                fmt=marker,
                ms=4.5,
                color=VERDICT[verdict],
                elinewidth=1,
                label=f"{verdict} ({(table['verdict'] == verdict).sum()})",
                zorder=3,
            )
    beyond = is_bound | (exact > MOST_POWER)
    ax.plot(at[beyond], height[beyond], ">", ms=8, mfc="none", color=INK, zorder=4)
    ax.plot(at[exact < -MOST_POWER], height[exact < -MOST_POWER], "<", ms=8, mfc="none", color=INK, zorder=4)
    for boundary in (-1, 1):
        ax.axvline(boundary, color=MUTED, lw=0.8, ls=(0, (4, 3)), zorder=1)
    ax.axvline(0, color=INK, lw=0.8, zorder=1)
    low, high = float(min(at.min(), -1.3)), float(max(at.max(), 1.3))
    ax.set_xlim(low - 0.05 * (high - low), high + 0.05 * (high - low))
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.xaxis.set_major_formatter(FuncFormatter(_power))
    ax.set_yticks(height, [label(str(name), 38) for name in shown.index])
    ax.set_ylim(-0.7, len(shown) - 0.3)
    ax.grid(axis="y", color=FAINT, lw=0.5, zorder=0)
    ax.set_xlabel("Bayes factor for the edge against its absence\n(bars: two errors; > and <: that or beyond)")
    part = f": {len(shown)} of {len(table)} edges, from both ends" if len(shown) < len(table) else ""
    title(ax, f"Evidence for each edge{part}")
    ax.legend(fontsize=8, frameon=False, loc="lower right")
    quiet(ax, "bottom").tick_params(axis="y", length=0)
    keep_table(ax, table)
    return ax


def _power(exponent: float, _: object = None) -> str:
    whole_power = round(exponent)
    if whole_power == 0:
        return "1"
    if abs(whole_power) > 3:
        return rf"$10^{{{whole_power}}}$"
    return f"{10**whole_power:,}" if whole_power > 0 else f"1/{10**-whole_power:,}"
