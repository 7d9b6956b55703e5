"""Where the nodes of a network stand: by springs or on a circle, the same in all pictures of a report."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from mrfbayes.base.checks import numbers, one_of
from mrfbayes.base.errors import InputError
from mrfbayes.base.types import LayoutLike
from mrfbayes.model.edges import pixels_of
from mrfbayes.model.field import Model

LAYOUTS = ("auto", "circle", "spring", "grid")
MOST_NODES = 20_000
LAYOUT_SEED = 1
SIDES = np.array([[1, 0], [-1, 0], [0, 1], [0, -1]])  # of a node, for its name: right, left, above, below
APART = 0.9  # least distance of two nodes, relative to that of a square lattice of as many


def positions(model: Model, layout: LayoutLike = "auto", strength: np.ndarray | None = None) -> np.ndarray:
    """(d, 2) places of the nodes.

    Parameters
    ----------
    layout : "circle", "spring", "grid", "auto" (grids as grids, up to three nodes as a circle, else springs), a
        mapping from node names to places, or the places (d, 2) themselves
    strength : (m,) how strongly each edge pulls its ends together, for springs
    """
    d, layout = model.n_nodes, "auto" if layout is None else layout
    if not isinstance(layout, str):
        return _given(model, layout)
    one_of("layout", layout, LAYOUTS)
    if d > MOST_NODES:
        raise InputError(f"layout: {d} nodes are too many to draw; plot a part of the field.")
    if layout == "auto":
        layout = "grid" if is_lattice(model) else "circle" if d < 4 else "spring"
    if layout == "grid":
        if not is_lattice(model):
            raise InputError("layout = 'grid': this model is not a grid; choose 'circle' or 'spring'.")
        row, column = pixel_places(model).T
        return np.stack([column, -row], axis=1).astype(float)
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
    graph.add_weighted_edges_from(
        (u, v, w) for (u, v), w in zip(model.edges.tolist(), pull.tolist(), strict=True) if w > 0.02
    )
    distance = 2.5 / np.sqrt(max(model.n_nodes, 1))
    found = nx.spring_layout(graph, k=distance, pos=dict(enumerate(start)), seed=LAYOUT_SEED, iterations=300)
    places = np.array([found[i] for i in range(model.n_nodes)])
    places = places - np.median(places, axis=0)
    distance = np.maximum(np.hypot(*places.T), 1e-12)
    most = 1.15 * np.quantile(distance, 0.85)  # a node without edges would fly away and leave no room for the others
    places = places * np.minimum(1.0, most / distance)[:, None]
    centred = places - (places.max(axis=0) + places.min(axis=0)) / 2
    return _apart(centred / np.maximum(np.abs(centred).max(axis=0), 1e-12))  # names need all the room there is


def _apart(places: np.ndarray) -> np.ndarray:
    """Places in [-1, 1]^2 that were moved until no two nodes cover each other."""
    if len(places) > 500:
        return places
    least = APART * 2 / np.sqrt(len(places)) / 2
    for _ in range(60):
        gap = places[:, None] - places
        distance = np.hypot(*np.moveaxis(gap, 2, 0)) + np.eye(len(places))
        close = np.clip(least - distance, 0, None) * ~np.eye(len(places), dtype=bool)
        if not close.any():
            break
        places = places + 0.5 * (gap / np.maximum(distance, 1e-9)[..., None] * close[..., None]).sum(axis=1)
        places = places / np.maximum(np.abs(places).max(axis=0), 1.0)
    return places


def label_sides(places: np.ndarray, wide: np.ndarray, tall: float, gap: float) -> np.ndarray:
    """(d,) places in `SIDES` at which names cover least of nodes and of other names, else away from the middle.

    ``wide`` (d,) and ``tall`` are the size of the names, ``gap`` their distance from the middle of a node.
    """
    d, half = len(places), np.stack([wide, np.full(len(places), tall)], axis=1) / 2
    centres = places[:, None] + SIDES * (half[:, None] + gap)
    outwards = (places - places.mean(axis=0)) / max(float(np.abs(places - places.mean(axis=0)).max()), 1e-12)
    taste = -0.02 * outwards @ SIDES.T
    side = taste.argmin(axis=1)
    for _ in range(4):
        for i in range(d):
            others = np.arange(d) != i
            names, nodes = centres[others, side[others]], places[others]
            cover = np.clip(half[i] + half[others] - np.abs(centres[i][:, None] - names), 0, None).prod(axis=2)
            cover += 2 * np.clip(half[i] + gap - np.abs(centres[i][:, None] - nodes), 0, None).prod(axis=2)
            side[i] = (cover.sum(axis=1) / (wide[i] * tall) + taste[i]).argmin()
    return np.asarray(side)


def _given(model: Model, layout: object) -> np.ndarray:
    if isinstance(layout, Mapping):
        if missing := [name for name in model.nodes if name not in layout]:
            raise InputError(f"layout: no place is given for node {missing[0]!r}.")
        layout = [layout[name] for name in model.nodes]
    places = numbers("layout", layout)
    if places.shape != (model.n_nodes, 2):
        raise InputError(f"layout has shape {places.shape}, expected ({model.n_nodes}, 2): a place per node.")
    return places
