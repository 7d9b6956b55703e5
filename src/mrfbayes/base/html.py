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
    lines = [f'<div style="margin:4px 0"><strong>{escape(title)}</strong><table style="border:0;margin:4px 0">']
    for name, value in rows:
        lines.append(
            f'<tr style="background:none"><th style="{_CELL};font-weight:normal;opacity:.7">{escape(name)}</th>'
            f'<td style="{_CELL}">{escape(value)}</td></tr>'
        )
    lines.append("</table>")
    lines += [f'<div style="margin:2px 0">&#9888; {escape(text)}</div>' for text in remarks]
    return "".join([*lines, "</div>"])


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
    cell = "padding:2px 12px 2px 0;border:0;background:none"
    parts = ['<table style="border:0;margin:4px 0">']
    if caption:
        parts.append(f'<caption style="text-align:left;opacity:.7">{escape(caption)}</caption>')
    align = ["left", *["right"] * (len(head) - 1)]
    cells = "".join(f'<th style="{cell};text-align:{a}">{escape(h)}</th>' for a, h in zip(align, head, strict=True))
    parts.append(f"<thead><tr>{cells}</tr></thead><tbody>")
    for row in rows:
        cells = "".join(f'<td style="{cell};text-align:{a}">{escape(c)}</td>' for a, c in zip(align, row, strict=True))
        parts.append(f'<tr style="background:none">{cells}</tr>')
    return "".join([*parts, "</tbody></table>"])
