"""Prior sensitivity: how many edges are present, absent and undecided under each prior."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mrfbayes.base.errors import InputError
from mrfbayes.plots.style import INK, VERDICT, axes_or_new, keep_table, quiet, title

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

ORDER = ("present", "undecided", "absent")


def sensitivity(table: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw the shares of the verdicts under each prior.

    Parameters
    ----------
    table : DataFrame
        Result of `mrfbayes.prior_sensitivity` or `Selection.sensitivity`.
    ax : Axes, optional
        Axes to draw on; by default a new figure.

    Returns
    -------
    Axes
        The axes.
    """
    if not set(ORDER) <= set(table.columns):
        raise InputError("plots.sensitivity: give a table from mrfbayes.prior_sensitivity or Selection.sensitivity.")
    if "slab" in table:
        names = [f"{slab}\n{graphs}".strip() for slab, graphs in zip(table["slab"], table["graphs"], strict=True)]
    else:
        names = [f"normal(0, {value:g})" for value in table.index]
    ax = axes_or_new(ax, figsize=(4.6, 0.9 + 0.42 * len(names)))
    share = table[list(ORDER)].to_numpy(dtype=float)
    share = share / np.maximum(share.sum(axis=1, keepdims=True), 1)
    place = np.arange(len(names))
    base = np.zeros(len(names))
    hatch = {"present": "", "undecided": "", "absent": "////"}  # told apart without colour
    for k, verdict in enumerate(ORDER):
        ax.barh(
            *(place, share[:, k], 0.8),
            left=base,
            color=VERDICT[verdict],
            alpha=0.85 if verdict != "undecided" else 0.35,
            hatch=hatch[verdict],
            edgecolor="white",
            lw=0.8,
            label=verdict,
        )
        for y, part, low, count in zip(place.tolist(), share[:, k], base, table[verdict], strict=True):
            if part > 0.05:
                colour = INK if verdict == "undecided" else "white"
                box = {"facecolor": VERDICT[verdict], "edgecolor": "none", "pad": 1.2} if hatch[verdict] else None
                text = ax.text(low + part / 2, y, str(count), ha="center", va="center", fontsize=7.5, color=colour)
                text.set_bbox(box)
        base = base + share[:, k]
    ax.set_yticks(place, names)
    ax.invert_yaxis()
    ax.set(xlim=(0, 1), xticks=[])
    title(ax, "Verdicts on the edges under each prior")
    ax.legend(fontsize=8, frameon=False, ncols=3, loc="upper center", bbox_to_anchor=(0.5, 0.0))
    quiet(ax).tick_params(axis="y", length=0)
    keep_table(ax, table)
    return ax
