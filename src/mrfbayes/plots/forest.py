"""The forest: every coupling with its interval, the surest ones where there are too many to read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mrfbayes.base.checks import whole
from mrfbayes.base.types import Scale
from mrfbayes.model.scales import scaled
from mrfbayes.model.wording import natural_scale, scale_name
from mrfbayes.plots.style import FAINT, INK, MUTED, NEGATIVE, POSITIVE, axes_or_new, keep_table, label, quiet, title

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from mrfbayes.results.posterior import Posterior

ROWS = 40  # readable on a page


def forest(
    posterior: Posterior,
    *,
    rows: int = ROWS,
    nodes: bool = False,
    scale: Scale | None = None,
    ci_prob: float = 0.9,
    ax: Axes | None = None,
) -> Axes:
    """Draw posterior means and intervals of the edges, sorted by distance from "no interaction" in posterior sds.

    Parameters
    ----------
    posterior : Posterior
        Result of `mrfbayes.sample`.
    rows : int, optional
        Largest number of rows that are drawn; `mrfbayes.plots.data` returns all.
    nodes : bool, default False
        Whether the node factors are drawn instead of the edges.
    scale : {"theta", "log-odds", "ising"}, optional
        Scale, as in `Posterior.summary`; by default the usual one for the model.
    ci_prob : float, default 0.9
        Probability of the intervals.
    ax : Axes, optional
        Axes to draw on; by default a new figure.

    Returns
    -------
    Axes
        The axes.

    Examples
    --------
    >>> import mrfbayes as mb
    >>> model = mb.grid(2, 2)
    >>> data = mb.simulate(model, 0.7, 200, rng=1)
    >>> axes = mb.plots.forest(mb.sample(model, data, "mle", rng=1, progress=False))
    >>> len(mb.plots.data(axes))
    4
    """
    rows = whole("rows", rows)
    table = forest_table(posterior, nodes, scale or natural_scale(posterior.model), ci_prob)
    shown = table.head(rows).sort_values("mean", ascending=True, kind="stable")
    ax = axes_or_new(ax, figsize=(6.2, 0.7 + 0.2 * max(len(shown), 3)))
    height = np.arange(len(shown))
    low, high = shown.iloc[:, 2], shown.iloc[:, 3]
    neutral = shown["no_interaction"].to_numpy()
    clear = (low.to_numpy() > neutral) | (high.to_numpy() < neutral)
    colour = np.where(clear, np.where(shown["mean"] > neutral, POSITIVE, NEGATIVE), MUTED)
    for k, (a, b, c) in enumerate(zip(low, high, colour, strict=True)):
        ax.plot([a, b], [k, k], color=c, lw=2.0, solid_capstyle="round", zorder=2)
    for marker, which in (("o", clear), ("o", ~clear)):
        face = colour[which] if marker == "o" and which is clear else "white"
        ax.scatter(
            shown["mean"][which], height[which], s=22, c=face, edgecolors=colour[which], zorder=3, linewidths=1.1
        )
    ax.axvline(float(neutral[0]) if len(neutral) else 0.0, color=INK, lw=0.8, zorder=1)
    ax.set_yticks(height, [label(str(name), 38) for name in shown.index])
    ax.set_ylim(-0.7, len(shown) - 0.3)
    ax.grid(axis="x", color=FAINT, lw=0.6, zorder=0)
    ax.set_axisbelow(True)
    what = "Node factors" if nodes else "Edges"
    part = f", the surest {len(shown)} of {len(table)}" if len(shown) < len(table) else ""
    ax.set_xlabel(scale_name(posterior.model, table.attrs["scale"], nodes))
    title(ax, f"{what}{part}: mean and {ci_prob:.0%} interval")
    quiet(ax, "bottom").tick_params(axis="y", length=0)
    keep_table(ax, table)
    return ax


def forest_table(posterior: Posterior, nodes: bool, scale: Scale, ci_prob: float) -> pd.DataFrame:
    """Means, sds and intervals, the surest first."""
    import pandas as pd

    scale_rows = scaled(posterior.model, scale)
    part = slice(scale_rows.n_edge_rows, None) if nodes else slice(None, scale_rows.n_edge_rows)
    table = pd.DataFrame(
        {name: values[part] for name, values in posterior._moments(scale_rows, ci_prob).items()},
        index=pd.Index(scale_rows.names[part], name="node" if nodes else "edge"),
    )
    table["no_interaction"] = scale_rows.neutral[part]
    sure = (table["mean"] - table["no_interaction"]).abs() / table["sd"].clip(lower=1e-300)
    table = table.loc[sure.sort_values(ascending=False, kind="stable").index]
    table.attrs["scale"] = scale
    return table
