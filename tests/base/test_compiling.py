"""Compiling is counted and spoken of."""

import io
import re

import numba
import pytest

from mrfbayes.base import compiling
from mrfbayes.base.budget import Budget
from mrfbayes.base.progress import Progress


@pytest.fixture
def watch(monkeypatch):
    """A watch of its own, and a clock that is set by hand."""
    clock = [0.0]
    fresh = compiling._Watch()
    monkeypatch.setattr(compiling, "_WATCH", fresh)
    monkeypatch.setattr(compiling.time, "monotonic", lambda: clock[0])
    return fresh, clock


def test_compilation_events_are_counted():
    compiling.watch_compilation()
    compiling.watch_compilation()  # once is enough: seconds would count twice
    before = compiling.seconds_compiling()
    seen = []

    def same(x):
        return x

    @numba.extending.overload(same)
    def _same(x):  # asked for while something is compiled
        seen.append(compiling.is_compiling())
        return lambda x: x

    assert numba.njit(lambda x: same(x) + 1)(2) == 3
    assert seen[0]
    assert compiling.seconds_compiling() > before
    assert not compiling.is_compiling()


def test_nested_compilation_is_timed_once(watch):
    found, clock = watch
    for _ in range(3):
        found.on_start(None)
        clock[0] += 1.0
    for _ in range(3):
        found.on_end(None)
        clock[0] += 1.0
    assert compiling.seconds_compiling() == 5.0


def test_message_appears_once_in_piped_output(watch, monkeypatch):
    found, clock = watch
    out = io.StringIO()
    monkeypatch.setattr(compiling.sys, "stderr", out)
    for seconds in (1.0, 2.0, 9.0):
        found.on_start(None)
        clock[0] += seconds
        found.on_start(None)
        found.on_end(None)
        found.on_end(None)
    assert out.getvalue() == "mrfbayes: compiling, first time only\n"


def test_budget_reports_how_late_it_ended(watch):
    found, clock = watch
    budget = Budget(5.0)
    found.on_start(None)
    clock[0] = 12.0
    found.on_end(None)
    clock[0] = 13.0
    assert budget.is_out
    assert re.search("took 13 s.* budget of 5 s, 12 s .*compiling", budget.overrun())
    assert Budget(5.0).overrun() == ""
    assert Budget().overrun() == ""


def test_progress_shows_compilation_and_its_seconds(monkeypatch, capsys):
    with Progress("chains", 100) as bar:
        bar._started -= 10.0
        monkeypatch.setattr(compiling._WATCH, "depth", 1)
        bar.update(0, "warm-up")
        monkeypatch.setattr(compiling._WATCH, "depth", 0)
        bar._next_line = 0.0
        bar.update(25, "warm-up")
    lines = capsys.readouterr().err.splitlines()
    assert re.fullmatch(r"chains: 0/100, compiling, first time only \(\d+ s\)", lines[0])
    assert re.fullmatch(r"chains: 25/100, warm-up \(\d+ s, about \d+ s left\)", lines[1])
