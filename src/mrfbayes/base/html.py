"""Small tables for notebooks: escaped, without a colour of their own, so that they fit light and dark pages."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from mrfbayes.base.plain_text import visible

if TYPE_CHECKING:
    import pandas as pd

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
