"""The predictive check: observed statistics against those of data sets simulated from the posterior."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mrfbayes.plots.style import COLOURS, FAINT, INK, MUTED, POSITIVE, axes_or_new, keep_table, label, quiet, title

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from mrfbayes.results.predictive import PredictiveCheck

NAMED = 5
SURPRISING = 0.01
MANY_STATISTICS = 2_000  # past which points are an image inside the picture: vectors would take megabytes


def predictive(check: PredictiveCheck, *, ax: Axes | None = None) -> Axes:
    """Draw the observed value of each statistic against its mean in the replicates, with two sds.

    Statistics that do not fit have their names beside them.

    Parameters
    ----------
    check : PredictiveCheck
        Result of `mrfbayes.predictive_check`.
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
    >>> check = mb.predictive_check(posterior, replicates=50, rng=1, progress=False)
    >>> mb.plots.data(mb.plots.predictive(check)).shape[0]
    7
    """
    table = check.table
    ax = axes_or_new(ax, figsize=(4.8, 4.6))
    low = float(min(table["observed"].min(), table["replicated"].min()))
    high = float(max(table["observed"].max(), table["replicated"].max()))
    margin = 0.06 * max(high - low, 1e-9)
    ax.plot([low - margin, high + margin], [low - margin, high + margin], color=MUTED, lw=0.8, zorder=1)
    for fitted, colour, marker, said in (
        (True, POSITIVE, "o", "counts that were fitted"),
        (False, COLOURS[4], "s", "statistics that were not fitted"),
    ):
        part = table[table["fitted"] == fitted]
        if len(part):
            ax.errorbar(
                *(part["observed"], part["replicated"]),
                yerr=2 * part["replicated_sd"],
                fmt=marker,
                ms=3.2,
                color=colour,
                elinewidth=0.7,
                alpha=0.75,
                rasterized=len(table) > MANY_STATISTICS,
                label=f"{said} ({len(part)})",
                zorder=2,
            )
    unusual = table[table["p_value"] < SURPRISING].nsmallest(NAMED, "p_value")
    for name, row in unusual.iterrows():
        ax.annotate(
            *(label(str(name)), (row["observed"], row["replicated"]), (6, -8)),
            textcoords="offset points",
            fontsize=7,
            color=INK,
        )
    expected = SURPRISING * len(table)
    found = int((table["p_value"] < SURPRISING).sum())
    title(ax, f"{found} of {len(table)} statistics below p = {SURPRISING:g} ({expected:.1f} by chance)")
    ax.set(xlabel="observed, per observation", ylabel="replicated: mean and two sds")
    ax.set_xlim(low - margin, high + margin)
    ax.grid(color=FAINT, lw=0.5)
    ax.set_axisbelow(True)
    ax.legend(fontsize=8, frameon=False, loc="upper left")
    quiet(ax, "bottom", "left")
    assert np.isfinite([low, high]).all()
    keep_table(ax, table)
    return ax
