r"""The engine on weighted samples: samples at an anchor that are moved on all the time.

With samples at an anchor :math:`w_0`, log Z(w) - log Z(w_0) is estimated by the log of the mean of
:math:`e^{(w - w_0)\cdot s}`. Its first derivative at the anchor is the samples' mean of s, which is off by their noise,
and n times that noise is what would shift the posterior most. So the data's statistics are moved along,
:math:`s' = s + n (\hat\mu - \mu(w_0))`, with :math:`\mu(w_0)` from many more sweeps of the samples. What is left is
noise of second order, and it does not stay: every few sweeps over the graph the samples make some Gibbs sweeps at the
anchor, so that a chain averages over it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mrfbayes.run.workers import State
from mrfbayes.structure.edge_blocks import EdgeBlocks
from mrfbayes.structure.engines import Sweeps, run_on_tables
from mrfbayes.structure.moves import centring
from mrfbayes.structure.moving_samples import SampleSource

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from mrfbayes.kernels.structure.moves import MoveView

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
    name: str = "particles"

    def run(self, sweeps: Sweeps, carried: State) -> None:
        """See `mrfbayes.structure.engines.SearchEngine`."""
        from mrfbayes.kernels.structure.moves import SWEEP

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
        plan = np.array([count, *sweeps.plan[1:]], dtype=np.int64)
        run_on_tables(sweeps._replace(moves=moves, plan=plan), shape, seen.code, self.anchor, seen.code.shape[2])

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
