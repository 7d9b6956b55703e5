"""Verdicts follow from numbers: other numbers give other verdicts, and prose written for other numbers is noticed."""

import copy
import math

import numpy as np
import pytest

from mrfbayes.paper import constants as settings
from mrfbayes.paper.claims import (
    IDLE_TIMINGS,
    NOT,
    PARTLY,
    REPRODUCED,
    UNDECIDED,
    Average,
    Criterion,
    Finding,
    Results,
    all_claims,
    average,
    disagreements,
    quotient,
)
from mrfbayes.paper.journal import Store
from mrfbayes.paper.tasks import Cell, CellOutcome
from paper.outcome_cases import PAPER, P, add
from paper.timing_cases import Cells, verdict


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


def test_methods_are_compared_on_the_replications_that_all_have(tmp_path):
    with Store(tmp_path) as store:
        for replication in range(2):
            add(store, 100, replication)
        sd, exact = 4_000, store.outcomes[Cell("4x4", 100, "adapted", "exact", 0)].vectors["mean"]
        reference = CellOutcome({}, {"mean": exact, "sd": [sd] * P, "truth": exact, "estimate": exact})
        store.add(Cell("4x4", 100, "adapted", "reference", 2, settings.REFERENCE_PROPOSALS), reference)
        odd = CellOutcome({}, {"mean": exact, "sd": [3 * sd] * P})  # a replication that only one of them has
        store.add(Cell("4x4", 100, "adapted", "mle-0", 2), odd)
    found = Results(store)
    assert found.errors("sd_ratio", "4x4", 100, "mle-0").value > 1.5
    together = found.errors("sd_ratio", "4x4", 100, "mle-0", beside=["mle-0.05", "mle-0.1"])
    assert (together.count, together.value) == (2, pytest.approx(0.97))


def test_seconds_are_those_of_undisturbed_runs_where_there_are_any(tmp_path):
    with Store(tmp_path) as store:
        for replication, (chain, share) in enumerate([(12.0, 0.5), (30.0, 0.3), (2.4, 1.0)]):
            cell = Cell("4x4", 100, "adapted", "exact", replication)
            store.add(cell, CellOutcome({}, {"mean": [], "sd": []}, {"prepare": 0.0, "chain": chain, "share": share}))
    assert Results(store).seconds("4x4", 100, "exact") == pytest.approx(2.0)
    assert not Results(store).is_disturbed("4x4", 100, "exact")


def test_other_lengths_do_not_count(store):
    assert Results(store, steps=1000).count("4x4", 100, "exact") == 0


def test_an_average_knows_its_error():
    found = average([1.0, 2.0, 3.0, float("nan")])
    assert (found.value, found.count) == (2.0, 3)
    assert found.error == pytest.approx(1 / np.sqrt(3))
    assert found.text(100, 1) == "200.0 ± 57.7"
    assert average([]).text() == "-"
    assert average([0.5]).text() == "0.50"
    assert Average(1.25, 0.004, 9).text(1, 1) == "1.250 ± 0.004"  # no error is printed as zero


def test_seconds_of_an_idle_core_replace_those_of_the_cells(store, tmp_path):
    path = tmp_path / "idle.csv"
    path.write_text(
        "grid,n,setting,method,replication,steps,chain,share,busy,machine\n"
        "4x4,100,adapted,exact,0,1000000,1.2,1.0,0.02,Some processor\n"
        "4x4,100,adapted,exact,1,1000000,3.6,1.0,0.02,Some processor\n"
    )
    results = Results(store, idle=path)
    assert results.seconds("4x4", 100, "exact") == pytest.approx(2.0)
    assert not results.is_disturbed("4x4", 100, "exact")
    assert results.machine == "Some processor"
    assert results.is_disturbed("4x4", 1000, "exact")  # which the file does not have


def test_every_reason_was_written_for_the_numbers_of_the_records(committed):
    assert disagreements(Results(committed, idle=PAPER / IDLE_TIMINGS)) == []


def test_a_doctored_record_is_noticed(committed):
    """Pseudo-L as good as exact on 4x4: its row changes, and its reason is one of other numbers."""
    doctored = copy.copy(committed)
    doctored.outcomes = dict(committed.outcomes)
    for cell, outcome in committed.outcomes.items():
        if (cell.grid, cell.setting, cell.method) == ("4x4", "adapted", "pseudo"):
            exact = Cell("4x4", cell.n, "adapted", "reference", cell.replication, settings.REFERENCE_PROPOSALS)
            vectors = {name: committed.outcomes[exact].vectors[name] for name in ("mean", "sd")}
            doctored.outcomes[cell] = CellOutcome(outcome.numbers, vectors, outcome.seconds)
    found = {text.split(":")[0] for text in disagreements(Results(doctored))}
    assert "Pseudo-L has the largest error of the sd" in found
    assert "MLE-L is more accurate than Pseudo-L, Laplace-L" in found
    assert "Laplace-L and MLE-L are insensitive to n" not in found
    assert len(found) < len(all_claims())
