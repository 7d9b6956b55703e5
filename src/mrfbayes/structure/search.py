"""Chains over graphs and parameters as the driver takes them: engines, tasks, states, and what they say at the end.

An engine is where the probabilities of a block of nodes come from.

**Missing cells** are drawn before every sweep, given what is seen and the graph: Gibbs sampling of (missing cells,
graph, parameters), for the exact conditional of an edge needs the counts of complete rows. Where few cells are missing
only the counts matter, and they are drawn component by component (`mrfbayes.exact.clamped`), exactly; where many are, a
chain carries completed rows, whose missing cells make Gibbs sweeps of their own. Both leave the joint posterior as it
is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from mrfbayes.base.errors import CostError, InputError
from mrfbayes.base.random_streams import child, generator, kernel_state
from mrfbayes.data.coding import MISSING_CODE
from mrfbayes.data.statistics import Statistics
from mrfbayes.exact.clamped import Observed, observed
from mrfbayes.kernels.structure import moves as kernels
from mrfbayes.kernels.structure.line import LineView, line_view
from mrfbayes.kernels.structure.moves import BlockView, KeptSweeps, MoveView, SearchState
from mrfbayes.model.field import Model
from mrfbayes.particles.completions import fill, is_summed, natural_sums, sweep_rows
from mrfbayes.particles.dense import Layout, cell_layout
from mrfbayes.particles.moments import row_statistics
from mrfbayes.run.workers import Chunk, State
from mrfbayes.structure.moves import Coordinates, centring
from mrfbayes.structure.problem import EdgeBlocks, EdgeFactors, pair_blocks

if TYPE_CHECKING:
    from scipy.sparse import csr_array

MOST_STATES = 2**20  # configurations of the whole field: 8 MB, and 20 ms per sweep
N_BATCHES = 64  # at most, of each chain
LONG_BATCHES, LONG_BATCHES_PER_CHAIN = 32, 8  # at least, that Monte-Carlo errors come from
CHAINS_DIFFER_LEVEL = 1e-3  # of the test whether chains differ, for all edges together


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

    def run(self, sweeps: Sweeps, carried: State) -> None:
        """Make the sweeps; ``carried`` are all arrays of the chain, to which an engine may have added its own."""


@dataclass(frozen=True, eq=False)
class StatesEngine:
    """All configurations of the field in one table; ``shape`` (B, 5) says how each block lies in it."""

    shape: np.ndarray
    n_cells: int

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
class SearchTask:
    """Gibbs sweeps over all edges and nodes; ``parts``: the moves and the engine, chosen by a state's "part"."""

    parts: tuple[tuple[MoveView, SearchEngine], ...]
    blocks: BlockView
    n_warmup: int
    n_thin: int

    @property
    def n_columns(self) -> int:
        """Numbers in a draw: all coordinates of all parameters."""
        return int(self.parts[0][0].total.size)

    def advance(self, state: State, n_steps: int) -> Chunk:
        """``n_steps`` more sweeps from ``state``, which is left as it was."""
        state = {name: array.copy() for name, array in state.items()}
        moves, engine = self.parts[int(state["part"][0])]
        search = SearchState(**{name: state[name] for name in SearchState._fields})
        first = int(search.counters[kernels.KEPT_GRAPHS])
        rows = n_steps // self.n_thin + 1
        kept = KeptSweeps(np.empty((rows, search.w.size)), np.empty(rows), first)
        n_cells = int((moves.layout[:, kernels.FIRST] * moves.layout[:, kernels.SECOND]).max())
        most, contrasts = int(moves.edge[:, 1].max()), moves.rate.shape[1] - 1
        joint = most * max(contrasts, 1) if most > 1 or contrasts > 1 else 0
        line = line_view(moves.n.size, n_cells, moves.node_prior.shape[2] - 1, joint)
        with np.errstate(over="ignore"):  # unsigned arithmetic wraps; NumPy says so only when the JIT is off
            plan = np.array([n_steps, self.n_warmup, self.n_thin], dtype=np.int64)
            engine.run(Sweeps(moves, self.blocks, line, search, plan, kept), state)
        count = int(search.counters[kernels.KEPT_GRAPHS]) - first
        return Chunk(state, kept.w[:count], kept.log_likelihood[:count])

    def check_start(self, number: int, state: State) -> None:
        """Every start is possible: all priors are positive everywhere."""

    def failure(self, state: State) -> str:
        """Why the chain cannot go on; empty where it can."""
        return "" if np.isfinite(state["w"]).all() else "a log-odds is not a number"

    def note(self, states: Sequence[State]) -> str:
        """How many edges there are."""
        return f"{np.mean([state['counters'][kernels.N_PRESENT] for state in states]):.0f} edges"


def initial_states(
    factors: EdgeFactors,
    counts: np.ndarray,
    n: float,
    coordinates: Coordinates,
    n_parts: int,
    chains: int,
    seed: np.random.SeedSequence,
) -> list[State]:
    """A state per chain: node factors at the frequencies, a random half of the edges there with small log-odds."""
    m, p = factors.n_edges, factors.model.n_parameters
    n_coordinates, spikes = coordinates.rate.shape[1], list(coordinates.has_spike)
    frequency = factors.frequencies(counts, n)
    base = np.zeros(p)
    for node, rows in enumerate(factors.nodes):
        last = rows.sum(axis=0) == 0
        if len(rows) and last.any():
            first = factors.first[node]
            weight = rows @ frequency[node]
            base[first : first + len(rows)] = np.log(weight) - np.log(frequency[node][last].sum())
    states: list[State] = []
    for number in range(chains):
        own = child(seed, "chain", number)
        rng = generator(own, "start")
        w = np.zeros((n_coordinates, p))
        w[0] = base
        present = rng.random(m) < 0.5
        there = np.repeat(present, factors.edge_size)
        w[spikes, : there.size] = np.where(there, rng.normal(0.0, 0.1, (sum(spikes), there.size)), 0.0)
        counters = np.zeros(kernels.N_MOVE_COUNTERS, dtype=np.int64)
        counters[kernels.N_PRESENT] = present.sum()
        counters[kernels.BATCH_LENGTH] = 1
        states.append(
            {
                "w": w,
                "present": present.astype(np.uint8),
                "centre": np.zeros((n_coordinates, p)),
                "batches": np.zeros((N_BATCHES, m)),
                "absent": np.zeros(m),
                "moments": np.zeros((2, n_coordinates, p)),
                "sizes": np.zeros(m + 1, dtype=np.int64),
                "numbers": np.zeros(kernels.N_MOVE_NUMBERS),
                "counters": counters,
                "random": kernel_state(own, "moves"),
                "part": np.array([number % n_parts], dtype=np.int64),
            }
        )
    return states


@dataclass(frozen=True)
class SearchSummary:
    """What all sweeps after warm-up say, Rao-Blackwellised.

    Attributes
    ----------
    inclusion, absence : (m,) probability that an edge is there, and that it is not
    inclusion_error : (m,) Monte-Carlo standard error of both
    chain_inclusion : (chains, m) the same per chain
    mean, sd : (C, p) of the coordinates, absence counted as zero
    sizes : (m + 1,) probabilities of the numbers of edges
    sweeps : sweeps per chain that they rest on
    """

    inclusion: np.ndarray
    absence: np.ndarray
    inclusion_error: np.ndarray
    chain_inclusion: np.ndarray
    mean: np.ndarray
    sd: np.ndarray
    sizes: np.ndarray
    sweeps: int


def summarise(states: Sequence[State]) -> SearchSummary:
    """The chains' running sums as probabilities and moments."""
    sizes = np.sum([state["sizes"] for state in states], axis=0)
    sweeps = int(states[0]["sizes"].sum())
    total = sweeps or np.nan  # nothing is known before the first sweep: no zeros that look like absent edges
    by_chain = np.stack([state["batches"].sum(axis=0) for state in states]) / total
    moments = np.mean([state["moments"] for state in states], axis=0) / total
    return SearchSummary(
        by_chain.mean(axis=0),
        np.mean([state["absent"] for state in states], axis=0) / total,
        monte_carlo_error(states),
        by_chain,
        moments[0],
        np.sqrt(np.maximum(moments[1] - moments[0] ** 2, 0.0)),
        sizes / (sizes.sum() or np.nan),
        sweeps,
    )


def monte_carlo_error(states: Sequence[State], sweeps: int | None = None) -> np.ndarray:
    """Standard errors (m,) of the mean over chains of P(present | rest), from the first ``sweeps`` of each chain.

    They come from long batches of all chains about their common mean. Where the means of chains differ by more than
    chance, the chains move more slowly than their batches are long, and the error is that of these means. (With few
    chains it is noisy: the largest over many edges would be twice as large as it is.)
    """
    from scipy.special import fdtri

    length, rows = (int(states[0]["counters"][place]) for place in (kernels.BATCH_LENGTH, kernels.BATCH_ROW))
    rows = rows if sweeps is None else min(rows, sweeps // length)
    batches = np.stack([state["batches"][:rows] for state in states]) / length  # (chains, rows, m)
    chains, _, m = batches.shape
    if chains * rows < 2:
        return np.full(m, np.nan)
    joined = max(1, rows // max(LONG_BATCHES_PER_CHAIN, LONG_BATCHES // chains))
    n_long = rows // joined
    long = batches[:, : n_long * joined].reshape(chains, n_long, joined, m).mean(axis=2)
    error = long.std(axis=(0, 1), ddof=1) * np.sqrt(joined / (chains * rows))
    if chains > 1 and n_long > 1:
        between = batches.mean(axis=1).var(axis=0, ddof=1)
        within = long.var(axis=1, ddof=1).mean(axis=0) * joined / rows
        limit = float(fdtri(chains - 1, chains * (n_long - 1), 1 - CHAINS_DIFFER_LEVEL / m))
        error = np.where(between > limit * within, np.sqrt(between / chains), error)
    return np.asarray(error)


RANDOM, COMPLETED = "completions of group {}", "completed rows of group {}"  # names of a chain's arrays
COMPLETING_SWEEPS = 2  # over the missing cells of completed rows, before each sweep over the graph
FILLED_AT_ONCE = 2_048


def starting_counts(statistics: Statistics) -> np.ndarray:
    """(p,) sufficient statistics, every missing cell filled by what was seen elsewhere in its column."""
    incomplete = statistics.incomplete
    if incomplete is None:
        return statistics.counts
    rows, total = fill(statistics, generator(np.random.SeedSequence(0), "completed")), statistics.counts.copy()
    for first in range(0, len(rows), FILLED_AT_ONCE):
        part = slice(first, first + FILLED_AT_ONCE)
        total += incomplete.weight[part] @ row_statistics(statistics.model, rows[part])
    return total


@dataclass(frozen=True, eq=False)
class DrawnComponents:
    """Missing cells drawn independently and exactly, by sums over their components."""

    data: Observed

    def begin(self, rng: np.random.Generator) -> np.ndarray:
        """Completed rows (k, d) that a chain carries: none, as they are drawn afresh."""
        return np.zeros((0, 0), dtype=np.uint8)

    def counts(self, w: np.ndarray, rows: np.ndarray, random: np.ndarray) -> np.ndarray:
        """Statistics (p,) of all data with missing cells drawn at w; ``rows`` and ``random`` change in place."""
        assert self.data.clamped is not None
        return np.asarray(self.data.counts + self.data.clamped.sampled(w, random))


@dataclass(frozen=True, eq=False)
class SweptRows:
    """Missing cells that move on by Gibbs sweeps; ``rows`` (k, d) have missing cells, one for every observation."""

    statistics: Statistics
    layout: Layout
    rows: np.ndarray

    def begin(self, rng: np.random.Generator) -> np.ndarray:
        """See `DrawnComponents`."""
        incomplete = self.statistics.incomplete
        assert incomplete is not None
        return np.repeat(fill(self.statistics, rng), incomplete.weight.astype(np.int64), axis=0)

    def counts(self, w: np.ndarray, rows: np.ndarray, random: np.ndarray) -> np.ndarray:
        """See `DrawnComponents`."""
        x = rows.astype(float)
        sweep_rows(self.layout, x, self.rows == MISSING_CODE, w, random, COMPLETING_SWEEPS)
        rows[:] = x
        natural = natural_sums(self.layout, x, np.ones(len(x)))
        constant = self.statistics.counts + len(x) * self.layout.constant
        return np.asarray(constant + self.layout.forward.T @ natural)


@dataclass(frozen=True, eq=False)
class Augmentation:
    """The missing cells of all groups.

    Attributes
    ----------
    groups : what draws those of each group; None for a group that lacks none
    known : (G, p) statistics of the groups that lack none
    centre : (p, p) how statistics are centred, as in `mrfbayes.structure.moves.centring`
    """

    groups: tuple[DrawnComponents | SweptRows | None, ...]
    known: np.ndarray
    centre: csr_array

    def begin(self, state: State, seed: np.random.SeedSequence) -> None:
        """Give a chain what it carries: a random stream per group, and completed rows unless it has some."""
        for g, part in enumerate(self.groups):
            if part is not None:
                state[RANDOM.format(g)] = kernel_state(seed, "completions", g)
                state.setdefault(COMPLETED.format(g), part.begin(generator(seed, "completed", g)))

    def carried(self, state: State) -> State:
        """Copies of the arrays that `begin` gave."""
        names = [name.format(g) for g, part in enumerate(self.groups) if part for name in (RANDOM, COMPLETED)]
        return {name: state[name].copy() for name in names}

    def redraw(self, moves: MoveView, state: State) -> MoveView:
        """The moves for data whose missing cells are drawn at the chain's place; its `carried` arrays change."""
        here, counts = moves.rate @ state["w"], self.known.copy()
        for g, part in enumerate(self.groups):
            if part is not None:
                counts[g] = part.counts(here[g], state[COMPLETED.format(g)], state[RANDOM.format(g)])
        total = np.ascontiguousarray(moves.rate.T @ np.asarray((self.centre.T @ counts.T).T))
        return moves._replace(raw_count=counts, total=total)


def augmentation(groups: Sequence[Statistics], moves: MoveView) -> Augmentation | None:
    """What draws the missing cells of the groups; None where there are none."""
    if all(statistics.incomplete is None for statistics in groups):
        return None
    known = np.stack([statistics.counts for statistics in groups]).astype(float)
    return Augmentation(tuple(_completing(statistics) for statistics in groups), known, centring(moves))


def check_weights(statistics: Statistics) -> None:
    """Refuse rows whose missing cells cannot be drawn row by row."""
    incomplete = statistics.incomplete
    if incomplete is not None and not np.array_equal(incomplete.weight, np.rint(incomplete.weight)):
        raise InputError(
            "weights: those of rows with missing cells must be whole numbers in a search over graphs or differences, "
            "which draws the cells of each row: round them, leave these rows out (missing='drop'), or do not search."
        )


def _completing(statistics: Statistics) -> DrawnComponents | SweptRows | None:
    incomplete = statistics.incomplete
    if incomplete is None:
        return None
    check_weights(statistics)
    layout = cell_layout(statistics.model)
    if is_summed(statistics):
        data = observed(statistics)
        if data.clamped is not None and not data.clamped.large:
            return DrawnComponents(data)
    return SweptRows(statistics, layout, np.repeat(incomplete.rows, incomplete.weight.astype(np.int64), axis=0))


@dataclass(frozen=True, eq=False)
class AugmentedTask(SearchTask):
    """The sweeps of ``SearchTask``, each after what is missing was drawn anew."""

    missing: Augmentation

    def advance(self, state: State, n_steps: int) -> Chunk:
        """``n_steps`` more sweeps from ``state``, which is left as it was."""
        if not n_steps:  # nothing but compilation
            return super().advance(state, 0)
        part = state["part"].copy()
        moves, engine = self.parts[int(part[0])]
        state = {**state, **self.missing.carried(state), "part": np.zeros_like(part)}
        kept_w, kept_value = [], []
        for _ in range(n_steps):
            drawn = self.missing.redraw(moves, state)
            chunk = SearchTask(((drawn, engine),), self.blocks, self.n_warmup, self.n_thin).advance(state, 1)
            state = chunk.state
            kept_w.append(chunk.draws)
            kept_value.append(chunk.log_likelihood)
        state["part"] = part
        return Chunk(state, np.concatenate(kept_w), np.concatenate(kept_value))


def augmented(
    task: SearchTask, states: list[State], groups: Sequence[Statistics], seed: np.random.SeedSequence
) -> SearchTask:
    """The task that also draws missing cells, where there are any; each state is given what that needs."""
    missing = augmentation(groups, task.parts[0][0])
    if missing is None:
        return task
    for number, state in enumerate(states):
        missing.begin(state, child(seed, "chain", number))
    return AugmentedTask(task.parts, task.blocks, task.n_warmup, task.n_thin, missing)
