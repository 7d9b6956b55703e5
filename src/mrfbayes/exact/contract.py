"""What every exact recursion can do, in terms of lowered potentials, and the refusal of what does not fit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import numpy as np

from mrfbayes.base.memory import memory_limit
from mrfbayes.exact.memory import TooLarge

OBJECTS = 2048  # bytes of the arrays' own objects: what a very small field takes
BATCH_CELLS = 2**18  # table cells of the directions that one call follows
CALL_CELLS = 2**28  # cells that one call goes through, about a second: then Ctrl-C and the clock are heard


class Recursion(Protocol):
    """Exact sums over all configurations of one model."""

    width: int

    def n_bytes(self, work: str, n: int = 0) -> int:
        """Bytes of the arrays that ``work`` (a key of `WORKS`) needs; ``n`` is the number of samples or directions."""

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
