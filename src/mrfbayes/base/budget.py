"""The time budget of a call: one deadline that every part of it can see, and what was cut for it.

Whoever starts a call makes its budget the current one; whatever takes long asks `budget()` now and then. Work that is
worth something when it stops early looks at `Budget.is_out` and says with `Budget.cut` what it left out; work that is
worth nothing before its end calls `Budget.check`, which raises `OutOfTime`. Compiling cannot be stopped: its seconds
count, the rest has the less time, and `Budget.overrun` says so. Without a budget nothing ever stops. A thread that is
started on the way has no budget of its own: who waits for it looks at the clock.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from mrfbayes.base.compiling import seconds_compiling


class OutOfTime(Exception):
    """The time budget ended; the message says in the middle of what."""


class Budget:
    """So many seconds from now on; None for as long as it takes.

    Attributes
    ----------
    seconds : the whole budget
    cuts : sentences that say what was left out or cut short for it
    compiled_before : seconds that the process had spent compiling before
    """

    def __init__(self, seconds: float | None = None) -> None:
        self.seconds = math.inf if seconds is None else float(seconds)
        self.cuts: list[str] = []
        self._began = time.monotonic()
        self._deadline = self._began + self.seconds
        self.compiled_before = seconds_compiling()

    @property
    def left(self) -> float:
        """Seconds until the deadline, never negative; infinite without one."""
        return max(self._deadline - time.monotonic(), 0.0)

    @property
    def spent(self) -> float:
        """Seconds since the budget began."""
        return time.monotonic() - self._began

    @property
    def is_out(self) -> bool:
        """Whether the deadline has passed."""
        return self.left <= 0.0

    def check(self, doing: str) -> None:
        """Raise `OutOfTime` where the deadline has passed."""
        if self.is_out:
            raise OutOfTime(doing)

    def cut(self, text: str) -> None:
        """Note what was left out or cut short."""
        self.cuts.append(text)

    def overrun(self) -> str:
        """A sentence where the call has taken clearly longer than it was allowed to; empty where it has not."""
        spent, compiled = self.spent, seconds_compiling() - self.compiled_before
        if spent <= 1.2 * self.seconds + 1.0:
            return ""
        reason = f", {compiled:.0f} s of it compiling, which happens once on a machine" if compiled >= 0.5 else ""
        return f"the call took {spent:.0f} s, more than its time budget of {self.seconds:g} s{reason}."

    @contextmanager
    def share(self, part: float) -> Iterator[None]:
        """Only this part of what is left for what happens inside."""
        whole = self._deadline
        if math.isfinite(whole):
            self._deadline = time.monotonic() + part * self.left
        try:
            yield
        finally:
            self._deadline = whole

    @contextmanager
    def as_current(self) -> Iterator[Budget]:
        """Make this the budget that `budget` returns."""
        token = _CURRENT.set(self)
        try:
            yield self
        finally:
            _CURRENT.reset(token)


_CURRENT: ContextVar[Budget | None] = ContextVar("mrfbayes_budget", default=None)


def budget() -> Budget:
    """The budget of the call that is under way; an endless one where there is none."""
    return _CURRENT.get() or Budget()
