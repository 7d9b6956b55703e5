"""Pairs: how a few parameters go together in the posterior."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from mrfbayes.base.errors import InputError
from mrfbayes.base.types import Scale
from mrfbayes.model.scales import scaled
from mrfbayes.model.wording import natural_scale
from mrfbayes.plots.style import INK, MUTED, POSITIVE, keep_table, label, panels_or_new, place_of, quiet

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from mrfbayes.results.posterior import Posterior

MOST = 6
BINS = 28


def pairs(
    posterior: Posterior,
    parameters: Sequence[int | str] | None = None,
    *,
    scale: Scale | None = None,
    ax: Sequence[Sequence[Axes]] | np.ndarray | None = None,
) -> Figure:
    """Draw two-dimensional histograms of pairs of parameters, with their correlations and marginals.

    Parameters
    ----------
    posterior : Posterior
        Result of `mrfbayes.sample`.
    parameters : sequence of int or str, optional
        Two to six names or positions; by default the four parameters with the largest correlations.
    scale : {"theta", "log-odds"}, optional
        Scale; by default the usual one for the model.
    ax : (k, k) array_like of Axes, optional
        Axes for k parameters; by default a new figure.

    Returns
    -------
    Figure
        The figure.

    See Also
    --------
    marginals : One parameter at a time.

    Examples
    --------
    >>> import mrfbayes as mb
    >>> model = mb.graph([("a", "b"), ("b", "c")])
    >>> posterior = mb.sample(model, mb.simulate(model, 0.8, 200, rng=1), "mle", rng=1, progress=False)
    >>> len(mb.plots.pairs(posterior).axes)
    4
    """
    import pandas as pd
    from matplotlib.colors import LinearSegmentedColormap

    model = posterior.model
    scale = scale or natural_scale(model)
    if scale == "ising":
        raise InputError("scale = 'ising': pairs are parameters of the model; choose 'theta' or 'log-odds'.")
    values = scaled(model, scale).values(posterior.draws).reshape(-1, model.n_parameters)
    places = _most_correlated(values) if parameters is None else [place_of(model, name) for name in parameters]
    if not 2 <= len(set(places)) == len(places) <= MOST:
        raise InputError(f"parameters: give from 2 to {MOST} different ones, got {len(places)}.")
    k = len(places)
    chosen = values[:, places]
    names = [model.parameters[j] for j in places]
    correlation = np.corrcoef(chosen.T)
    panels = panels_or_new(ax, k, k, figsize=(1.75 * k + 0.4, 1.75 * k + 0.2))
    made: Figure = panels[0, 0].figure
    shade = LinearSegmentedColormap.from_list("pairs", ["#ffffff", "#9cc7e4", POSITIVE, "#00395c"])
    limits = np.quantile(chosen, (0.001, 0.999), axis=0)
    for a in range(k):
        for b in range(k):
            panel = panels[a, b]
            if b > a:
                panel.axis("off")
                size = 9 + 7 * abs(correlation[a, b])
                panel.text(0.5, 0.5, f"{correlation[a, b]:+.2f}", ha="center", va="center", fontsize=size, color=INK)
                panel.set(xlim=(0, 1), ylim=(0, 1))
                continue
            if a == b:
                panel.hist(chosen[:, a], BINS, range=tuple(limits[:, a]), color=POSITIVE, alpha=0.6, lw=0)
                panel.set_yticks([])
            else:
                x, y = chosen[:, b], chosen[:, a]
                panel.hist2d(x, y, BINS, range=[limits[:, b], limits[:, a]], cmap=shade, rasterized=True)
                panel.set_ylim(*limits[:, a])
            panel.set_xlim(*limits[:, b])
            panel.locator_params(nbins=3)
            quiet(panel, "bottom", *(("left",) if a != b else ()))
            panel.tick_params(labelsize=7, labelbottom=a == k - 1, labelleft=b == 0 and a != b)
            if a == k - 1:
                panel.set_xlabel(label(names[b], 24), fontsize=8)
            if b == 0 and a > 0:
                panel.set_ylabel(label(names[a], 24), fontsize=8)
    made.suptitle(
        f"Posterior in {scale}; above the diagonal: correlations", fontsize=9, color=MUTED, x=0.98, ha="right"
    )
    keep_table(made, pd.DataFrame(chosen, columns=names).rename_axis("draw"))
    return made


def _most_correlated(values: np.ndarray, count: int = 4, among: int = 400) -> list[int]:
    """Places of the parameters in the strongest correlations, among the first few hundred."""
    part = values[:: max(1, len(values) // 4000), :among]
    if part.shape[1] < 2:
        raise InputError("plots.pairs: the model has one parameter; pairs need two.")
    with np.errstate(invalid="ignore", divide="ignore"):
        strength = np.abs(np.nan_to_num(np.corrcoef(part.T)))
    np.fill_diagonal(strength, 0.0)
    found: list[int] = []
    for place in np.argsort(strength, axis=None)[::-1]:
        for j in np.unravel_index(int(place), strength.shape):
            if int(j) not in found and len(found) < min(count, part.shape[1]):
                found.append(int(j))
        if len(found) == min(count, part.shape[1]):
            break
    return sorted(found)
