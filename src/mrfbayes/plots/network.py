"""The network: width is the posterior mean, colour and dash the sign, opacity how sure the sign is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from mrfbayes.base.errors import InputError
from mrfbayes.model.edge_strength import edge_strengths, has_tables
from mrfbayes.model.lowering import EdgeFinder
from mrfbayes.model.scales import n_edge_blocks
from mrfbayes.model.wording import natural_scale, scale_name
from mrfbayes.plots.layouts import positions
from mrfbayes.plots.style import (
    DASHED,
    INK,
    MUTED,
    NEGATIVE,
    PAPER,
    POSITIVE,
    axes_or_new,
    escape,
    keep_table,
    panels_or_new,
    shorten,
    title,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from mrfbayes.model.field import Model
    from mrfbayes.results.posterior import Posterior

VERDICT_PANELS = {"supported": "present", "ruled out": "absent", "undecided": "undecided"}
MOST_EDGES = 400  # drawn at once: more are a smear
MANY_EDGES = 60  # past so many edges only those with a sure sign are drawn by default
SURE = (0.9, 0.95, 0.975, 0.99, 0.995, 0.999)  # how sure: the first that leaves no more edges than can be told apart
MOST_NAMES = 60
WIDEST, THINNEST = 6.0, 0.4  # points, in a figure of full width
FULL_WIDTH = 5.6  # inches
SIGN_COLOURS = {1: POSITIVE, -1: NEGATIVE, 0: INK}  # by sign; tables have none
LETTER = 0.62  # width of an average letter in units of its font size


def network(
    posterior: Posterior,
    *,
    layout: object = "auto",
    show: str = "auto",
    scale: str | None = None,
    edges: pd.DataFrame | None = None,
    legend: bool = True,
    ax: Axes | None = None,
) -> Axes:
    """Draw the network that a posterior describes.

    Parameters
    ----------
    layout : "auto", "circle", "spring", "grid", or places by node name
    show : "all" edges; "sure", those whose sign is at least 90% sure (up to 99.9% where more than 60 are left);
        "supported", "ruled out" or "undecided", those with that verdict; "auto": all of up to 60 edges, else the sure
    scale : of the widths, as in `Posterior.summary`; by default the one that people quote of such a model
    edges : the table that ``posterior.edges(scale)`` gave, where it is at hand
    legend : whether colours, widths and opacity are explained
    """
    model = posterior.model
    scale = scale or natural_scale(model)
    table = edge_rows(posterior, scale, edges, need_verdicts=show in VERDICT_PANELS)
    places = positions(model, layout, _pull(table))
    ax = axes_or_new(ax, figsize=(FULL_WIDTH, 5.6))
    if show == "auto":
        show = "sure" if len(table) > MANY_EDGES else "all"
    chosen = _chosen(table, show)
    drawn = draw_edges(ax, model, places, table, chosen, widest=float(table["size"].max() or 1.0))
    draw_nodes(ax, model, places)
    keep_table(ax, table[chosen])
    said = _count_note(show, drawn, int(chosen.sum()), table)
    if legend:
        width = (
            "strength, as a log odds ratio of two binary variables" if has_tables(model) else scale_name(model, scale)
        )
        _legend(ax, table, f"{said}; width: {width}")
    return ax


def network_panels(
    posterior: Posterior,
    *,
    layout: object = "auto",
    scale: str | None = None,
    edges: pd.DataFrame | None = None,
    ax: Sequence[Axes] | None = None,
) -> Figure:
    """Three panels with the nodes in the same places: edges supported, ruled out, and undecided.

    An edge that is not drawn in the first panel is not shown to be absent: it is in the second or the third.

    Parameters
    ----------
    layout, scale, edges : as in `network`
    ax : three axes, one per panel; of one figure or of several
    """
    model = posterior.model
    scale = scale or natural_scale(model)
    table = edge_rows(posterior, scale, edges, need_verdicts=True)
    places = positions(model, layout, _pull(table))
    panels = panels_or_new(ax, 1, 3, figsize=(11.5, 4.5))[0]
    widest = float(table["size"].max() or 1.0)
    for panel, (name, verdict) in zip(panels, VERDICT_PANELS.items(), strict=True):
        chosen = (table["verdict"] == verdict).to_numpy()
        draw_edges(panel, model, places, table, chosen, widest, plain=name != "supported")
        draw_nodes(panel, model, places)
        explained = {"supported": "Bayes factor above 10", "ruled out": "below 1/10", "undecided": "in between"}[name]
        if not chosen.any():
            panel.text(0.5, 0.5, "none", transform=panel.transAxes, ha="center", va="center", fontsize=9, color=MUTED)
        title(panel, f"{name.capitalize()}: {chosen.sum()} of {len(table)} ({explained})")
        keep_table(panel, table[chosen])
    made: Figure = panels[0].figure
    keep_table(made, table)
    return made


def edge_rows(posterior: Posterior, scale: str, edges: pd.DataFrame | None, need_verdicts: bool) -> pd.DataFrame:
    """A row per edge of the graph: ends, mean, how sure its sign is, verdict; tied edges repeat their block's.

    A table has the sign 0, and how sure the surest sign among its cells is. Beside tables all sizes are strengths to be
    compared: log odds ratios of two binary variables with as strong a coupling.
    """
    import pandas as pd

    model = posterior.model
    if not model.n_edges:
        raise InputError("plots.network: the model has no edges to draw.")
    blocks = n_edge_blocks(model)
    first = model.chart.offset[:blocks]
    is_table = model.chart.sides[:blocks] > 2
    if is_table.any() and not (has_tables(model) and blocks == model.n_edges):
        raise InputError("plots.network: an edge with a table of weights has no single strength; use plots.forest.")
    if edges is None and need_verdicts:
        edges = posterior.edges(scale)
    if edges is None:
        from mrfbayes.model.scales import scaled

        rows = scaled(model, scale)
        spread = posterior.spread(rows)
        chosen = first if scale != "ising" else np.arange(blocks)
        mean, neutral = spread["mean"][chosen], rows.neutral[chosen]
        positive = (posterior.log_odds[..., first] > 0).mean(axis=(0, 1))
    else:
        mean, positive = edges["mean"].to_numpy(), edges["positive"].to_numpy()
        neutral = np.full(blocks, 0.5 if scale == "theta" else 0.0)
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
    block = np.zeros(model.n_edges, dtype=np.int64)
    find = EdgeFinder(model.edges, model.n_nodes)
    for group in model.groups:
        if group.arity == 2:
            block[find(group.scope)[0]] = group.block
    names = [f"{model.nodes[u]}--{model.nodes[v]}" for u, v in model.edges.tolist()]
    table = pd.DataFrame(
        {
            "from": [model.nodes[u] for u in model.edges[:, 0].tolist()],
            "to": [model.nodes[v] for v in model.edges[:, 1].tolist()],
            "mean": mean[block],
            "size": size[block],
            "sign": sign[block],
            "sign_probability": sure[block],
        },
        index=pd.Index(names, name="edge"),
    )
    if edges is not None:
        table["verdict"] = edges["verdict"].to_numpy()[block]
    return table


def _pull(table: pd.DataFrame) -> np.ndarray:
    """How strongly edges pull in a spring layout: those that are large and sure."""
    return np.asarray(table["size"] * (2 * table["sign_probability"] - 1) ** 2)


def _chosen(table: pd.DataFrame, show: str) -> np.ndarray:
    if show == "all":
        return np.ones(len(table), dtype=bool)
    if show == "sure":
        return np.asarray(table["sign_probability"] >= sure_level(table))
    if show in VERDICT_PANELS:
        return np.asarray(table["verdict"] == VERDICT_PANELS[show])
    raise InputError(f"show = {show!r}: choose 'auto', 'all', 'sure', {', '.join(map(repr, VERDICT_PANELS))}.")


def sure_level(table: pd.DataFrame) -> float:
    """How sure a sign has to be for its edge to be drawn: at least 90%, more where that leaves a smear."""
    sure = table["sign_probability"].to_numpy()
    return next((level for level in SURE if (sure >= level).sum() <= MANY_EDGES), SURE[-1])


def draw_edges(
    ax: Axes,
    model: Model,
    places: np.ndarray,
    table: pd.DataFrame,
    chosen: np.ndarray,
    widest: float,
    plain: bool = False,
) -> int:
    """Draw the chosen edges, the strongest on top; the number drawn."""
    from matplotlib.collections import LineCollection
    from matplotlib.colors import to_rgba

    order = np.flatnonzero(chosen)
    order = order[np.argsort(table["size"].to_numpy()[order])][-MOST_EDGES:]
    size, sign = table["size"].to_numpy()[order], table["sign"].to_numpy()[order]
    sure = np.clip((table["sign_probability"].to_numpy()[order] - 0.5) * 2, 0, 1)
    width = line_width(ax, size / max(widest, 1e-12))
    crowded = plain and order.size > MANY_EDGES
    faint = 0.55 * min(1.0, np.sqrt(MANY_EDGES / max(order.size, 1)))
    colours = [
        to_rgba(MUTED, faint) if plain else to_rgba(SIGN_COLOURS[s], 0.12 + 0.88 * c**1.5)
        for s, c in zip(sign, sure, strict=True)
    ]
    lines = LineCollection(
        list(places[model.edges[order]]),
        colors=colours,
        linewidths=np.full(order.size, 0.5 if crowded else 0.9) if plain else width,
        linestyles=["solid" if s >= 0 or plain else DASHED for s in sign],
        zorder=1,
        capstyle="round" if plain else "butt",
    )
    ax.add_collection(lines)
    return int(order.size)


def line_width(ax: Axes, share: float | np.ndarray) -> float | np.ndarray:
    """Points for an edge whose size is that share of the largest one's."""
    return (THINNEST + (WIDEST - THINNEST) * np.power(share, 1.3)) * min(1.0, axes_width(ax) / FULL_WIDTH)


def draw_nodes(ax: Axes, model: Model, places: np.ndarray) -> None:
    """Nodes as dots with their names beside them, away from the middle, so that no name is cut."""
    many = model.n_nodes > MOST_NAMES
    width = axes_width(ax)
    ax.plot(*places.T, "o", ms=3 if many else 4.5 if width < 5 else 7.5, mfc=PAPER, mec=INK, mew=1.1, zorder=2)
    ax.set_aspect("equal")
    ax.axis("off")
    if many:
        ax.margins(0.06)
        return
    from matplotlib.patheffects import withStroke

    centre = (places.max(axis=0) + places.min(axis=0)) / 2
    reach = float(np.abs(places - centre).max()) or 1.0
    away = (places - centre) / np.maximum(np.hypot(*(places - centre).T), 1e-9)[:, None]
    away[~away.any(axis=1)] = (0.0, 1.0)
    on_circle = bool(np.ptp(np.hypot(*(places - centre).T)) < 0.05 * reach)
    turned = on_circle and model.n_nodes > 16
    size = 7.0 if width < 5 or model.n_nodes > 40 else 8.5
    names = [shorten(name, 18 if width > 5 else 13) for name in model.nodes]
    # Inches that names need beside the outermost nodes; a name above or below the circle needs half of its own.
    inches = np.array([(len(name) * LETTER * size + 12) / 72 for name in names])
    inches = inches if turned else np.where(np.abs(away[:, 0]) <= 0.3, inches / 2 - 0.3, inches * np.abs(away[:, 0]))
    left, right = (float(inches[side].max(initial=0.3)) for side in (away[:, 0] < 0.3, away[:, 0] > -0.3))
    per_inch = 2 * reach / max(width - left - right, 0.4 * width)
    for name, place, (dx, dy) in zip(names, places, away, strict=True):
        where = place + np.array([dx, dy]) * per_inch * 0.12
        rotation = 0.0
        if turned:
            angle = float(np.degrees(np.arctan2(dy, dx)))
            back = abs(angle) > 90
            across, along, rotation = "right" if back else "left", "center", angle + 180 if back else angle
        elif abs(dx) <= 0.3:
            across, along = "center", "bottom" if dy > 0 else "top"
        else:
            across, along = "right" if dx < 0 else "left", "center"
        text = ax.text(float(where[0]), float(where[1]), escape(name), fontsize=size, color=INK, zorder=3)
        text.set(ha=across, va=along, rotation=rotation, rotation_mode="anchor" if turned else None)
        text.set_path_effects([withStroke(linewidth=2.4, foreground=PAPER)])
    up = max(left, right) if turned else 0.34
    ax.set_xlim(centre[0] - reach - left * per_inch, centre[0] + reach + right * per_inch)
    tall = float(np.abs(places[:, 1] - centre[1]).max())
    ax.set_ylim(centre[1] - tall - up * per_inch, centre[1] + tall + up * per_inch)


def axes_width(ax: Axes) -> float:
    """Width of the axes in inches, about: what the figure has for each column of panels."""
    grid = ax.get_subplotspec()
    columns = grid.get_gridspec().ncols if grid is not None else 1
    figure = ax.get_figure(root=True)
    return (FULL_WIDTH if figure is None else float(figure.get_size_inches()[0])) / columns


def _legend(ax: Axes, table: pd.DataFrame, name: str) -> None:
    from matplotlib.lines import Line2D

    largest = float(table["size"].max())
    handles = [Line2D([], [], color=POSITIVE, lw=2.4, label="positive")]
    if (table["sign"] == 0).any():
        handles.append(Line2D([], [], color=INK, lw=2.4, label="table, no sign"))
    if (table["sign"] < 0).any():
        handles.append(Line2D([], [], color=NEGATIVE, lw=2.4, ls=DASHED, label="negative"))
    handles.append(Line2D([], [], color=MUTED, lw=line_width(ax, 1.0), label=f"{largest:.2g}", solid_capstyle="butt"))
    handles.append(Line2D([], [], color=MUTED, lw=line_width(ax, 0.25), label=f"{largest / 4:.2g}"))
    handles.append(Line2D([], [], color=POSITIVE, lw=2.4, alpha=0.2, label="sign unsure"))
    ax.legend(
        handles=handles,
        loc="upper center",
        bbox_to_anchor=(0.5, 0.0),
        ncols=len(handles),
        fontsize=7.5,
        frameon=False,
        title=name,
        title_fontsize=7.5,
        columnspacing=1.2,
        handlelength=1.8,
    )


def _count_note(show: str, drawn: int, chosen: int, table: pd.DataFrame) -> str:
    total, level = len(table), f"{100 * sure_level(table):g}%"
    what = {"all": "", "sure": f" whose sign is at least {level} sure"}.get(show, f" that are {show}")
    strongest = f"the strongest {drawn} of " if drawn < chosen else ""
    return f"{strongest}{chosen} of {total} edges{what}" if strongest or what else f"all {total} edges"
