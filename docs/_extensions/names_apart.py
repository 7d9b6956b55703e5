"""Docstrings describe several attributes in a line, ``mean, sd : (p,)``; numpydoc's reader takes such a line for one."""

from __future__ import annotations

import re

from sphinx.application import Sphinx

SEVERAL = re.compile(r"(\w+(?:, \w+)+) : (.*)")


def apart(app: Sphinx, what: str, name: str, target: object, options: object, lines: list[str]) -> None:
    """Gives every name of such a line one of its own."""
    if what == "class":
        lines[:] = [one for line in lines for one in described(line)]


def described(line: str) -> list[str]:
    """``a : text`` and ``b : text`` of a line ``a, b : text``; any other line as it is."""
    found = SEVERAL.fullmatch(line)
    return [line] if found is None else [f"{name} : {found.group(2)}" for name in found.group(1).split(", ")]


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("autodoc-process-docstring", apart, priority=100)  # before napoleon reads it
    return {"parallel_read_safe": True, "parallel_write_safe": True}
