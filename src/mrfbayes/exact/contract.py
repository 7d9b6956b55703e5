"""What every exact recursion can do, in terms of lowered potentials, and the refusal of what does not fit into memory.

Seconds are a sum of counts (steps, edges, table cells by the way they are read) times constants measured once
(`benchmarks/bench_exact.py fit`), so that the same model always takes the same way.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

import numpy as np

from mrfbayes.base.checks import describe_bytes, memory_limit
from mrfbayes.base.errors import CostError

WORKS = {  # key -> what an error calls it
    "log_z": "the exact partition function",
    "moments": "exact expected counts",
    "series": "exact covariances",
    "sample": "exact sampling",
    "maximum": "the most probable configuration",
}
OBJECTS = 2048  # bytes of the arrays' own objects: what a very small field takes
BATCH_CELLS = 2**18  # table cells of the directions that one call follows
CALL_CELLS = 2**28  # cells that one call goes through, about a second: then Ctrl-C and the clock are heard
SECOND_LEVEL, THIRD_LEVEL = 2**19, 2**24  # bytes past which tables leave the caches


class TooLarge(CostError):
    """Exact work that does not fit into memory.

    ``complete`` is False where the search for an elimination order stopped at a table past hope; ``width`` and
    ``n_bytes`` are then those at which it stopped.
    """

    def __init__(self, work: str, width: int, n_bytes: int, complete: bool = True) -> None:
        self.work, self.width, self.n_bytes, self.complete = work, width, n_bytes, complete
        bound = "" if complete else "at least "
        order = f"treewidth {width}" if complete else f"width {width} or more in every order tried"
        self.reason = (
            f"{WORKS[work]} needs {bound}{describe_bytes(n_bytes)} here ({order}, limit "
            f"{describe_bytes(memory_limit())})"
        )
        super().__init__(f"{self.reason}: use method='calibrated' or 'persistent', and sampler='gibbs'.")

    def __reduce__(self) -> tuple[type[TooLarge], tuple[str, int, int, bool]]:
        return type(self), (self.work, self.width, self.n_bytes, self.complete)


@contextmanager
def refused(alternative: str) -> Iterator[None]:
    """Refuse what is too large inside with a `CostError` that names ``alternative``."""
    try:
        yield
    except TooLarge as problem:
        raise CostError(f"{problem.reason}: {alternative}.") from None


class Recursion(Protocol):
    """Exact sums over all configurations of one model."""

    width: int

    def n_bytes(self, work: str, n: int = 0) -> int:
        """Bytes of the arrays that ``work`` (a key of `WORKS`) needs; ``n`` is the number of samples or directions."""

    def seconds(self, key: str, n: int = 1) -> float:
        """Seconds on the reference machine of ``n`` evaluations, directions or draws.

        ``key`` is "log_z" (inside a chain), "moments", "first" or "second" (derivatives along a direction) or "sample".
        """

    def log_z(self, node_part: np.ndarray, edge_part: np.ndarray) -> float:
        """Log of the sum of all weights."""

    def moments(self, node_part: np.ndarray, edge_part: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Log Z and the expected statistics of nodes and edges."""

    def series(
        self, node_part: np.ndarray, edge_part: np.ndarray, directions: Iterator[np.ndarray], order: int
    ) -> Iterator[np.ndarray]:
        """For each direction (nodes, then edges): the first ``order`` derivatives of the expected statistics along it.

        Each is (order, rows), nodes, then edges; order is 1 or 2.
        """

    def sample(self, node_part: np.ndarray, edge_part: np.ndarray, n: int, state: np.ndarray) -> np.ndarray:
        """(n, d) independent draws."""


def check_memory(recursion: Recursion, work: str, n: int = 0) -> None:
    """Refuse ``work`` that does not fit into memory, before anything is allocated."""
    needed = recursion.n_bytes(work, n)
    if needed > memory_limit():
        raise TooLarge(work, recursion.width, needed)
