"""What commands print: lines, tables and JSON."""

import json
from pathlib import Path

import numpy as np
import pytest

import mrfbayes as mb
from mrfbayes.cli import show


def test_a_narrow_terminal_cuts_no_number(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    show.table(["parameter", "ess_bulk", "r_hat"], [["a name much too long for it", "123456789", "1.001"]])
    shown = capsys.readouterr().out
    assert all(text in shown for text in ("ess_bulk", "r_hat", "123456789", "1.001"))
    assert "".join(line[:20].strip() for line in shown.splitlines()[1:]).startswith("a name much too")


def test_json_has_null_for_numbers_that_are_not_finite(capsys):
    show.as_json({"a": float("nan"), "b": (1.5, -float("inf")), "c": {"d": True, 7: None}, "e": Path("x")})
    assert json.loads(capsys.readouterr().out) == {"a": None, "b": [1.5, None], "c": {"d": True, "7": None}, "e": "x"}


def test_long_tables_are_cut_after_the_rows_asked_for(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    x = np.random.default_rng(2).integers(0, 2, (40, 4))
    found = mb.estimate(mb.complete(list("abcd"), coupling="both-one"), x, progress=False)
    table = found.summary()
    show.frame(found, table, rows=2)
    shown = capsys.readouterr().out
    assert [name for name in table.index if name in shown] == ["a--b", "a--c"]
    assert "and 4 more" in shown
    show.frame(found, table, rows=0)
    shown = capsys.readouterr().out
    assert [name for name in table.index if name in shown] == list(table.index)
    assert "more;" not in shown


def test_edges_are_shown_with_the_surest_first(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    rng = np.random.default_rng(3)
    a, b = rng.integers(0, 2, (2, 200))
    model = mb.graph([("b", "a"), ("a", "c")], nodes=["a", "b", "c"], fields=True, coupling="both-one")
    post = mb.sample(model, np.stack([a, b, np.where(rng.random(200) < 0.9, a, 1 - a)], axis=1), rng=1, progress=False)
    show.posterior(post, rows=1)
    lines = capsys.readouterr().out.splitlines()
    first = next(line.split() for line in lines if line.startswith("a--c"))
    assert float(first[1]) == pytest.approx(post.summary(scale="log-odds").loc["a--c", "mean"], abs=5e-4)
    assert not any(line.startswith("b--a") for line in lines)
    assert sum("1 more" in line or "2 more" in line for line in lines) == 2  # edges, and nodes
