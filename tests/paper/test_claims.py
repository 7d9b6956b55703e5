"""Verdicts follow from numbers: other numbers give other verdicts."""

import math

import pytest

from mrfbayes.paper import claims_time
from mrfbayes.paper.claims import NOT, PARTLY, REPRODUCED, NotRun
from mrfbayes.paper.constants import PARAMETERS


class Cells:
    """Stored results of which only these grids are there."""

    def __init__(self, grids=("4x4", "6x6", "8x8")):
        self.grids = grids

    def count(self, grid, *which):
        return int(grid in self.grids)

    def seconds(self, *which):
        return math.nan


@pytest.mark.parametrize(
    ("judge", "hours", "expected"),
    [
        (claims_time.thousands_of_hours, 2_000, REPRODUCED),
        (claims_time.thousands_of_hours, 2, NOT),
        (claims_time.exact_lost, 100, REPRODUCED),
        (claims_time.exact_lost, 0.001, NOT),
    ],
)
def test_hours_decide(monkeypatch, judge, hours, expected):
    monkeypatch.setattr(claims_time, "_seconds", lambda *which: hours * 3600.0)
    assert judge(Cells()).verdict == expected


@pytest.mark.parametrize(
    ("judge", "seconds", "expected"),
    [
        (claims_time.faster_than_pseudo, lambda grid, n, method: 9.0 if method == "pseudo" else 1.0, REPRODUCED),
        (claims_time.faster_than_pseudo, lambda grid, n, method: 1.3 if method == "pseudo" else 1.0, PARTLY),
        (claims_time.faster_than_pseudo, lambda grid, n, method: 0.8 if method == "pseudo" else 1.0, NOT),
        (claims_time.pseudo_grows, lambda grid, n, method: n, REPRODUCED),
        (claims_time.pseudo_grows, lambda grid, n, method: n if grid == "8x8" else 1.0, PARTLY),
        (claims_time.pseudo_grows, lambda grid, n, method: 1.0, NOT),
        (claims_time.linear_in_p, lambda grid, n, method: PARAMETERS[grid], REPRODUCED),
        (claims_time.linear_in_p, lambda grid, n, method: PARAMETERS[grid] ** 1.4, PARTLY),
        (claims_time.linear_in_p, lambda grid, n, method: PARAMETERS[grid] ** 2, NOT),
    ],
)
def test_every_verdict_can_come_out(monkeypatch, judge, seconds, expected):
    monkeypatch.setattr(claims_time, "_seconds", lambda results, grid, n, method: seconds(grid, n, method))
    assert judge(Cells()).verdict == expected


def test_nothing_is_said_of_fields_that_were_not_run(monkeypatch):
    monkeypatch.setattr(claims_time, "_seconds", lambda *which: 1.0)
    with pytest.raises(NotRun, match="6x6 and 8x8"):
        claims_time.exact_lost(Cells(("4x4",)))
