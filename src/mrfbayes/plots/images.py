"""Fields, maps and segmented images: couplings on a grid, scores of pairs of positions, labels of pixels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from mrfbayes.base.errors import InputError
from mrfbayes.base.types import Scale
from mrfbayes.model.field import Model
from mrfbayes.model.scales import edge_strengths, n_edge_blocks, natural_scale, quantity, scaled
from mrfbayes.plots import style
from mrfbayes.plots.layouts import is_lattice, pixel_places, positions
from mrfbayes.plots.network import draw_nodes
from mrfbayes.results.posterior import Posterior

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from mrfbayes.estimation.pair_tables import PairTables
    from mrfbayes.hidden.result import Segmentation

CROWDED = 150  # nodes past which they are not drawn: the edges are the picture
KINDS = 4  # of tied couplings that a title can name: one for every direction


def field(
    model: Model,
    values: Posterior | np.ndarray | Sequence[float] | float | None = None,
    *,
    sd: np.ndarray | Sequence[float] | None = None,
    ax: Axes | None = None,
    labels: bool | None = None,
    bar: bool = True,
    scale: Scale | None = None,
) -> Axes:
    """Draw the graph of a model with each edge coloured by its log-odds.

    A field with tied edges has one number for all of them: its plot shows the observations (the mean of every node) if
    the posterior has them, with the couplings in the title.

    Parameters
    ----------
    model : Model
        The field.
    values : Posterior or (p,) array_like, optional
        A posterior (its mean, with its sd as ``sd``), an estimate, or theta; None draws only the graph.
    sd : (p,) array_like, optional
        Sd of theta: edges whose 90% interval includes "no interaction" are dashed.
    ax : Axes, optional
        Axes to draw on; by default a new figure.
    labels : bool, optional
        Whether nodes have their names; by default if there are at most 40 and they are names of the user.
    bar : bool, default True
        Whether a colour bar is drawn.
    scale : {"theta", "log-odds", "ising"}, optional
        Scale of the couplings in the title of a tied field, as in `Posterior.summary`.

    Returns
    -------
    Axes
        The axes.

    See Also
    --------
    segmentation : Labels of a noisy image.
    forest : Means and intervals.

    Examples
    --------
    >>> import mrfbayes as mb
    >>> model = mb.graph([("a", "b"), ("b", "c")])
    >>> posterior = mb.sample(model, mb.simulate(model, 0.8, 200, rng=1), "mle", rng=1, progress=False)
    >>> mb.plots.data(mb.plots.field(model, posterior)).shape[0]
    2
    """
    theta = getattr(values, "theta", values)
    if isinstance(values, Posterior):
        theta, sd = values.mean, values.sd if sd is None else sd
        if n_edge_blocks(model) <= KINDS < model.n_edges and is_lattice(model):
            return _tied(model, values, ax, scale or natural_scale(model))
    ax = style.axes_or_new(ax, figsize=(5.5, 5))
    place = positions(model)
    _draw(ax, model, place, theta, sd, bar)
    if labels if labels is not None else model.n_nodes <= 40 and model.named:
        draw_nodes(ax, model, place)
        return ax
    if model.n_nodes <= CROWDED:
        size = max(4.0, 14 - 0.15 * model.n_nodes)
        ax.plot(*place.T, "o", ms=size, mfc=style.PAPER, mec=style.INK, mew=1.0, zorder=2)
    ax.set_aspect("equal")
    ax.margins(0.06)
    ax.axis("off")
    return ax


def _draw(ax: Axes, model: Model, place: np.ndarray, theta: object, sd: object, bar: bool) -> None:
    from matplotlib.cm import ScalarMappable
    from matplotlib.collections import LineCollection
    from matplotlib.colors import LinearSegmentedColormap, TwoSlopeNorm

    segments = place[model.edges]
    names = [f"{model.nodes[u]}--{model.nodes[v]}" for u, v in model.edges.tolist()]
    frame = pd.DataFrame(index=pd.Index(names, name="edge"))
    style.keep_table(ax, frame)
    if theta is None:
        ax.add_collection(LineCollection(list(segments), colors=style.MUTED, linewidths=1.5, zorder=1))
        return
    at = np.asarray(theta, dtype=float)
    if at.shape != (model.n_parameters,):
        raise InputError(f"plots.field: values have shape {at.shape}, the model has {model.n_parameters} parameters.")
    coupling = edge_strengths(model, model.chart.log_odds(at))
    frame["log_odds"] = coupling
    limit = max(float(np.abs(coupling).max(initial=0.0)), 1e-9)
    shades = LinearSegmentedColormap.from_list("coupling", list(style.BLUE_TO_ORANGE))
    scale = ScalarMappable(TwoSlopeNorm(0.0, -limit, limit), shades)
    solid = np.ones(len(coupling), dtype=bool)
    if sd is not None:
        sd = edge_strengths(model, np.asarray(sd) / (at * (1 - at)))
        solid = np.abs(coupling) > 1.645 * sd
        frame["log_odds_sd"], frame["interval_excludes_zero"] = sd, solid
    widest = 6.0 if model.n_nodes <= CROWDED else max(1.5, 60 / np.sqrt(model.n_nodes))
    lines = LineCollection(
        list(segments),
        colors=scale.to_rgba(coupling),
        linewidths=list(widest * (0.2 + 0.8 * np.abs(coupling) / limit)),
        linestyles=["solid" if is_solid else style.DASHED for is_solid in solid],
        zorder=1,
        rasterized=model.n_edges > 5_000,
    )
    ax.add_collection(lines)
    ax.update_datalim(place)
    if bar:
        made = ax.figure.colorbar(scale, ax=ax, shrink=0.6, aspect=28, pad=0.02)
        made.set_label("coupling (log-odds)" + ("" if solid.all() else "; dashed: 0 is in its interval"), fontsize=8.5)
        made.ax.tick_params(labelsize=8, color=style.MUTED)
        made.outline.set_visible(False)


def _tied(model: Model, posterior: Posterior, ax: Axes | None, scale: Scale) -> Axes:
    """The observations as an image, and the shared couplings in the title."""
    from matplotlib import colormaps

    observed = posterior._observed
    if observed is None or not observed.shares.size:
        raise InputError("plots.field: edges share their coupling, and there are no observations: use plots.forest.")
    place = pixel_places(model)
    shape = model.grid_shape or tuple((place.max(axis=0) + 1).tolist())
    image = np.full(shape, np.nan)  # of pixels that a mask leaves out
    shares = np.split(observed.shares, np.cumsum(model.states)[:-1])
    image[place[:, 0], place[:, 1]] = [float(np.arange(share.size) @ share) for share in shares]
    ax = style.axes_or_new(ax, figsize=(4.8, 5.2))
    greys = colormaps["Greys"].with_extremes(bad=style.FAINT)
    ax.imshow(image, cmap=greys, vmin=0, vmax=float(model.states.max() - 1), interpolation="nearest")
    ax.set(xticks=[], yticks=[])
    for spine in ax.spines.values():
        spine.set_color(style.MUTED)
    table = posterior.summary(scale=scale).head(scaled(model, scale).n_edge_rows)
    who = [""] if len(table) == 1 else [f"{name}: " for name in table.index]
    said = [
        f"{name}{quantity(model, scale)} {row['mean']:.3f} (90% interval {row['q5']:.3f} to {row['q95']:.3f})"
        for name, (_, row) in zip(who, table.iterrows(), strict=True)
    ]
    style.title(ax, "\n".join(said))
    what = "the observed image" if observed.n == 1 else f"mean of {observed.n:,g} observations"
    left_out = "; grey: not in the field" if np.isnan(image).any() else ""
    ax.set_xlabel(what + left_out, fontsize=8.5, color=style.MUTED)
    names = [f"column {c}" for c in range(shape[1])]
    return style.keep_table(ax, pd.DataFrame(image, columns=names).rename_axis("row"))


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
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import BoundaryNorm, ListedColormap

    rows, columns = result.image.shape
    q = result.probabilities.shape[2]
    height = float(np.clip(3.4 * rows / columns, 1.6, 7.0)) + 1.6
    panels = style.panels_or_new(ax, 1, 3, figsize=(10.5, height)).ravel()
    labels = ListedColormap([style.COLOURS[k] for k in range(q)])
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
        panel.set(xticks=[], yticks=[])
    where = np.indices((rows, columns)).reshape(2, -1)
    table = {"row": where[0], "column": where[1], "image": result.image.ravel(), "label": result.labels.ravel()}
    style.keep_table(panels[0].figure, pd.DataFrame(table | {"uncertainty": unsure.ravel()}))
    return panels


def _label_bar(panel: Axes, mappable: object, q: int) -> None:
    bar = panel.figure.colorbar(mappable, ax=panel, shrink=0.8, label="label", location="bottom")  # type: ignore[arg-type]
    bar.set_ticks(list(range(q)))
    bar.ax.tick_params(length=0)


def contact_map(tables: PairTables, *, ax: Axes | None = None, top: int | None = None, min_distance: int = 5) -> Axes:
    """Draw the scores of all pairs in grey, with circles at the strongest pairs.

    Parameters
    ----------
    tables : PairTables
        Result of `mrfbayes.pair_tables`.
    ax : Axes, optional
        Axes to draw on; by default a new figure.
    top : int, optional
        Number of circles; by default one per variable.
    min_distance : int, default 5
        Least distance between the two positions of a circle.

    Returns
    -------
    Axes
        The axes.

    See Also
    --------
    mrfbayes.pair_tables : Makes the tables.

    Examples
    --------
    >>> import numpy as np
    >>> import mrfbayes as mb
    >>> tables = mb.pair_tables(np.random.default_rng(1).integers(0, 3, (200, 6)), progress=False)
    >>> len(mb.plots.contact_map(tables, min_distance=2).images)
    1
    """
    axes = style.axes_or_new(ax, figsize=(5.0, 5.0))
    scores = tables.scores
    length = len(scores)
    i, j = np.triu_indices(length, min_distance)
    best = np.argsort(-scores[i, j])[: length if top is None else top]
    axes.imshow(scores, cmap="Greys", vmin=0.0, vmax=max(float(np.quantile(scores, 0.998)), 1e-12), origin="lower")
    axes.plot(j[best], i[best], "o", mfc="none", color="#D55E00", ms=4)
    axes.set(xlabel="position", ylabel="position")
    style.title(axes, f"{best.size} strongest pairs of {length} positions")
    return axes
