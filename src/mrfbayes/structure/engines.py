"""Where the probabilities of a block of nodes come from: the engines of a search over graphs, and which one to take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from mrfbayes.base.errors import CostError
from mrfbayes.model.field import Model
from mrfbayes.run.workers import State
from mrfbayes.structure.problem import EdgeBlocks, node_groups, pair_blocks

if TYPE_CHECKING:
    from mrfbayes.kernels.structure.line import LineView
    from mrfbayes.kernels.structure.moves import BlockView, KeptSweeps, MoveView, SearchState

ENGINES = ("states", "recursion", "particles")
MOST_STATES = 2**20  # configurations of the whole field: 8 MB, and 20 ms per sweep
MOST_FRONTIER = 2**17  # configurations of a frontier and the node that enters
MOST_BYTES = 2**30  # of all backward messages
PASSES, PASSES_PER_EDGE = 6, 3  # of the recursion over each of its tables, in one sweep


class Sweeps(NamedTuple):
    """What an engine is given: the moves, their order, scratch, where the chain is, and where its draws go.

    ``plan`` says how many sweeps to make, how many of all are warm-up, and which are kept.
    """

    moves: MoveView
    blocks: BlockView
    line: LineView
    state: SearchState
    plan: np.ndarray
    kept: KeptSweeps


class SearchEngine(Protocol):
    """Runs sweeps over all blocks. It is sent to workers, so it holds no scratch."""

    @property
    def name(self) -> str:
        """As the user calls it."""

    def run(self, sweeps: Sweeps, carried: State) -> None:
        """Make the sweeps; ``carried`` are all arrays of the chain, to which an engine may have added its own."""


@dataclass(frozen=True, eq=False)
class StatesEngine:
    """All configurations of the field in one table; ``shape`` (B, 5) says how each block lies in it."""

    shape: np.ndarray
    n_cells: int
    name: str = "states"

    def run(self, sweeps: Sweeps, carried: State) -> None:
        """See `SearchEngine`."""
        groups, p = sweeps.moves.raw_count.shape
        run_on_tables(sweeps, self.shape, np.empty((groups, 0, 0), np.uint16), np.zeros((groups, p)), self.n_cells)


def run_on_tables(sweeps: Sweeps, shape: np.ndarray, code: np.ndarray, anchor: np.ndarray, n_weights: int) -> None:
    """Sweeps on ``n_weights`` weights of each group, of all configurations or of samples; see `WeightsView`."""
    from mrfbayes.kernels.structure.table_weights import WeightsView, run_tables

    groups, most = len(anchor), int((shape[:, 1] * shape[:, 3]).max())
    scratch = (np.empty((groups, size)) for size in (n_weights, most, most, anchor.shape[1]))
    view = WeightsView(shape, code, anchor, *scratch)
    run_tables(sweeps.moves, sweeps.blocks, view, sweeps.line, sweeps.state, sweeps.plan, sweeps.kept)


def n_configurations(model: Model) -> float:
    """Configurations of the whole field, as a float: it may be huge."""
    return float(np.exp(np.log(model.states).sum()))


def states_engine(model: Model) -> tuple[StatesEngine, EdgeBlocks]:
    """The engine on all configurations."""
    if n_configurations(model) > MOST_STATES * 1.001:
        raise CostError(
            f"engine = 'states' needs a table of {n_configurations(model):.3g} configurations (limit {MOST_STATES}): "
            "use engine='particles', or 'recursion' where the graph is a strip or a narrow grid."
        )
    blocks, groups, pairs = pair_blocks(model)
    sizes = np.array([int(np.prod(model.states[group])) for group in groups], dtype=np.int64)
    shape = [
        [1, sizes[0], 1, 1, 1]
        if g == h
        else [sizes[:g].prod(), sizes[g], sizes[g + 1 : h].prod(), sizes[h], sizes[h + 1 :].prod()]
        for g, h in pairs
    ]
    return StatesEngine(np.array(shape, dtype=np.int64), int(sizes.prod())), blocks


@dataclass(frozen=True, eq=False)
class RecursionEngine:
    """Nodes one after the other: the sizes of the tables and which digits are summed out, for each."""

    size: np.ndarray
    states: np.ndarray
    drop_offset: np.ndarray
    drop: np.ndarray
    back_offset: np.ndarray
    name: str = "recursion"

    def run(self, sweeps: Sweeps, carried: State) -> None:
        """See `SearchEngine`."""
        from mrfbayes.kernels.structure.frontier import FrontierView, run_frontier

        groups, p = sweeps.moves.raw_count.shape
        most = int(self.size.max())
        view = FrontierView(
            self.size,
            self.states,
            self.drop_offset,
            self.drop,
            self.back_offset,
            np.empty((groups, int(self.back_offset[-1]))),
            np.empty((groups, most)),
            np.empty((groups, most)),
            np.empty((groups, most)),
            np.empty((groups, p)),
        )
        run_frontier(sweeps.moves, sweeps.blocks, view, sweeps.line, sweeps.state, sweeps.plan, sweeps.kept)


def _frontiers(model: Model, order: list[int]) -> list[list[int]]:
    """What the frontier is before each node enters, the latest first."""
    place = np.empty(model.n_nodes, dtype=np.int64)
    place[order] = np.arange(model.n_nodes)
    last = place.copy()  # when the last neighbour of each node enters
    for u, v in model.edges.tolist():
        last[u], last[v] = max(last[u], place[v]), max(last[v], place[u])
    found: list[list[int]] = []
    current: list[int] = []
    for step, node in enumerate(order):
        found.append(current)
        current = [i for i in [node, *current] if last[i] > step]
    return found


def _orders(model: Model) -> list[list[int]]:
    """Orders in which the nodes may enter: as given, across a grid, and one of small bandwidth."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    d = model.n_nodes
    orders = [list(range(d))]
    if model.grid_shape is not None:
        orders.append(np.arange(d).reshape(model.grid_shape).T.ravel().tolist())
    u, v = model.edges.T
    matrix = coo_array((np.ones(2 * len(u)), (np.concatenate([u, v]), np.concatenate([v, u]))), shape=(d, d)).tocsr()
    orders.append(reverse_cuthill_mckee(matrix, symmetric_mode=True).tolist())
    return orders


def _best_order(model: Model) -> tuple[list[int], list[float], float]:
    """The order with the smallest tables, their sizes, and the table cells that one sweep goes through."""
    found: list[tuple[list[int], list[float], float]] = []
    logs = np.log2(model.states)
    for order in _orders(model):
        place = np.argsort(order)
        closed = np.bincount(place[model.edges].max(axis=1), minlength=model.n_nodes)  # edges that each node closes
        pairs = zip(order, _frontiers(model, order), strict=True)
        sizes = [float(2 ** (logs[frontier].sum() + logs[node])) for node, frontier in pairs]
        found.append((order, sizes, float((PASSES + PASSES_PER_EDGE * closed) @ np.array(sizes))))
    return min(found, key=lambda entry: entry[2])


def recursion_cells(model: Model) -> float:
    """Table cells that one sweep of the recursion goes through."""
    return _best_order(model)[2]


def recursion_engine(model: Model) -> tuple[RecursionEngine, EdgeBlocks]:
    """The engine that lets the nodes enter one after the other."""
    order, sizes, _ = _best_order(model)
    largest = max(sizes)
    if largest > MOST_FRONTIER * 1.001 or 8 * sum(sizes) > MOST_BYTES:
        raise CostError(
            f"engine = 'recursion' needs tables of {largest:.3g} configurations (limit {MOST_FRONTIER}): the graph is "
            "too wide; use engine='particles', or 'states' for a few nodes."
        )
    frontiers = _frontiers(model, order)
    states = model.states
    size, drops, drop_offset, back = [], [], [0], [0]
    for step, node in enumerate(order):
        current = [node, *frontiers[step]]
        size.append(int(states[current].prod()))
        following = frontiers[step + 1] if step + 1 < len(order) else []
        for gone in [i for i in current if i not in following]:
            at = current.index(gone)
            drops.append([states[current[:at]].prod(), states[gone], states[current[at + 1 :]].prod()])
            current.remove(gone)
        drop_offset.append(len(drops))
        back.append(back[-1] + int(states[current].prod()))
    place = {node: step for step, node in enumerate(order)}
    edges: list[list[int]] = [[] for _ in order]
    for edge, (u, v) in enumerate(model.edges.tolist()):
        edges[max(place[u], place[v])].append(edge)
    nodes = tuple((node, *frontiers[step]) for step, node in enumerate(order))
    blocks = EdgeBlocks(nodes, tuple(map(tuple, edges)), tuple((node,) for node in order), model)
    engine = RecursionEngine(
        np.array(size, dtype=np.int64),
        np.array(states[order], dtype=np.int64),
        np.array(drop_offset, dtype=np.int64),
        np.array(drops, dtype=np.int64).reshape(-1, 3),
        np.array(back, dtype=np.int64),
    )
    return engine, blocks


def choose_engine(model: Model, engine: str | None) -> str:
    """The engine that was asked for, or the cheapest exact one, or particles where there is none."""
    if engine is not None:
        return engine
    _, sizes, recursion_cost = _best_order(model)
    fits_recursion = max(sizes) <= MOST_FRONTIER and 8 * sum(sizes) <= MOST_BYTES
    if n_configurations(model) > MOST_STATES * 1.001:
        return "recursion" if fits_recursion else "particles"
    groups = len(node_groups(model))
    states_cost = n_configurations(model) * (1 + 3 * groups * (groups - 1) / 2)
    return "recursion" if fits_recursion and recursion_cost < states_cost else "states"


def exact_engine(model: Model, name: str) -> tuple[SearchEngine, EdgeBlocks]:
    """The engine called "states" or "recursion"."""
    return states_engine(model) if name == "states" else recursion_engine(model)
