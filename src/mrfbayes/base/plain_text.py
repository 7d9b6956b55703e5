"""Text that came from outside, made harmless for terminals, pages, pictures and spreadsheets."""

from __future__ import annotations

import codecs
import io
import sys
from typing import TextIO

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
