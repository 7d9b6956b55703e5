"""Time budgets: seconds, shares of what is left, the budget of the call under way, and seconds of compiling."""

import io
import math
import re

import numba
import pytest

from mrfbayes.base import budget as budgets
from mrfbayes.base.budget import Budget, OutOfTime
from mrfbayes.base.progress import Progress


@pytest.fixture
def clock(monkeypatch):
    """A clock that only moves when told to."""
    now = [1000.0]
    monkeypatch.setattr(budgets.time, "monotonic", lambda: now[0])
    return now


def test_a_budget_is_in_seconds(clock):
    own = Budget(10)
    assert own.left == 10
    clock[0] += 4
    assert (own.left, own.spent, own.is_out) == (6, 4, False)
    own.check("sampling")
    clock[0] += 6
    assert (own.left, own.is_out) == (0, True)
    with pytest.raises(OutOfTime):
        own.check("sampling")


def test_a_share_is_of_what_is_left_and_ends_with_its_block(clock):
    own = Budget(100)
    clock[0] += 20
    with own.share(0.25):
        assert own.left == 20
        clock[0] += 5
        assert own.left == 15
    assert own.left == 75


def test_a_budget_without_end_has_shares_without_end(clock):
    own = Budget()
    with own.share(0.1):
        clock[0] += 1e9
        assert own.left == math.inf


def test_the_budget_of_a_call_is_the_current_one_inside_it(clock):
    own = Budget(10)
    with own.as_current():
        assert budgets.budget() is own
        with Budget(2).as_current() as inner:
            assert budgets.budget() is inner
        assert budgets.budget() is own
    assert budgets.budget() is not own


def test_a_clock_that_is_set_back_does_not_lengthen_a_budget(monkeypatch):
    """Deadlines are on a clock that nobody sets."""
    own = Budget(10)
    monkeypatch.setattr(budgets.time, "time", lambda: 0.0)
    assert own.left <= 10


@pytest.fixture
def watch(monkeypatch):
    """A watch of its own, and a clock that is set by hand."""
    clock = [0.0]
    fresh = budgets._Watch()
    monkeypatch.setattr(budgets, "_WATCH", fresh)
    monkeypatch.setattr(budgets.time, "monotonic", lambda: clock[0])
    return fresh, clock


def test_compilation_events_are_counted():
    budgets.watch_compilation()
    budgets.watch_compilation()  # once is enough: seconds would count twice
    before = budgets.seconds_compiling()
    seen = []

    def same(x):
        return x

    @numba.extending.overload(same)
    def _same(x):  # asked for while something is compiled
        seen.append(budgets.is_compiling())
        return lambda x: x

    assert numba.njit(lambda x: same(x) + 1)(2) == 3
    assert seen[0]
    assert budgets.seconds_compiling() > before
    assert not budgets.is_compiling()


def test_nested_compilation_is_timed_once(watch):
    found, clock = watch
    for _ in range(3):
        found.on_start()
        clock[0] += 1.0
    for _ in range(3):
        found.on_end()
        clock[0] += 1.0
    assert budgets.seconds_compiling() == 5.0


def test_message_appears_once_in_piped_output(watch, monkeypatch):
    found, clock = watch
    out = io.StringIO()
    monkeypatch.setattr(budgets.sys, "stderr", out)
    for seconds in (1.0, 2.0, 9.0):
        found.on_start()
        clock[0] += seconds
        found.on_start()
        found.on_end()
        found.on_end()
    assert out.getvalue() == "mrfbayes: compiling, first time only\n"


def test_budget_reports_how_late_it_ended(watch):
    found, clock = watch
    budget = Budget(5.0)
    found.on_start()
    clock[0] = 12.0
    found.on_end()
    clock[0] = 13.0
    assert budget.is_out
    assert re.search("took 13 s.* budget of 5 s, 12 s .*compiling", budget.overrun())
    assert Budget(5.0).overrun() == ""
    assert Budget().overrun() == ""


def test_progress_shows_compilation_and_its_seconds(monkeypatch, capsys):
    with Progress("chains", 100) as bar:
        bar._started -= 10.0
        monkeypatch.setattr(budgets._WATCH, "depth", 1)
        bar.update(0, "warm-up")
        monkeypatch.setattr(budgets._WATCH, "depth", 0)
        bar._next_line = 0.0
        bar.update(25, "warm-up")
    lines = capsys.readouterr().err.splitlines()
    assert re.fullmatch(r"chains: 0/100, compiling, first time only \(\d+ s\)", lines[0])
    assert re.fullmatch(r"chains: 25/100, warm-up \(\d+ s, about \d+ s left\)", lines[1])
