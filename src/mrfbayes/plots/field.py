"""The field as a picture: nodes where they are, edges coloured by their coupling."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mrfbayes.base.errors import InputError
from mrfbayes.model.field import Model
from mrfbayes.plots.style import axes_or_new, escape

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def field(
    model: Model,
    values: Any = None,
    *,
    spread: Any = None,
    ax: Axes | None = None,
    labels: bool | None = None,
    bar: bool = True,
) -> Axes:
    """Draw the graph of ``model`` with each edge coloured by its log-odds.

    Parameters
    ----------
    values : `Posterior` (its mean, with its sd as ``spread``), an estimate, or theta (p,); None draws the graph alone
    spread : (p,) sd of theta: edges whose 90 % interval includes "no interaction" are drawn dashed
    labels : whether nodes carry their names; default: where there are at most 40 and they are the user's own
    """
    from matplotlib import colormaps
    from matplotlib.cm import ScalarMappable
    from matplotlib.collections import LineCollection
    from matplotlib.colors import TwoSlopeNorm

    ax = axes_or_new(ax, figsize=(5.5, 5))
    if values is not None and hasattr(values, "draws"):
        spread = values.sd if spread is None else spread
        theta = values.mean
    else:
        theta = getattr(values, "theta", values)
    place = _places(model)
    segments = place[model.edges]
    edge_values = None if theta is None else _edge_log_odds(model, np.asarray(theta, dtype=float))
    if edge_values is None:
        ax.add_collection(LineCollection(list(segments), colors="0.6", linewidths=1.5, zorder=1))
    else:
        limit = max(float(np.abs(edge_values).max(initial=0.0)), 1e-9)
        scale = ScalarMappable(TwoSlopeNorm(0.0, -limit, limit), colormaps["PuOr_r"])
        solid = np.ones(len(edge_values), dtype=bool)
        if spread is not None:
            chart = model.chart
            at = np.asarray(theta, dtype=float)
            sd_w = np.asarray(spread) / (at * (1 - at))
            solid = np.abs(edge_values) > 1.645 * _edge_parts(model, chart.block_of, sd_w)
        for style, chosen in (("solid", solid), ((0, (1, 1.2)), ~solid)):
            if chosen.any():
                width = 0.6 + 4.5 * np.abs(edge_values[chosen]) / limit
                lines = LineCollection(
                    list(segments[chosen]),
                    colors=scale.to_rgba(edge_values[chosen]),
                    linewidths=list(width),
                    linestyles=[style],
                    zorder=1,
                )
                ax.add_collection(lines)
        if bar:
            ax.figure.colorbar(scale, ax=ax, label="coupling (log-odds)", shrink=0.75)
    show = labels if labels is not None else model.n_nodes <= 40 and model.named
    size = max(4.0, 14 - 0.15 * model.n_nodes)
    ax.plot(*place.T, "o", ms=22 if show else size, mfc="white", mec="0.25", zorder=2)
    if show:
        for name, (x, y) in zip(model.nodes, place, strict=True):
            ax.text(x, y, escape(name[:8]), ha="center", va="center", fontsize=7, zorder=3)
    ax.set_aspect("equal")
    ax.margins(0.08)
    ax.axis("off")
    return ax


def _places(model: Model) -> np.ndarray:
    if model.n_nodes > 20_000:
        raise InputError(f"plots.field: {model.n_nodes} nodes are too many to draw; plot a part of the field.")
    if model.grid_shape is not None:
        row, column = np.divmod(np.arange(model.n_nodes), model.grid_shape[1])
        return np.stack([column, -row], axis=1).astype(float)
    angle = np.pi / 2 - 2 * np.pi * np.arange(model.n_nodes) / model.n_nodes
    circle = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    density = 2 * model.n_edges / max(model.n_nodes * (model.n_nodes - 1), 1)
    if density > 0.5 or model.n_nodes < 4:
        return circle
    import networkx as nx

    graph = nx.Graph()
    graph.add_nodes_from(range(model.n_nodes))
    graph.add_edges_from(model.edges.tolist())
    found = nx.spring_layout(graph, pos=dict(enumerate(circle)), seed=1, iterations=200)
    return np.array([found[i] for i in range(model.n_nodes)])


def _edge_parts(model: Model, block_of: np.ndarray, values: np.ndarray) -> np.ndarray:
    """One of ``values`` (p,) for each edge: that of its first parameter."""
    out = np.zeros(model.n_edges)
    from mrfbayes.model.lowering import EdgeFinder

    find = EdgeFinder(model.edges, model.n_nodes)
    for group in model.groups:
        if group.arity == 2:
            out[find(group.scope)[0]] = values[model.chart.offset[group.block]]
    return out


def _edge_log_odds(model: Model, theta: np.ndarray) -> np.ndarray:
    if theta.shape != (model.n_parameters,):
        raise InputError(
            f"plots.field: values have shape {theta.shape}, the model has {model.n_parameters} parameters."
        )
    return _edge_parts(model, model.chart.block_of, model.chart.log_odds(theta))
