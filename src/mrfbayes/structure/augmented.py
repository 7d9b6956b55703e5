"""Searches over graphs where cells are missing: before every sweep they are drawn, given what is seen and the graph.

Gibbs sampling of (missing cells, graph, parameters): the exact conditional of an edge needs the counts of complete
rows, so missing cells are part of what is sampled. Of them only the counts matter; they are drawn clump by clump
(`mrfbayes.exact.clumps`), exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mrfbayes.base.errors import CostError, InputError
from mrfbayes.base.random_streams import child, kernel_state
from mrfbayes.data.statistics import Statistics
from mrfbayes.exact.clamped import Observed, observed
from mrfbayes.run.workers import Chunk, State
from mrfbayes.structure.moves import centring
from mrfbayes.structure.search import SearchTask

RANDOM = "completions"  # the random state of a chain's completions, among its arrays


def starting_counts(statistics: Statistics) -> np.ndarray:
    """(p,) sufficient statistics; what is missing as it would be without interactions."""
    data = observed(statistics)
    if data.clamped is None:
        return statistics.counts
    return np.asarray(data.counts + data.clamped.moments(np.zeros(statistics.model.n_parameters))[1])


@dataclass(frozen=True, eq=False)
class AugmentedTask(SearchTask):
    """The sweeps of ``SearchTask``, each after the counts of missing cells were drawn anew."""

    data: Observed

    def advance(self, state: State, n_steps: int) -> Chunk:
        """``n_steps`` more sweeps from ``state``, which is left as it was."""
        if not n_steps:  # nothing but compilation
            return super().advance(state, 0)
        clamped = self.data.clamped
        assert clamped is not None
        moves, engine = self.parts[0]
        centre = centring(moves)
        kept_w, kept_value = [], []
        for _ in range(n_steps):
            random = state[RANDOM].copy()
            counts = (self.data.counts + clamped.sampled(state["w"][0], random))[None, :]
            centred = np.asarray((centre.T @ counts.T).T)
            drawn = moves._replace(raw_count=counts, total=np.ascontiguousarray(moves.rate.T @ centred))
            whole = SearchTask(((drawn, engine),), self.blocks, self.n_warmup, self.n_thin)
            chunk = whole.advance({**state, RANDOM: random}, 1)
            state = chunk.state
            kept_w.append(chunk.theta)
            kept_value.append(chunk.log_likelihood)
        return Chunk(state, np.concatenate(kept_w), np.concatenate(kept_value))


def augmented(
    task: SearchTask, states: list[State], groups: Sequence[Statistics], seed: np.random.SeedSequence
) -> SearchTask:
    """The task that also draws missing cells, where there are any; each state is given a random stream for that."""
    if all(statistics.holes is None for statistics in groups):
        return task
    if len(groups) > 1:
        raise InputError("groups with missing cells cannot be compared yet: count them with missing='drop'.")
    data, holes = observed(groups[0]), groups[0].holes
    assert holes is not None
    assert data.clamped is not None
    if data.clamped.large:
        raise CostError(
            "a row has more missing cells in one clump than can be enumerated, which a search over graphs does at "
            "every sweep: leave such rows out, or use missing='drop'."
        )
    if not np.array_equal(holes.weight, np.rint(holes.weight)):
        raise InputError("weights of rows with missing cells must be whole numbers in a search over graphs.")
    for number, state in enumerate(states):
        state[RANDOM] = kernel_state(child(seed, "chain", number), "completions")
    return AugmentedTask(task.parts, task.blocks, task.n_warmup, task.n_thin, data)


def refuse_particles(statistics: Statistics, engine: str) -> None:
    """Samples at an anchor have counts that do not change: only exact engines draw missing cells."""
    if statistics.holes is not None and engine == "particles":
        raise CostError(
            "a search over graphs with missing cells needs an exact engine, 'states' or 'recursion': if the field is "
            "too large for both, use missing='drop', or fewer variables."
        )
