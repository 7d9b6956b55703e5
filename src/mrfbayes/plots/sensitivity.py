"""Prior sensitivity: how many edges are present, absent and undecided as the prior grows wider."""

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
    """Shares of the verdicts against the scale of the prior.

    Parameters
    ----------
    table : from `mrfbayes.prior_sensitivity`
    """
    if not set(ORDER) <= set(table.columns):
        raise InputError("plots.sensitivity: give the table that mrfbayes.prior_sensitivity returned.")
    ax = axes_or_new(ax, figsize=(5.6, 3.2))
    scale = table.index.to_numpy(dtype=float)
    share = table[list(ORDER)].to_numpy(dtype=float)
    share = share / np.maximum(share.sum(axis=1, keepdims=True), 1)
    place = np.arange(len(scale))
    base = np.zeros(len(scale))
    hatch = {"present": "", "undecided": "", "absent": "////"}  # told apart without colour
    for k, verdict in enumerate(ORDER):
        ax.bar(
            *(place, share[:, k], 0.82),
            bottom=base,
            color=VERDICT[verdict],
            alpha=0.85 if verdict != "undecided" else 0.35,
            hatch=hatch[verdict],
            edgecolor="white",
            lw=0.8,
            label=verdict,
        )
        for x, part, low in zip(place, share[:, k], base, strict=True):
            if part > 0.05:
                colour = INK if verdict == "undecided" else "white"
                box = {"facecolor": VERDICT[verdict], "edgecolor": "none", "pad": 1.2} if hatch[verdict] else None
                ax.text(
                    float(x),
                    low + part / 2,
                    f"{part:.0%}",
                    ha="center",
                    va="center",
                    fontsize=7.5,
                    color=colour,
                    bbox=box,
                )
        base = base + share[:, k]
    ax.set_xticks(place, [f"{value:g}" for value in scale])
    ax.set(xlabel="scale of the normal prior on the couplings (log-odds)", ylim=(0, 1), yticks=[])
    title(ax, "Verdicts on the edges as the prior grows wider")
    ax.legend(fontsize=8, frameon=False, ncols=3, loc="upper center", bbox_to_anchor=(0.5, -0.2))
    quiet(ax, "bottom").tick_params(axis="x", length=0)
    keep_table(ax, table)
    return ax
