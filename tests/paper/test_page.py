"""The page of the study: every claim, every missing run, and the same bytes for the same results."""

import shutil

from mrfbayes.paper import tables
from mrfbayes.paper.claims import (
    IDLE_TIMINGS,
    Results,
    judge_all,
)
from mrfbayes.paper.page import MAX_ROW, RERUN, row, write_all
from paper.outcome_cases import PAPER, larger_fields


def test_page_has_every_claim_and_lists_missing_runs(store, tmp_path):
    written = write_all(store, tmp_path)
    page = (tmp_path / "README.md").read_text(encoding="utf-8")
    for number, (claim, finding) in enumerate(judge_all(Results(store)), 1):
        assert row(number, claim, finding) in page
        assert f"### {number}. {claim.text}\n" in page
    assert "- 4x4, adapted: IS-Geometric, AuxVar, Exch: 0 of 10\n" in page
    assert "nothing is missing" not in page
    for name in ("table1.md", "table1.tex", "table1.csv", "table2.md", "figure1.png", "figure1.svg", "times.svg"):
        assert any(path.name == name for path in written)
    assert all(path.stat().st_size < 1_000_000 for path in written)


def test_the_same_results_give_the_same_bytes(store, tmp_path):
    first = {path.name: path.read_bytes() for path in write_all(store, tmp_path / "a")}
    assert first == {path.name: path.read_bytes() for path in write_all(store, tmp_path / "b")}


def test_rows_of_the_table_of_verdicts_are_short_and_have_an_error(committed):
    for number, (claim, finding) in enumerate(judge_all(Results(committed)), 1):
        text = row(number, claim, finding)
        assert len(text) <= MAX_ROW, text
        assert finding.number.count("±") == 1, text


def test_the_committed_page_and_tables_are_those_of_the_committed_results(committed, tmp_path):
    for name in (tables.LARGER_RECORDS, IDLE_TIMINGS, RERUN):
        if (PAPER / name).exists():
            shutil.copy(PAPER / name, tmp_path)
    for path in write_all(committed, tmp_path):
        if path.parent.name != "figures":  # fonts differ between machines
            assert path.read_bytes() == (PAPER / path.relative_to(tmp_path)).read_bytes(), f"{path.name}: make paper"


def test_the_page_has_figure_and_table_of_larger_fields(store, tmp_path):
    larger_fields(tmp_path)
    (tmp_path / RERUN).write_text(
        '{"printed": 9, "equal": 9, "others": 5, "means": 300, "commit": "abc", "rms_z": 1.01, "largest_z": 3.2}'
    )
    names = {path.name for path in write_all(store, tmp_path)}
    assert {"larger.svg", "larger.png", "larger.md", "larger.csv"} <= names
    page = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert "(figures/larger.svg)" in page
    assert "| grid 8x8, weak | 112 | 0.0 ± " in page
    assert "9 of 9 agree byte for byte" in page
