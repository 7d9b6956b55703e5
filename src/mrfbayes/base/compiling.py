"""The seconds that compiling takes, and a notice: the first call of a function compiles and seems to do nothing.

Compiled code is kept on disk, so this happens once on a machine. A budget cannot cut it short, but its clock runs, and
what comes after has the less time; `seconds_compiling` says how much of a call it was.
"""

from __future__ import annotations

import sys
import time
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

    def on_start(self, event: Any) -> None:
        """A function is being compiled."""
        self.depth += 1
        if self.depth == 1:
            self._began = time.monotonic()
        self._notify()

    def on_end(self, event: Any) -> None:
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
_REGISTERED: list[Any] = []


def watch_compilation() -> None:
    """Begin to listen; later calls change nothing."""
    if _REGISTERED:
        return
    from numba.core import event

    class Listener(event.Listener):
        def on_start(self, event: Any) -> None:
            _WATCH.on_start(event)

        def on_end(self, event: Any) -> None:
            _WATCH.on_end(event)

    register: Any = event.register  # Numba has no types
    register("numba:compile", Listener())
    _REGISTERED.append(Listener)


def seconds_compiling() -> float:
    """Seconds that this process has spent compiling, since it began to listen."""
    return _WATCH.seconds


def is_compiling() -> bool:
    """Whether something is being compiled now."""
    return _WATCH.depth > 0
