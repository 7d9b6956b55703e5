"""One progress bar for everything that may take more than two seconds."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any

SHOW_AFTER_SECONDS = 2.0


class Progress:
    """A bar on standard error that appears only when the work is still going after two seconds.

    Parameters
    ----------
    label : what is being done
    total : amount of work in the caller's own unit
    enabled : False keeps silent
    """

    def __init__(self, label: str, total: float, enabled: bool = True) -> None:
        self._label = label
        self._total = total
        self._done = 0.0
        self._enabled = enabled
        self._started = time.monotonic()
        self._bar: Any = None
        self._task: Any = None

    def update(self, done: float, note: str = "") -> None:
        """Say that ``done`` of the total is done; a bar does not go back where the total turns out larger."""
        self._done = max(self._done, done)
        if not self._enabled:
            return
        if self._bar is None:
            if time.monotonic() - self._started < SHOW_AFTER_SECONDS:
                return
            self._open()
        self._bar.update(self._task, completed=self._done, note=note)

    def _open(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as RichProgress

        console = Console(file=sys.stderr)
        self._bar = RichProgress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[note]}"),
            console=console,
            transient=True,
            disable=not (console.is_terminal or console.is_jupyter),  # a log file would get blank lines
        )
        self._bar.start()
        self._task = self._bar.add_task(self._label, total=self._total, note="")

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
