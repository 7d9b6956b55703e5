"""Methods side by side: error of the mean and ratio of the sds, one dot a parameter."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mrfbayes.base.errors import InputError
from mrfbayes.plots.style import COLOURS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from mrfbayes.posterior.compare import Comparison


def comparison(result: Comparison) -> Figure:
    """Two panels against the exact posterior: (mean - exact mean) / exact sd, and sd / exact sd."""
    from matplotlib import pyplot

    if result.reference is None:
        raise InputError("plots.comparison: there is no exact posterior to compare with; none was feasible here.")
    base = result.posteriors[result.reference]
    others = [(name, post) for name, post in result.posteriors.items() if name != result.reference]
    figure, (left, right) = pyplot.subplots(
        1, 2, figsize=(8.5, 0.8 + 0.42 * len(others)), sharey=True, layout="constrained"
    )
    rng = np.random.default_rng(0)  # jitter only
    for k, (name, post) in enumerate(others):
        height = k + 0.22 * rng.uniform(-1, 1, base.mean.size)
        colour = COLOURS[k % len(COLOURS)]
        left.plot((post.mean - base.mean) / base.sd, height, ".", ms=4, alpha=0.6, color=colour)
        right.plot(post.sd / base.sd, height, ".", ms=4, alpha=0.6, color=colour)
        if result.table.loc[name, "verdict"] == "stuck":
            left.annotate("stuck", (0.01, k), xycoords=("axes fraction", "data"), fontsize=8, va="center")
    left.axvline(0, color="0.5", lw=0.8)
    right.axvline(1, color="0.5", lw=0.8)
    left.set_yticks(range(len(others)), [name for name, _ in others])
    left.invert_yaxis()
    left.set_xlabel("error of the posterior mean, in exact sds")
    right.set_xlabel("sd / exact sd")
    return figure
