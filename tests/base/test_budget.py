"""Time budgets: seconds, shares of what is left, and the budget of the call under way."""

import math

import pytest

from mrfbayes.base import budget as budgets
from mrfbayes.base.budget import Budget, OutOfTime


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
