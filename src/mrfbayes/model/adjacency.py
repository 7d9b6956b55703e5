"""Neighbour lists of a graph, as flat arrays for the kernels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Adjacency(NamedTuple):
    """Neighbours of node i: ``neighbour[offset[i]:offset[i+1]]``, through edges ``edge[...]``, by edge index."""

    offset: np.ndarray
    neighbour: np.ndarray
    edge: np.ndarray


def adjacency(edges: np.ndarray, n_nodes: int) -> Adjacency:
    """Neighbour lists of the (m, 2) ``edges``; each edge is listed at both ends."""
    m = len(edges)
    ends = np.concatenate([edges[:, 0], edges[:, 1]])
    others = np.concatenate([edges[:, 1], edges[:, 0]])
    index = np.tile(np.arange(m), 2)
    order = np.lexsort((index, ends))
    offset = np.concatenate([[0], np.cumsum(np.bincount(ends, minlength=n_nodes))])
    arrays = [np.ascontiguousarray(a, dtype=np.int64) for a in (offset, others[order], index[order])]
    for array in arrays:
        array.setflags(write=False)
    return Adjacency(*arrays)
