"""Verdicts follow from numbers: other numbers give other verdicts, and prose written for other numbers is noticed."""

import math

import pytest

from mrfbayes.paper.claims import NOT, PARTLY, REPRODUCED, UNDECIDED, Average, Criterion, Finding, all_claims, quotient
from mrfbayes.paper.constants import PARAMETERS


class Cells:
    """Stored results of these grids alone, with the seconds that a function of (grid, n, method) gives."""

    def __init__(self, seconds, grids=("4x4", "6x6", "8x8")):
        self.seconds_of, self.grids = seconds, grids

    def timing(self, grid, n, method, setting="adapted"):
        return Average(self.seconds_of(grid, n, method), 0.01, 5 * (grid in self.grids))


def verdict(judge, results):
    [claim] = [claim for claim in all_claims() if claim.judge == judge]
    return claim.finding(results).verdict


@pytest.mark.parametrize(
    ("judge", "hours", "expected"),
    [
        ("thousands_of_hours", 2_000, REPRODUCED),
        ("thousands_of_hours", 2, NOT),
        ("exact_lost", 100, REPRODUCED),
        ("exact_lost", 0.001, NOT),
    ],
)
def test_hours_decide(judge, hours, expected):
    assert verdict(judge, Cells(lambda *which: hours * 3600.0)) == expected


@pytest.mark.parametrize(
    ("judge", "seconds", "expected"),
    [
        ("faster_than_pseudo", lambda grid, n, method: 9.0 if method == "pseudo" else 1.0, REPRODUCED),
        ("faster_than_pseudo", lambda grid, n, method: 1.3 if method == "pseudo" else 1.0, PARTLY),
        ("faster_than_pseudo", lambda grid, n, method: 0.8 if method == "pseudo" else 1.0, NOT),
        ("pseudo_grows", lambda grid, n, method: n, REPRODUCED),
        ("pseudo_grows", lambda grid, n, method: n if grid == "8x8" else 1.0, PARTLY),
        ("pseudo_grows", lambda grid, n, method: 1.0, NOT),
        ("insensitive", lambda grid, n, method: 1.0, REPRODUCED),
        ("insensitive", lambda grid, n, method: n, NOT),
        ("copula_cost", lambda grid, n, method: 5.0 if method == "mle-0.05" else 1.0, REPRODUCED),
        ("copula_cost", lambda grid, n, method: 1.0, NOT),
        ("linear_in_p", lambda grid, n, method: PARAMETERS[grid], REPRODUCED),
        ("linear_in_p", lambda grid, n, method: PARAMETERS[grid] ** 1.4, PARTLY),
        ("linear_in_p", lambda grid, n, method: PARAMETERS[grid] ** 2, NOT),
        ("persistent_time", lambda grid, n, method: n if method == "persistent" else 1.0, REPRODUCED),
        ("persistent_time", lambda grid, n, method: 1.0, NOT),
    ],
)
def test_every_verdict_can_come_out(judge, seconds, expected):
    assert verdict(judge, Cells(seconds)) == expected


def test_fields_that_were_not_run_are_not_judged():
    assert verdict("exact_lost", Cells(lambda *which: 1.0, ("4x4",))) == UNDECIDED
    assert verdict("exact_lost", Cells(lambda *which: 1.0, ("4x4", "6x6"))) == NOT


def test_a_verdict_counts_the_criteria_that_hold():
    yes, no, context = (
        Criterion("a", "1", "above 0", True),
        Criterion("b", "1", "below 0", False),
        Criterion("c", "1"),
    )
    verdicts = [Finding("", checks, "").verdict for checks in ((yes, context), (yes, no), (no,), (context,))]
    assert verdicts == [REPRODUCED, PARTLY, NOT, UNDECIDED]


def test_errors_of_quotients_add_up():
    found = quotient(Average(6.0, 0.3, 4), Average(2.0, 0.1, 9))
    assert (found.value, found.count) == (3.0, 4)
    assert found.error == pytest.approx(3 * math.hypot(0.05, 0.05))


def test_claims_have_different_names():
    assert len({claim.text for claim in all_claims()}) == len(all_claims()) == 26
