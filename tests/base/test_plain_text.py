"""Names from outside are shown and never obeyed: by terminals, spreadsheets, pages and pictures."""

import csv
import io
import os
import subprocess
import sys
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from matplotlib import rc_context

import mrfbayes as mb
from mrfbayes.base.plain_text import facts, grid, print_anywhere, spreadsheet_cell, visible
from mrfbayes.cli.files import write_rows
from mrfbayes.model.formats import EXPORT_FORMATS, export_text
from mrfbayes.plots.saving import write_table
from mrfbayes.plots.style import escape, label

HOSTILE = (
    "=cmd|' /C calc'!A0",
    "+1+1",
    "-2+3",
    "@SUM(1)",
    " =1+1",
    "\t=1",
    "\uff1d1+1",
    "\x1b[31mred",
    "\x1b]0;title\x07",
    "\u202eright to left",
    "<img src=x onerror=bad()>",
    "</script><script>bad()</script>",
    "$\\frac{1}{0}$",
    "[red]x[/red]",
    "| a | b |",
    "a\x9b2Jb",
)
CONTROL = {chr(code) for code in (*range(32), *range(127, 160)) if chr(code) not in "\n\r"} | {"\u202e"}


def is_harmless(cell):
    return not (set(cell) & CONTROL) and not cell.lstrip().startswith(("=", "+", "-", "@", "\uff1d"))


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_is_harmless_in_a_cell(name):
    assert is_harmless(spreadsheet_cell(name))


@pytest.mark.parametrize("cell", ["-1", "+1.5", "-1e-3", "plain", "Grüße", "数据", 3, -2.5, None, ""])
def test_numbers_and_plain_text_stay(cell):
    assert spreadsheet_cell(cell) == cell


def test_control_characters_are_shown():
    assert visible("a\x1b\u202e\U000e0001b") == "a\\x1b\\u202e\\U000e0001b"
    assert visible("a\nb", keep="\n") == "a\nb"


@pytest.mark.parametrize("place", ["columns", "index", "cells"])
def test_tables_hold_no_hostile_text(tmp_path, place):
    numbers = np.eye(len(HOSTILE))
    frame = {
        "columns": pd.DataFrame(numbers, columns=HOSTILE),
        "index": pd.DataFrame(numbers, index=HOSTILE),
        "cells": pd.DataFrame({"name": HOSTILE, "x": 1.0}),
    }[place]
    write_table(frame, tmp_path / "t.csv")
    with open(tmp_path / "t.csv", newline="", encoding="utf-8") as file:
        cells = [cell for row in csv.reader(file) for cell in row]
    assert len(cells) > len(HOSTILE)
    assert all(map(is_harmless, cells))


def test_rows_hold_no_hostile_text(tmp_path):
    write_rows(HOSTILE, [HOSTILE, [-1] * len(HOSTILE)], tmp_path / "t.csv")
    with open(tmp_path / "t.csv", newline="", encoding="utf-8") as file:
        names, labels, numbers = csv.reader(file)
    assert all(map(is_harmless, names + labels))
    assert set(numbers) == {"-1"}


def ring(names):
    return mb.graph(list(zip(names, (*names[1:], names[0]), strict=True)), fields=True)


@pytest.mark.parametrize("form", EXPORT_FORMATS)
def test_exported_fields_hold_no_hostile_text(form):
    model = ring(HOSTILE)
    text = export_text(model, np.full(model.n_parameters, 0.4), form)
    assert not set(text) & CONTROL
    if form == "edges":
        assert all(is_harmless(cell) for row in csv.reader(io.StringIO(text)) for cell in row[:2])
    if form == "graphml":
        ElementTree.fromstring(text)


def test_a_saved_graph_with_hostile_names_can_be_read(tmp_path):
    model = ring(HOSTILE)
    model.save(tmp_path / "field.graphml")
    assert mb.graph(tmp_path / "field.graphml").nodes == tuple(map(visible, HOSTILE))


def test_tables_of_notebooks_hold_no_hostile_text():
    for page in (facts(HOSTILE[-1], [(name, name) for name in HOSTILE], HOSTILE), grid(HOSTILE, [HOSTILE], HOSTILE[7])):
        assert not set(page) & CONTROL
        assert "<img" not in page
        assert "<script" not in page


def test_pictures_with_hostile_names_are_sound_xml(tmp_path):
    from matplotlib.figure import Figure

    axes = Figure().add_subplot()
    axes.set_yticks(range(len(HOSTILE) - 1), [label(name) for name in HOSTILE if "\uff1d" not in name])
    axes.set_title(escape("".join(HOSTILE[:5])))
    with rc_context({"svg.fonttype": "none"}):
        axes.figure.savefig(tmp_path / "names.svg")
    tree = ElementTree.parse(tmp_path / "names.svg")
    tags = {element.tag.rpartition("}")[2] for element in tree.iter()}
    assert not tags & {"script", "img", "image"}


def test_every_character_can_be_printed_on_any_terminal():
    file = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    print_anywhere((file,))
    print("tired \u2013 worried 数", file=file, flush=True)
    assert file.buffer.getvalue() == b"tired - worried \\u6570\n"


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "latin-1"])
def test_commands_end_well_on_terminals_without_utf8(encoding, tmp_path):
    (tmp_path / "ü数.csv").write_text("a,数\n1,7\n", encoding="utf-8")
    environment = {**os.environ, "PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"}
    for arguments, status in ((["methods"], 0), (["info", "ü数.csv"], 2), (["sample", "no\u2013file.csv"], 2)):
        done = subprocess.run(
            [sys.executable, "-m", "mrfbayes", *arguments],
            env=environment,
            cwd=tmp_path,
            capture_output=True,
            timeout=300,
        )
        assert done.returncode in (status, 0), done.stderr
        assert b"Traceback" not in done.stderr
        assert b"UnicodeEncodeError" not in done.stderr
