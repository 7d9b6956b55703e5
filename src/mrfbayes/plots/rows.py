"""Pictures with a named row each: couplings, evidence, centrality, probabilities of order, ranks of chains."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from mrfbayes.base.checks import one_of, whole
from mrfbayes.base.errors import InputError
from mrfbayes.base.types import Scale
from mrfbayes.model.scales import natural_scale, scale_name, scaled
from mrfbayes.plots import style
from mrfbayes.structure.selection import Selection

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from mrfbayes.results.posterior import Posterior

ROWS = 40  # readable on a page
MARKERS = {"present": "o", "undecided": "s", "absent": "D", "unknown": "s"}  # of verdicts
MOST_POWER = 6.0  # of ten: the axis is cut there, so that the region around one can be seen
MEASURES = {
    "strength": "sum of the sizes of its couplings",
    "expected_influence": "sum of its couplings",
    "closeness": "inverse of its mean distance to the others",
    "betweenness": "shortest paths through it",
    "bridge": "sum of the sizes of its couplings to other communities",
    "log_score_gain": "what the others tell about it (nats per row)",
    "accuracy_gain": "accuracy gained by knowing the others",
}
SURE_ORDER = 0.95
RANK_BINS = 20


def forest(
    posterior: Posterior,
    *,
    rows: int = ROWS,
    nodes: bool = False,
    scale: Scale | None = None,
    ci_prob: float = 0.9,
    ax: Axes | None = None,
) -> Axes:
    """Draw posterior means and intervals of the edges, sorted by distance from "no interaction" in posterior sds.

    Parameters
    ----------
    posterior : Posterior
        Result of `mrfbayes.sample`.
    rows : int, optional
        Largest number of rows that are drawn; `mrfbayes.plots.data` returns all.
    nodes : bool, default False
        Whether the node factors are drawn instead of the edges.
    scale : {"theta", "log-odds", "ising"}, optional
        Scale, as in `Posterior.summary`; by default the usual one for the model.
    ci_prob : float, default 0.9
        Probability of the intervals.
    ax : Axes, optional
        Axes to draw on; by default a new figure.

    Returns
    -------
    Axes
        The axes.

    See Also
    --------
    marginals : Densities.
    network : The network.

    Examples
    --------
    >>> import mrfbayes as mb
    >>> model = mb.grid(2, 2)
    >>> data = mb.simulate(model, 0.7, 200, rng=1)
    >>> axes = mb.plots.forest(mb.sample(model, data, "mle", rng=1, progress=False))
    >>> len(mb.plots.data(axes))
    4
    """
    rows = whole("rows", rows)
    table = forest_table(posterior, nodes, scale or natural_scale(posterior.model), ci_prob)
    shown = table.head(rows).sort_values("mean", ascending=True, kind="stable")
    ax, height = style.row_axes(ax, shown.index, 6.2)
    low, high = shown.iloc[:, 2], shown.iloc[:, 3]
    neutral = shown["no_interaction"].to_numpy()
    clear = (low.to_numpy() > neutral) | (high.to_numpy() < neutral)
    colour = np.where(clear, np.where(shown["mean"] > neutral, style.POSITIVE, style.NEGATIVE), style.MUTED)
    ax.hlines(height, low, high, color=colour, lw=2.0, capstyle="round", zorder=2)
    face = np.where(clear, colour, "white")
    ax.scatter(shown["mean"], height, s=22, c=face, edgecolors=colour.tolist(), zorder=3, linewidths=1.1)
    ax.axvline(float(neutral[0]) if len(neutral) else 0.0, color=style.INK, lw=0.8, zorder=1)
    part = f", the surest {len(shown)} of {len(table)}" if len(shown) < len(table) else ""
    text = f"{'Node factors' if nodes else 'Edges'}{part}: mean and {ci_prob:.0%} interval"
    name = scale_name(posterior.model, table.attrs["scale"], nodes)
    return style.finish(ax, table, text, x=name, spines=["bottom"], grid="x")


def forest_table(posterior: Posterior, nodes: bool, scale: Scale, ci_prob: float) -> pd.DataFrame:
    """Means, sds and intervals, the surest first."""
    rows = scaled(posterior.model, scale)
    part = slice(rows.n_edge_rows, None) if nodes else slice(None, rows.n_edge_rows)
    table = posterior._moments(rows, ci_prob).assign(no_interaction=rows.neutral)[part]
    table = table.rename_axis("node" if nodes else "edge")
    sure = (table["mean"] - table["no_interaction"]).abs() / table["sd"].clip(lower=1e-300)
    table = table.loc[sure.sort_values(ascending=False, kind="stable").index]
    table.attrs["scale"] = scale
    return table


def centrality(
    posterior: Posterior,
    measure: str = "strength",
    *,
    rows: int = ROWS,
    nodes: pd.DataFrame | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw posterior mean and 90% interval of one measure of every node, the largest on top.

    Parameters
    ----------
    posterior : Posterior
        Result of `mrfbayes.sample`.
    measure : str, default "strength"
        "strength", "expected_influence", "closeness", "betweenness" or "bridge" (of `Posterior.centrality`),
        "log_score_gain" or "accuracy_gain" (of `Posterior.predictability`).
    rows : int, optional
        Largest number of rows that are drawn; `mrfbayes.plots.data` returns all.
    nodes : DataFrame, optional
        The table with the measure, if it is already computed.
    ax : Axes, optional
        Axes to draw on; by default a new figure.

    Returns
    -------
    Axes
        The axes.

    See Also
    --------
    order : Probabilities of the order of two nodes.
    mrfbayes.Posterior.centrality : The table.

    Examples
    --------
    >>> import mrfbayes as mb
    >>> model = mb.graph([("a", "b"), ("b", "c")])
    >>> posterior = mb.sample(model, mb.simulate(model, 0.8, 200, rng=1), "mle", rng=1, progress=False)
    >>> mb.plots.data(mb.plots.centrality(posterior)).shape[0]
    3
    """
    one_of("measure", measure, MEASURES)
    rows = whole("rows", rows)
    if nodes is None:
        nodes = posterior.predictability() if measure.endswith("gain") else posterior.centrality()
    low, high = f"{measure}_q5", f"{measure}_q95"
    table = nodes[[measure, low, high]].sort_values(measure, ascending=False, kind="stable")
    shown = table.head(rows).iloc[::-1]
    ax, height = style.row_axes(ax, shown.index, 5.4, 30)
    ax.hlines(height, shown[low], shown[high], color=style.POSITIVE, lw=2.0, zorder=2)
    ax.plot(shown[measure], height, "o", ms=4.7, color=style.POSITIVE, zorder=3)
    if (shown[low] < 0).any():
        ax.axvline(0, color=style.INK, lw=0.8, zorder=1)
    part = f", the first {len(shown)} of {len(table)}" if len(shown) < len(table) else ""
    text = f"{measure.replace('_', ' ').capitalize()}{part}: mean and 90% interval"
    return style.finish(ax, table, text, x=MEASURES[measure], spines=["bottom"], grid="x")


def order(table: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw the probabilities that the row is above the column; a dot marks probabilities of at least 95%.

    Parameters
    ----------
    table : DataFrame
        Square, with the same names in rows and columns.
    ax : Axes, optional
        Axes to draw on; by default a new figure.

    Returns
    -------
    Axes
        The axes.

    Raises
    ------
    InputError
        If the table is not square with the same names in rows and columns.

    See Also
    --------
    centrality : The values with intervals.
    mrfbayes.Posterior.centrality : The values themselves.

    Examples
    --------
    >>> import pandas as pd
    >>> import mrfbayes as mb
    >>> table = pd.DataFrame([[0.5, 0.9], [0.1, 0.5]], index=["a", "b"], columns=["a", "b"])
    >>> mb.plots.data(mb.plots.order(table)).shape
    (2, 2)
    """
    from matplotlib.colors import LinearSegmentedColormap

    if list(table.index) != list(table.columns):
        raise InputError("plots.order: give a square table with the same names in rows and columns.")
    size = 1.3 + 0.19 * len(table)
    ax = style.axes_or_new(ax, figsize=(size + 0.6, size))
    shades = LinearSegmentedColormap.from_list("order", [style.PAPER, style.POSITIVE])
    values = np.where(np.eye(len(table), dtype=bool), np.nan, table.to_numpy())
    ax.imshow(values, cmap=shades, vmin=0.5, vmax=1.0)
    rows, columns = np.nonzero(np.nan_to_num(values) >= SURE_ORDER)
    ax.plot(columns, rows, "o", ms=2.2, color=style.INK)
    names = [style.label(name, 24) for name in table.index]
    ax.set_xticks(np.arange(len(names)), names, rotation=90)
    ax.set_yticks(np.arange(len(names)), names)
    style.finish(ax, table, "P(row above column)", spines=[]).tick_params(length=0, labelsize=7)
    return ax


def edge_evidence(
    posterior: Posterior | Selection, *, rows: int = ROWS, edges: pd.DataFrame | None = None, ax: Axes | None = None
) -> Axes:
    """Draw Bayes factors of the edges for presence against absence on a logarithmic axis.

    Parameters
    ----------
    posterior : Posterior or Selection
        Result of `mrfbayes.sample`, given that all other edges are present; or of `mrfbayes.select`, averaged over all
        graphs.
    rows : int, optional
        Largest number of rows that are drawn, half of them from either end; `mrfbayes.plots.data` returns all.
    edges : DataFrame, optional
        Result of ``posterior.edges()``, if it is already computed.
    ax : Axes, optional
        Axes to draw on; by default a new figure.

    Returns
    -------
    Axes
        The axes.

    Raises
    ------
    InputError
        If no edge has a Bayes factor.

    See Also
    --------
    network : The network.
    mrfbayes.Posterior.edges : The table.

    Examples
    --------
    >>> import mrfbayes as mb
    >>> model = mb.graph([("a", "b"), ("b", "c")])
    >>> posterior = mb.sample(model, mb.simulate(model, 0.8, 200, rng=1), "mle", rng=1, progress=False)
    >>> mb.plots.data(mb.plots.edge_evidence(posterior)).shape[0]
    2
    """
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    rows = whole("rows", rows, 2)
    table = posterior.edges() if edges is None else edges
    if isinstance(posterior, Selection):
        table = table.assign(log_bf10_error=posterior.log_bf10_error)
    table = table.dropna(subset="log_bf10").sort_values("log_bf10")
    if not len(table):
        raise InputError("plots.edge_evidence: there is no Bayes factor of any edge here; see posterior.edges().")
    half = rows // 2
    shown = table.iloc[[*range(half), *range(len(table) - (rows - half), len(table))]] if len(table) > rows else table
    ax, height = style.row_axes(ax, shown.index, 6.2)
    exact = shown["log_bf10"].to_numpy() / np.log(10)
    at = np.clip(exact, -MOST_POWER, MOST_POWER)
    error = 2 * shown["log_bf10_error"].to_numpy() / np.log(10)
    is_bound = np.isinf(error)
    drawn_error = np.where(is_bound | (at != exact), 0.0, error)
    for verdict in ("present", "undecided", "absent"):
        if (is_so := (shown["verdict"] == verdict).to_numpy()).any():
            text, colour = f"{verdict} ({(table['verdict'] == verdict).sum()})", style.VERDICT[verdict]
            style.points(ax, at[is_so], height[is_so], MARKERS[verdict], colour, text, xerr=drawn_error[is_so])
    for mark, is_beyond in ((">", is_bound | (exact > MOST_POWER)), ("<", exact < -MOST_POWER)):
        ax.plot(at[is_beyond], height[is_beyond], mark, ms=8, mfc="none", color=style.INK, zorder=4)
    for boundary in (-1, 1):
        ax.axvline(boundary, color=style.MUTED, lw=0.8, ls=(0, (4, 3)), zorder=1)
    ax.axvline(0, color=style.INK, lw=0.8, zorder=1)
    low, high = float(min(at.min(), -1.3)), float(max(at.max(), 1.3))
    ax.set_xlim(low - 0.05 * (high - low), high + 0.05 * (high - low))
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.xaxis.set_major_formatter(FuncFormatter(_power))
    ax.legend(fontsize=8, frameon=False, loc="best")
    part = f": {len(shown)} of {len(table)} edges, from both ends" if len(shown) < len(table) else ""
    name = "Bayes factor for the edge against its absence\n(bars: two errors; > and <: that or beyond)"
    return style.finish(ax, table, f"Evidence for each edge{part}", x=name, spines=["bottom"], grid="y")


def _power(exponent: float, _: object = None) -> str:
    whole_power = round(exponent)
    if whole_power == 0:
        return "1"
    if abs(whole_power) > 3:
        return rf"$10^{{{whole_power}}}$"
    return f"{10**whole_power:,}" if whole_power > 0 else f"1/{10**-whole_power:,}"


def ranks(posterior: Posterior, parameter: int | str | None = None, *, ax: Axes | None = None) -> Axes:
    """Draw rank histograms of one parameter, one row of bars per chain.

    The bars have equal heights if all chains explore the same distribution.

    Parameters
    ----------
    posterior : Posterior
        Result of `mrfbayes.sample`.
    parameter : int or str, optional
        Position or name; by default the parameter with the largest R-hat.
    ax : Axes, optional
        Axes to draw on; by default a new figure.

    Returns
    -------
    Axes
        The axes.

    See Also
    --------
    forest : Means and intervals.

    Examples
    --------
    >>> import mrfbayes as mb
    >>> model = mb.graph([("a", "b"), ("b", "c")])
    >>> posterior = mb.sample(model, mb.simulate(model, 0.8, 200, rng=1), "mle", rng=1, progress=False)
    >>> mb.plots.ranks(posterior).get_xlabel() != ""
    True
    """
    j = int(np.nanargmax(posterior.r_hat)) if parameter is None else style.place_of(posterior.model, parameter)
    draws = posterior.draws[:, :, j]
    # Equal draws, such as the zeros of an absent edge, are ranked at random: in the order of chains they would differ.
    tie = np.random.default_rng(0).random(draws.size)
    rank = np.argsort(np.lexsort((tie, draws.ravel()))).reshape(draws.shape)
    edges = np.linspace(0, draws.size, RANK_BINS + 1)
    counts = np.stack([np.histogram(chain, edges)[0] for chain in rank])
    expected = draws.shape[1] / RANK_BINS
    ax = style.axes_or_new(ax, figsize=(7, 0.9 + 0.5 * len(counts)))
    # Where chains agree a bar is binomial; the band holds 99% of such bars.
    band = 2.576 * np.sqrt(expected * (1 - 1 / RANK_BINS)) / expected
    centre = (edges[:-1] + edges[1:]) / 2 / draws.size
    for k, row in enumerate(counts):
        base = len(counts) - 1 - k
        ax.axhspan(base + 0.4 * (1 - band), base + 0.4 * (1 + band), color=style.FAINT, lw=0, zorder=0)
        ax.bar(centre, 0.4 * row / expected, 0.85 / RANK_BINS, bottom=base, color=style.nth_colour(k), alpha=0.75)
        ax.axhline(base + 0.4, color=style.MUTED, lw=0.7)
    ax.set_yticks(np.arange(len(counts))[::-1] + 0.4, [f"chain {k}" for k in range(len(counts))])
    ax.set(xlim=(0, 1), ylim=(-0.05, len(counts) + 0.05))
    ax.tick_params(axis="y", length=0)
    frame = pd.DataFrame(counts.T, index=pd.Index(centre, name="rank")).rename(columns="chain {}".format)
    text = f"{style.label(posterior.parameters[j])}: ranks, R-hat {posterior.r_hat[j]:.3f}"
    return style.finish(ax, frame, text, x="rank among the draws of all chains (grey: 99% of bars)", spines=["bottom"])
