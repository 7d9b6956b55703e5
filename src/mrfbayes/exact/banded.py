"""Covariances and third-order sums of long, thin fields: thousands of parameters, of which only near ones correlate.

Parameters far apart share one direction: the response near each of them is its own. A strip of 500x8 with 7,492
parameters takes a few hundred directions instead of 7,492. How far is far is measured first, on some parameters alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from mrfbayes.base.errors import InputError
from mrfbayes.exact.quantities import cumulants_along
from mrfbayes.model.field import Model

if TYPE_CHECKING:
    from scipy.sparse import csc_array

BAND_PROBES = 8  # parameters whose response is followed through the whole field


@dataclass(frozen=True)
class Bands:
    """Parameters by their distance along the field.

    Attributes
    ----------
    level : (p,) distance from one end, in steps of the graph; rows for a grid
    reach : levels within which parameters are taken to correlate
    """

    level: np.ndarray
    reach: int

    def colours(self) -> Iterator[np.ndarray]:
        """Sets of parameters more than twice the reach apart, at most one a level; together they are all."""
        period = 2 * self.reach + 1
        order = np.argsort(self.level, kind="stable")
        level = self.level[order]
        rank = np.arange(level.size) - np.searchsorted(level, level)  # number within the level
        key = (level % period) * (int(rank.max(initial=0)) + 1) + rank
        by_key = np.argsort(key, kind="stable")
        for part in np.split(by_key, np.flatnonzero(np.diff(key[by_key])) + 1):
            yield order[part]

    def owner(self, colour: np.ndarray) -> np.ndarray:
        """For every parameter the one of ``colour`` within reach of it, or -1."""
        where = self.level[colour]  # ascending
        nearest = np.clip(np.searchsorted(where, self.level), 1, max(1, where.size - 1))
        left, right = np.maximum(nearest - 1, 0), np.minimum(nearest, where.size - 1)
        closer = np.abs(where[left] - self.level) <= np.abs(where[right] - self.level)
        found = np.where(closer, left, right)
        return np.where(np.abs(where[found] - self.level) <= self.reach, colour[found], -1)


def parameter_levels(model: Model) -> np.ndarray:
    """(p,) level of each parameter: its distance from one end of the field.

    Raises `InputError` where a block is tied across the field: such a parameter is nowhere in particular.
    """
    node_level = node_levels(model)
    low = np.full(model.chart.n_blocks, np.iinfo(np.int64).max)
    high = np.full(model.chart.n_blocks, -1)
    for group in model.groups:
        np.minimum.at(low, group.block, node_level[group.scope].min(axis=1))
        np.maximum.at(high, group.block, node_level[group.scope].max(axis=1))
    wide = np.flatnonzero(high - low > 1)
    if wide.size:
        raise InputError(f"block {model.blocks[int(wide[0])]!r} is tied across the field: use covariance_w instead.")
    return np.asarray(low[model.chart.block_of])


def node_levels(model: Model) -> np.ndarray:
    """(d,) distance of each node from one end of the field; rows for a grid."""
    if model.grid_shape is not None:
        rows, columns = model.grid_shape
        index = np.arange(model.n_nodes)
        return index // columns if rows >= columns else index % columns
    level = np.full(model.n_nodes, -1)
    start = 0
    for node in range(model.n_nodes):
        if level[node] >= 0:
            continue
        far = _breadth_first(model, node, level.copy(), 0)[-1]
        reached = _breadth_first(model, far, level, start)
        start = int(level[reached].max()) + 1
    return level


def _breadth_first(model: Model, start: int, level: np.ndarray, first: int) -> list[int]:
    lists = model.adjacency
    level[start] = first
    queue = [start]
    for node in queue:
        for other in lists.neighbour[lists.offset[node] : lists.offset[node + 1]].tolist():
            if level[other] < 0:
                level[other] = level[node] + 1
                queue.append(other)
    return queue


def covariance_band_w(model: Model, log_odds: np.ndarray, tolerance: float = 1e-8) -> tuple[csc_array, Bands]:
    """Cov[s] as a sparse matrix, without what is below ``tolerance`` of a variance at a distance; and its bands."""
    from scipy.sparse import coo_array, csc_array

    level = parameter_levels(model)
    p = level.size
    reach = _measured_reach(level, _probe_responses(model, log_odds, level), tolerance)
    bands = Bands(level, min(reach, int(level.max(initial=0))))
    rows, columns, values = [], [], []
    colours = list(bands.colours())
    directions = (_indicator(colour, p) for colour in colours)
    for colour, series in zip(colours, cumulants_along(model, log_odds, directions, order=1), strict=True):
        owner = bands.owner(colour)
        near = np.flatnonzero(owner >= 0)
        rows.append(near)
        columns.append(owner[near])
        values.append(series[0, near])
    where = np.concatenate(rows), np.concatenate(columns)
    joined = csc_array(coo_array((np.concatenate(values), where), shape=(p, p)))
    return csc_array((joined + joined.T) / 2), bands


def third_order_band_w(
    model: Model,
    log_odds: np.ndarray,
    bands: Bands,
    solve: Callable[[np.ndarray], np.ndarray],
    half_solve: Callable[[np.ndarray], np.ndarray],
) -> tuple[np.ndarray, np.ndarray]:
    """E[P_j^3] and E[Q P_j], both (p,), as `mrfbayes.exact.quantities.third_order_w`, with S given by its action.

    Parameters
    ----------
    bands : with a reach within which S and the third cumulants have decayed; about twice that of the covariance
    solve : v -> S v
    half_solve : v -> F v for an F with F F' = S that is local, too (from a banded factor of the inverse of S)
    """
    p = bands.level.size
    cubes, contracted = np.zeros(p), np.zeros(p)
    colours = list(bands.colours())
    columns = [solve(_indicator(colour, p)) for colour in colours]  # near each member: its own column of S
    for colour, v, series in zip(colours, columns, cumulants_along(model, log_odds, iter(columns)), strict=True):
        owner = bands.owner(colour)
        near = owner >= 0
        cubes += np.bincount(owner[near], weights=(v * series[1])[near], minlength=p)
    halves = (half_solve(_indicator(colour, p)) for colour in colours)
    for series in cumulants_along(model, log_odds, halves):
        contracted += series[1]
    return cubes, solve(contracted)


def _indicator(members: np.ndarray, p: int) -> np.ndarray:
    return np.bincount(members, minlength=p).astype(float)


def _probe_responses(model: Model, log_odds: np.ndarray, level: np.ndarray) -> list[tuple[int, np.ndarray]]:
    chosen = np.unique(np.linspace(0, level.size - 1, BAND_PROBES).astype(int))
    chosen = np.argsort(level, kind="stable")[chosen]
    directions = (_indicator(np.array([j]), level.size) for j in chosen)
    return [
        (int(j), series[0])
        for j, series in zip(chosen, cumulants_along(model, log_odds, directions, order=1), strict=True)
    ]


def _measured_reach(level: np.ndarray, responses: list[tuple[int, np.ndarray]], tolerance: float) -> int:
    """Levels past which no response is above ``tolerance`` of the parameter's own variance, and a quarter more."""
    furthest = 1
    for j, response in responses:
        felt = np.abs(response) > tolerance * response[j]
        furthest = max(furthest, int(np.abs(level[felt] - level[j]).max(initial=0)))
    return furthest + furthest // 4 + 1
