"""Text from outside made harmless for terminals, pages, pictures and spreadsheets; small tables for notebooks."""

from __future__ import annotations

import codecs
import html
import io
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    import pandas as pd


# What a spreadsheet takes for the beginning of a formula, in ASCII and in full width.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
# Characters of ours for terminals that do not have them; those of names are shown by their number.
_ASCII = {"\u2013": "-", "\u2212": "-", "\u00d7": "x", "\u2026": "...", "\u00b7": "*"}


def visible(text: str, keep: str = "") -> str:
    r"""``text`` with control characters shown instead of obeyed, but for those in ``keep``.

    Examples
    --------
    >>> visible("\x1b[31mred")
    '\\x1b[31mred'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == " " or c in keep else _number(c) for c in text)


def _number(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" if code < 65536 else f"\\U{code:08x}"


def spreadsheet_cell(cell: object) -> object:
    """``cell`` for a CSV file: text that no spreadsheet takes for a formula and no terminal obeys.

    Numbers stay what they are, written as text or not.

    Examples
    --------
    >>> spreadsheet_cell("=1+1"), spreadsheet_cell("-1"), spreadsheet_cell(-1.5)
    ("'=1+1", '-1', -1.5)
    """
    if isinstance(cell, tuple):
        return tuple(map(spreadsheet_cell, cell))
    if not isinstance(cell, str):
        return cell
    return f"'{visible(cell)}" if cell.lstrip(" ").startswith(_FORMULA) and not _is_number(cell) else visible(cell)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _substitute(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    characters = error.object[error.start : error.end]
    return "".join(_ASCII.get(c) or _number(c) for c in characters), error.end


def print_anywhere(streams: tuple[TextIO | None, ...] = ()) -> None:
    """Let standard output and error take every character, whatever their encoding."""
    codecs.register_error("mrfbayes.plain", _substitute)
    for stream in streams or (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="mrfbayes.plain")


_CELL = "text-align:left;padding:2px 14px 2px 0;border:0;background:none"


def escape(text: str) -> str:
    """``text`` without markup and control characters."""
    return html.escape(visible(text, keep="\n"))


def facts(title: str, rows: Iterable[tuple[str, str]], remarks: Sequence[str] = ()) -> str:
    """A title, a table of names and values, and remarks below."""
    head, cell = f'<th style="{_CELL};font-weight:normal;opacity:.7">', f'<td style="{_CELL}">'
    row = f'<tr style="background:none">{head}{{}}</th>{cell}{{}}</td></tr>'
    body = "".join(row.format(escape(name), escape(value)) for name, value in rows)
    notes = "".join(f'<div style="margin:2px 0">&#9888; {escape(text)}</div>' for text in remarks)
    table = f'<table style="border:0;margin:4px 0">{body}</table>'
    return f'<div style="margin:4px 0"><strong>{escape(title)}</strong>{table}{notes}</div>'


def frame(table: pd.DataFrame, rows: int = 12) -> str:
    """The first ``rows`` of a table, numbers with three digits."""
    head = [str(table.index.name or ""), *(str(column).replace("_", " ") for column in table.columns)]
    shown = [
        [str(name), *(f"{cell:.3g}" if isinstance(cell, float) else str(cell) for cell in row)]
        for name, row in zip(table.index[:rows], table.iloc[:rows].astype(object).to_numpy(), strict=True)
    ]
    return grid(head, shown, f"the first {rows} of {len(table):,} rows" if len(table) > rows else "")


def grid(head: Sequence[str], rows: Iterable[Sequence[str]], caption: str = "") -> str:
    """A table with a head; the first column is text, the others are numbers."""
    align = ["left", *["right"] * (len(head) - 1)]

    def line(tag: str, cells: Sequence[str]) -> str:
        style = "padding:2px 12px 2px 0;border:0;background:none"
        parts = (
            f'<{tag} style="{style};text-align:{a}">{escape(c)}</{tag}>' for a, c in zip(align, cells, strict=True)
        )
        return f'<tr style="background:none">{"".join(parts)}</tr>'

    shown = f'<caption style="text-align:left;opacity:.7">{escape(caption)}</caption>' if caption else ""
    body = "".join(line("td", row) for row in rows)
    return f'<table style="border:0;margin:4px 0">{shown}<thead>{line("th", head)}</thead><tbody>{body}</tbody></table>'
