"""What exact inference may take: the memory of this machine, and the refusal of work that does not fit into it."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import cache
from pathlib import Path

from mrfbayes.base.errors import CostError

WORKS = {  # key -> what an error calls it
    "log_z": "the exact partition function",
    "moments": "exact expected counts",
    "series": "exact covariances",
    "sample": "exact sampling",
}


@cache
def memory_limit() -> int:
    """Bytes that exact inference may take: half of what this machine, or the container, has."""
    try:
        limit = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # not every system says
        limit = 8 * 2**30
    with suppress(OSError, ValueError):  # no such group, or "max"
        limit = min(limit, int(Path("/sys/fs/cgroup/memory.max").read_text()))
    return limit // 2


class TooLarge(CostError):
    """Exact work that does not fit into memory.

    ``complete`` is False where the search for an elimination order stopped at a table past hope; ``width`` and
    ``n_bytes`` are then those at which it stopped.
    """

    def __init__(self, work: str, width: int, n_bytes: int, complete: bool = True) -> None:
        self.work, self.width, self.n_bytes, self.complete = work, width, n_bytes, complete
        bound = "" if complete else "at least "
        order = f"treewidth {width}" if complete else f"width {width} or more in every order tried"
        super().__init__(
            f"{WORKS[work]} needs {bound}{describe_bytes(n_bytes)} here ({order}, limit "
            f"{describe_bytes(memory_limit())}): use method='calibrated' or 'persistent', and sampler='gibbs'."
        )

    def __reduce__(self) -> tuple[type[TooLarge], tuple[str, int, int, bool]]:
        return type(self), (self.work, self.width, self.n_bytes, self.complete)


def describe_bytes(n_bytes: int) -> str:
    """Bytes for people: "1.5 GiB", or as a power of two past any memory."""
    if n_bytes >= 2**60:
        return f"2^{n_bytes.bit_length() - 1} bytes"
    power = max(0, (n_bytes.bit_length() - 1) // 10)
    unit = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB")[power]
    return f"{n_bytes / 2 ** (10 * power):.1f} {unit}" if power else f"{n_bytes} bytes"
