"""Replicas that walk together, as a task of the driver: one chain whose draws are those of all replicas."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from mrfbayes.run.workers import Chunk, State

if TYPE_CHECKING:
    from mrfbayes.methods.langevin.walk import Walk


@dataclass
class WalkTask:
    """Replicas of one walk. They are advanced in place where the state is the one that was given back last."""

    walk: Walk
    _last: State = field(default_factory=dict)
    varying: ClassVar[frozenset[str]] = frozenset({"directions", "history"})  # arrays of a state whose shape changes

    def start(self) -> State:
        """The state before the next step."""
        self._last = {name: array.copy() for name, array in self.walk.arrays().items()}
        return self._last

    @property
    def n_columns(self) -> int:
        """Numbers in a draw: the log-odds of all replicas."""
        return int(self.walk.state["y"].size)

    @property
    def n_warmup(self) -> int:
        """Steps of warm-up."""
        return self.walk.settings.warmup

    @property
    def n_thin(self) -> int:
        """Steps between two draws that are kept."""
        return self.walk.settings.thin

    def with_warmup(self, n_warmup: int) -> WalkTask:
        """The replicas with a warm-up that ends here."""
        self.walk.end_warmup()
        return self

    def advance(self, state: State, n_steps: int) -> Chunk:
        """``n_steps`` more steps of every replica."""
        if state is not self._last:
            self.walk.restore(state)
        self.walk.advance(n_steps)
        drawn = np.array(self.walk.drawn).reshape(len(self.walk.drawn), self.n_columns)
        self.walk.drawn = []
        return Chunk(self.start(), drawn, np.zeros(len(drawn)))

    def steps_done(self, state: State) -> int:
        """Steps behind ``state``, warm-up included."""
        return int(state["counters"][0])

    def check_start(self, number: int, state: State) -> None:
        """Every start is possible."""

    def failure(self, state: State) -> str:
        """A walk always can go on."""
        return ""

    def note(self, states: Sequence[State]) -> str:
        """Whether it is still the warm-up."""
        return "warm-up" if self.steps_done(states[0]) < self.n_warmup else ""

    def by_replica(self, draws: np.ndarray) -> np.ndarray:
        """The driver's draws (1, draws, columns) as (replicas, draws, p)."""
        k, p = self.walk.state["y"].shape
        return np.ascontiguousarray(np.moveaxis(draws[0].reshape(-1, k, p), 1, 0))
