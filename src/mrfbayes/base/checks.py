"""Checks of arguments that several packages need, and refusals of what would not fit into memory."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from mrfbayes.base.errors import CostError, InputError


def whole(name: str, value: object, least: int = 1) -> int:
    """``value`` as a whole number of at least ``least``, or an `InputError` that says what is wrong."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)) or value < least:
        raise InputError(f"{name} = {value!r}: give a whole number, at least {least}.")
    return int(value)


def time_budget(seconds: object) -> float | None:
    """A time budget in seconds, None where there is none, or an `InputError`."""
    if seconds is None:
        return None
    if not isinstance(seconds, (int, float, np.number)) or isinstance(seconds, (bool, np.bool_)) or not seconds > 0:
        raise InputError(f"seconds = {seconds!r}: a time budget is a positive number.")
    return float(seconds)


def flag(name: str, value: object) -> bool:
    """``value`` as True or False; an `InputError` for anything else, numbers included."""
    if not isinstance(value, (bool, np.bool_)):
        raise InputError(f"{name} = {value!r}: choose True or False.")
    return bool(value)


def one_of(name: str, value: object, choices: Iterable[str]) -> None:
    """Refuse a ``value`` that is none of ``choices``, with a list of them."""
    if not isinstance(value, str) or value not in choices:
        raise InputError(f"{name} = {value!r}: choose one of {', '.join(map(repr, choices))}.")


def numbers(name: str, values: object) -> np.ndarray:
    """``values`` as a new array of floats, NaN where they are masked, or an `InputError`."""
    try:
        plain = np.ma.filled(values.astype(float), np.nan) if isinstance(values, np.ma.MaskedArray) else values
        return np.array(plain, dtype=float)
    except (TypeError, ValueError):
        raise InputError(f"{name}: expected numbers, got {type(values).__name__}.") from None


def require_package(package: str, extra: str, what: str) -> None:
    """Refuse ``what``, which needs a package that is not installed and comes with ``extra``."""
    if find_spec(package) is None:
        raise InputError(f"{what} needs {package}, which is not installed: pip install 'mrfbayes[{extra}]'.")


def interval_ends(ci_prob: object) -> tuple[float, float]:
    """The probabilities at both ends of the equal-tailed interval that holds ``ci_prob``."""
    if not isinstance(ci_prob, (float, np.floating)) or not 0 < ci_prob < 1:
        raise InputError(f"ci_prob = {ci_prob!r}: give a probability between 0 and 1, such as 0.9.")
    return (1 - float(ci_prob)) / 2, (1 + float(ci_prob)) / 2


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
