"""Ctrl-C that waits for the right moment: what is finished is kept, what is under way is given up."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

Handler = Callable[[int, FrameType | None], object] | int | signal.Handlers | None


class InterruptFlag:
    """Turns the first Ctrl-C into a flag, so that what is under way is finished; a second one stops at once.

    Inside `allowed` the first one stops at once as well: there nothing is lost but work that is not finished. A flag
    within a flag knows what the outer one has heard. Where Ctrl-C is ignored, as in a job that a script left in the
    background, it stays so; so does a handler that is not Python's.
    """

    def __init__(self) -> None:
        self.raised = False
        self._is_allowed = False
        self._previous: Handler = None
        is_main = threading.current_thread() is threading.main_thread()
        self._active = is_main and signal.getsignal(signal.SIGINT) not in (signal.SIG_IGN, None)

    def _raise(self, number: int, frame: FrameType | None) -> None:
        if self.raised or self._is_allowed:
            self.raised = True
            raise KeyboardInterrupt
        self.raised = True

    @contextmanager
    def allowed(self) -> Iterator[None]:
        """Let Ctrl-C through while the block runs, also one that came before it."""
        self._is_allowed = True
        try:
            if self.raised:
                raise KeyboardInterrupt
            yield
        finally:
            self._is_allowed = False

    def __enter__(self) -> InterruptFlag:
        if self._active:
            self._previous = signal.signal(signal.SIGINT, self._raise)
            outer = getattr(self._previous, "__self__", None)
            if isinstance(outer, InterruptFlag):
                self.raised = outer.raised
        return self

    def __exit__(self, *details: object) -> None:
        if self._active:
            signal.signal(signal.SIGINT, self._previous)
