"""Methods side by side: error of the mean and ratio of the sds, one dot per parameter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from mrfbayes.base.errors import InputError
from mrfbayes.plots.style import COLOURS, FAINT, INK, MUTED, escape, keep_table, panels_or_new, quiet

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from mrfbayes.sampling.compare import Comparison


def comparison(result: Comparison, *, ax: Sequence[Axes] | None = None) -> Figure:
    """Draw errors of means and ratios of sds against the exact posterior, by parameter.

    Parameters
    ----------
    result : Comparison
        Result of `mrfbayes.compare`.
    ax : sequence of Axes, optional
        Two axes, for (mean - exact mean) / exact sd and for sd / exact sd; by default a new figure.

    Returns
    -------
    Figure
        The figure.
    """
    import pandas as pd

    if result.reference is None:
        raise InputError("plots.comparison: there is no exact posterior to compare with; none was feasible here.")
    base = result.posteriors[result.reference]
    others = [(name, post) for name, post in result.posteriors.items() if name != result.reference]
    if not others:
        raise InputError("plots.comparison: there is only the exact posterior; compare at least one other method.")
    left, right = panels_or_new(ax, 1, 2, figsize=(8.5, 1.0 + 0.42 * len(others)), sharey=True)[0]
    rng = np.random.default_rng(0)  # jitter only
    errors, ratios = {}, {}
    for k, (name, post) in enumerate(others):
        height = k + 0.22 * rng.uniform(-1, 1, base.mean.size)
        colour = COLOURS[k % len(COLOURS)]
        errors[name], ratios[name] = (post.mean - base.mean) / base.sd, post.sd / base.sd
        for panel, values in ((left, errors[name]), (right, ratios[name])):
            panel.plot(values, height, ".", ms=4, alpha=0.5, color=colour, mew=0)
            panel.plot([values.mean()] * 2, [k - 0.3, k + 0.3], color=INK, lw=1.4, zorder=3)
        if result.table.loc[name, "verdict"] == "stuck":
            left.annotate("stuck", (0.01, k), xycoords=("axes fraction", "data"), fontsize=8, va="center")
    left.axvline(0, color=MUTED, lw=0.8, zorder=0)
    right.axvline(1, color=MUTED, lw=0.8, zorder=0)
    left.set_yticks(range(len(others)), [escape(name) for name, _ in others])
    left.invert_yaxis()
    left.set_xlabel("error of the posterior mean, in exact sds")
    right.set_xlabel("sd / exact sd (bars: averages)")
    for panel in (left, right):
        panel.grid(axis="x", color=FAINT, lw=0.5)
        panel.set_axisbelow(True)
        quiet(panel, "bottom").tick_params(axis="y", length=0)
    parts = {"mean_error": pd.DataFrame(errors, base.parameters), "sd_ratio": pd.DataFrame(ratios, base.parameters)}
    table = pd.concat({name: part.stack() for name, part in parts.items()}, axis=1)
    made: Figure = left.figure
    keep_table(made, table.rename_axis(["parameter", "method"]).reset_index("method"))
    return made
