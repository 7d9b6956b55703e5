"""The tables of a report as files: an Excel workbook with numbers, and LaTeX in the style of the APA."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Sequence
from pathlib import Path
from xml.sax.saxutils import escape

from mrfbayes.base.atomic_files import replacing, write_text
from mrfbayes.base.plain_text import spreadsheet_cell, visible
from mrfbayes.report.tables import Cell, PageTable

_XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_RELATED = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_LATEX = {c: f"\\{c}" for c in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "\u2212": "$-$",
    "\u00d7": r"$\times$",
    "\u00b7": r"$\cdot$",
    "\u2013": "--",
}


def write_workbook(tables: Sequence[PageTable], path: Path, overwrite: bool = False) -> None:
    """A sheet per table; numbers are numbers, intervals two columns."""

    def listed(line: str) -> str:
        return "".join(line.format(k=k, name=escape(table.name[:31])) for k, table in enumerate(tables, 1))

    kind = "application/vnd.openxmlformats"
    book = f"{kind}-officedocument.spreadsheetml"
    sheet = f'<Override PartName="/xl/worksheets/sheet{{k}}.xml" ContentType="{book}.worksheet+xml"/>'
    related = f'<Relationship Id="rId{{k}}" Type="{_RELATED}/worksheet" Target="worksheets/sheet{{k}}.xml"/>'
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types"><Default Extension="rels" ContentType='
        f'"{kind}-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{book}.sheet.main+xml"/>{listed(sheet)}</Types>',
        "_rels/.rels": f'<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="rId1" Type='
        f'"{_RELATED}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{_MAIN}" xmlns:r="{_RELATED}"><sheets>'
        + listed('<sheet name="{name}" sheetId="{k}" r:id="rId{k}"/>')
        + "</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">{listed(related)}'
        "</Relationships>",
    }
    for k, table in enumerate(tables, 1):
        rows = "".join(f"<row>{''.join(map(_cell, row))}</row>" for row in _wide(table))
        parts[f"xl/worksheets/sheet{k}.xml"] = f'<worksheet xmlns="{_MAIN}"><sheetData>{rows}</sheetData></worksheet>'
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), _XML + text)
    with replacing(path, overwrite) as file:
        file.write(buffer.getvalue())


def _wide(table: PageTable) -> list[list[object]]:
    """The table with its head; an interval is two numbers, shares are text."""
    head: list[object] = []
    for column in table.columns:
        head += [f"{column.title}, {end}" for end in ("5%", "95%")] if column.kind == "interval" else [column.title]
    rows = [head]
    for row in table.rows:
        cells: list[object] = []
        for column, (text, value) in zip(table.columns, row, strict=True):
            if column.kind == "interval" and isinstance(value, list):
                cells += value
            else:
                cells.append(value if isinstance(value, (int, float)) else text)
        rows.append(cells)
    return rows


def _cell(value: object) -> str:
    if value is None:
        return "<c/>"
    if isinstance(value, (int, float)):
        return f"<c><v>{value!r}</v></c>"
    text = escape(visible(str(spreadsheet_cell(str(value)))))
    return f'<c t="inlineStr"><is><t xml:space="preserve">{text}</t></is></c>'


def write_latex(tables: Sequence[PageTable], path: Path, overwrite: bool = False) -> None:
    """A document fragment with a table each, for \\input; it needs the packages booktabs and longtable."""
    text = "% Needs \\usepackage{booktabs,longtable}; Bayes factors of 10 and 1/10 decide the verdicts.\n"
    write_text(path, text + "\n".join(map(latex, tables)), overwrite)


def latex(table: PageTable) -> str:
    """One table in the style of the APA: rules above and below, none between rows, numbers without a leading zero."""
    align = "".join("l" if column.kind in ("text", "verdict") else "r" for column in table.columns)
    head = " & ".join(_latex(column.title) for column in table.columns)
    lines = [rf"\begin{{longtable}}{{{align}}}", rf"\caption{{{_latex(table.caption)}}}\\", r"\toprule"]
    lines += [rf"{head} \\", r"\midrule", r"\endhead"]
    lines += [
        " & ".join(_apa(column.kind, cell) for column, cell in zip(table.columns, row, strict=True)) + r" \\"
        for row in table.rows
    ]
    return "\n".join([*lines, r"\bottomrule", r"\end{longtable}", ""])


def _apa(kind: str, cell: Cell) -> str:
    """A cell; probabilities, which cannot exceed one, have no zero before the point."""
    text = cell[0]
    if kind == "interval" and " to " in text:
        text = f"[{text.replace(' to ', ', ')}]"
    if kind == "probability":
        text = re.sub(r"(?<![\d])0\.", ".", text)
    return _latex(text)


def _latex(text: str) -> str:
    return "".join(_LATEX.get(letter, letter) for letter in visible(text))
