"""The refusal of exact work that does not fit into memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from mrfbayes.base.errors import CostError
from mrfbayes.base.memory import describe_bytes, memory_limit

WORKS = {  # key -> what an error calls it
    "log_z": "the exact partition function",
    "moments": "exact expected counts",
    "series": "exact covariances",
    "sample": "exact sampling",
    "maximum": "the most probable configuration",
}


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
