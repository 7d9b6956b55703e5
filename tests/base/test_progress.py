"""The progress bar."""

import io
import sys

from mrfbayes.base import progress
from mrfbayes.base.progress import Progress


def shown(monkeypatch, updates):
    """What a terminal gets to see."""
    stream = io.StringIO()
    stream.isatty = lambda: True
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(progress, "SHOW_AFTER_SECONDS", 0.0)
    with Progress("work", 100) as bar:
        for done in updates:
            bar.update(done, "note")
            if bar._bar is not None:
                bar._bar.refresh()
    return stream.getvalue()


def test_a_bar_does_not_go_back(monkeypatch):
    text = shown(monkeypatch, [10, 60, 20])
    assert " 60/100" in text
    assert " 20/100" not in text


def test_what_is_over_in_two_seconds_shows_nothing(monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    with Progress("work", 100) as bar:
        bar.update(50)
    assert stream.getvalue() == ""
