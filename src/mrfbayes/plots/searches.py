"""Searches over graphs and groups: number of edges, probable graphs, verdicts under other priors, differences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from mrfbayes.base.checks import whole
from mrfbayes.base.errors import InputError
from mrfbayes.base.types import LayoutLike
from mrfbayes.model.scales import edge_strengths
from mrfbayes.plots import style
from mrfbayes.plots.layouts import positions
from mrfbayes.plots.network import draw_edges, draw_nodes, edge_rows, pull, sure_level
from mrfbayes.plots.rows import MARKERS, ROWS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from mrfbayes.structure.groups import GroupComparison
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

    Raises
    ------
    InputError
        If the search made no sweeps after warm-up.

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
    from matplotlib.ticker import MaxNLocator

    posterior, prior = selection.size_probability, selection._graph_prior.size_probability()
    if not posterior.sum() > 0:
        raise InputError("plots.complexity: the result holds no sweeps after warm-up; run mb.select with more steps.")
    sizes = np.arange(posterior.size)
    reached = np.flatnonzero(posterior > TAIL)
    low, high = max(reached[0] - 2, 0), min(reached[-1] + 2, posterior.size - 1)
    ax = style.axes_or_new(ax, figsize=(6.2, 3.0))
    shown = slice(low, high + 1)
    ax.bar(sizes[shown], posterior[shown], width=0.8, color=style.POSITIVE, label="posterior", zorder=2)
    line = ax.plot(sizes[shown], prior[shown], "o", ms=2.5, color=style.MUTED, label="prior", zorder=3)[0]
    line.set(linestyle=(0, (4, 2)), linewidth=1.2)
    ax.set(xlim=(low - 0.6, high + 0.6), ylim=(0, max(posterior.max(), prior[shown].max()) * 1.12))
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.legend(fontsize=8, frameon=False)
    table = pd.DataFrame({"posterior": posterior, "prior": prior}, index=pd.Index(sizes, name="edges"))
    name = f"Number of edges, of {sizes[-1]} that may be there"
    text = f"Complexity: {sizes @ posterior:.1f} edges expected"
    return style.finish(ax, table, text, x=name, y="Probability", grid="y")


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

    Raises
    ------
    InputError
        If there are too many nodes for small panels, or no draws.

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
        many = f"{model.n_nodes} nodes are too many for small panels (at most {MOST_GRAPH_NODES})"
        raise InputError(f"plots.structures: {many}; see selection.graphs() and plots.edge_evidence.")
    table = (selection.graphs(whole("top", top, 1)) if graphs is None else graphs).head(top)
    if not len(table):
        raise InputError("plots.structures: the result holds no draws; run mb.select with more steps.")
    mean = selection.mean[:m]
    edges = {"size": np.abs(mean), "sign": np.where(mean >= 0, 1, -1), "sign_probability": np.ones(m)}
    places = positions(model, layout, edges["size"])
    columns = min(COLUMNS, len(table))
    rows = -(-len(table) // columns)
    panels = style.panels_or_new(None, rows, columns, figsize=(3.8 * columns, 3.7 * rows)).ravel()
    for ax in panels[len(table) :]:
        ax.axis("off")
    for ax, (rank, graph) in zip(panels, table.iterrows(), strict=False):
        is_there = np.isin(selection.model.blocks[:m], graph["edges"])
        draw_edges(ax, model, places, edges, is_there, float(edges["size"].max() or 1.0))
        draw_nodes(ax, model, places)
        share = f"{graph['probability']:.2%}" if graph["probability"] >= 0.00005 else "below 0.01%"
        style.title(ax, f"{rank}: probability {share}, {graph['number']} edges")
    made: Figure = panels[0].figure
    style.keep_table(made, table.assign(edges=[", ".join(names) for names in table["edges"]]))
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

    Raises
    ------
    InputError
        If the table is of another kind.

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
    ax = style.axes_or_new(ax, figsize=(4.6, 0.9 + 0.42 * len(names)))
    share = table[list(HATCHES)].to_numpy(dtype=float)
    share = share / np.maximum(share.sum(axis=1, keepdims=True), 1)
    place, base = np.arange(len(names)), np.zeros(len(names))
    for k, (verdict, hatch) in enumerate(HATCHES.items()):
        colour, faint = style.VERDICT[verdict], verdict == "undecided"
        bars = ax.barh(place, share[:, k], 0.8, left=base, label=verdict, color=colour, alpha=0.35 if faint else 0.85)
        for bar in bars:
            bar.set(hatch=hatch, edgecolor="white", lw=0.8)
        for y, part, low, count in zip(place.tolist(), share[:, k], base, table[verdict], strict=True):
            if part > 0.05:
                text = ax.text(low + part / 2, y, str(count), ha="center", va="center", fontsize=7.5)
                text.set_color(style.INK if faint else "white")
                text.set_bbox({"facecolor": colour, "edgecolor": "none", "pad": 1.2} if hatch else None)
        base = base + share[:, k]
    ax.set_yticks(place, names)
    ax.invert_yaxis()
    ax.set(xlim=(0, 1), xticks=[])
    ax.legend(fontsize=8, frameon=False, ncols=3, loc="upper center", bbox_to_anchor=(0.5, 0.0))
    style.finish(ax, table, "Verdicts on the edges under each prior", spines=[]).tick_params(axis="y", length=0)
    return ax


def group_differences(
    comparison: GroupComparison,
    *,
    pair: tuple[str, str] | None = None,
    nodes: bool = False,
    rows: int = ROWS,
    differences: pd.DataFrame | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw means and 90% intervals of the differences in log-odds, with the probability of a difference.

    Parameters
    ----------
    comparison : GroupComparison
        Result of `mrfbayes.compare_groups`.
    pair : tuple of str, optional
        The two groups, the second minus the first; required if there are more than two.
    nodes : bool, default False
        Whether the node factors, whose differences are always present, are drawn instead of the edges.
    rows : int, optional
        Largest number of rows that are drawn, those with the largest probability of a difference (nodes: the largest
        difference in posterior sds).
    differences : DataFrame, optional
        Result of ``comparison.summary()``, if it is already computed.
    ax : Axes, optional
        Axes to draw on; by default a new figure.

    Returns
    -------
    Axes
        The axes.

    Raises
    ------
    InputError
        If nodes are asked for and the model has no node factors.

    See Also
    --------
    group_networks : One network per group.
    mrfbayes.compare_groups : The comparison.

    Examples
    --------
    >>> import mrfbayes as mb
    >>> model = mb.graph([("a", "b"), ("b", "c")])
    >>> groups = {name: mb.simulate(model, theta, 200, rng=1) for name, theta in (("x", 0.6), ("y", 0.8))}
    >>> comparison = mb.compare_groups(model, groups, draws=200, warmup=100, chains=2, rng=1, progress=False)
    >>> mb.plots.data(mb.plots.group_differences(comparison)).shape[0]
    2
    """
    rows = whole("rows", rows)
    first, second = _pair(comparison, pair)
    table = comparison.summary() if differences is None else differences
    m = comparison.model.n_edges
    table = table.iloc[m:] if nodes else table.iloc[:m]
    if not len(table):
        raise InputError("plots.group_differences: the model has no node factors.")
    mark = f"[{second} - {first}]" if len(comparison.pairs) > 1 else ""
    mean, low, high = (table[f"{name}{mark}"] for name in ("mean", "q5", "q95"))
    sure = mean.abs() / table[f"sd{mark}"].clip(lower=1e-300) if nodes else table["log_bf10"].fillna(np.inf)
    chosen = sure.sort_values(ascending=False, kind="stable").index[:rows][::-1]
    ax, height = style.row_axes(ax, chosen, 6.6, 34)
    verdict = table.loc[chosen, "verdict"].to_numpy()
    for name, marker in MARKERS.items():
        if (is_so := verdict == name).any():
            colour, words = style.VERDICT[name], {"present": "differ", "absent": "do not differ"}.get(name, name)
            text = None if name == "unknown" else f"{words} ({(table['verdict'] == name).sum()})"
            ax.hlines(height[is_so], low[chosen][is_so], high[chosen][is_so], color=colour, lw=1.8, zorder=2)
            face = "white" if name == "absent" else colour
            ax.plot(mean[chosen][is_so], height[is_so], marker, ms=4.5, color=colour, mfc=face, label=text)
    ax.axvline(0, color=style.INK, lw=0.8, zorder=1)
    if not nodes:
        for k, name in enumerate(chosen):
            text = f"{table.loc[name, 'inclusion']:.2f}"
            ax.text(1.01, k, text, transform=ax.get_yaxis_transform(), fontsize=7, va="center", color=style.MUTED)
        ax.text(1.01, 1.0, "P(differs)", transform=ax.transAxes, fontsize=7, va="bottom", color=style.MUTED)
        ax.legend(fontsize=8, frameon=False, loc="lower right")
    part = f", the surest {len(chosen)} of {len(table)}" if len(chosen) < len(table) else ""
    text = f"{'Node factors' if nodes else 'Edges'}{part}: differences between groups"
    name = f"Log-odds in {style.escape(second)} less those in {style.escape(first)}: mean and 90% interval"
    return style.finish(ax, table, text, x=name, spines=["bottom"], grid="x")


def _pair(comparison: GroupComparison, pair: tuple[str, str] | None) -> tuple[str, str]:
    names = comparison.groups
    if pair is None and len(names) == 2:
        return names[0], names[1]
    known = [(names[a], names[b]) for a, b in comparison.pairs]
    if pair is None or tuple(pair) not in known:
        choices = ", ".join(map(repr, known[:6]))
        raise InputError(f"pair = {pair!r}: with {len(names)} groups name two of them, in this order: {choices}.")
    return pair[0], pair[1]


def group_networks(
    comparison: GroupComparison, *, layout: LayoutLike = "auto", ax: Sequence[Axes] | None = None
) -> Figure:
    """Draw one network per group and one of their differences, with common node positions and widths.

    Groups show the edges whose sign is at least 90% sure, the last panel those that differ with a probability above
    1/2.

    Parameters
    ----------
    comparison : GroupComparison
        Result of `mrfbayes.compare_groups`.
    layout : str or mapping, default "auto"
        Positions of the nodes, as in `mrfbayes.plots.network`.
    ax : sequence of Axes, optional
        One axes for each group and one more; by default a new figure.

    Returns
    -------
    Figure
        The figure.

    See Also
    --------
    group_differences : Differences with intervals.
    mrfbayes.compare_groups : The comparison.

    Examples
    --------
    >>> import mrfbayes as mb
    >>> model = mb.graph([("a", "b"), ("b", "c")])
    >>> groups = {name: mb.simulate(model, theta, 200, rng=1) for name, theta in (("x", 0.6), ("y", 0.8))}
    >>> comparison = mb.compare_groups(model, groups, draws=200, warmup=100, chains=2, rng=1, progress=False)
    >>> len(mb.plots.group_networks(comparison).axes)
    3
    """
    model, m = comparison.model, comparison.model.n_edges
    n_panels = len(comparison.groups) + 1 if ax is None else len(ax)
    shown = comparison.groups[: n_panels - 1]
    rows = [edge_rows(comparison.group_posterior(name), "log-odds", None, need_verdicts=False) for name in shown]
    places = positions(model, layout, np.mean([pull(table) for table in rows], axis=0))
    panels = style.panels_or_new(ax, 1, n_panels, figsize=(3.8 * n_panels, 4.2))[0]
    widest = max(float(table["size"].max()) for table in rows) or 1.0
    level = max(sure_level(table) for table in rows)
    for panel, name, table, n in zip(panels, shown, rows, comparison.group_n, strict=False):
        draw_edges(panel, model, places, table, (table["sign_probability"] >= level).to_numpy(), widest)
        draw_nodes(panel, model, places)
        style.title(panel, f"{style.escape(name)} (n = {n:g}), sign {100 * level:g}% sure")
    strength = np.stack([edge_strengths(model, mean) for mean in comparison.means().to_numpy().T])
    low, high = strength.argmin(axis=0), strength.argmax(axis=0)
    change = strength.max(axis=0) - strength.min(axis=0)
    table = rows[0].assign(
        size=change,
        sign=np.where(high > low, 1, -1) if len(comparison.groups) == 2 else 0,
        sign_probability=0.5 + comparison.inclusion / 2,
        inclusion=comparison.inclusion,
        verdict=comparison._evidence_table()["verdict"].to_numpy()[:m],
    )
    draw_edges(panels[-1], model, places, table, comparison.inclusion > 0.5, widest)
    draw_nodes(panels[-1], model, places)
    two = len(comparison.groups) == 2
    what = f"{comparison.groups[1]} less {comparison.groups[0]}" if two else "Largest difference"
    style.title(panels[-1], f"{style.escape(what)}, P(differs) above 1/2: {(comparison.inclusion > 0.5).sum()}")
    made: Figure = panels[0].figure
    for owner in (made, *panels):
        style.keep_table(owner, table)
    return made
