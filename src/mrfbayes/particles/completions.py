"""Expected statistics of rows with missing cells, at given parameters of a dense field: summed exactly, or sampled.

Both kinds give, for several w at once, the expected sufficient statistics of all data (the E-step of the EM algorithm),
once for each of two halves whose difference is pure noise: none where the sums are exact.
"""

from __future__ import annotations

import numpy as np

from mrfbayes.base.random_streams import generator, kernel_state
from mrfbayes.data.coding import MISSING_CODE
from mrfbayes.data.statistics import Statistics
from mrfbayes.exact.clamped import Observed, component_rows, configurations, observed
from mrfbayes.kernels.particles.rows import MissingNodes, complete_by_tables, complete_rows
from mrfbayes.model.natural_form import PRODUCT_FORM, DenseLayout
from mrfbayes.particles.dense import Layout, TableLayout
from mrfbayes.particles.moments import row_statistics, row_view

HALVES = 2
SUMMED = 250_000  # completions of all rows up to which they are summed over: some milliseconds for each w
START_ROWS = 4_096


class Completions:
    """The expected statistics of all data, given what is seen of them: exact sums, or the counts of complete data."""

    def __init__(self, data: Observed) -> None:
        self._data, self.n = data, data.n

    def counts(self, w: np.ndarray, sweeps: int) -> np.ndarray:
        """(k, 2, p) of both halves at each w of (k, p); exact sums are the same in both."""
        clamped = self._data.clamped
        found = [self._data.counts + (0.0 if clamped is None else clamped.moments(each)[1]) for each in w]
        return np.repeat(np.stack(found)[:, None], HALVES, axis=1)

    def at(self, w: np.ndarray, sweeps: int) -> np.ndarray:
        """At one w (p,): (p,) where they are exact, else (2 replicas, p), half by half."""
        return np.asarray(self.counts(w[None], sweeps)[0, 0])

    def covariance(self, w: np.ndarray) -> np.ndarray | None:
        """Sum of the rows' Cov[s | seen] (p, p) at w (p,); None for complete data."""
        return None if self._data.clamped is None else self._data.clamped.covariance(w)

    def arrays(self) -> dict[str, np.ndarray]:
        """What changes from call to call, to be stored."""
        return {}

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Go on from what `arrays` gave."""


class SampledCompletions(Completions):
    """Clamped chains: each of ``replicas`` has two completions of every row with incomplete, swept at its own w."""

    def __init__(self, layout: Layout, statistics: Statistics, replicas: int, seed: np.random.SeedSequence) -> None:
        incomplete = statistics.incomplete
        assert incomplete is not None
        self._layout, self._incomplete = layout, incomplete
        self._complete, self.n = statistics.counts, statistics.n_all
        self._list = missing_list(layout, ~incomplete.seen)
        rng = generator(seed, "completions")
        filled = [fill(statistics, rng) for _ in range(replicas * HALVES)]
        self._x = np.stack(filled).reshape(replicas, HALVES, *incomplete.rows.shape).astype(float)
        self._random = kernel_state(seed, "completions")
        self._back = layout.forward.T.tocsr()

    def counts(self, w: np.ndarray, sweeps: int) -> np.ndarray:
        """(k, 2, p) of both halves, after a sweep each, averaged over ``sweeps`` of them."""
        out = np.zeros((len(w), HALVES, self._layout.n_natural))
        for k, each in enumerate(w):
            for _ in range(sweeps):
                _sweep_cells(self._layout, self._x[k], self._list, each, self._random, 1)
                out[k] += [natural_sums(self._layout, x, self._incomplete.weight) for x in self._x[k]]
        total = (out / sweeps).reshape(-1, self._layout.n_natural)
        found = self._complete + self._incomplete.n * self._layout.constant + np.asarray((self._back @ total.T).T)
        return np.asarray(found.reshape(len(w), HALVES, -1))

    def at(self, w: np.ndarray, sweeps: int) -> np.ndarray:
        """(2 replicas, p) at one w, half by half."""
        return self.counts(np.tile(w, (len(self._x), 1)), sweeps).reshape(-1, w.size)

    def covariance(self, w: np.ndarray) -> np.ndarray | None:
        """Sum of the rows' Cov[s | seen] (p, p), from the scatter of the chains of one row, all swept at w."""
        for chains in self._x:
            _sweep_cells(self._layout, chains, self._list, w, self._random, 4)
        x = self._x.reshape(-1, *self._x.shape[2:])  # (chains, rows, d)
        total = np.zeros((self._layout.n_natural,) * 2)
        for r in range(0, x.shape[1], 64):
            t = _natural(self._layout, x[:, r : r + 64])
            t -= t.mean(axis=0)
            t *= np.sqrt(self._incomplete.weight[r : r + 64] / (len(x) - 1))[:, None]
            flat = t.reshape(-1, t.shape[2])
            total += flat.T @ flat
        return np.asarray(self._back @ (self._back @ total).T)

    def arrays(self) -> dict[str, np.ndarray]:
        """The completions and the random state."""
        return {"completions": self._x.astype(np.uint8), "completions_random": self._random.copy()}

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Go on from what `arrays` gave."""
        self._x[:] = arrays["completions"]
        self._random[:] = arrays["completions_random"]


def complete_by_gibbs(
    layout: Layout, rows: np.ndarray, w: np.ndarray, state: np.ndarray, sweeps: int = 60
) -> np.ndarray:
    """``rows`` (k, d) with their missing cells filled at w, after ``sweeps`` Gibbs sweeps from state 0."""
    x = np.where(rows == MISSING_CODE, 0, rows).astype(float)
    sweep_rows(layout, x, rows == MISSING_CODE, w, state, sweeps)
    return x.astype(np.uint8)


def sweep_rows(
    layout: Layout, x: np.ndarray, missing: np.ndarray, w: np.ndarray, state: np.ndarray, sweeps: int
) -> None:
    """Gibbs sweeps at w over the cells of ``x`` (k, d) float64 where ``missing`` is true, in place."""
    _sweep_cells(layout, x[None], missing_list(layout, missing), w, state, sweeps)


def _sweep_cells(
    layout: Layout, parts: np.ndarray, missing: MissingNodes, w: np.ndarray, state: np.ndarray, sweeps: int
) -> None:
    """Gibbs sweeps over the missing cells of each of ``parts`` (c, k, d) float64, one after the other."""
    weights = np.empty(int(layout.states.max()))
    if isinstance(layout, TableLayout):
        view, potential = row_view(layout.model), np.concatenate(layout.model.lowering.potentials(w))
        for x in parts:
            complete_by_tables(x, missing, view, potential, sweeps, state, weights)
        return
    coupling, level = natural_tables(layout, w)
    for x in parts:
        complete_rows(x, missing, coupling, level, layout.coupling == PRODUCT_FORM, sweeps, state, weights)


def _natural(layout: Layout, x: np.ndarray) -> np.ndarray:
    """T (..., natural) of the states ``x`` (..., d) float64."""
    if isinstance(layout, TableLayout):
        found = row_statistics(layout.model, x.reshape(-1, x.shape[-1]).astype(np.uint8))
        return found.reshape(*x.shape[:-1], -1)
    (u, v), (node, state) = layout.pairs.T, layout.levels
    return np.concatenate([layout.values(x[..., u], x[..., v]), x[..., node] == state], axis=-1)


def missing_list(layout: Layout, missing: np.ndarray) -> MissingNodes:
    """The missing nodes of each row, where ``missing`` (k, d) is true."""
    row, node = np.nonzero(missing)
    start = np.searchsorted(row, np.arange(len(missing) + 1))
    return MissingNodes(start.astype(np.int64), node.astype(np.int64), layout.states.astype(np.int64))


def natural_sums(layout: Layout, x: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """(natural,) weighted sums of T over the rows of ``x`` (k, d) float64."""
    if isinstance(layout, TableLayout):
        return np.asarray(weight @ _natural(layout, x))
    (u, v), most, d = layout.pairs.T, int(layout.states.max()), x.shape[1]
    if layout.coupling == PRODUCT_FORM:
        products = (x * weight[:, None]).T @ x
    else:
        planes = [(x == a).astype(float) for a in range(most)]
        products = np.sum([(plane * weight[:, None]).T @ plane for plane in planes], axis=0)
    place = (np.arange(d) * most + x.astype(np.int64)).ravel()
    cells = np.bincount(place, weights=np.repeat(weight, d), minlength=d * most).reshape(d, most)
    return np.concatenate([products[u, v], cells[layout.levels]])


def natural_tables(layout: DenseLayout, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Couplings (d, d) and levels (d, R), nothing at state 0, of the field at w."""
    d, most = layout.states.size, int(layout.states.max())
    natural = layout.forward @ w
    u, v = layout.pairs.T
    node, state = layout.levels
    coupling, level = np.zeros((d, d)), np.zeros((d, most))
    coupling[u, v] = coupling[v, u] = natural[: u.size]
    level[node, state] = natural[u.size :]
    return coupling, level


def make_completions(
    layout: Layout, statistics: Statistics, replicas: int, seed: np.random.SeedSequence
) -> Completions:
    """Exact sums where completions are few, or no cell is missing; else chains for each of ``replicas``."""
    if is_summed(statistics):
        return Completions(observed(statistics))
    return SampledCompletions(layout, statistics, replicas, seed)


def is_summed(statistics: Statistics) -> bool:
    """Whether missing cells are few enough to be summed over at every step."""
    if statistics.incomplete is None:
        return True
    found = component_rows(statistics.model, statistics.incomplete)
    return bool(configurations(statistics.model, found.rows).sum() <= SUMMED)


def fill(statistics: Statistics, rng: np.random.Generator) -> np.ndarray:
    """(k, d) the rows with missing cells, filled by what was seen elsewhere in the column: a start, no more."""
    incomplete, model = statistics.incomplete, statistics.model
    assert incomplete is not None
    cells = seen_cells(statistics)
    rows = incomplete.rows.copy()
    for i in range(model.n_nodes):
        missing = np.flatnonzero(rows[:, i] == MISSING_CODE)
        share = cells[model.lowering.node_offset[i] : model.lowering.node_offset[i + 1]] + 0.5
        rows[missing, i] = rng.choice(share.size, size=missing.size, p=share / share.sum())
    return rows


def seen_cells(statistics: Statistics) -> np.ndarray:
    """Weight of every state of every node wherever it was seen, flat as the node tables are."""
    incomplete, model = statistics.incomplete, statistics.model
    assert incomplete is not None
    cells = incomplete.seen_cells(model)
    if statistics.node_part is not None:
        part = statistics.node_part
        cells = cells + (np.stack([statistics.n - part, part], axis=1).ravel() if model.is_binary else part)
    return cells


def typical_rows(statistics: Statistics, rng: np.random.Generator) -> np.ndarray:
    """(k, d) up to 4,096 rows like the data, each worth the same, missing cells filled: for starts."""
    incomplete, rows, weights = statistics.incomplete, statistics.rows, statistics.row_weights
    if incomplete is None and (weights == weights[:1]).all():
        return rows
    if incomplete is not None:
        rows, weights = np.concatenate([rows, fill(statistics, rng)]), np.concatenate([weights, incomplete.weight])
    size = int(min(START_ROWS, max(round(statistics.n_all), 1)))
    return np.asarray(rows[rng.choice(weights.size, size=size, p=weights / weights.sum())])
