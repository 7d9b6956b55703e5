"""The progress bar."""

import io
import sys
import time

import pytest

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


def test_short_work_shows_no_progress(monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    with Progress("work", 100) as bar:
        bar.update(50)
    assert stream.getvalue() == ""


def test_piped_output_shows_the_current_stage(monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(progress, "SHOW_AFTER_SECONDS", 0.0)
    with Progress("estimate", 100) as bar:
        bar.update(10, "residual 3 sd")
        bar.update(20, "too soon for another line")
    assert stream.getvalue() == "estimate: 10/100, residual 3 sd (0 s)\n"
    with Progress("estimate", 100, enabled=False) as bar:
        bar.update(10, "residual 3 sd")
    assert stream.getvalue().count("\n") == 1


@pytest.mark.parametrize(
    ("seconds", "done", "words"),
    [
        (0.5, 50, ""),  # too early
        (10, 0.005, ""),  # nearly nothing is done: it was "about 1811982 s left"
        (10, 0, ""),
        (10, 50, "about 10 s left"),
        (10, 5, "about 3 min left"),
        (1_000, 10, "about 2 h left"),
        (10_000, 4, "more than a day left"),
        (10, 100, "about 0 s left"),
        (10, 150, "about 0 s left"),
    ],
)
def test_time_left_is_shown_once_it_is_known(seconds, done, words):
    assert progress.time_left(seconds, done, 100) == words


def test_progress_line_shows_the_time_left(monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    with Progress("estimate", 100) as bar:
        bar._started -= 10
        bar.update(10)
    assert stream.getvalue() == "estimate: 10/100 (10 s, about 90 s left)\n"


def test_long_step_shows_progress_while_it_runs(monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(progress, "SHOW_AFTER_SECONDS", 0.01)
    monkeypatch.setattr(progress, "TICK_SECONDS", 0.01)
    with Progress("calibrate", 5) as bar:
        bar.update(2, "third cumulants")
        deadline = time.monotonic() + 20
        while "third cumulants" not in stream.getvalue() and time.monotonic() < deadline:
            time.sleep(0.01)
    assert "calibrate: 2/5, third cumulants" in stream.getvalue()


def test_inner_of_two_nested_bars_is_shown(monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(progress, "SHOW_AFTER_SECONDS", 0.0)
    with Progress("outer", 2) as outer:
        with Progress("inner", 2) as inner:
            outer.update(1)
            inner.update(1)
        assert stream.getvalue().startswith("inner: 1/2")
        outer.update(2)
    assert "outer: 2/2" in stream.getvalue()
    assert not progress._NESTED


def test_a_notebook_without_widgets_gets_lines(monkeypatch):
    """Rich would warn on every call that it lacks ipywidgets, and show nothing."""
    import rich.console

    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(progress, "SHOW_AFTER_SECONDS", 0.0)
    monkeypatch.setattr(rich.console, "_is_jupyter", lambda: True)
    monkeypatch.setattr(progress, "find_spec", lambda name: None)
    with Progress("work", 100) as bar:
        bar.update(50)
    assert "work: 50/100" in stream.getvalue()
