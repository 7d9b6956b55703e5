"""Searches over graphs where cells are missing: before every sweep they are drawn, given what is seen and the graph.

Gibbs sampling of (missing cells, graph, parameters): the exact conditional of an edge needs the counts of complete
rows, so missing cells are part of what is sampled. Where few cells are missing only the counts matter, and they are
drawn clump by clump (`mrfbayes.exact.clumps`), exactly; where many are, a chain carries completed rows, whose missing
cells make Gibbs sweeps of their own. Both leave the joint posterior as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from mrfbayes.base.errors import InputError
from mrfbayes.base.random_streams import child, generator, kernel_state
from mrfbayes.data.coding import MISSING_CODE
from mrfbayes.data.statistics import Statistics
from mrfbayes.exact.clamped import Observed, observed
from mrfbayes.particles.completions import fill, is_summed, natural_sums, sweep_rows
from mrfbayes.particles.dense import Layout, cell_layout
from mrfbayes.particles.moments import row_statistics
from mrfbayes.run.workers import Chunk, State
from mrfbayes.structure.moves import centring
from mrfbayes.structure.search import SearchTask

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from mrfbayes.kernels.structure.moves import MoveView

RANDOM, COMPLETED = "completions of group {}", "completed rows of group {}"  # names of a chain's arrays
COMPLETING_SWEEPS = 2  # over the missing cells of completed rows, before each sweep over the graph
FILLED_AT_ONCE = 2_048


def starting_counts(statistics: Statistics) -> np.ndarray:
    """(p,) sufficient statistics, every missing cell filled by what was seen elsewhere in its column."""
    holes = statistics.incomplete
    if holes is None:
        return statistics.counts
    rows, total = fill(statistics, generator(np.random.SeedSequence(0), "completed")), statistics.counts.copy()
    for first in range(0, len(rows), FILLED_AT_ONCE):
        part = slice(first, first + FILLED_AT_ONCE)
        total += holes.weight[part] @ row_statistics(statistics.model, rows[part])
    return total


@dataclass(frozen=True, eq=False)
class DrawnClumps:
    """Missing cells drawn independently and exactly, by sums over their clumps."""

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
    """Missing cells that move on by Gibbs sweeps; ``rows`` (k, d) have holes, one for every observation."""

    statistics: Statistics
    layout: Layout
    rows: np.ndarray

    def begin(self, rng: np.random.Generator) -> np.ndarray:
        """See `DrawnClumps`."""
        holes = self.statistics.incomplete
        assert holes is not None
        return np.repeat(fill(self.statistics, rng), holes.weight.astype(np.int64), axis=0)

    def counts(self, w: np.ndarray, rows: np.ndarray, random: np.ndarray) -> np.ndarray:
        """See `DrawnClumps`."""
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

    groups: tuple[DrawnClumps | SweptRows | None, ...]
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


def _completing(statistics: Statistics) -> DrawnClumps | SweptRows | None:
    holes = statistics.incomplete
    if holes is None:
        return None
    if not np.array_equal(holes.weight, np.rint(holes.weight)):
        raise InputError("weights of rows with missing cells must be whole numbers in a search over graphs.")
    layout = cell_layout(statistics.model)
    if is_summed(statistics):
        data = observed(statistics)
        if data.clamped is not None and not data.clamped.large:
            return DrawnClumps(data)
    return SweptRows(statistics, layout, np.repeat(holes.rows, holes.weight.astype(np.int64), axis=0))


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
