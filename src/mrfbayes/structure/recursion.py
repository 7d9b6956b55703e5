"""The engine for strips and narrow grids, and which engine a search takes.

Nodes enter one after the other; the frontier is what has entered and still has neighbours to come. The tables are as
large as the frontier, so the search is exact on fields of any length whose width is small.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mrfbayes.base.errors import CostError
from mrfbayes.model.field import Model
from mrfbayes.run.workers import State
from mrfbayes.structure.problem import EdgeBlocks, node_groups
from mrfbayes.structure.search import MOST_STATES, SearchEngine, Sweeps, n_configurations, states_engine

MOST_FRONTIER = 2**17  # configurations of a frontier and the node that enters
MOST_BYTES = 2**30  # of all backward messages
PASSES, PASSES_PER_EDGE = 6, 3  # over each of the tables, in one sweep


class FrontierOrder(NamedTuple):
    """Nodes as they enter, the frontier before each, the sizes of the tables, and the cells that a sweep passes."""

    nodes: list[int]
    frontiers: list[list[int]]
    sizes: list[float]
    cells: float

    @property
    def is_feasible(self) -> bool:
        """Whether its tables are small enough."""
        return max(self.sizes) <= MOST_FRONTIER * 1.001 and 8 * sum(self.sizes) <= MOST_BYTES


def best_order(model: Model) -> FrontierOrder:
    """The order with the fewest cells: as given, across a grid, or one of small bandwidth."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    d, logs = model.n_nodes, np.log2(model.states)
    u, v = model.edges.T
    both = np.concatenate([u, v]), np.concatenate([v, u])
    matrix = coo_array((np.ones(2 * len(u)), both), shape=(d, d)).tocsr()
    orders = [list(range(d)), reverse_cuthill_mckee(matrix, symmetric_mode=True).tolist()]
    if model.grid_shape is not None:
        orders.append(np.arange(d).reshape(model.grid_shape).T.ravel().tolist())
    found = []
    for order in orders:
        place = np.argsort(order)
        closed = np.bincount(place[model.edges].max(axis=1), minlength=d)  # edges that each node closes
        frontiers = _frontiers(model, order, place)
        pairs = zip(order, frontiers, strict=True)
        sizes = [float(2 ** (logs[frontier].sum() + logs[node])) for node, frontier in pairs]
        found.append(
            FrontierOrder(order, frontiers, sizes, float((PASSES + PASSES_PER_EDGE * closed) @ np.array(sizes)))
        )
    return min(found, key=lambda order: order.cells)


def _frontiers(model: Model, order: list[int], place: np.ndarray) -> list[list[int]]:
    """What the frontier is before each node enters, the latest first."""
    last = place.copy()  # when the last neighbour of each node enters
    for u, v in model.edges.tolist():
        last[u], last[v] = max(last[u], place[v]), max(last[v], place[u])
    found: list[list[int]] = []
    current: list[int] = []
    for step, node in enumerate(order):
        found.append(current)
        current = [i for i in [node, *current] if last[i] > step]
    return found


@dataclass(frozen=True, eq=False)
class RecursionEngine:
    """Sizes of the tables and which digits are summed out, for each node; see `FrontierView`."""

    size: np.ndarray
    states: np.ndarray
    drop_offset: np.ndarray
    drop: np.ndarray
    back_offset: np.ndarray

    def run(self, sweeps: Sweeps, carried: State) -> None:
        """See `SearchEngine`."""
        from mrfbayes.kernels.structure.frontier import FrontierView, run_frontier

        (groups, p), most = sweeps.moves.raw_count.shape, int(self.size.max())
        scratch = (np.empty((groups, size)) for size in (int(self.back_offset[-1]), most, most, most, p))
        view = FrontierView(self.size, self.states, self.drop_offset, self.drop, self.back_offset, *scratch)
        run_frontier(sweeps.moves, sweeps.blocks, view, sweeps.line, sweeps.state, sweeps.plan, sweeps.kept)


def recursion_engine(model: Model) -> tuple[RecursionEngine, EdgeBlocks]:
    """The engine that lets the nodes enter one after the other."""
    order = best_order(model)
    if not order.is_feasible:
        raise CostError(
            f"engine = 'recursion' needs tables of {max(order.sizes):.3g} configurations (limit {MOST_FRONTIER}): the "
            "graph is too wide; use engine='particles', or 'states' for a few nodes."
        )
    states, (nodes, frontiers, *_) = model.states, order
    size, drops, drop_offset, back = [], [], [0], [0]
    for step, node in enumerate(nodes):
        current = [node, *frontiers[step]]
        size.append(int(states[current].prod()))
        following = frontiers[step + 1] if step + 1 < len(nodes) else []
        for gone in [i for i in current if i not in following]:
            at = current.index(gone)
            drops.append([states[current[:at]].prod(), states[gone], states[current[at + 1 :]].prod()])
            current.remove(gone)
        drop_offset.append(len(drops))
        back.append(back[-1] + int(states[current].prod()))
    place = np.argsort(nodes)
    edges: list[list[int]] = [[] for _ in nodes]
    for edge, (u, v) in enumerate(model.edges.tolist()):
        edges[max(place[u], place[v])].append(edge)
    together = tuple((node, *frontiers[step]) for step, node in enumerate(nodes))
    blocks = EdgeBlocks(together, tuple(map(tuple, edges)), tuple((node,) for node in nodes), model)
    drop = np.array(drops, dtype=np.int64).reshape(-1, 3)
    sizes, entering, offsets, messages = (np.array(v, dtype=np.int64) for v in (size, states[nodes], drop_offset, back))
    return RecursionEngine(sizes, entering, offsets, drop, messages), blocks


def choose_engine(model: Model, engine: str | None) -> str:
    """The engine that was asked for, or the cheapest exact one, or particles where there is none."""
    if engine is not None:
        return engine
    order, n_states = best_order(model), n_configurations(model)
    if n_states > MOST_STATES * 1.001:
        return "recursion" if order.is_feasible else "particles"
    groups = len(node_groups(model))
    is_cheaper = order.cells < n_states * (1 + 3 * groups * (groups - 1) / 2)
    return "recursion" if order.is_feasible and is_cheaper else "states"


def exact_engine(model: Model, name: str) -> tuple[SearchEngine, EdgeBlocks]:
    """The engine called "states" or "recursion"."""
    return EXACT_ENGINES[name](model)


EXACT_ENGINES: Mapping[str, Callable[[Model], tuple[SearchEngine, EdgeBlocks]]] = {
    "states": states_engine,
    "recursion": recursion_engine,
}
ENGINES = (*EXACT_ENGINES, "particles")
