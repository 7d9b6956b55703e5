r"""Local moments of planar fields, exactly: variances and third-order sums through windows of the whole field.

With H the Green function (`mrfbayes.exact.planar_passes`), J = (0, 1; -1, 0) and g the derivative of tau by the
log-odds, distinct edges have

.. math:: \kappa_{ab} = -\tfrac12 g_a g_b \mathrm{tr}(H_{ab} J H_{ba} J), \qquad
          \kappa_{abc} = -g_a g_b g_c \mathrm{tr}(H_{ac} J H_{cb} J H_{ba} J),

and as agreements are 0 or 1, :math:`\kappa_{aab} = (1 - 2\mu_a) \kappa_{ab}`. Means and covariances are those of the
whole field; what is left out is what lies beyond a window, in the inverse of the information, and beyond a block, in
third cumulants.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mrfbayes.base.budget import budget
from mrfbayes.base.progress import Progress
from mrfbayes.calibration.blocks import Blocks, LocalMoments, local_blocks
from mrfbayes.exact.choice import planar, takes_planar
from mrfbayes.exact.planar_passes import SHIFTS, PlanarWindow, Tiling
from mrfbayes.kernels.calibration.blocks import block_cubes
from mrfbayes.model.field import Model

NEAR, FAR = 2, 3  # steps that a block reaches; tiles are wider
WORTHWHILE = 0.002  # of an sd, on average: what lies beyond a near block must add for tiles to be larger
PROBED_WINDOWS = 4  # on which that is measured
MOST_TRIPLED = 48  # edges of a window whose third cumulants are summed: those with the largest entries in a row of S


class Place(NamedTuple):
    """Where moments are taken: t (p,) and the drawing's signs (p,), observations, minus the prior's curvature (p,)."""

    t: np.ndarray
    sign: np.ndarray
    n: float
    prior_curvature: np.ndarray


def sees_windows(model: Model) -> bool:
    """Whether moments of blocks are exact: planar agreement coins alone, one for each edge."""
    if not (model.lowering.is_plain and takes_planar(model, "moments")):
        return False
    found = planar(model)
    return found is not None and not found.drawing.fielded.size


def tile_side(distance: int) -> int:
    """Nodes along a tile, so that in one of four layings every block lies inside of one."""
    return 4 * distance + 2


def choose_distance(model: Model, w: np.ndarray, n: float, prior_curvature: np.ndarray) -> tuple[int, float]:
    """How far blocks reach, and by what share sds grow where a whole window stands in for a near block."""
    found = planar(model)
    assert found is not None
    t, gains = np.tanh(np.asarray(w) / 2), []
    tiling = Tiling(found.drawing, tile_side(FAR), SHIFTS[0])
    needed = np.isin(tiling.of_edge, np.unique(tiling.of_edge[tiling.of_edge >= 0])[:PROBED_WINDOWS])
    for window in tiling.windows(t, needed):
        information = n * _first_two(window, t, found.drawing.sign)[1] + np.diag(prior_curvature[window.edge])
        whole = np.diag(np.linalg.inv(information))
        blocks = local_blocks(model, NEAR, window.edge)
        for k in range(window.edge.size):
            near = np.searchsorted(window.edge, blocks.member[blocks.offset[k] : blocks.offset[k + 1]])
            near = near[near < window.edge.size]
            if np.array_equal(window.edge[near], blocks.member[blocks.offset[k] : blocks.offset[k + 1]]):
                own = np.linalg.inv(information[np.ix_(near, near)])[0, 0]
                gains.append(np.sqrt(whole[k] / own) - 1)
    gain = float(np.mean(gains)) if gains else float("nan")
    return (FAR if gain > WORTHWHILE else NEAR), gain


def exact_moments(
    model: Model, w: np.ndarray, n: float, prior_curvature: np.ndarray, distance: int, progress: bool = False
) -> tuple[LocalMoments, int]:
    """Moments at log-odds ``w`` for blocks that reach ``distance`` steps; and how many blocks no window holds whole.

    Parameters
    ----------
    model : a planar field of agreement coins, one for each edge
    n : number of observations
    prior_curvature : (p,) minus the second derivatives of the log prior
    """
    found = planar(model)
    assert found is not None
    drawing, t, p = found.drawing, np.tanh(np.asarray(w) / 2), model.n_parameters
    place = Place(t, drawing.sign, n, prior_curvature)
    blocks = local_blocks(model, distance)
    tilings = [Tiling(drawing, tile_side(distance), shift) for shift in SHIFTS]
    chosen, cut = _deepest(tilings, blocks, local_blocks(model, distance + 1))
    covariance_rows, cube, mixed = np.zeros(blocks.member.size), np.zeros(p), np.zeros(p)
    places = np.full(p, -1, dtype=np.int64)
    with Progress("moments through windows", p, progress) as bar:
        for number, tiling in enumerate(tilings):
            needed = chosen == number
            for window in tiling.windows(t, needed):
                budget().check("moments of the blocks")
                some = window.edge[needed[window.edge]]
                if not some.size:
                    continue
                places[window.edge] = np.arange(window.edge.size)
                parts = _window_moments(window, place, blocks, some, places)
                for j, row in zip(some.tolist(), parts[0], strict=True):
                    covariance_rows[blocks.offset[j] : blocks.offset[j + 1]] = row
                cube[some], mixed[some] = parts[1:]
                places[window.edge] = -1
                bar.update(int(np.count_nonzero(chosen < number)))
    return LocalMoments(blocks, covariance_rows, covariance_rows[blocks.offset[:-1]], np.zeros(p), cube, mixed, 0), cut


def _deepest(tilings: list[Tiling], blocks: Blocks, wider: Blocks) -> tuple[np.ndarray, int]:
    """For every edge the laying whose tile holds most of what is near it; and how many blocks are cut in all."""
    held = [_held(tiling.of_edge, wider) for tiling in tilings]
    chosen = np.argmax(held, axis=0)
    inside = np.stack([_held(tiling.of_edge, blocks) for tiling in tilings])[chosen, np.arange(chosen.size)]
    return chosen, int(np.count_nonzero(inside < np.diff(blocks.offset)))


def _held(tile: np.ndarray, blocks: Blocks) -> np.ndarray:
    """How many of each edge's block are within its own tile; none where it lies between two."""
    own = np.repeat(tile, np.diff(blocks.offset))
    same = (tile[blocks.member] == own) & (own >= 0)
    return np.add.reduceat(same.astype(np.int64), blocks.offset[:-1])


def _window_moments(
    window: PlanarWindow, place: Place, blocks: Blocks, some: np.ndarray, places: np.ndarray
) -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
    """For the edges ``some``: rows of S within their blocks, E[P_j^3] and E[Q P_j]."""
    edge, green = window.edge, window.green
    mean, covariance, weight = _first_two(window, place.t, place.sign)
    inverse = np.linalg.inv(place.n * covariance + np.diag(place.prior_curvature[edge]))
    skew = 1 - 2 * mean
    apart = green.reshape(edge.size, 2, edge.size, 2).copy()
    apart[np.arange(edge.size), :, np.arange(edge.size), :] = 0.0  # distinct edges alone are left
    traced = _traced(apart, weight, inverse)
    off = covariance - np.diag(np.diag(covariance))
    variance = np.diag(inverse)
    traced += off @ (variance * skew) + 2 * skew * (inverse * off).sum(axis=1) + variance * np.diag(covariance) * skew
    here = places[some]
    mixed = inverse[here] @ traced
    rows = [inverse[at, near] * (near >= 0) for at, near in zip(here, _local(blocks, some, places), strict=True)]
    most = min(MOST_TRIPLED, edge.size)
    largest = np.argpartition(-np.abs(inverse[here]), most - 1, axis=1)[:, :most]
    v = np.take_along_axis(inverse[here], largest, axis=1)
    cubes, offset = np.empty(some.size), most * np.arange(some.size + 1)
    block_cubes(apart.reshape(green.shape), weight, v.ravel(), largest.ravel(), offset, cubes)
    within = np.einsum("jab,jb->ja", off[largest[:, :, None], largest[:, None, :]], v)
    cubes += (skew[largest] * (3 * v**2 * within + v**3 * np.diag(covariance)[largest])).sum(axis=1)
    return rows, cubes, mixed


def _local(blocks: Blocks, some: np.ndarray, places: np.ndarray) -> list[np.ndarray]:
    """Where the members of each block are in the window; -1 outside."""
    return [places[blocks.member[blocks.offset[j] : blocks.offset[j + 1]]] for j in some.tolist()]


def _first_two(window: PlanarWindow, t: np.ndarray, sign: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Means (m,) and covariances (m, m) of the agreements, and the derivative (m,) of tau by the log-odds."""
    green, own = window.green, t[window.edge]
    weight = (1 - own * own) / 2 * sign[window.edge]
    forth = green[np.arange(0, len(green), 2), np.arange(1, len(green), 2)]
    mean = (1 + own) / 2 + weight * forth
    covariance = green[::2, 1::2] * green[1::2, ::2] - green[::2, ::2] * green[1::2, 1::2]
    covariance *= weight[:, None] * weight
    np.fill_diagonal(covariance, mean * (1 - mean))
    return mean, covariance, weight


def _traced(apart: np.ndarray, weight: np.ndarray, inverse: np.ndarray) -> np.ndarray:
    """The sum over b, c of S_bc kappa_abc for distinct a, b, c, (m,)."""
    size = 2 * weight.size
    middle = (apart * (inverse * np.outer(weight, weight))[:, None, :, None]).reshape(size, size)
    turned = np.stack([-apart[..., 1], apart[..., 0]], axis=-1).reshape(size, size)  # H J
    left = turned @ middle
    right = np.stack([apart[:, 1], -apart[:, 0]], axis=1).reshape(size, size)  # J H
    crossed = (left[1::2] * right[:, ::2].T).sum(axis=1) - (left[::2] * right[:, 1::2].T).sum(axis=1)
    return np.asarray(-weight * crossed)
