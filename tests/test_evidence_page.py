"""The evidence page and the README say what the committed results say."""

import importlib.util
import re
from pathlib import Path

import pandas as pd
import pytest

ROOT = Path(__file__).resolve().parents[1]
EVIDENCE = ROOT / "benchmarks" / "evidence"


@pytest.fixture(scope="module")
def summary():
    spec = importlib.util.spec_from_file_location("evidence_summary", EVIDENCE / "summary.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def cells():
    return pd.read_csv(EVIDENCE / "results" / "cells.csv")


def test_the_page_is_made_from_the_results(summary, cells):
    page = (ROOT / "docs" / "evidence.md").read_text(encoding="utf-8")
    for part in (summary.averages, summary.bars, summary.worst):
        assert part(cells) in page
    assert summary.coverage(pd.read_csv(EVIDENCE / "results" / "coverage.csv")) in page
    changed = cells.assign(sd_error=cells["sd_error"] * 1.2)
    assert summary.averages(changed) not in page


def test_growth_is_that_of_its_rows():
    spec = importlib.util.spec_from_file_location("evidence_growth", EVIDENCE / "planar_figure.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    page = (ROOT / "docs" / "evidence.md").read_text(encoding="utf-8")
    assert module.growth() in page
    module.ABSOLUTE = 1.0
    assert module.growth() not in page


def test_every_cell_has_every_method(summary, cells):
    methods = cells.groupby("cell")["method"].agg(set)
    assert all(found == {"exact", *summary.METHODS} for found in methods)
    known = cells[cells["method"].isin(["exact", "calibrated", "mle"])]
    assert known["sd_error"].notna().all()


def test_the_readme_quotes_the_averages(cells):
    text = re.sub(r"\s+", " ", (ROOT / "README.md").read_text(encoding="utf-8"))
    grids = cells[cells["cell"].str.match(r"grid (\d+)x\1 ")]
    for kind, digits in (("paper", 1), ("strong", 0)):
        part = grids[grids["kind"] == kind].groupby("method")["sd_error"].mean()
        assert f"{100 * part['calibrated']:.2f} %" in text
        assert f"{100 * part['mle']:.{digits}f} %" in text


def test_the_page_on_structure_is_made_from_its_results(monkeypatch):
    spec = importlib.util.spec_from_file_location("evidence_structure", EVIDENCE / "structure.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    page = module.PAGE.read_text(encoding="utf-8")
    assert module.page() == page
    monkeypatch.setattr(module, "TEXT", module.TEXT.replace("{ours:.4f}", "{theirs:.4f}"))
    assert module.page() != page
