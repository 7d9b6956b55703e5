"""What a predictive check compares: the counts that were fitted, and two kinds of statistics that were not.

All of it are averages over the observations, so a result file can hold it without holding anybody's answers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mrfbayes.data.statistics import Statistics
from mrfbayes.model.edges import pixels_of
from mrfbayes.model.field import Model
from mrfbayes.model.scales import coupling_of

MOST_PAIRS = 5_000
SCORE_CLASSES = 20  # classes of the sum of a row
LEAST_ROWS = 20  # observations below which single pairs, and sums of rows, are too few to compare distributions


class ObservedAverages(NamedTuple):
    """Averages over the observations.

    Attributes
    ----------
    n : number of observations (or their total weight)
    n_rows : observations that ``pairs`` and ``sums`` are worth: n, or fewer where only some of the rows were kept
    fitted : (p,) counts of the model's own outcomes per observation
    pairs : (k,) agreement of the pairs of nodes that share a neighbour but no edge; of few rows, as of a single image,
        its average over all pairs of each direction
    sums : (c,) share of the rows whose states sum to each value, or class of values; of few rows the mean state; empty
        where sums mean nothing
    shares : shares of all states of the first node, then of the second, and so on; empty where they are not known
    """

    n: float
    n_rows: int
    fitted: np.ndarray
    pairs: np.ndarray
    sums: np.ndarray
    shares: np.ndarray

    @property
    def flat(self) -> np.ndarray:
        """What a predictive check compares, in the order of `statistic_names`."""
        return np.concatenate([self.fitted, self.pairs, self.sums])


def observe(model: Model, statistics: Statistics) -> ObservedAverages:
    """The averages of counted data; without rows the fitted ones alone."""
    n_rows = max(1, round(statistics.n_kept)) if len(statistics.rows) else 0
    extra = unfitted(model, statistics.rows, statistics.row_weights, unfitted_pairs(model, n_rows), n_rows)
    return ObservedAverages(statistics.n, n_rows, statistics.mean, *extra, _shares(model, statistics))


class PairClasses(NamedTuple):
    """Pairs of nodes (k, 2), the class of each (k,), and what the classes are called; each pair is one by default."""

    pairs: np.ndarray
    of: np.ndarray
    names: list[str]


def unfitted_pairs(model: Model, n_rows: int) -> PairClasses:
    """Pairs that share a neighbour but no edge; where rows are few all of one direction are a class."""
    pairs = second_neighbours(model.edges, model.n_nodes) if n_rows else np.zeros((0, 2), dtype=np.int64)
    if n_rows >= LEAST_ROWS or not len(pairs):
        return PairClasses(pairs, np.arange(len(pairs)), [f"{model.nodes[u]} = {model.nodes[v]}" for u, v in pairs])
    place = pixels_of(model.nodes)
    if place is None:
        return PairClasses(pairs, np.zeros(len(pairs), dtype=np.int64), ["agreement of second neighbours"])
    step = place[pairs[:, 1]] - place[pairs[:, 0]]
    if model.grid_shape is not None:  # around a periodic border
        step = np.where(np.abs(step) > 2, step - np.sign(step) * np.array(model.grid_shape), step)
    back = (step[:, 0] < 0) | ((step[:, 0] == 0) & (step[:, 1] < 0))
    steps, of = np.unique(np.where(back[:, None], -step, step), axis=0, return_inverse=True)
    return PairClasses(pairs, of.ravel(), [f"agreement at ({down}, {right})" for down, right in steps.tolist()])


def _shares(model: Model, statistics: Statistics) -> np.ndarray:
    if statistics.node_part is None:
        return np.zeros(0)
    part = np.asarray(statistics.node_part, dtype=float) / statistics.n
    return np.stack([1 - part, part], axis=1).ravel() if model.is_binary else part


def unfitted(
    model: Model, rows: np.ndarray, weights: np.ndarray, classes: PairClasses, n_rows: int
) -> tuple[np.ndarray, np.ndarray]:
    """Agreement of the pairs of each class, and the distribution of the sums of the rows (k, d) of ``weights`` (k,).

    ``n_rows`` tells whether they are few; see `ObservedAverages`.
    """
    pairs, agreement = classes.pairs, np.zeros(0)
    total = max(weights.sum(), 1e-300)  # divided by last: ties of whole weights stay ties
    if len(pairs):
        agreement = weights @ (rows[:, pairs[:, 0]] == rows[:, pairs[:, 1]]) / total
        agreement = np.bincount(classes.of, agreement) / np.bincount(classes.of)
    if not len(rows) or not _sums_mean_something(model):
        return agreement, np.zeros(0)
    if n_rows < LEAST_ROWS:
        return agreement, np.array([weights @ rows.sum(axis=1, dtype=np.int64) / (total * rows.shape[1])])
    bounds = sum_bounds(model)
    place = np.searchsorted(bounds, rows.sum(axis=1, dtype=np.int64), side="right") - 1
    return agreement, np.bincount(place, weights, minlength=bounds.size - 1) / total


def _sums_mean_something(model: Model) -> bool:
    return model.n_nodes > 1 and (model.is_binary or coupling_of(model) == "score")


def sum_bounds(model: Model) -> np.ndarray:
    """(c + 1,) first sum of every class, and the first that no row can have."""
    most = int((model.states - 1).sum())
    width = -(-(most + 1) // SCORE_CLASSES)
    return np.append(np.arange(0, most + 1, width), most + 1)


def statistic_names(model: Model, observed: ObservedAverages) -> list[str]:
    """Names of `ObservedAverages.flat`: parameters, "a = b" for agreeing pairs, "sum 3" or "sum 3 to 5" for sums.

    Of few rows: parameters, "agreement at (1, 1)" for the pairs of one direction, and "mean state".
    """
    names = list(model.parameters)
    if observed.pairs.size:
        names += unfitted_pairs(model, observed.n_rows).names
    if observed.n_rows < LEAST_ROWS:
        names += ["mean state"] * observed.sums.size
    elif observed.sums.size:
        bounds = sum_bounds(model)
        ends = zip(bounds[:-1].tolist(), (bounds[1:] - 1).tolist(), strict=True)
        names += [f"sum {low}" if low == high else f"sum {low} to {high}" for low, high in ends]
    return names


def second_neighbours(edges: np.ndarray, n_nodes: int, limit: int = MOST_PAIRS) -> np.ndarray:
    """(k, 2) pairs that share a neighbour but no edge, at most ``limit`` of them."""
    if len(edges) == n_nodes * (n_nodes - 1) // 2:
        return np.zeros((0, 2), dtype=np.int64)
    both = np.concatenate([edges, edges[:, ::-1]])
    both = both[np.lexsort(both.T[::-1])]
    offset = np.searchsorted(both[:, 0], np.arange(n_nodes + 1))
    found: set[tuple[int, int]] = set()
    for node in range(n_nodes):  # sets are made as they are needed: a field of a million nodes is left early
        ordered = both[offset[node] : offset[node + 1], 1].tolist()
        for i, a in enumerate(ordered):
            near = set(both[offset[a] : offset[a + 1], 1].tolist())
            found |= {(a, b) for b in ordered[i + 1 :] if b not in near}
        if len(found) >= limit:
            break
    return np.array(sorted(found)[:limit], dtype=np.int64).reshape(-1, 2)
