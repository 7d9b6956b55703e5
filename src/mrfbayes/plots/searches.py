"""Searches over graphs: the number of edges, the most probable graphs, and verdicts under other priors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mrfbayes.base.checks import whole
from mrfbayes.base.errors import InputError
from mrfbayes.base.types import LayoutLike
from mrfbayes.plots.layouts import positions
from mrfbayes.plots.network import draw_edges, draw_nodes
from mrfbayes.plots.style import INK, MUTED, POSITIVE, VERDICT, axes_or_new, finish, keep_table, panels_or_new, title

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from mrfbayes.structure.selection import Selection

TAIL = 1e-4  # posterior probability that is not drawn on either side
PANELS, COLUMNS = 6, 3
MOST_GRAPH_NODES = 60  # more are a smear in a panel
HATCHES = {"present": "", "undecided": "", "absent": "////"}  # by verdict, told apart without colour


def complexity(selection: Selection, *, ax: Axes | None = None) -> Axes:
    """Draw posterior probabilities of the numbers of edges as bars, and prior probabilities as a dashed line.

    Parameters
    ----------
    selection : Selection
        Result of `mrfbayes.select`.
    ax : Axes, optional
        Axes to draw on; by default a new figure.

    Returns
    -------
    Axes
        The axes.

    See Also
    --------
    structures : The best graphs.
    mrfbayes.select : The search.

    Examples
    --------
    >>> import mrfbayes as mb
    >>> model = mb.complete(["a", "b", "c"], coupling="both-one")
    >>> data = mb.simulate(model, [0.9, 0.5, 0.5], 300, rng=1)
    >>> selection = mb.select(model, data, draws=500, warmup=100, chains=2, rng=1, progress=False)
    >>> mb.plots.data(mb.plots.complexity(selection)).shape[0]
    4
    """
    import pandas as pd
    from matplotlib.ticker import MaxNLocator

    posterior, prior = selection.size_probability, selection._graph_prior.size_probability()
    if not posterior.sum() > 0:
        raise InputError("plots.complexity: the result holds no sweeps after warm-up; run mb.select with more steps.")
    sizes = np.arange(posterior.size)
    reached = np.flatnonzero(posterior > TAIL)
    low, high = max(reached[0] - 2, 0), min(reached[-1] + 2, posterior.size - 1)
    ax = axes_or_new(ax, figsize=(6.2, 3.0))
    ax.bar(sizes, posterior, width=0.8, color=POSITIVE, label="posterior", zorder=2)
    ax.plot(sizes, prior, color=MUTED, ls=(0, (4, 2)), lw=1.2, marker="o", ms=2.5, label="prior", zorder=3)
    ax.set_xlim(low - 0.6, high + 0.6)
    ax.set_ylim(0, max(posterior.max(), prior[low : high + 1].max()) * 1.12)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.legend(fontsize=8, frameon=False)
    table = pd.DataFrame({"posterior": posterior, "prior": prior}, index=pd.Index(sizes, name="edges"))
    name = f"Number of edges, of {sizes[-1]} that may be there"
    text = f"Complexity: {sizes @ posterior:.1f} edges expected"
    return finish(ax, table, text, x=name, y="Probability", grid="y")


def structures(
    selection: Selection, *, top: int = PANELS, layout: LayoutLike = "auto", graphs: pd.DataFrame | None = None
) -> Figure:
    """Draw the most probable graphs; width is the model-averaged strength, colour and dash the sign.

    Parameters
    ----------
    selection : Selection
        Result of `mrfbayes.select`.
    top : int, optional
        Number of graphs.
    layout : str or mapping, default "auto"
        Positions of the nodes, as in `mrfbayes.plots.network`.
    graphs : DataFrame, optional
        Result of ``selection.graphs()``, if it is already computed.

    Returns
    -------
    Figure
        The figure.

    See Also
    --------
    complexity : Numbers of edges.
    mrfbayes.Selection.graphs : The table.

    Examples
    --------
    >>> import mrfbayes as mb
    >>> model = mb.complete(["a", "b", "c"], coupling="both-one")
    >>> data = mb.simulate(model, [0.9, 0.5, 0.5], 300, rng=1)
    >>> selection = mb.select(model, data, draws=500, warmup=100, chains=2, rng=1, progress=False)
    >>> len(mb.plots.structures(selection, top=2).axes)
    2
    """
    model, m = selection.model, selection.model.n_edges
    if model.n_nodes > MOST_GRAPH_NODES:
        raise InputError(
            f"plots.structures: {model.n_nodes} nodes are too many for small panels (at most {MOST_GRAPH_NODES}); see "
            "selection.graphs() and plots.edge_evidence."
        )
    table = (selection.graphs(whole("top", top, 1)) if graphs is None else graphs).head(top)
    if not len(table):
        raise InputError("plots.structures: the result holds no draws; run mb.select with more steps.")
    mean = selection.mean[:m]
    edges = {"size": np.abs(mean), "sign": np.where(mean >= 0, 1, -1), "sign_probability": np.ones(m)}
    places = positions(model, layout, edges["size"])
    columns = min(COLUMNS, len(table))
    rows = -(-len(table) // columns)
    panels = panels_or_new(None, rows, columns, figsize=(3.8 * columns, 3.7 * rows)).ravel()
    for ax in panels[len(table) :]:
        ax.axis("off")
    for ax, (rank, graph) in zip(panels, table.iterrows(), strict=False):
        is_there = np.isin(selection.model.blocks[:m], graph["edges"])
        draw_edges(ax, model, places, edges, is_there, float(edges["size"].max() or 1.0))
        draw_nodes(ax, model, places)
        share = f"{graph['probability']:.2%}" if graph["probability"] >= 0.00005 else "below 0.01%"
        title(ax, f"{rank}: probability {share}, {graph['number']} edges")
    made: Figure = panels[0].figure
    keep_table(made, table.assign(edges=[", ".join(names) for names in table["edges"]]))
    return made


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

    See Also
    --------
    mrfbayes.prior_sensitivity : Makes the table.

    Examples
    --------
    >>> import mrfbayes as mb
    >>> model = mb.grid(2, 2)
    >>> data = mb.simulate(model, 0.7, 200, rng=1)
    >>> table = mb.prior_sensitivity(model, data, scales=[0.5, 2], method="mle", rng=1, progress=False)
    >>> mb.plots.data(mb.plots.sensitivity(table)).shape[0]
    2
    """
    if not set(HATCHES) <= set(table.columns):
        raise InputError("plots.sensitivity: give a table from mrfbayes.prior_sensitivity or Selection.sensitivity.")
    if "slab" in table:
        names = [f"{slab}\n{graphs}".strip() for slab, graphs in zip(table["slab"], table["graphs"], strict=True)]
    else:
        names = [f"normal(0, {value:g})" for value in table.index]
    ax = axes_or_new(ax, figsize=(4.6, 0.9 + 0.42 * len(names)))
    share = table[list(HATCHES)].to_numpy(dtype=float)
    share = share / np.maximum(share.sum(axis=1, keepdims=True), 1)
    place, base = np.arange(len(names)), np.zeros(len(names))
    for k, (verdict, hatch) in enumerate(HATCHES.items()):
        colour, faint = VERDICT[verdict], verdict == "undecided"
        style: dict[str, Any] = {
            "color": colour,
            "alpha": 0.35 if faint else 0.85,
            "hatch": hatch,
            "edgecolor": "white",
            "lw": 0.8,
        }
        ax.barh(place, share[:, k], 0.8, left=base, label=verdict, **style)
        for y, part, low, count in zip(place.tolist(), share[:, k], base, table[verdict], strict=True):
            if part > 0.05:
                text = ax.text(low + part / 2, y, str(count), ha="center", va="center", fontsize=7.5)
                text.set_color(INK if faint else "white")
                text.set_bbox({"facecolor": colour, "edgecolor": "none", "pad": 1.2} if hatch else None)
        base = base + share[:, k]
    ax.set_yticks(place, names)
    ax.invert_yaxis()
    ax.set(xlim=(0, 1), xticks=[])
    ax.legend(fontsize=8, frameon=False, ncols=3, loc="upper center", bbox_to_anchor=(0.5, 0.0))
    finish(ax, table, "Verdicts on the edges under each prior", spines=[]).tick_params(axis="y", length=0)
    return ax
