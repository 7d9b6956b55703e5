"""Docstrings say ``name : what it is``; numpydoc's reader would take the first line of that for a type.

A line may also describe several names, ``mean, sd : (p,)``. Each gets an entry of its own.
"""

from __future__ import annotations

import re

from sphinx.application import Sphinx

ENTRY = re.compile(r"(\*{0,2}\w+(?:, \*{0,2}\w+)*) :(?: (.*))?")


def rewritten(lines: list[str]) -> list[str]:
    """Every entry as a name and, indented below it, all that is said of it."""
    found: list[str] = []
    at = 0
    while at < len(lines):
        entry = ENTRY.fullmatch(lines[at])
        at += 1
        if entry is None:
            found.append(lines[at - 1])
            continue
        below = [f"    {entry.group(2)}"] if entry.group(2) else []
        while at < len(lines) and lines[at].startswith("    "):
            below.append(lines[at])
            at += 1
        for name in entry.group(1).split(", "):
            found += [name, *below]
    return found


def rewrite(app: Sphinx, what: str, name: str, target: object, options: object, lines: list[str]) -> None:
    lines[:] = rewritten(lines)
    if what in ("property", "attribute") and lines:
        lines[0] = lines[0].replace(": ", " \N{EN DASH} ", 1)  # else what stands before a colon is taken for a type


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("autodoc-process-docstring", rewrite, priority=100)  # before napoleon reads it
    return {"parallel_read_safe": True, "parallel_write_safe": True}
