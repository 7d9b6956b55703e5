r"""The whole covariance of the agreements of a planar field, from a sparse factorisation.

With H = F (I - T F)^{-1}, skew over half-edges, the derivative of L by tau_e is H between the halves of e, and
:math:`\partial^2 L / \partial\tau_e \partial\tau_f = -H_{AA} H_{BB} - H_{AB} H_{BA}^T` element by element: A and B
are the first and second halves. Columns of H are solved for in batches, so that nothing larger than the result is held.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from mrfbayes.exact.graph import ranges
from mrfbayes.exact.planar_drawing import Drawing

if TYPE_CHECKING:
    from scipy.sparse import csc_array

COLUMN_BATCH_BYTES = 2**26


def pairs_at_vertices(degree: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All pairs of half-edges at the same vertex, where those of a vertex follow each other, by ``degree`` (n,)."""
    others, begin = np.repeat(degree, degree), np.repeat(np.cumsum(degree) - degree, degree)
    return np.repeat(np.arange(others.size), others), ranges(begin, others)


def kac_ward(drawing: Drawing, t: np.ndarray) -> tuple[csc_array, csc_array]:
    """F, and I - T F in compressed columns, both (2m, 2m)."""
    from scipy.sparse import csc_array, eye_array

    row, column = pairs_at_vertices(np.diff(drawing.offset))
    size = (drawing.half.size, drawing.half.size)
    signs = np.sign(column - row).astype(float)
    f = csc_array((signs, (drawing.half[row], drawing.half[column])), shape=size)
    tau = t * drawing.sign
    first = np.arange(0, drawing.half.size, 2)
    between = csc_array(
        (np.concatenate([tau, -tau]), (np.concatenate([first, first + 1]), np.concatenate([first + 1, first]))),
        shape=size,
    )
    return f, (eye_array(drawing.half.size) - between @ f).tocsc()


def covariance_columns(drawing: Drawing, t: np.ndarray) -> Iterator[tuple[slice, np.ndarray, float]]:
    """Cov of the edges' agreements, a batch of columns at a time: (which, (m, batch) block, error of their counts)."""
    from scipy.sparse.linalg import splu

    m = t.size
    f, matrix = kac_ward(drawing, t)
    solver = splu(matrix, permc_spec="MMD_AT_PLUS_A")
    batch = max(1, COLUMN_BATCH_BYTES // (64 * max(m, 1)))
    weight = (1 - t * t) / 2 * drawing.sign
    for begin in range(0, m, batch):
        some = np.arange(begin, min(begin + batch, m))
        unit = np.zeros((2 * m, 2 * some.size))
        unit[2 * some, np.arange(some.size)] = 1.0
        unit[2 * some + 1, some.size + np.arange(some.size)] = 1.0
        h = f @ solver.solve(unit)
        first, second = h[:, : some.size], h[:, some.size :]
        block = second[::2] * first[1::2] - first[::2] * second[1::2]
        block *= weight[:, None] * weight[some]
        at = np.arange(some.size)
        forth, back = second[2 * some, at], -first[2 * some + 1, at]
        mean = (1 + t[some]) / 2 + weight[some] * forth
        block[some, at] = mean * (1 - mean)
        yield slice(begin, begin + some.size), block, float(np.abs(weight[some] * (forth - back)).max(initial=0.0))
