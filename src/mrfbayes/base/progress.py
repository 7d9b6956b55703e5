"""Progress of work that may take more than two seconds: a bar, or lines where output is piped."""

from __future__ import annotations

import sys
import threading
import time
from importlib.util import find_spec
from typing import TYPE_CHECKING

from mrfbayes.base.budget import FIRST_TIME, is_compiling, watch_compilation

if TYPE_CHECKING:
    import rich.progress

SHOW_AFTER_SECONDS = 2.0
LINE_SECONDS = 10.0  # between the first two lines of piped output; each pause is half as long again, up to a minute
LONGEST_PAUSE = 60.0
_NESTED: list[Progress] = []  # those under way, the innermost last: only that one is shown
TICK_SECONDS = 1.0
LEAST_SECONDS, LEAST_SHARE = 2.0, 0.03  # of the work, before the time left is guessed from it
DAY_SECONDS = 86_400


class Progress:
    """A bar on standard error that appears only when the work is still going after two seconds.

    Where standard error is no terminal, a line now and then says the same. A thread sees to it that this happens during
    long steps too.

    Parameters
    ----------
    label : what is being done
    total : amount of work in the caller's own unit
    enabled : False keeps silent
    """

    def __init__(self, label: str, total: float, enabled: bool = True) -> None:
        self._label = label
        self.total = total
        self._done = 0.0
        self._note = ""
        self._enabled = enabled
        self._started = time.monotonic()
        self._bar: rich.progress.Progress | None = None
        self._task: rich.progress.TaskID | None = None
        self._is_piped = False
        self._pause = LINE_SECONDS
        self._next_line = 0.0
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._ticker: threading.Thread | None = None

    def update(self, done: float, note: str = "") -> None:
        """Say that ``done`` of the total is done; a bar does not go back where the total turns out larger."""
        self._done, self._note = max(self._done, done), note
        self._show()

    def _show(self) -> None:
        if not self._enabled or time.monotonic() - self._started < SHOW_AFTER_SECONDS:
            return
        with self._lock:
            if self._over.is_set() or (_NESTED and _NESTED[-1] is not self):
                return
            if self._bar is None and not self._is_piped:
                self._open()
            if self._is_piped:
                self._line()
            elif self._bar is not None and self._task is not None:
                left = time_left(time.monotonic() - self._started, self._done, self.total)
                self._bar.update(
                    self._task, completed=self._done, total=self.total, note=self._current_note(), left=left
                )

    def _line(self) -> None:
        now = time.monotonic()
        if now < self._next_line:
            return
        self._next_line = now + self._pause
        self._pause = min(1.5 * self._pause, LONGEST_PAUSE)
        seconds = now - self._started
        times = ", ".join(filter(None, (f"{seconds:.0f} s", time_left(seconds, self._done, self.total))))
        done = ", ".join(filter(None, (f"{self._done:.0f}/{self.total:.0f}", self._current_note())))
        print(f"{self._label}: {done} ({times})", file=sys.stderr, flush=True)

    def _current_note(self) -> str:
        """The caller's note, or why nothing moves."""
        return FIRST_TIME if is_compiling() else self._note

    def _open(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
        from rich.progress import Progress as RichProgress

        console = Console(file=sys.stderr)
        if not (console.is_terminal or (console.is_jupyter and find_spec("ipywidgets"))):
            self._is_piped = True
            return
        fields = [TextColumn(f"{{task.fields[{name}]}}") for name in ("left", "note")]
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), *fields)
        self._bar = RichProgress(*columns, console=console, transient=True)
        self._bar.start()
        self._task = self._bar.add_task(self._label, total=self.total, note="", left="")

    def _tick(self) -> None:
        while not self._over.wait(TICK_SECONDS):
            self._show()

    def _hide(self) -> None:
        with self._lock:
            if self._bar is not None:
                self._bar.stop()
                self._bar = None

    def __enter__(self) -> Progress:
        if self._enabled:
            watch_compilation()
            if _NESTED:
                _NESTED[-1]._hide()
            _NESTED.append(self)
            self._ticker = threading.Thread(target=self._tick, name="mrfbayes progress", daemon=True)
            self._ticker.start()
        return self

    def __exit__(self, *details: object) -> None:
        self._over.set()
        self._hide()
        if self in _NESTED:
            _NESTED.remove(self)


def time_left(seconds: float, done: float, total: float) -> str:
    """What to say of the time left after ``seconds``; nothing as long as too little is done to tell.

    Examples
    --------
    >>> time_left(60.0, 25, 100)
    'about 3 min left'
    """
    if seconds < LEAST_SECONDS or done < LEAST_SHARE * total or done <= 0:
        return ""
    left = seconds * max(total / done - 1, 0.0)
    if left > DAY_SECONDS:
        return "more than a day left"
    for unit, size in (("h", 3_600), ("min", 60)):
        if left >= 2 * size:
            return f"about {left / size:.0f} {unit} left"
    return f"about {left:.0f} s left"
