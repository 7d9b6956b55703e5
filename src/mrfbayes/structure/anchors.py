r"""Weighted samples instead of a sum over all configurations: where the samples come from.

With samples at an anchor :math:`w_0`, log Z(w) - log Z(w_0) is estimated by the log of the mean of
:math:`e^{(w - w_0)\cdot s}`. Its first derivative at the anchor is the samples' mean of s, which is off by their noise,
and n times that noise is what would shift the posterior most. So the data's statistics are moved along,
:math:`s' = s + n (\hat\mu - \mu(w_0))`, with :math:`\mu(w_0)` from many more sweeps of the same samples.

The anchor is where the posterior is: it starts at the pseudolikelihood's mode under the slab, and moves to the
model-averaged mean of short runs. The final samples are drawn twice, independently; the chains take turns with the two
sets, and the difference between them is part of the result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mrfbayes.base.errors import MRFWarning
from mrfbayes.base.progress import Progress
from mrfbayes.base.random_streams import child
from mrfbayes.data.statistics import Statistics
from mrfbayes.model.field import Model
from mrfbayes.structure.edge_blocks import EdgeBlocks
from mrfbayes.structure.factors import EdgeFactors
from mrfbayes.structure.graph_priors import GraphPrior
from mrfbayes.structure.moves import Coordinates, make_moves
from mrfbayes.structure.search import SearchTask, initial_states, summarise

if TYPE_CHECKING:
    from mrfbayes.kernels.structure.line import LineView
    from mrfbayes.kernels.structure.moves import BlockView, MoveView, SearchState

ANCHOR_PARTICLES = 16_384  # samples of each final set
TRIAL_PARTICLES = 4_096  # of those that only serve to find the anchor
ROUNDS = 2  # short runs that move the anchor
BURN_IN, AVERAGED = 60, 120  # sweeps of the samples before they are used, and over which their mean is taken
TRIAL_SWEEPS, TRIAL_WARMUP = 150, 50  # of the short runs over graphs
FAR_ANCHOR = 4.0  # log-odds of an edge beyond which a first guess is not believed
ROWS_AT_ONCE = 2_048


@dataclass(frozen=True, eq=False)
class WeightedEngine:
    """Samples at an anchor: ``code`` (G, B, M) cells of the blocks' tables, ``size`` (B,), ``anchor`` (G, p)."""

    code: np.ndarray
    size: np.ndarray
    anchor: np.ndarray
    name: str = "particles"

    def run(
        self, moves: MoveView, blocks: BlockView, line: LineView, state: SearchState, plan: object, kept: object
    ) -> None:
        """See `mrfbayes.structure.engines.Engine`."""
        from mrfbayes.kernels.structure.weighted import WeightedView, run_weighted

        groups, p = moves.raw_count.shape
        most = int(self.size.max())
        view = WeightedView(
            self.code,
            self.size,
            self.anchor,
            np.empty((groups, self.code.shape[2])),
            np.empty((groups, most)),
            np.empty((groups, most)),
            np.empty((groups, p)),
        )
        run_weighted(moves, blocks, view, line, state, plan, kept)


@dataclass(frozen=True, eq=False)
class SearchProblem:
    """What is known before any sample is drawn; ``data`` has one entry per group."""

    factors: EdgeFactors
    data: Sequence[Statistics]
    coordinates: Coordinates
    graphs: GraphPrior

    @property
    def model(self) -> Model:
        """The field with all edges that may be there."""
        return self.factors.model

    @property
    def counts(self) -> np.ndarray:
        """(G, p) sufficient statistics."""
        return np.stack([statistics.counts for statistics in self.data])

    @property
    def n(self) -> np.ndarray:
        """(G,) numbers of observations."""
        return np.array([statistics.n for statistics in self.data], dtype=float)

    def moves(self, blocks: EdgeBlocks, counts: np.ndarray | None = None) -> MoveView:
        """The moves, with other statistics than the data's where ``counts`` are given."""
        counts = self.counts if counts is None else counts
        return make_moves(self.factors, counts, self.n, self.coordinates, self.graphs, blocks)


def weighted_parts(
    problem: SearchProblem, blocks: EdgeBlocks, n_particles: int, seed: np.random.SeedSequence, progress: bool
) -> tuple[tuple[tuple[MoveView, WeightedEngine], ...], np.ndarray]:
    """Two independent sets of samples at the same anchor, with the statistics that go with them; and the anchor."""
    with Progress("samples for the search", ROUNDS + 2, progress) as bar:
        anchor = np.stack([_first_guess(problem, statistics, seed) for statistics in problem.data])
        for number in range(ROUNDS):
            bar.update(number, "moving the anchor")
            sampling = Sampling(TRIAL_PARTICLES, BURN_IN // 2, AVERAGED // 3)
            part = _part(problem, blocks, anchor, sampling, child(seed, "trial", number))
            anchor = problem.coordinates.rate @ _trial_mean(problem, blocks, part, child(seed, "trial run", number))
        parts = []
        for number in range(2):
            bar.update(ROUNDS + number, "final samples")
            own = child(seed, "samples", number)
            parts.append(_part(problem, blocks, anchor, Sampling(n_particles, BURN_IN, AVERAGED), own))
    return tuple(parts), anchor


def _first_guess(problem: SearchProblem, statistics: Statistics, seed: np.random.SeedSequence) -> np.ndarray:
    """The pseudolikelihood's mode under the slab, where rows are at hand; else the mode by sampling."""
    import warnings

    from mrfbayes.estimation.estimate import estimate
    from mrfbayes.priors import Prior

    model, slab = problem.model, problem.coordinates.slabs[0]
    m = model.n_edges
    prior = Prior(model, {"edges": slab})
    algorithm = "pseudo" if statistics.n_rows else "pcd"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MRFWarning)  # it is only a start
        found = estimate(model, statistics, algorithm, child(seed, "guess"), prior=prior, progress=False)
    w = np.array(found.log_odds)
    w[:m] = np.clip(w[:m], -FAR_ANCHOR, FAR_ANCHOR)
    return w


class Sampling(NamedTuple):
    """How many samples, sweeps before they are used, and sweeps over which their mean is taken."""

    n_particles: int
    burn_in: int
    averaged: int


def _part(
    problem: SearchProblem, blocks: EdgeBlocks, anchor: np.ndarray, sampling: Sampling, seed: np.random.SeedSequence
) -> tuple[MoveView, WeightedEngine]:
    """Samples of all groups at the anchor, and the moves with the statistics corrected for their noise."""
    counts, codes = problem.counts.astype(float), []
    for group, statistics in enumerate(problem.data):
        rows, noise = _samples(problem.model, anchor[group], sampling, statistics, child(seed, group))
        counts[group] += statistics.n * noise
        codes.append(_codes(blocks, rows))
    engine = WeightedEngine(np.stack(codes), np.array(blocks.n_cells, dtype=np.int64), anchor)
    return problem.moves(blocks, counts), engine


def _samples(
    model: Model, w: np.ndarray, sampling: Sampling, statistics: Statistics, seed: np.random.SeedSequence
) -> tuple[np.ndarray, np.ndarray]:
    """Samples (M, d) at w, and by how much their mean of s is off."""
    from mrfbayes.particles.moments import particles_at, row_statistics

    chains = particles_at(model, w, sampling.n_particles, sampling.burn_in, seed, statistics)
    mean = chains.advance(w, sampling.averaged)
    rows = chains.rows()
    own = np.zeros(model.n_parameters)
    for first in range(0, len(rows), ROWS_AT_ONCE):
        own += row_statistics(model, rows[first : first + ROWS_AT_ONCE]).sum(axis=0)
    return rows, own / len(rows) - mean


def _codes(blocks: EdgeBlocks, rows: np.ndarray) -> np.ndarray:
    """(B, M) which cell of each block's table every sample lies in."""
    found = np.zeros((len(blocks.nodes), len(rows)), dtype=np.uint16)
    for block, nodes in enumerate(blocks.nodes):
        for node in nodes:
            found[block] = found[block] * np.uint16(blocks.model.states[node]) + rows[:, node]
    return found


def _trial_mean(
    problem: SearchProblem, blocks: EdgeBlocks, part: tuple[MoveView, WeightedEngine], seed: np.random.SeedSequence
) -> np.ndarray:
    """Model-averaged means (C, p) of a short run."""
    factors = problem.factors
    task = SearchTask((part,), blocks.view(factors.first, factors.size), TRIAL_WARMUP, TRIAL_SWEEPS)
    start = initial_states(factors, problem.counts.sum(axis=0), float(problem.n.sum()), problem.coordinates, 1, 1, seed)
    state = task.advance(start[0], TRIAL_WARMUP + TRIAL_SWEEPS).state
    return summarise([state]).mean
