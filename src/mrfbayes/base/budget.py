"""The time budget of a call: one deadline that every part of it can see, and what was cut for it.

Whoever starts a call makes its budget the current one; whatever takes long asks `budget()` now and then. Work that is
worth something when it stops early looks at `Budget.is_out` and says with `Budget.cut` what it left out; work that is
worth nothing before its end calls `Budget.check`, which raises `OutOfTime`. Compiling cannot be stopped: its seconds
count, the rest has the less time, and `Budget.overrun` says so. Without a budget nothing ever stops. A thread that is
started on the way has no budget of its own: who waits for it looks at the clock.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any

FIRST_TIME = "compiling, first time only"
NOTICE_SECONDS = 2.0


class _Watch:
    """Listens to Numba: compilations are nested, and only the outermost is timed."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.depth = 0
        self._began = 0.0
        self._is_notified = False

    def notify(self, event: Any) -> None:
        """Take in the start or the end of a compilation."""
        (self.on_start if event.is_start else self.on_end)()

    def on_start(self) -> None:
        """A function is being compiled."""
        self.depth += 1
        if self.depth == 1:
            self._began = time.monotonic()
        self._notify()

    def on_end(self) -> None:
        """It is compiled."""
        self.depth -= 1
        if not self.depth:
            self.seconds += time.monotonic() - self._began

    def _notify(self) -> None:
        """Say it once where nothing else is shown; on a terminal the cache says where it keeps what is compiled."""
        so_far = self.seconds + time.monotonic() - self._began
        if not self._is_notified and so_far > NOTICE_SECONDS and not sys.stderr.isatty():
            self._is_notified = True
            print(f"mrfbayes: {FIRST_TIME}", file=sys.stderr, flush=True)


_WATCH = _Watch()


@cache
def watch_compilation() -> None:
    """Begin to listen; later calls change nothing."""
    from numba.core import event

    numba_events: Any = event  # Numba has no types
    numba_events.Listener.register(_Watch)
    numba_events.register("numba:compile", _WATCH)


def seconds_compiling() -> float:
    """Seconds that this process has spent compiling, since it began to listen."""
    return _WATCH.seconds


def is_compiling() -> bool:
    """Whether something is being compiled now."""
    return _WATCH.depth > 0


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
