"""Tables as files: numbers stay numbers, text is harmless, LaTeX is in the style of the APA."""

import zipfile
from xml.etree import ElementTree

import pytest

import mrfbayes as mb
from mrfbayes.report.exported import latex, write_latex, write_workbook
from mrfbayes.report.tables import Heading, PageTable

MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"


@pytest.fixture
def table():
    return PageTable(
        "edges",
        "Couplings & 50 % intervals",
        [Heading("Edge", "text"), Heading("P(edge)", "probability"), Heading("Mean"), Heading("90 %", "interval")],
        [
            [("=cmd_x \u2013 b", None), ("0.98", 0.984), ("\u22121.20", -1.2), ("\u22121.50 to 0.90", [-1.5, 0.9])],
            [("c", None), ("1.00", 1.0), ("10.05", 10.05), ("10.00 to 10.10", [10.0, 10.1])],
        ],
    )


def cells(row):
    """Numbers and texts of a row of a sheet."""
    found = [(cell.find(f"{MAIN}v"), cell.find(f"{MAIN}is/{MAIN}t")) for cell in row]
    return [float(number.text) if number is not None else text.text for number, text in found]


def test_a_workbook_has_a_sheet_per_table_with_its_numbers(table, tmp_path):
    other = table._replace(name="a name longer than the thirty-one letters of a sheet", rows=table.rows[1:])
    write_workbook([table, other], tmp_path / "tables.xlsx")
    with zipfile.ZipFile(tmp_path / "tables.xlsx") as book:
        names = [e.get("name") for e in ElementTree.fromstring(book.read("xl/workbook.xml")).iter(f"{MAIN}sheet")]
        sheets = [ElementTree.fromstring(book.read(f"xl/worksheets/sheet{k}.xml")) for k in (1, 2)]
    assert names == ["edges", "a name longer than the thirty-o"]
    head, first, second = (cells(row) for row in sheets[0].iter(f"{MAIN}row"))
    assert head == ["Edge", "P(edge)", "Mean", "90 %, 5%", "90 %, 95%"]
    assert first[1:] == [0.984, -1.2, -1.5, 0.9]
    assert not first[0].startswith("=")  # no formula
    assert second == ["c", 1.0, 10.05, 10.0, 10.1]
    assert len(list(sheets[1].iter(f"{MAIN}row"))) == 2


def test_latex_has_no_zero_before_the_point_of_a_probability(table, tmp_path):
    lines = latex(table).splitlines()
    assert lines[:2] == [r"\begin{longtable}{lrrr}", r"\caption{Couplings \& 50 \% intervals}\\"]
    assert lines[-4:-2] == [
        r"=cmd\_x -- b & .98 & $-$1.20 & [$-$1.50, 0.90] \\",
        r"c & 1.00 & 10.05 & [10.00, 10.10] \\",
    ]
    write_latex([table, table], tmp_path / "tables.tex")
    assert (tmp_path / "tables.tex").read_text(encoding="utf-8").count(r"\toprule") == 2


def test_a_file_that_is_there_stays(table, tmp_path):
    (tmp_path / "tables.xlsx").write_text("mine")
    with pytest.raises(mb.InputError, match="exists"):
        write_workbook([table], tmp_path / "tables.xlsx")
    assert (tmp_path / "tables.xlsx").read_text() == "mine"
