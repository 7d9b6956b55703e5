"""A segmented image: what was observed, the most probable labels, and how sure they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mrfbayes.plots.style import COLOURS, keep_table, panels_or_new

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from mrfbayes.hidden.result import Segmentation


def segmentation(result: Segmentation, *, ax: Sequence[Axes] | None = None) -> np.ndarray:
    """Draw the image, its most probable labels and their uncertainty side by side.

    Parameters
    ----------
    result : Segmentation
        Result of `mrfbayes.segment`.
    ax : sequence of Axes, optional
        Three axes; by default a new figure.

    Returns
    -------
    (3,) ndarray of Axes
        The axes.

    See Also
    --------
    mrfbayes.segment : The posterior of a noisy image.
    field : Couplings on a grid.

    Examples
    --------
    >>> import numpy as np
    >>> import mrfbayes as mb
    >>> labels = np.repeat([[0, 0, 1, 1]], 4, axis=0).repeat(4, axis=0)
    >>> image = labels + np.random.default_rng(1).normal(0, 0.3, labels.shape)
    >>> result = mb.segment(image, states=2, draws=200, rng=1, progress=False)
    >>> len(mb.plots.segmentation(result))
    3
    """
    import pandas as pd
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import BoundaryNorm, ListedColormap

    rows, columns = result.image.shape
    q = result.probabilities.shape[2]
    height = float(np.clip(3.4 * rows / columns, 1.6, 7.0)) + 1.6
    panels = panels_or_new(ax, 1, 3, figsize=(10.5, height)).ravel()
    labels = ListedColormap([COLOURS[k] for k in range(q)])
    bounds = BoundaryNorm(np.arange(q + 1) - 0.5, q)
    has_greys = result.settings["emission"] == "gaussian"
    missing = "#f3e3b3" if has_greys else "#ffffff"
    greys = result.image[np.isfinite(result.image)]
    if has_greys:
        ends = np.quantile(greys, [0.005, 0.995])
        cmap = ListedColormap([str(v) for v in np.linspace(0, 1, 256)]).with_extremes(bad=missing)
        shown = panels[0].imshow(result.image, cmap=cmap, vmin=ends[0], vmax=ends[1], interpolation="nearest")
        panels[0].figure.colorbar(shown, ax=panels[0], shrink=0.8, label="grey", location="bottom")
    else:
        panels[0].imshow(result.image, cmap=labels.with_extremes(bad=missing), norm=bounds, interpolation="nearest")
        _label_bar(panels[0], ScalarMappable(bounds, labels), q)
    note = f" ({np.isnan(result.image).sum():,} pixels missing)" if np.isnan(result.image).any() else ""
    panels[0].set_title(f"observed{note}")
    panels[1].imshow(result.labels, cmap=labels, norm=bounds, interpolation="nearest")
    _label_bar(panels[1], ScalarMappable(bounds, labels), q)
    panels[1].set_title("most probable label")
    unsure = 1 - result.probabilities.max(axis=2)
    shown = panels[2].imshow(unsure, cmap="magma", vmin=0, vmax=1 - 1 / q, interpolation="nearest")
    panels[2].figure.colorbar(shown, ax=panels[2], shrink=0.8, label="probability of another label", location="bottom")
    panels[2].set_title("uncertainty")
    for panel in panels:
        panel.set_xticks([])
        panel.set_yticks([])
    where = np.indices((rows, columns)).reshape(2, -1)
    table = {"row": where[0], "column": where[1], "image": result.image.ravel(), "label": result.labels.ravel()}
    keep_table(panels[0].figure, pd.DataFrame(table | {"uncertainty": unsure.ravel()}))
    return panels


def _label_bar(panel: Axes, mappable: object, q: int) -> None:
    bar = panel.figure.colorbar(mappable, ax=panel, shrink=0.8, label="label", location="bottom")  # type: ignore[arg-type]
    bar.set_ticks(list(range(q)))
    bar.ax.tick_params(length=0)
