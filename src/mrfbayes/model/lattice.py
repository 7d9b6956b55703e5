"""Edges of grids: four or eight neighbours, periodic borders, all pixels or those inside a mask."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from mrfbayes.base.errors import InputError

NEIGHBOUR_STEPS = ((0, 1), (1, 0), (1, 1), (1, -1))  # rows, columns; the first two are those of four neighbours
DIRECTIONS = ("horizontal", "vertical", "diagonal", "antidiagonal")
_PIXEL = re.compile(r"(\d+),(\d+)")


def lattice_edges(
    rows: int, columns: int, neighbours: int = 4, periodic: bool = False, mask: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Pixels (d,) of the nodes as r * columns + c, edges (m, 2) between nodes, and the direction (m,) of each edge."""
    inside = np.ones((rows, columns), dtype=bool) if mask is None else mask
    pixels = np.flatnonzero(inside.ravel())
    number = np.full(rows * columns, -1)
    number[pixels] = np.arange(pixels.size)
    row, column = np.divmod(np.arange(rows * columns), columns)
    edges, directions = [], []
    for direction, (down, right) in enumerate(NEIGHBOUR_STEPS[: neighbours // 2]):
        other_row, other_column = row + down, column + right
        if periodic:
            other_row, other_column = other_row % rows, other_column % columns
        fits = (other_row >= 0) & (other_row < rows) & (other_column >= 0) & (other_column < columns)
        pair = np.stack([number[np.flatnonzero(fits)], number[(other_row * columns + other_column)[fits]]], axis=1)
        pair = pair[(pair >= 0).all(axis=1) & (pair[:, 0] != pair[:, 1])]
        edges.append(pair)
        directions.append(np.full(len(pair), direction))
    flat, kind = np.sort(np.concatenate(edges), axis=1), np.concatenate(directions)
    # On a torus of two rows or columns both ways round lead to the same neighbour: one edge.
    _, first = np.unique(flat[:, 0] * (rows * columns) + flat[:, 1], return_index=True)
    return pixels, flat[first], kind[first]


def check_mask(mask: object, rows: int, columns: int) -> np.ndarray | None:
    """A mask as a boolean array of the grid's shape."""
    if mask is None:
        return None
    array = np.asarray(mask)
    if array.shape != (rows, columns) or not np.isin(array, (0, 1)).all():
        raise InputError(
            f"mask has shape {array.shape}: give {rows} x {columns} zeros and ones, one where a pixel belongs to the "
            "field."
        )
    if not array.any():
        raise InputError("mask is zero everywhere: a field has at least one node.")
    return array.astype(bool)


def pixel_names(pixels: np.ndarray, columns: int) -> tuple[str, ...]:
    """Names "r,c" of pixels r * columns + c."""
    return tuple(f"{pixel // columns},{pixel % columns}" for pixel in pixels.tolist())


def pixels_of(names: Sequence[str]) -> np.ndarray | None:
    """Row and column (d, 2) of nodes that are called like pixels, else None."""
    found = [_PIXEL.fullmatch(name) for name in names]
    return np.array([[int(one[1]), int(one[2])] for one in found if one]) if all(found) else None
