"""How much memory there is, and refusals of what would not fit, before anything is allocated."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import cache
from pathlib import Path

from mrfbayes.base.errors import CostError


@cache
def memory_limit() -> int:
    """Bytes that one piece of work may take: half of what this machine, or the container, has."""
    try:
        limit = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # not every system says
        limit = 8 * 2**30
    with suppress(OSError, ValueError):  # no such group, or "max"
        limit = min(limit, int(Path("/sys/fs/cgroup/memory.max").read_text()))
    return limit // 2


def require_memory(n_bytes: int, what: str, instead: str) -> None:
    """Refuse ``what`` with a `CostError` where it takes more than `memory_limit`; ``instead`` says what to do."""
    if n_bytes > memory_limit():
        raise CostError(
            f"{what} would take {describe_bytes(int(n_bytes))} of memory (limit {describe_bytes(memory_limit())}): "
            f"{instead}."
        )


def describe_bytes(n_bytes: int) -> str:
    """Bytes for people: "1.5 GiB", or as a power of two past any memory."""
    if n_bytes >= 2**60:
        return f"2^{n_bytes.bit_length() - 1} bytes"
    power = max(0, (n_bytes.bit_length() - 1) // 10)
    unit = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB")[power]
    return f"{n_bytes / 2 ** (10 * power):.1f} {unit}" if power else f"{n_bytes} bytes"
