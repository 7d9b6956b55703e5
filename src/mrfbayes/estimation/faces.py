r"""What the short faces of a planar field tell about its couplings, and how they move together.

A face of a drawing is a cycle of edges. Seen alone, with t = 2 theta - 1 of its edges and P their product, the edges'
signs (agree +1, differ -1) have means and second moments

.. math:: E_i = \frac{t_i + P / t_i}{1 + P}, \qquad E_{ij} = \frac{t_i t_j + P / (t_i t_j)}{1 + P}.

The t that give a face the means it has in the whole field turn into log-odds: those of a coin alone, plus what every
face of the edge adds. Inverse correlations add up in the same way, R^-1 = I + sum of (R_f^-1 - I): exact where faces
are joined as in a tree, and near where loops of faces matter little. An edge lies on two faces at most and no R_f has
an eigenvalue of 2 or more, so the sum is positive definite.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mrfbayes.exact.choice import planar, takes_planar
from mrfbayes.exact.planar_drawing import Drawing
from mrfbayes.model.field import Model

if TYPE_CHECKING:
    from scipy.sparse import csr_array

LONGEST_FACE = 6  # edges
FACE_ROUNDS = 20  # of the fixed point for a face's t
FARTHEST = 0.999  # of a face's t
SETTLED = 1e-3  # of a face's means
FIRMEST = 1e3  # condition of R_f past which a face is left out


class Faces:
    """The short faces of a planar field of agreement coins, each as the numbers of its edges."""

    def __init__(self, drawing: Drawing) -> None:
        self.n_edges = drawing.sign.size
        self.groups = _short_faces(drawing)

    @classmethod
    def of(cls, model: Model) -> Faces | None:
        """Those of a field whose parameters are its edges, where the planar recursion does the work; else None."""
        if not (takes_planar(model, "moments") and model.lowering.is_plain):
            return None
        found = planar(model)
        return None if found is None or found.drawing.fielded.size else cls(found.drawing)

    def log_odds(self, mean: np.ndarray, alone: float) -> np.ndarray:
        """Log-odds (p,) at which expected counts are about ``mean`` (p,).

        alone: the share of its own log-odds that an edge gets of whose faces one has no such t.
        """
        sign = 2 * mean - 1
        own = 2 * np.arctanh(sign)
        out = own.copy()
        is_left = np.zeros(self.n_edges, dtype=bool)
        for edges in self.groups:
            t, has = _alone(sign[edges])
            np.add.at(out, edges[has], 2 * np.arctanh(t[has]) - own[edges[has]])
            is_left[edges[~has]] = True
        return np.asarray(np.where(is_left, alone * own, out))

    def inverse_correlations(self, mean: np.ndarray, share: np.ndarray) -> csr_array:
        """R^-1 - I of expected counts (p,), where the ``share`` (p,) of each one's information is the field's."""
        from scipy.sparse import csr_array

        matrix = csr_array((self.n_edges, self.n_edges))
        for edges in self.groups:
            t, has = _alone((2 * mean - 1)[edges])
            near = _correlations(t) * np.sqrt(share[edges][:, :, None] * share[edges][:, None, :])
            near[:, range(edges.shape[1]), range(edges.shape[1])] = 1.0
            has &= np.linalg.cond(near) < FIRMEST
            added = np.linalg.inv(near[has]) - np.eye(edges.shape[1])
            row, column = np.broadcast_arrays(edges[has][:, :, None], edges[has][:, None, :])
            matrix = matrix + csr_array((added.ravel(), (row.ravel(), column.ravel())), shape=matrix.shape)
        return matrix


def _short_faces(drawing: Drawing) -> list[np.ndarray]:
    """(faces, length) numbers of edges, for each length from 3 on: walks that turn the same way at every vertex."""
    half, offset, end = drawing.half, drawing.offset, drawing.end
    after = np.empty_like(half)  # the next half-edge around the same vertex
    last = np.zeros(half.size, dtype=bool)
    last[offset[1:][np.diff(offset) > 0] - 1] = True
    after[half] = half[np.where(last, offset[end[half]], np.arange(half.size) + 1)]
    following = after[np.arange(half.size) ^ 1]
    start = np.arange(half.size)
    walk, lowest, is_open = start, start, np.ones(half.size, dtype=bool)
    path, groups = [start], []
    for length in range(1, LONGEST_FACE + 1):
        walk = following[walk]
        closed = is_open & (walk == start)
        is_open &= ~closed
        first = np.flatnonzero(closed & (lowest == start))
        if length > 2 and first.size:
            edges = np.sort(np.stack([part[first] for part in path], axis=1) // 2, axis=1)
            edges = np.unique(edges, axis=0)  # a cycle that is a component of its own has two faces
            groups.append(edges[(np.diff(edges, axis=1) > 0).all(axis=1)])  # without both sides of an edge
        path.append(walk)
        lowest = np.minimum(lowest, walk)
    return groups


def _alone(sign: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """t (m, L) that give faces alone the mean signs (m, L), and which faces have them."""
    t = sign.copy()
    length = t.shape[1]
    for _ in range(FACE_ROUNDS):
        for i in range(length):
            others = np.delete(t, i, axis=1).prod(axis=1)
            t[:, i] = np.clip((sign[:, i] - others) / (1 - sign[:, i] * others), -FARTHEST, FARTHEST)
    is_settled = np.abs(_means(t) - sign).max(axis=1, initial=0.0) < SETTLED
    return t, is_settled


def _means(t: np.ndarray) -> np.ndarray:
    others = np.stack([np.delete(t, i, axis=1).prod(axis=1) for i in range(t.shape[1])], axis=1)
    return np.asarray((t + others) / (1 + t.prod(axis=1, keepdims=True)))


def _correlations(t: np.ndarray) -> np.ndarray:
    """(m, L, L) correlations of the signs of faces alone."""
    length = t.shape[1]
    mean = _means(t)
    spread = np.sqrt(1 - mean**2)
    out = np.ones((len(t), length, length))
    for i in range(length):
        for j in range(i):
            others = np.delete(t, (i, j), axis=1).prod(axis=1)
            both = (t[:, i] * t[:, j] + others) / (1 + t.prod(axis=1))
            out[:, i, j] = out[:, j, i] = (both - mean[:, i] * mean[:, j]) / (spread[:, i] * spread[:, j])
    return out
