"""Where the nodes of a network stand: on a circle or by springs, alike in all panels of a figure."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from mrfbayes.base.errors import InputError
from mrfbayes.model.field import Model
from mrfbayes.model.lattice import pixels_of

LAYOUTS = ("circle", "spring", "grid")
MOST_NODES = 20_000


def positions(model: Model, layout: object = "auto", strength: np.ndarray | None = None) -> np.ndarray:
    """(d, 2) places of the nodes.

    Parameters
    ----------
    layout : "circle", "spring", "grid", "auto" (grids as grids, small or dense networks as a circle, else springs), a
        mapping from node names to places, or the places (d, 2) themselves
    strength : (m,) how strongly each edge pulls its ends together, for springs
    """
    d = model.n_nodes
    if not isinstance(layout, str):
        return _given(model, layout)
    if d > MOST_NODES:
        raise InputError(f"layout: {d} nodes are too many to draw; plot a part of the field.")
    if layout == "auto":
        dense = model.n_edges > d * (d - 1) / 4
        layout = "grid" if is_lattice(model) else "circle" if dense or d < 8 else "spring"
    if layout == "grid":
        if not is_lattice(model):
            raise InputError("layout = 'grid': this model is not a grid; choose 'circle' or 'spring'.")
        row, column = pixel_places(model).T
        return np.stack([column, -row], axis=1).astype(float)
    if layout not in LAYOUTS:
        raise InputError(f"layout = {layout!r}: choose one of {', '.join(map(repr, LAYOUTS))}, or give places.")
    angle = np.pi / 2 - 2 * np.pi * np.arange(d) / max(d, 1)
    circle = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return circle if layout == "circle" else _springs(model, circle, strength)


def is_lattice(model: Model) -> bool:
    """Whether the nodes are the pixels of a grid, or of a part of one."""
    return model.grid_shape is not None or pixels_of(model.nodes) is not None


def pixel_places(model: Model) -> np.ndarray:
    """(d, 2) row and column of every node of a lattice."""
    if model.grid_shape is not None:
        return np.stack(np.divmod(np.arange(model.n_nodes), model.grid_shape[1]), axis=1)
    found = pixels_of(model.nodes)
    assert found is not None
    return found


def _springs(model: Model, start: np.ndarray, strength: np.ndarray | None) -> np.ndarray:
    import networkx as nx

    pull = np.ones(model.n_edges) if strength is None else np.asarray(strength, dtype=float)
    pull = pull / max(float(pull.max(initial=0.0)), 1e-12)
    graph = nx.Graph()
    graph.add_nodes_from(range(model.n_nodes))
    for (u, v), weight in zip(model.edges.tolist(), pull.tolist(), strict=True):
        if weight > 0.02:
            graph.add_edge(u, v, weight=weight)
    distance = 2.5 / np.sqrt(max(model.n_nodes, 1))
    found = nx.spring_layout(graph, k=distance, pos=dict(enumerate(start)), seed=1, iterations=300)
    places = np.array([found[i] for i in range(model.n_nodes)])
    centred = places - (places.max(axis=0) + places.min(axis=0)) / 2
    return np.asarray(centred / np.maximum(np.abs(centred).max(axis=0), 1e-12))  # names need all the room there is


def _given(model: Model, layout: object) -> np.ndarray:
    if isinstance(layout, Mapping):
        missing = [name for name in model.nodes if name not in layout]
        if missing:
            raise InputError(f"layout: no place is given for node {missing[0]!r}.")
        layout = [layout[name] for name in model.nodes]
    places = np.asarray(layout, dtype=float)
    if places.shape != (model.n_nodes, 2):
        raise InputError(f"layout has shape {places.shape}, expected ({model.n_nodes}, 2): a place per node.")
    return places
