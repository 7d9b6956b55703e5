"""The network: width is the posterior mean, colour and dash the sign, opacity the probability of edge or sign."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from mrfbayes.base.errors import InputError
from mrfbayes.base.types import LayoutLike, Scale
from mrfbayes.model.lowering import EdgeFinder
from mrfbayes.model.scales import edge_strengths, has_tables, n_edge_blocks, natural_scale, scale_name
from mrfbayes.plots import style
from mrfbayes.plots.layouts import SIDES, label_sides, positions
from mrfbayes.results.bayes_factors import edges_table, no_evidence
from mrfbayes.structure.selection import Selection

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from mrfbayes.model.field import Model
    from mrfbayes.results.posterior import Posterior

VERDICT_PANELS = {"supported": "present", "ruled out": "absent", "undecided": "undecided"}
MOST_EDGES = 400  # drawn at once: more are a smear
MANY_EDGES = 60  # past so many edges only those with a sure sign are drawn by default
SURE = (0.9, 0.95, 0.975, 0.99, 0.995, 0.999)  # how sure: the first that leaves no more edges than can be told apart
MOST_NAMES, MOST_NUMBERS = 30, 200  # nodes that have their names beside them, or numbers inside
WIDEST, THINNEST = 6.0, 0.4  # points, in a figure of full width
FULL_WIDTH = 5.6  # inches
SIGN_COLOURS = {1: style.POSITIVE, -1: style.NEGATIVE, 0: style.INK}  # by sign; tables have none
LETTER = 0.62  # width of an average letter in units of its font size
LEGEND_ROWS, LEGEND_WIDTH = 34, 3.9  # items in a column of the legend, and its width in inches


def network(
    posterior: Posterior | Selection,
    *,
    layout: LayoutLike = "auto",
    show: str = "auto",
    scale: Scale | None = None,
    edges: pd.DataFrame | None = None,
    nodes: pd.DataFrame | str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the network of a posterior, or the average over all graphs of a search.

    Parameters
    ----------
    posterior : Posterior or Selection
        Result of `mrfbayes.sample` or `mrfbayes.select`.
    layout : {"auto", "circle", "spring", "grid"} or mapping, default "auto"
        "auto" is a spring layout with a fixed seed; a mapping has the position of each node.
    show : str, default "auto"
        "all" edges; "sure", those whose sign is at least 90% sure (up to 99.9% if more than 60 are left); "probable",
        those with a posterior probability above 1/2; "supported", "ruled out" or "undecided", those with this verdict;
        "auto": all of up to 60 edges, else the probable ones of a search, else the sure ones.
    scale : {"theta", "log-odds", "ising"}, optional
        Scale of the widths, as in `Posterior.summary`; by default the usual one for the model.
    edges : DataFrame, optional
        Result of ``edges(scale=scale)``, if it is already computed.
    nodes : DataFrame or "communities", optional
        A table with one row per node and any of the columns ``community`` (whole numbers, drawn as colours), ``ring``
        (from 0 to 1, the filled share of a ring, such as predictability) and ``text`` (for a legend); "communities"
        finds them.
    ax : Axes, optional
        Axes to draw on; by default a new figure.

    Returns
    -------
    Axes
        The axes.

    See Also
    --------
    network_panels : One panel per verdict.
    edge_evidence : Bayes factors of all edges.

    Examples
    --------
    >>> import mrfbayes as mb
    >>> model = mb.graph([("a", "b"), ("b", "c")])
    >>> posterior = mb.sample(model, mb.simulate(model, 0.8, 200, rng=1), "mle", rng=1, progress=False)
    >>> mb.plots.data(mb.plots.network(posterior)).shape[0]
    2
    """
    model = posterior.model
    scale = scale or natural_scale(model)
    table = edge_rows(posterior, scale, edges, need_verdicts=show in VERDICT_PANELS)
    places = positions(model, layout, pull(table))
    details = _node_style(posterior, nodes)
    beside = LEGEND_WIDTH * -(-model.n_nodes // LEGEND_ROWS) if "text" in details else 0.0
    ax = style.axes_or_new(ax, figsize=(FULL_WIDTH + beside, 5.6))
    if show == "auto":
        show = "all" if len(table) <= MANY_EDGES else "probable" if "inclusion" in table else "sure"
    chosen = _chosen(table, show)
    drawn = draw_edges(ax, model, places, table, chosen, widest=float(table["size"].max() or 1.0))
    draw_nodes(ax, model, places, details)
    style.keep_table(ax, table[chosen])
    if "text" in details:
        _codebook_legend(ax, model, details)
    sized = "strength, as a log odds ratio of two binary variables" if has_tables(model) else scale_name(model, scale)
    _legend(ax, table, f"{_count_note(show, drawn, int(chosen.sum()), table)}; width: {sized}")
    return ax


def network_panels(
    posterior: Posterior | Selection,
    *,
    layout: LayoutLike = "auto",
    scale: Scale | None = None,
    edges: pd.DataFrame | None = None,
    ax: Sequence[Axes] | None = None,
) -> Figure:
    """Draw three panels with the supported, the ruled out and the undecided edges.

    The nodes have the same positions in all panels. An edge that is not in the first panel may be absent (second panel)
    or undecided (third panel).

    Parameters
    ----------
    posterior : Posterior or Selection
        Result of `mrfbayes.sample` or `mrfbayes.select`.
    layout : str or mapping, default "auto"
        Positions of the nodes, as in `network`.
    scale : {"theta", "log-odds", "ising"}, optional
        Scale of the widths, as in `network`.
    edges : DataFrame, optional
        Result of ``edges(scale=scale)``, if it is already computed.
    ax : sequence of Axes, optional
        Three axes, of one figure or of several; by default a new figure.

    Returns
    -------
    Figure
        The figure.

    See Also
    --------
    network : One network.

    Examples
    --------
    >>> import mrfbayes as mb
    >>> model = mb.graph([("a", "b"), ("b", "c")])
    >>> posterior = mb.sample(model, mb.simulate(model, 0.8, 200, rng=1), "mle", rng=1, progress=False)
    >>> len(mb.plots.network_panels(posterior).axes)
    3
    """
    model = posterior.model
    scale = scale or natural_scale(model)
    table = edge_rows(posterior, scale, edges, need_verdicts=True)
    places = positions(model, layout, pull(table))
    panels = style.panels_or_new(ax, 1, 3, figsize=(11.5, 4.5))[0]
    widest = float(table["size"].max() or 1.0)
    for panel, (name, verdict) in zip(panels, VERDICT_PANELS.items(), strict=True):
        chosen = (table["verdict"] == verdict).to_numpy()
        draw_edges(panel, model, places, table, chosen, widest, plain=name != "supported")
        draw_nodes(panel, model, places)
        explained = {"supported": "Bayes factor above 10", "ruled out": "below 1/10", "undecided": "in between"}[name]
        if not chosen.any():
            panel.text(0.5, 0.0, "none", transform=panel.transAxes, ha="center", fontsize=9, color=style.MUTED)
        style.title(panel, f"{name.capitalize()}: {chosen.sum()} of {len(table)} ({explained})")
        style.keep_table(panel, table[chosen])
    made: Figure = style.keep_table(panels[0].figure, table)
    return made


def edge_rows(
    posterior: Posterior | Selection, scale: Scale, edges: pd.DataFrame | None, need_verdicts: bool
) -> pd.DataFrame:
    """A row per edge of the graph: ends, mean, how sure its sign is, verdict; tied edges repeat their block's.

    A table has the sign 0, and how sure the surest sign among its cells is. Beside tables all sizes are strengths to be
    compared: log odds ratios of two binary variables with as strong a coupling. The probability of an edge in a search
    over graphs stands in for how sure its sign is.
    """
    model = posterior.model
    if not model.n_edges:
        raise InputError("plots.network: the model has no edges to draw.")
    blocks = n_edge_blocks(model)
    first = model.chart.offset[:blocks]
    is_table = model.chart.sides[:blocks] > 2
    if is_table.any() and not (has_tables(model) and blocks == model.n_edges):
        raise InputError("plots.network: an edge with a table of weights has no single strength; use plots.forest.")
    if edges is None:
        if need_verdicts or isinstance(posterior, Selection):
            edges = posterior.edges(scale=scale)
        else:
            edges = edges_table(posterior, scale, evidence=no_evidence(model)).drop(columns="verdict")
    mean, neutral = edges["mean"].to_numpy(), 0.5 if scale == "theta" else 0.0
    positive = (posterior.log_odds[..., first] > 0).mean(axis=(0, 1))
    sure, size = np.maximum(positive, 1 - positive), np.abs(mean - neutral)
    sign = np.where(mean >= neutral, 1, -1)
    if is_table.any():
        sign[is_table] = 0
        levels = np.where(is_table[:, None], 2, model.states[model.edges])  # a table's norm is on this scale already
        size = np.abs(edge_strengths(model, posterior.log_odds.mean(axis=(0, 1))))
        size = size * np.sqrt((levels**2.0 - 1) / 3).prod(axis=1)  # w sd_u sd_v / .25
        for b in np.flatnonzero(is_table).tolist():
            cells = posterior.log_odds[..., model.chart.offset[b] : model.chart.offset[b + 1]]
            sure[b] = 0.5 + np.abs((cells > 0).mean(axis=(0, 1)) - 0.5).max()
    if "inclusion" in edges:
        sure = 0.5 + edges["inclusion"].to_numpy() / 2
    block = np.zeros(model.n_edges, dtype=np.int64)
    find = EdgeFinder(model.edges, model.n_nodes)
    for group in model.field.groups:
        if group.arity == 2:
            block[find(group.scope)[0]] = group.block
    ends = np.array(model.nodes, dtype=object)[model.edges]
    columns = {"from": ends[:, 0], "to": ends[:, 1], "mean": mean[block], "size": size[block], "sign": sign[block]}
    table = pd.DataFrame(columns, index=pd.Index([f"{u}--{v}" for u, v in ends], name="edge"))
    table["sign_probability"] = sure[block]
    for column in (name for name in ("inclusion", "verdict") if name in edges):
        table[column] = edges[column].to_numpy()[block]
    return table


def pull(table: pd.DataFrame) -> np.ndarray:
    """How strongly edges pull in a spring layout: those that are large and sure."""
    return np.asarray(table["size"] * (2 * table["sign_probability"] - 1) ** 2)


def _node_style(posterior: Posterior | Selection, given: pd.DataFrame | str | None) -> dict[str, np.ndarray]:
    """The columns community, ring and text, as far as they are given, in the order of the nodes."""
    model = posterior.model
    if given is None:
        return {}
    if isinstance(given, str):
        from mrfbayes.results.centrality import communities, coupling_draws

        if given != "communities":
            raise InputError(f"nodes = {given!r}: give 'communities' or a table with a row per node.")
        found = communities(model, coupling_draws(model, posterior.log_odds))
        return {} if found is None else {"community": found.label}
    if missing := [name for name in model.nodes if name not in given.index]:
        raise InputError(f"nodes: the table has no row for node {missing[0]!r}.")
    rows = given.loc[list(model.nodes)]
    return {name: rows[name].to_numpy() for name in ("community", "ring", "text") if name in rows}


def _chosen(table: pd.DataFrame, show: str) -> np.ndarray:
    if show == "all":
        return np.ones(len(table), dtype=bool)
    if show == "sure":
        return np.asarray(table["sign_probability"] >= sure_level(table))
    if show == "probable" and "inclusion" in table:
        return np.asarray(table["inclusion"] > 0.5)
    if show in VERDICT_PANELS:
        return np.asarray(table["verdict"] == VERDICT_PANELS[show])
    choices = ("auto", "all", "sure", "probable (of a search)", *VERDICT_PANELS)
    raise InputError(f"show = {show!r}: choose one of {', '.join(map(repr, choices))}.")


def sure_level(table: pd.DataFrame) -> float:
    """How sure a sign has to be for its edge to be drawn: at least 90%, more where that leaves a smear."""
    sure = table["sign_probability"].to_numpy()
    return next((level for level in SURE if (sure >= level).sum() <= MANY_EDGES), SURE[-1])


def draw_edges(
    ax: Axes,
    model: Model,
    places: np.ndarray,
    table: pd.DataFrame | Mapping[str, np.ndarray],
    chosen: np.ndarray,
    widest: float,
    plain: bool = False,
) -> int:
    """Draw the chosen edges, the strongest on top; the number drawn."""
    from matplotlib.collections import LineCollection
    from matplotlib.colors import to_rgba

    order = np.flatnonzero(chosen)
    order = order[np.argsort(np.asarray(table["size"])[order])][-MOST_EDGES:]
    size, sign, probability = (np.asarray(table[name])[order] for name in ("size", "sign", "sign_probability"))
    sure = np.clip((probability - 0.5) * 2, 0, 1)
    width = line_width(ax, size / max(widest, 1e-12)) * min(1.0, np.sqrt(MOST_NAMES / model.n_nodes))
    crowded = plain and order.size > MANY_EDGES
    faint = 0.55 * min(1.0, np.sqrt(MANY_EDGES / max(order.size, 1)))
    colours = [
        to_rgba(style.MUTED, faint) if plain else to_rgba(SIGN_COLOURS[s], 0.12 + 0.88 * c**1.5)
        for s, c in zip(sign, sure, strict=True)
    ]
    lines = LineCollection(
        list(places[model.edges[order]]),
        colors=colours,
        linewidths=np.full(order.size, 0.5 if crowded else 0.9) if plain else width,
        linestyles=["solid" if s >= 0 or plain else style.DASHED for s in sign],
        zorder=1,
        capstyle="round" if plain else "butt",
    )
    ax.add_collection(lines)
    return int(order.size)


def line_width(ax: Axes, share: float | np.ndarray) -> float | np.ndarray:
    """Points for an edge whose size is that share of the largest one's."""
    return (THINNEST + (WIDEST - THINNEST) * np.power(share, 1.3)) * min(1.0, axes_width(ax) / FULL_WIDTH)


def draw_nodes(ax: Axes, model: Model, places: np.ndarray, details: Mapping[str, np.ndarray] | None = None) -> None:
    """Nodes as discs: up to 30 with their names beside them, more with numbers inside, in the order of the model.

    ``details`` may have ``community`` (d,), drawn as the colour of a disc, ``ring`` (d,), the filled share of the ring
    around it, and ``text``, for which a legend explains the numbers.
    """
    details = details or {}
    many, width = model.n_nodes > MOST_NUMBERS, axes_width(ax)
    numbered = not many and (model.n_nodes > MOST_NAMES or "text" in details)
    crowded = width < 5 or (numbered and model.n_nodes > 40)
    size = 3.0 if many else (11.0, 8.0)[crowded] if numbered else (7.5, 4.5)[crowded]
    ax.set_aspect("equal")
    ax.axis("off")
    if "ring" in details and not many:
        _draw_rings(ax, places, np.asarray(details["ring"], dtype=float), size)
    fill = _colours(details, model.n_nodes)
    ax.scatter(places[:, 0], places[:, 1], s=size**2, c=fill, edgecolors=style.INK, linewidths=0.9, zorder=3)
    if not many and not numbered:
        _draw_names(ax, model, places, width)
        return
    ax.margins(0.06 if many else 0.08)
    for k, (x, y) in enumerate([] if many else places.tolist()):
        ax.text(x, y, str(k + 1), fontsize=0.5 * size, ha="center", va="center_baseline", color=style.INK, zorder=4)


def _draw_names(ax: Axes, model: Model, places: np.ndarray, width: float) -> None:
    """Names beside the nodes, where they cover least; the limits leave room for all of them."""
    size = 7.0 if width < 5 else 8.5
    names = [style.shorten(name, 18 if width > 5 else 13) for name in model.nodes]
    wide, tall = np.array([len(name) * LETTER * size / 72 for name in names]), 1.3 * size / 72  # inches
    extent = np.ptp(places, axis=0)
    room = np.maximum(width - 2 * wide.max() - 0.4, 0.4 * width), 0.85 * width
    per_inch = float(np.max(extent / room)) or 1.0
    side = label_sides(places, per_inch * wide, per_inch * tall, 0.11 * per_inch)
    half = per_inch * np.stack([wide, np.full(len(wide), tall)], axis=1) / 2
    centres = places + SIDES[side] * (half + 0.11 * per_inch)
    for name, (x, y), (dx, dy) in zip(names, places.tolist(), SIDES[side].tolist(), strict=True):
        text = ax.annotate(style.escape(name), (x, y), (8.0 * dx, 8.0 * dy), textcoords="offset points", zorder=4)
        text.set(ha=("center", "left", "right")[dx], va=("center", "bottom", "top")[dy], fontsize=size, color=style.INK)
        text.set_bbox({"facecolor": style.PAPER, "alpha": 0.7, "pad": 0.4, "lw": 0})
    low = np.minimum(centres - half, places).min(axis=0) - 0.1 * per_inch
    high = np.maximum(centres + half, places).max(axis=0) + 0.1 * per_inch
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))


def _draw_rings(ax: Axes, places: np.ndarray, share: np.ndarray, size: float) -> None:
    """A ring around every node, filled clockwise from the top; markers keep their size whatever the axes' limits."""
    from matplotlib.path import Path

    outer, inner = (1.6 * size) ** 2, (1.15 * size) ** 2
    ax.scatter(places[:, 0], places[:, 1], s=outer, c=style.PAPER, edgecolors=style.MUTED, linewidths=0.5, zorder=2)
    for place, part in zip(places, np.clip(np.nan_to_num(share), 0, 0.9999).tolist(), strict=True):
        if part > 0:
            wedge = Path.wedge(90 - 360 * part, 90)
            ax.scatter(place[0], place[1], s=outer, marker=wedge, c=style.INK, linewidths=0, zorder=2.5)
    ax.scatter(places[:, 0], places[:, 1], s=inner, c=style.PAPER, linewidths=0, zorder=2.7)


def axes_width(ax: Axes) -> float:
    """Width of the axes in inches, about: what the figure has for each column of panels."""
    grid = ax.get_subplotspec()
    columns = grid.get_gridspec().ncols if grid is not None else 1
    figure = ax.get_figure(root=True)
    return (FULL_WIDTH if figure is None else float(figure.get_size_inches()[0])) / columns


def _colours(details: Mapping[str, np.ndarray], n_nodes: int) -> list[str]:
    known = style.COMMUNITY_COLOURS
    return [known[int(k) % len(known)] for k in details.get("community", ())] or [style.PAPER] * n_nodes


def _codebook_legend(ax: Axes, model: Model, details: Mapping[str, np.ndarray]) -> None:
    """The items with their numbers and texts to the right of the network."""
    from matplotlib.lines import Line2D

    handles, colours = [], _colours(details, model.n_nodes)
    for k, (name, text) in enumerate(zip(model.nodes, details["text"], strict=True)):
        said = f"{k + 1}  {name}" + (f": {text}" if isinstance(text, str) and text not in ("", name) else "")
        said = style.escape(style.shorten(said, 60))
        handles.append(Line2D([], [], ls="", marker="o", mfc=colours[k], mec=style.INK, mew=0.7, ms=5, label=said))
    columns, beside = -(-len(handles) // LEGEND_ROWS), (1.02, 0.5)
    first = ax.legend(
        handles=handles, loc="center left", bbox_to_anchor=beside, ncols=columns, fontsize=7, frameon=False
    )
    ax.add_artist(first)
    first.set_clip_on(False)
    first.set_clip_path(None)  # it stands beside the axes


def _legend(ax: Axes, table: pd.DataFrame, name: str) -> None:
    from matplotlib.lines import Line2D

    largest, signs = float(table["size"].max()), set(table["sign"])
    unsure = "improbable" if "inclusion" in table else "sign unsure"
    rows: list[tuple[str, str, Any, Any, float]] = [
        ("positive", style.POSITIVE, 2.4, "-", 1.0),
        *[("table, no sign", style.INK, 2.4, "-", 1.0)] * (0 in signs),
        *[("negative", style.NEGATIVE, 2.4, style.DASHED, 1.0)] * (-1 in signs),
        *((f"{part * largest:.2g}", style.MUTED, line_width(ax, part), "-", 1.0) for part in (1.0, 0.25)),
        (unsure, style.POSITIVE, 2.4, "-", 0.2),
    ]
    lines = [Line2D([], [], label=text, color=colour, lw=w, ls=dash, alpha=a) for text, colour, w, dash, a in rows]
    small = {"fontsize": 7.5, "title_fontsize": 7.5, "columnspacing": 1.2, "handlelength": 1.8}
    columns, below = len(lines) if axes_width(ax) > 4 else 3, (0.5, 0.0)
    ax.legend(
        handles=lines, title=name, loc="upper center", bbox_to_anchor=below, ncols=columns, frameon=False, **small
    )


def _count_note(show: str, drawn: int, chosen: int, table: pd.DataFrame) -> str:
    total, level = len(table), f"{100 * sure_level(table):g}%"
    what = {"all": "", "sure": f" whose sign is at least {level} sure", "probable": " with a probability above 1/2"}
    text = what.get(show, f" that are {show}")
    strongest = f"the strongest {drawn} of " if drawn < chosen else ""
    return f"{strongest}{chosen} of {total} edges{text}" if strongest or text else f"all {total} edges"
