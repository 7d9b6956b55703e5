r"""The engine on weighted samples: samples at an anchor that are moved on all the time.

With samples at an anchor :math:`w_0`, log Z(w) - log Z(w_0) is estimated by the log of the mean of
:math:`e^{(w - w_0)\cdot s}`. Its first derivative at the anchor is the samples' mean of s, which is off by their noise,
and n times that noise is what would shift the posterior most. So the data's statistics are moved along,
:math:`s' = s + n (\hat\mu - \mu(w_0))`, with :math:`\mu(w_0)` from many more sweeps of the samples. What is left is
noise of second order, and it does not stay: every few sweeps over the graph the samples make some Gibbs sweeps at the
anchor, so that a chain averages over it.

The anchor is where the posterior is. A chain over graphs starts at the pseudolikelihood's mode under the slab and is
followed by samples of its own, which are moved to wherever it is before each of its sweeps: their weights never have to
reach farther than one sweep. The mean of what it visits is the anchor. Where the weights of the samples are too uneven
there, the chain is followed on from that place. The final samples are drawn twice, independently; chains take turns
with the two sets, and the difference between them is part of the result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mrfbayes.base.budget import budget
from mrfbayes.base.errors import MRFWarning
from mrfbayes.base.progress import Progress
from mrfbayes.base.random_streams import child, generator
from mrfbayes.data.statistics import Statistics, count_states
from mrfbayes.kernels.structure.moves import BATCH_LENGTH, N_PRESENT, SWEEP, MoveView
from mrfbayes.model.field import Model
from mrfbayes.particles.completions import typical_rows
from mrfbayes.run.workers import State
from mrfbayes.structure.moves import Coordinates, centring, make_moves
from mrfbayes.structure.moving_samples import SampleSource, sample_source
from mrfbayes.structure.problem import EdgeBlocks, EdgeFactors, GraphPrior
from mrfbayes.structure.search import (
    COMPLETED,
    Augmentation,
    SearchTask,
    Sweeps,
    augmentation,
    initial_states,
    run_on_tables,
    starting_counts,
    summarise,
)

if TYPE_CHECKING:
    from scipy.sparse import csr_array

RENEWED_EVERY, RENEWED_BY = 10, 2  # sweeps over the graph, and Gibbs sweeps of the samples between them
REMEMBERED = 8  # sets of samples
WEIGHED = 2_048  # samples whose weights are looked at, at most


class _Seen(NamedTuple):
    """Of one set of samples: the cells (G, B, M) in which they lie, and by how much their mean of s is off (G, p)."""

    code: np.ndarray
    noise: np.ndarray | None


@dataclass(frozen=True, eq=False)
class WeightedEngine:
    """Samples at an anchor, carried by the chains as "samples" (G, M, d) and "streams" (G, ...).

    Attributes
    ----------
    source : what moves the samples; they stay where they are if it is None
    blocks : on whose tables edges and nodes are updated
    anchor : (G, p) log-odds
    mean : (G, p) mean of s at the anchor; None takes that of the samples themselves
    seen : what was computed from the latest sets of samples, so that a chain in short pieces costs no more
    centre : (p, p) how statistics are centred, as in `mrfbayes.structure.moves.centring`; None where it is not needed
    """

    source: SampleSource
    blocks: EdgeBlocks
    anchor: np.ndarray
    mean: np.ndarray | None
    centre: csr_array | None
    seen: dict[bytes, _Seen] = field(default_factory=dict, repr=False)

    def run(self, sweeps: Sweeps, carried: State) -> None:
        """See `mrfbayes.structure.search.SearchEngine`."""
        rows, streams = carried["samples"], carried["streams"]
        left = int(sweeps.plan[0])
        while left:
            done = int(sweeps.state.counters[SWEEP])
            if self.mean is not None and done and done % RENEWED_EVERY == 0:
                for group in range(len(rows)):
                    samples = self.source.open(group, rows.shape[1])
                    samples.move(self.anchor[group], rows[group], streams[group], RENEWED_BY)
            now = min(left, RENEWED_EVERY - done % RENEWED_EVERY)
            self._sweep(sweeps, self._look(rows, streams), now)
            left -= now

    def _look(self, rows: np.ndarray, streams: np.ndarray) -> _Seen:
        """What is computed from the samples; their streams say which samples they are."""
        key = streams.tobytes()
        if key not in self.seen:
            while len(self.seen) >= REMEMBERED:
                del self.seen[next(iter(self.seen))]
            noise = None
            if self.mean is not None:
                means = [self.source.open(group, len(some)).mean(some) for group, some in enumerate(rows)]
                noise = np.stack(means) - self.mean
            self.seen[key] = _Seen(np.stack([cell_codes(self.blocks, group) for group in rows]), noise)
        return self.seen[key]

    def _sweep(self, sweeps: Sweeps, seen: _Seen, count: int) -> None:
        moves = sweeps.moves
        if seen.noise is not None and self.centre is not None:  # the statistics that go with the present samples
            extra = moves.n[:, None] * seen.noise
            total = moves.total + moves.rate.T @ (extra @ self.centre)
            moves = moves._replace(raw_count=moves.raw_count + extra, total=np.ascontiguousarray(total))
        shape = np.ones((len(self.blocks.nodes), 5), dtype=np.int64)
        shape[:, 1] = self.blocks.n_cells
        n_samples = seen.code.shape[2]
        plan = np.array([count, *sweeps.plan[1:]], dtype=np.int64)
        line = sweeps.line._replace(least=0.5 / n_samples)
        run_on_tables(sweeps._replace(moves=moves, plan=plan, line=line), shape, seen.code, self.anchor, n_samples)

    def effective_share(self, rate: np.ndarray, state: State) -> float:
        """Effective number of the samples' weights at a chain's present place, relative to their number; the worst."""
        found = []
        for group, rows in enumerate(state["samples"]):
            some = rows[: self.source.round_up(min(WEIGHED, len(rows)))]
            moved = rate[group] @ state["w"] - self.anchor[group]
            log_weight = self.source.open(group, len(some)).statistics(some) @ moved
            weight = np.exp(log_weight - log_weight.max())
            found.append(weight.sum() ** 2 / (len(weight) * (weight @ weight)))
        return float(min(found))


def weighted_engine(
    source: SampleSource, blocks: EdgeBlocks, anchor: np.ndarray, mean: np.ndarray | None, moves: MoveView
) -> WeightedEngine:
    """The engine for samples at ``anchor`` and the moves that it will make."""
    centre = None if mean is None else centring(moves)
    return WeightedEngine(source, blocks, np.ascontiguousarray(anchor), mean, centre)


def cell_codes(blocks: EdgeBlocks, rows: np.ndarray) -> np.ndarray:
    """(B, M) which cell of each block's table every sample lies in."""
    columns = np.ascontiguousarray(rows.T).astype(np.uint16)
    found = np.zeros((len(blocks.nodes), len(rows)), dtype=np.uint16)
    for code, nodes in zip(found, blocks.nodes, strict=True):
        for node in nodes:
            code *= np.uint16(blocks.model.states[node])
            code += columns[node]
    return found


ANCHOR_PARTICLES = 8_192  # samples of each final set
FOLLOWING = 4_096  # samples that follow the chain which finds the anchor
FOLLOWED, FOLLOWED_WARMUP = 90, 30  # sweeps of that chain
BETWEEN_SWEEPS = 3  # Gibbs sweeps of the samples that follow, before each sweep over the graph
# Sweeps of the final samples before they are used, and over which their mean is taken.
ANCHOR_BURN_IN, ANCHOR_SWEEPS = 60, 240
ROUNDS = 3  # of following, at most
EVEN_ENOUGH = 0.1  # effective share of the weights that ends them
FAR_ANCHOR = 4.0  # log-odds of an edge beyond which a first guess is not believed
CHAIN_STARTS = 8  # places of the chain at which those of the search start, in turn


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
        return np.stack([starting_counts(statistics) for statistics in self.data])

    @property
    def n(self) -> np.ndarray:
        """(G,) numbers of observations."""
        return np.array([statistics.n_all for statistics in self.data], dtype=float)

    def moves(self, blocks: EdgeBlocks) -> MoveView:
        """The moves of edges and nodes."""
        return make_moves(self.factors, self.counts, self.n, self.coordinates, self.graphs, blocks)

    def states(self, chains: int, n_parts: int, seed: np.random.SeedSequence) -> list[State]:
        """Where the chains start: node factors at the frequencies, a random half of the edges there."""
        counts, n = self.counts.sum(axis=0), float(self.n.sum())
        return initial_states(self.factors, counts, n, self.coordinates, n_parts, chains, seed)


class SampleSet(NamedTuple):
    """Samples of all groups, (G, M, d), and their random streams (G, ...)."""

    rows: np.ndarray
    streams: np.ndarray


@dataclass(frozen=True, eq=False)
class WeightedParts:
    """Two sets of samples at one anchor, with an engine for each; and places at which chains may start."""

    moves: MoveView
    engines: tuple[WeightedEngine, ...]
    sets: tuple[SampleSet, ...]
    starts: tuple[State, ...]

    def begin(self, states: list[State], seed: np.random.SeedSequence) -> list[State]:
        """The chains' states with samples and streams of their own, where the chain that was followed has been."""
        for number, state in enumerate(states):
            start = self.starts[number % len(self.starts)]
            completed = [COMPLETED.format(group) for group in range(len(self.moves.n))]
            for name in ("w", "present", "centre", *(name for name in completed if name in start)):
                state[name] = start[name].copy()
            _count_edges(state)
            rows = self.sets[int(state["part"][0])].rows
            state["samples"] = rows.copy()
            source = self.engines[0].source
            state["streams"] = np.stack(
                [source.stream(child(seed, "chain", number, group)) for group in range(len(rows))]
            )
        return states


def weighted_parts(
    problem: SearchProblem, blocks: EdgeBlocks, n_particles: int, seed: np.random.SeedSequence, progress: bool
) -> WeightedParts:
    """Two independent sets of samples at the same anchor."""
    source = sample_source(problem.model, tuple(problem.data))
    moves = problem.moves(blocks)
    follower = Follower(problem, blocks, source, moves, augmentation(problem.data, moves))
    with Progress("samples for the search", FOLLOWED + 2, progress) as bar:
        state = follower.at_first_guess(seed)
        samples = follower.samples_at_data(child(seed, "follow"))
        for number in range(ROUNDS):
            anchor, starts, samples = follower.follow(state, samples, bar)
            state = starts[-1]
            sets, engines = [], []
            for which in range(2):
                bar.update(FOLLOWED + which, "final samples")
                budget().check("drawing the final samples")
                own = child(seed, "samples", number, which)
                made, mean = follower.final(samples, anchor, n_particles, own)
                sets.append(made)
                engines.append(weighted_engine(source, blocks, anchor, mean, moves))
            rate = problem.coordinates.rate
            shares = [engines[0].effective_share(rate, {**start, "samples": sets[0].rows}) for start in starts[-3:]]
            if np.median(shares) > EVEN_ENOUGH:
                break
    return WeightedParts(moves, tuple(engines), tuple(sets), starts)


@dataclass(frozen=True, eq=False)
class Follower:
    """Lets samples follow a chain over graphs, which draws missing cells on its way."""

    problem: SearchProblem
    blocks: EdgeBlocks
    source: SampleSource
    moves: MoveView
    missing: Augmentation | None

    def at_first_guess(self, seed: np.random.SeedSequence) -> State:
        """A chain with all edges, at the pseudolikelihood's mode of each group."""
        own = child(seed, "followed")
        state = self.problem.states(1, 1, own)[0]
        guess = np.stack([_first_guess(self.problem, statistics, seed) for statistics in self.problem.data])
        state["w"] = np.linalg.pinv(self.problem.coordinates.rate) @ guess
        state["present"][:] = 1
        _count_edges(state)
        if self.missing is not None:
            self.missing.begin(state, own)
        return state

    def samples_at_data(self, seed: np.random.SeedSequence) -> SampleSet:
        """Samples at observed rows, each as often as the others as nearly as can be; at random without rows."""
        n_particles, rows, streams = self.source.round_up(FOLLOWING), [], []
        for group, statistics in enumerate(self.problem.data):
            rng = generator(seed, "rows", group)
            states, typical = self.problem.model.states, typical_rows(statistics, rng)
            if len(typical):
                some = typical[rng.permutation(np.arange(n_particles) % len(typical))]
            else:
                some = rng.integers(states, size=(n_particles, states.size))
            rows.append(some.astype(np.uint8))
            streams.append(self.source.stream(child(seed, "stream", group)))
        return SampleSet(np.stack(rows), np.stack(streams))

    def follow(
        self, state: State, samples: SampleSet, bar: Progress
    ) -> tuple[np.ndarray, tuple[State, ...], SampleSet]:
        """The mean (G, p) of what a chain visits from ``state`` on, places of its second half, and the samples."""
        rate, factors = self.problem.coordinates.rate, self.problem.factors
        rows, streams = samples.rows.copy(), samples.streams.copy()
        fields = [self.source.open(group, rows.shape[1]) for group in range(len(rows))]
        view = self.blocks.view(factors.first, factors.size)
        state = forget_sweeps(state)
        starts: list[State] = []
        for sweep in range(FOLLOWED):
            bar.update(sweep, "finding the anchor")
            budget().check("finding an anchor for the samples")
            here = rate @ state["w"]
            for group, own in enumerate(fields):
                own.move(here[group], rows[group], streams[group], ANCHOR_BURN_IN if sweep == 0 else BETWEEN_SWEEPS)
            engine = weighted_engine(self.source, self.blocks, here, None, self.moves)
            moves = self.moves if self.missing is None else self.missing.redraw(self.moves, state)
            task = SearchTask(((moves, engine),), view, FOLLOWED_WARMUP, FOLLOWED)
            state = task.advance({**state, "samples": rows, "streams": streams}, 1).state
            if (FOLLOWED - 1 - sweep) % ((FOLLOWED - FOLLOWED_WARMUP) // CHAIN_STARTS) == 0 and sweep > FOLLOWED_WARMUP:
                starts.append(state)
        return rate @ summarise([state]).mean, tuple(starts), SampleSet(rows, streams)

    def final(
        self, samples: SampleSet, anchor: np.ndarray, n_particles: int, seed: np.random.SeedSequence
    ) -> tuple[SampleSet, np.ndarray]:
        """Samples at ``anchor``, and the mean of s (G, p) there from many more sweeps."""
        n_particles, made, streams, means = self.source.round_up(n_particles), [], [], []
        for group, near in enumerate(samples.rows):
            rows = near[generator(seed, "start", group).integers(len(near), size=n_particles)]
            stream = self.source.stream(child(seed, "stream", group))
            own = self.source.open(group, n_particles)
            own.move(anchor[group], rows, stream, ANCHOR_BURN_IN)
            means.append(own.average(anchor[group], rows, stream, ANCHOR_SWEEPS))
            made.append(rows)
            streams.append(stream)
        return SampleSet(np.stack(made), np.stack(streams)), np.stack(means)


def _first_guess(problem: SearchProblem, statistics: Statistics, seed: np.random.SeedSequence) -> np.ndarray:
    """The pseudolikelihood's mode under the slab, where rows are at hand; else the mode by sampling.

    Missing cells are filled by what was seen elsewhere in their columns: the chain that starts here draws them anew.
    """
    import warnings

    from mrfbayes.estimation.estimate import estimate

    model, prior = problem.model, problem.coordinates.priors[0]
    m = problem.factors.n_edge_parameters
    with warnings.catch_warnings(action="ignore", category=MRFWarning):  # it is only a start
        if statistics.incomplete is not None:
            statistics = count_states(model, typical_rows(statistics, generator(seed, "guess")))
        algorithm = "pseudo" if statistics.n_rows else "pcd"
        found = estimate(model, statistics, algorithm=algorithm, rng=child(seed, "guess"), prior=prior, progress=False)
    w = np.array(found.log_odds)
    w[:m] = np.clip(w[:m], -FAR_ANCHOR, FAR_ANCHOR)
    return w


def _count_edges(state: State) -> None:
    state["counters"][N_PRESENT] = state["present"].sum()


def forget_sweeps(state: State) -> State:
    """The state ``state`` of a chain with nothing counted yet."""
    state = {name: array.copy() for name, array in state.items()}
    for name in ("batches", "absent", "moments", "sizes", "counters"):
        state[name][:] = 0
    state["counters"][BATCH_LENGTH] = 1
    _count_edges(state)
    return state
