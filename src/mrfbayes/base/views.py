"""What compiled code is given: a NamedTuple of arrays and numbers, whose type tells Numba which kernel to take."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, Self


class View(Protocol):
    """Any such NamedTuple."""

    @property
    def _replace(self) -> Callable[..., Self]:
        """Makes one with some of its parts replaced."""
