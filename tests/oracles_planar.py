"""Planar fields by the complex Kac-Ward matrix, factorised. Nothing here imports the package under test."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csc_array, eye_array
from scipy.sparse.linalg import splu


def kac_ward_log_z(places, pairs, coupling):
    """Log Z of a field with weights exp(coupling) for agreement, drawn with straight lines at ``places`` (n, 2).

    Directed edges follow each other with weight t exp(i turn / 2), turn the angle between them.
    """
    n, t = len(places), np.tanh(np.asarray(coupling) / 2)
    tail = np.concatenate([pairs[:, 0], pairs[:, 1]])
    head = np.concatenate([pairs[:, 1], pairs[:, 0]])
    angle = np.arctan2(*(places[head] - places[tail]).T[::-1])
    weight = np.concatenate([t, t])
    leaving = [np.flatnonzero(tail == v) for v in range(n)]
    rows, columns = [], []
    for e in range(len(tail)):
        for f in leaving[head[e]]:
            if head[f] != tail[e]:
                rows.append(e)
                columns.append(f)
    turn = (angle[columns] - angle[rows] + np.pi) % (2 * np.pi) - np.pi
    entries = weight[columns] * np.exp(0.5j * turn)
    matrix = csc_array(eye_array(len(tail)) - csc_array((entries, (rows, columns)), shape=(len(tail),) * 2))
    log_det = np.log(np.abs(splu(matrix).U.diagonal())).sum()
    return 0.5 * log_det + n * np.log(2) + (np.logaddexp(0, coupling) - np.log(2)).sum()


def delaunay_pairs(n, keep, rng):
    """Places of n random points, and a share ``keep`` of the edges of their Delaunay triangulation."""
    from scipy.spatial import Delaunay

    places = rng.uniform(size=(n, 2))
    corners = np.sort(Delaunay(places).simplices, axis=1)
    pairs = np.unique(np.concatenate([corners[:, [0, 1]], corners[:, [1, 2]], corners[:, [0, 2]]]), axis=0)
    return places, pairs[rng.uniform(size=len(pairs)) < keep].astype(np.int64)
