"""Verdicts follow from numbers: other numbers give other verdicts."""

import pytest

from mrfbayes.paper.claims import (
    NOT,
    PARTLY,
    REPRODUCED,
    UNDECIDED,
    Results,
    judge_all,
)
from mrfbayes.paper.constants import PARAMETERS
from mrfbayes.paper.journal import Store
from mrfbayes.paper.tasks import Cell, CellOutcome
from paper.outcome_cases import P, add
from paper.timing_cases import Cells, verdict


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


def test_verdicts_follow_from_the_numbers(results):
    found = {claim.text: finding for claim, finding in judge_all(results)}
    assert len(found) >= 25
    largest = found["Pseudo-L has the largest error of the sd"]
    assert largest.verdict == REPRODUCED
    assert largest.number == "Pseudo-L's sd is off by 20.0 ± 0.0 %"
    assert found["The copula's rho does not matter"].verdict == REPRODUCED
    assert found["All posterior means are close, more so with n"].verdict == PARTLY
    assert found["Pseudo-L grows with n until it is unbearable"].verdict == NOT
    assert found["IS, AuxVar and Exch take thousands of hours"].verdict == UNDECIDED
    assert found["Laplace-L deteriorates quickly with size"].verdict == UNDECIDED


def test_verdicts_can_come_out_the_other_way(tmp_path):
    """The same judges on results in which pseudolikelihood is exact and MLE-L depends on rho."""
    with Store(tmp_path) as store:
        add(store, 100, 0)
        for method, ratio in (("pseudo", 1.0), ("mle-0.1", 0.5)):
            cell = Cell("4x4", 100, "adapted", method, 0)
            old = store.outcomes.pop(cell)
            store.add(cell, CellOutcome(old.numbers, {**old.vectors, "sd": [round(4000 * ratio)] * P}, old.seconds))
    found = {claim.text: finding.verdict for claim, finding in judge_all(Results(store))}
    assert found["Pseudo-L has the largest error of the sd"] == NOT
    assert found["The copula's rho does not matter"] == NOT
